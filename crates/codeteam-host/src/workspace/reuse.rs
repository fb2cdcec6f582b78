//! Gives a workspace's work tree to the pool, and starts a workspace with a kept one.

use std::fs::{self, File};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use super::folder_notes::FolderNotes;
use super::pool::WorktreePool;
use super::setup::read_optional;
use super::verify::{ForeignFiles, TreeExpectation};
use super::{Error, Workspace, files};
use crate::git::{self, IndexEntry, Oid};

/// The index as git wrote it when it wrote all files of the work tree. No sandbox shows it.
pub(super) const PREPARED: &str = "prepared";
/// What the folders were like then.
const FOLDERS: &str = "folders";
/// The tree from which they were written.
const ORIGIN: &str = "origin";

impl Workspace {
    /// Returns this workspace with its work tree coming from a pool and going back to it.
    #[must_use]
    pub fn keeping_trees(mut self, pool: WorktreePool) -> Workspace {
        self.pool = Some(pool);
        self
    }

    /// Removes the workspace, but keeps its work tree for another one if nothing in it could be of
    /// a worker's making. Changes are not kept; see [`Workspace::snapshot_and_remove`]. No process.
    pub fn release(&self) -> Result<(), Error> {
        if self.directory.symlink_metadata().is_ok() {
            return self.lock()?.release_locked();
        }
        self.remove()
    }

    pub(super) fn release_locked(&self) -> Result<(), Error> {
        match self.give_back() {
            Ok(true) => Ok(()),
            // Whatever is odd about it, it can be removed.
            Ok(false) | Err(_) => self.remove_locked(),
        }
    }

    /// Returns false if the work tree cannot be kept.
    fn give_back(&self) -> Result<bool, Error> {
        let Some(pool) = &self.pool else {
            return Ok(false);
        };
        // From here on it is half made for whoever finds it.
        files::remove_file(&self.directory.join("state"))?;
        let (prepared, origin) = (self.directory.join(PREPARED), self.directory.join(ORIGIN));
        let Some(index) = read_optional(&prepared)? else {
            return Ok(false);
        };
        let origin = read_optional(&origin)?.unwrap_or_default();
        let origin = Oid::parse(String::from_utf8_lossy(&origin).trim_end());
        let (Some(entries), Some(origin)) = (self.collector.parse_kept_index(&index), origin)
        else {
            return Ok(false);
        };
        let bytes = entries.iter().map(|entry| u64::from(entry.stat.size)).sum();
        let tree = self.tree_dir();
        if !pool.accepts(&tree, bytes) {
            return Ok(false);
        }
        self.remove_all_but(&["tree", "collect", PREPARED, ORIGIN, FOLDERS])?;
        self.reduce_collector()?;
        let noted_at = self.noted_at()?;
        let expected = TreeExpectation {
            sample: &self.directory,
            entries: &entries,
            noted_at: Some(noted_at),
        };
        let cleaned = match self.folder_notes(noted_at)? {
            Some(notes) => expected.clean_changed_folders(&tree, &notes).ok(),
            None => None,
        };
        let left = match cleaned {
            Some(left) => left,
            None => expected
                .verify(&tree, ForeignFiles::Remove)
                .map_err(files::io_error("verify", &tree))?,
        };
        if left.len() < entries.len() {
            // What git writes next is what differs from the index: it must say what is missing.
            let is_left = |entry: &IndexEntry| left.contains(entry.path.as_path());
            let Some(index) = self.collector.retain_in_kept_index(&index, is_left) else {
                return Ok(false);
            };
            files::write_atomically(&prepared, &index)?;
        }
        pool.keep(&self.directory, &origin, bytes)
            .map_err(files::io_error("keep", &tree))?;
        Ok(true)
    }

    /// Returns the time at which the work tree was noted to be as git wrote it, as the index keeps
    /// times.
    fn noted_at(&self) -> Result<(u32, u32), Error> {
        let prepared = self.directory.join(PREPARED);
        let noted = fs::metadata(&prepared).and_then(|found| found.modified());
        Ok(index_time(
            noted.map_err(files::io_error("read", &prepared))?,
        ))
    }

    /// Returns what the folders were like when they were noted. Without notes, all of the work tree is
    /// read.
    fn folder_notes(&self, noted_at: (u32, u32)) -> Result<Option<FolderNotes>, Error> {
        let bytes = read_optional(&self.directory.join(FOLDERS))?;
        Ok(bytes.and_then(|bytes| FolderNotes::parse(&bytes, noted_at)))
    }

