//! Writes the two private git directories of a workspace, file by file. This takes no process, and
//! the result is known to the byte.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Error, Workspace, files};
use crate::git::{ObjectFormat, Oid};

/// The branch that a worker finds checked out.
const BRANCH: &str = "refs/heads/work";

/// The folders of `collect`, the outer ones first, and the files that
/// [`Workspace::write_collector`] writes.
const COLLECTOR_FOLDERS: &[&str] = &["objects", "objects/info", "refs", "refs/heads"];
const COLLECTOR_FILES: &[&str] = &["HEAD", "config", ALTERNATES];
const ALTERNATES: &str = "objects/info/alternates";

impl Workspace {
    /// Makes `collect` a git directory, keeping the objects it has.
    pub(super) fn write_collector(&self) -> Result<(), Error> {
        let directory = self.directory.join("collect");
        // The index must stay readable by `PrivateGitDir::read_index`.
        write_git_files(
            &directory,
            self.repo.object_format(),
            "[index]\n\tversion = 2\n",
        )?;
        write_alternates(&directory, &self.borrowed_dirs()?)
    }

    /// Removes everything from `collect` that [`Workspace::write_collector`] does not write again: the
    /// objects, the index, and whatever is in the place of a file or folder.
    ///
    /// The rest stays because ext4 does not use the inodes of removed files again for a minute, and looks
    /// at each of them whenever it needs a new one. No sandbox shows `collect` to a worker. What a
    /// worker could write, `git`, is removed and made anew.
    pub(super) fn reduce_collector(&self) -> Result<(), Error> {
        let directory = self.directory.join("collect");
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        // Joined with an empty name, the path of a link would lead to what it points to.
        let inner = COLLECTOR_FOLDERS
            .iter()
            .map(|folder| (directory.join(folder), *folder));
        for (path, folder) in [(directory.clone(), "")].into_iter().chain(inner) {
            if !is_folder(&path) {
                files::remove_tree(&path)?;
                continue;
            }
            let read = || fs::read_dir(&path)?.collect::<io::Result<Vec<_>>>();
            for entry in read().map_err(files::io_error("read", &path))? {
                let name = Path::new(folder).join(entry.file_name());
                let mut known = COLLECTOR_FOLDERS.iter().chain(COLLECTOR_FILES);
                if !known.any(|known| Path::new(known) == name) {
                    files::remove_tree(&entry.path())?;
                }
            }
        }
        let is_plain = |found: &Metadata| found.is_file() && found.nlink() == 1;
        for file in COLLECTOR_FILES {
            let path = directory.join(file);
            if !path.symlink_metadata().is_ok_and(|found| is_plain(&found)) {
                files::remove_tree(&path)?;
            }
        }
        Ok(())
    }

    /// Recreates `git` and `tree/.git`: whatever a worker did there is gone.
    ///
    /// The worker starts on its own branch at `head`, with the prepared tree as its index, so that
    /// tools that use git's list of files (`git ls-files`) see the files that are there; see
    /// [`Workspace::unstage`] for workers that change them. Its commits stay here; only its files
    /// are collected.
    pub(super) fn write_git_dir(&self, head: &Oid) -> Result<(), Error> {
        let directory = self.git_dir();
        files::remove_tree(&directory)?;
        let identity = "[user]\n\tname = worker\n\temail = worker@localhost\n[gc]\n\tauto = 0\n";
        write_git_files(&directory, self.repo.object_format(), identity)?;
        write_alternates(&directory, &self.object_dirs()?)?;
        let branch = directory.join(BRANCH);
        fs::write(&branch, format!("{head}\n")).map_err(files::io_error("write", &branch))?;
        let index = directory.join("index");
        fs::copy(self.collector.index_path(), &index).map_err(files::io_error("write", &index))?;
        let link = self.tree_dir().join(".git");
        files::remove_tree(&link)?;
        self.exclude_from(&directory)?;
        // The path is relative, so that it also holds where a sandbox shows the workspace in
        // another place.
        fs::write(&link, "gitdir: ../git\n").map_err(files::io_error("write", &link))
    }

    /// Removes the lock files of git processes that were killed.
    pub(super) fn remove_stale_locks(&self) -> Result<(), Error> {
        files::remove_file(&self.directory.join("collect/index.lock"))
    }
}

/// Writes the files without which git does not recognise a directory as its own.
fn write_git_files(directory: &Path, format: ObjectFormat, config: &str) -> Result<(), Error> {
    for part in ["objects/info", "refs/heads"] {
        files::create_dir(&directory.join(part))?;
    }
    let version = match format {
        ObjectFormat::Sha1 => "\trepositoryFormatVersion = 0\n",
        ObjectFormat::Sha256 => {
            "\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n"
        }
    };
    let config = format!("[core]\n\tbare = false\n{version}{config}");
    for (name, text) in [("HEAD", format!("ref: {BRANCH}\n")), ("config", config)] {
        let path = directory.join(name);
        fs::write(&path, text).map_err(files::io_error("write", &path))?;
    }
    Ok(())
}

fn write_alternates(directory: &Path, stores: &[PathBuf]) -> Result<(), Error> {
    let mut text = Vec::new();
    for store in stores {
        quote(store.as_os_str().as_bytes(), &mut text);
        text.push(b'\n');
    }
    let path = directory.join(ALTERNATES);
    fs::write(&path, text).map_err(files::io_error("write", &path))
}

/// Quotes in the style of C, which git reads here; a bare path could begin with `#`.
fn quote(path: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for &byte in path {
        match byte {
            b'\n' => text.extend(b"\\n"),
            b'"' | b'\\' => text.extend([b'\\', byte]),
            _ => text.push(byte),
        }
    }
    text.push(b'"');
}
