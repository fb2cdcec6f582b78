//! Finds out which tracked files of a work tree were written, without reading any.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

use super::file_stats::stat_all;
use super::folder_notes::stat_below;
use super::verify::{open_top, read_stat};
use super::{Error, Workspace, files};
use crate::git::{IndexEntry, IndexStat};

/// The tracked files of a work tree, in the order of the index, each with its metadata at some moment,
/// which changes when the file is written; `None` for a file that was missing.
///
/// [`Workspace::stamp_prepared_files`] and [`Workspace::stamp_tracked_files`] make the stamps,
/// [`Workspace::touched_files`] compares them with the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamps(Vec<(PathBuf, Option<IndexStat>)>);

impl Workspace {
    /// Returns the stamps of the tracked files as they were when the work tree was prepared, whatever
    /// has happened to them since. No process, and no file is looked at.
    pub fn stamp_prepared_files(&self) -> Result<FileStamps, Error> {
        let entries = self.index_entries()?;
        let files = entries.iter().filter(|entry| !entry.is_gitlink());
        let stamp = |entry: &IndexEntry| (entry.path.clone(), Some(without_owner(entry.stat)));
        Ok(FileStamps(files.map(stamp).collect()))
    }

    /// Returns the stamps of the tracked files as they are now. No process.
    pub fn stamp_tracked_files(&self) -> Result<FileStamps, Error> {
        let mut stamps = self.stamp_prepared_files()?;
        let now = self.stamps_now(&stamps)?;
        for ((_, stamp), now) in stamps.0.iter_mut().zip(now) {
            *stamp = now;
        }
        Ok(stamps)
    }

    /// Stamps some files anew, as they are now. No process.
    pub fn renew_stamps(&self, stamps: &mut FileStamps, paths: &[PathBuf]) -> Result<(), Error> {
        let tree = self.tree_dir();
        let top = open_top(&tree).map_err(files::io_error("read", &tree))?;
        for path in paths {
            let bytes = path.as_os_str().as_bytes();
            let at = stamps
                .0
                .binary_search_by(|(known, _)| known.as_os_str().as_bytes().cmp(bytes));
            if let Ok(at) = at {
                stamps.0[at].1 = stamp_below(&top, path);
            }
        }
        Ok(())
    }

    /// Returns the present stamps of the same files. A file that cannot be looked at counts as
    /// missing.
    fn stamps_now(&self, stamps: &FileStamps) -> Result<Vec<Option<IndexStat>>, Error> {
        let tree = self.tree_dir();
        let top = open_top(&tree).map_err(files::io_error("read", &tree))?;
        let paths: Vec<&Path> = stamps.0.iter().map(|(path, _)| path.as_path()).collect();
        let stamp = |found: Option<Stat>| Some(without_owner(read_stat(&found?)));
        Ok(match stat_all(&top, &paths) {
            Ok(found) => found.into_iter().map(stamp).collect(),
            Err(_) => paths.iter().map(|path| stamp_below(&top, path)).collect(),
        })
    }

    /// Returns the files that have another stamp now. No process.
    pub fn touched_files(&self, stamps: &FileStamps) -> Result<Vec<PathBuf>, Error> {
        let now = self.stamps_now(stamps)?;
        let both = stamps.0.iter().zip(now);
        let touched = both.filter(|((_, before), now)| before != now);
        Ok(touched.map(|((path, _), _)| path.clone()).collect())
    }
}

/// A file that cannot be looked at counts as missing.
fn stamp_below(top: &std::os::fd::OwnedFd, path: &Path) -> Option<IndexStat> {
    let found = stat_below(top, path).ok().flatten()?;
    Some(without_owner(read_stat(&found)))
}

/// The index has the owner that a file has in the sandbox. A change of the owner changes the time, too.
fn without_owner(stat: IndexStat) -> IndexStat {
    IndexStat {
        owner: (0, 0),
        ..stat
    }
}