    fn remove_all_but(&self, kept: &[&str]) -> Result<(), Error> {
        let read = || fs::read_dir(&self.directory)?.collect::<io::Result<Vec<_>>>();
        let entries = read().map_err(files::io_error("read", &self.directory))?;
        for entry in entries {
            let name = entry.file_name();
            if !kept.iter().any(|kept| name == *kept) {
                files::remove_tree(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Starts with a kept work tree, if there is one and nothing is in its place yet. It is not of
    /// any use before [`Workspace::move_kept_tree`].
    pub(super) fn take_kept_tree(&self, tree: &Oid) -> Result<(), Error> {
        let Some(pool) = &self.pool else {
            return Ok(());
        };
        if self.directory.symlink_metadata().is_err() {
            files::create_dir(&self.root)?;
            pool.take(tree, &self.directory);
        }
        Ok(())
    }

    /// Makes a kept work tree exactly `tree`, and returns what its folders are like. Returns `None` if
    /// there is none, or if anything in it is not as it must be; then it has to be made anew. One
    /// process.
    pub(super) fn move_kept_tree(&self, tree: &Oid) -> Result<Option<FolderNotes>, Error> {
        let prepared = self.directory.join(PREPARED);
        if self.pool.is_none() || prepared.symlink_metadata().is_err() {
            return Ok(None);
        }
        match self.move_and_verify(tree) {
            Ok(folders) => Ok(Some(folders)),
            Err(error @ Error::Git(git::Error::Cancelled { .. } | git::Error::TimedOut { .. })) => {
                Err(error)
            }
            Err(_) => Ok(None),
        }
    }

    fn move_and_verify(&self, tree: &Oid) -> Result<FolderNotes, Error> {
        let (prepared, index) = (self.directory.join(PREPARED), self.collector.index_path());
        let notes = self.folder_notes(self.noted_at()?)?;
        self.write_collector()?;
        self.remove_stale_locks()?;
        // From here on, until it is complete, nothing says that there is a kept work tree.
        fs::rename(&prepared, &index).map_err(files::io_error("write", &index))?;
        files::remove_file(&self.directory.join(ORIGIN))?;
        files::remove_file(&self.directory.join(FOLDERS))?;
        // Git reads files that are as new as the index. The times of these are compared below, to
        // the nanosecond.
        File::options()
            .write(true)
            .open(&index)
            .and_then(|file| file.set_modified(SystemTime::now()))
            .map_err(files::io_error("write", &index))?;
        self.collector.move_first(tree)?;
        let entries = self.index_entries()?;
        let work_tree = self.tree_dir();
        let expected = TreeExpectation {
            sample: &self.directory,
            entries: &entries,
            noted_at: None,
        };
        let verified = match notes {
            Some(notes) => expected.verify_moved(&work_tree, &notes),
            None => expected
                .verify(&work_tree, ForeignFiles::Refuse)
                .and_then(|_| expected.note_folders(&work_tree)),
        };
        verified.map_err(files::io_error("verify", &work_tree))
    }

    /// Records that the work tree is now exactly `tree`, written by git alone, and that git will
    /// look at it from inside the sandbox.
    pub(super) fn note_prepared(
        &self,
        tree: &Oid,
        folders: Option<FolderNotes>,
    ) -> Result<(), Error> {
        if self.pool.is_some() {
            let folders = match folders {
                Some(folders) => folders,
                None => self.note_folders()?,
            };
            let index = self.collector.index_path();
            let bytes = fs::read(&index).map_err(files::io_error("read", &index))?;
            let write =
                |name, bytes: &[u8]| files::write_atomically(&self.directory.join(name), bytes);
            write(ORIGIN, tree.as_str().as_bytes())?;
            write(FOLDERS, &folders.to_bytes())?;
            // The last one: its time says when all of it was true.
            write(PREPARED, &bytes)?;
        }
        Ok(self.collector.align_owner()?)
    }

    fn note_folders(&self) -> Result<FolderNotes, Error> {
        let (entries, tree) = (self.index_entries()?, self.tree_dir());
        let expected = TreeExpectation {
            sample: &self.directory,
            entries: &entries,
            noted_at: None,
        };
        let folders = expected.note_folders(&tree);
        folders.map_err(files::io_error("read", &tree))
    }

    /// Forgets a kept work tree, because it is about to be removed.
    pub(super) fn forget_prepared(&self) -> Result<(), Error> {
        files::remove_file(&self.directory.join(PREPARED))?;
        files::remove_file(&self.directory.join(FOLDERS))?;
        files::remove_file(&self.directory.join(ORIGIN))
    }
}

/// Returns a time as the index keeps it.
fn index_time(time: SystemTime) -> (u32, u32) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    (
        u32::try_from(since.as_secs()).unwrap_or(u32::MAX),
        since.subsec_nanos(),
    )
}
