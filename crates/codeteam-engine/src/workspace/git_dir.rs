//! Writing the two private git directories of a workspace, file by file: it
//! takes no process, and the result is known to the byte.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Error, Workspace, files};
use crate::git::{ObjectFormat, Oid};

/// The branch a worker finds itself on.
const BRANCH: &str = "refs/heads/work";

impl Workspace {
    /// Makes `collect` a git directory, and keeps what objects it has.
    pub(super) fn write_collector(&self) -> Result<(), Error> {
        let directory = self.directory.join("collect");
        // The index must stay readable by `git::PrivateDir::index`.
        write(&directory, self.repo.format(), "[index]\n\tversion = 2\n")?;
        write_alternates(&directory, &self.borrowed_dirs()?)
    }

    /// Makes `git` and `tree/.git` anew: whatever a worker did there is gone.
    ///
    /// The worker stands on a branch of its own at `head`, with the prepared
    /// tree as its index, so that what goes by git's list of files (`git ls-files`)
    /// goes by what is there; see [`Workspace::unstage`] for those who change it.
    /// Its commits stay here; only its files are collected.
    pub(super) fn write_git_dir(&self, head: &Oid) -> Result<(), Error> {
        let directory = self.git_dir();
        files::remove_tree(&directory)?;
        let identity = "[user]\n\tname = worker\n\temail = worker@localhost\n[gc]\n\tauto = 0\n";
        write(&directory, self.repo.format(), identity)?;
        write_alternates(&directory, &self.object_dirs()?)?;
        let branch = directory.join(BRANCH);
        fs::write(&branch, format!("{head}\n")).map_err(files::io("write", &branch))?;
        let index = directory.join("index");
        fs::copy(self.collector.index_path(), &index).map_err(files::io("write", &index))?;
        let link = self.tree_dir().join(".git");
        files::remove_tree(&link)?;
        self.exclude_from(&directory)?;
        // Relative, so that it also holds where a sandbox shows the workspace
        // in another place.
        fs::write(&link, "gitdir: ../git\n").map_err(files::io("write", &link))
    }

    /// Removes the lock files of git processes that were killed.
    pub(super) fn unlock(&self) -> Result<(), Error> {
        files::remove_file(&self.directory.join("collect/index.lock"))
    }
}

/// The files without which git does not take a directory for its own.
fn write(directory: &Path, format: ObjectFormat, config: &str) -> Result<(), Error> {
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
        fs::write(&path, text).map_err(files::io("write", &path))?;
    }
    Ok(())
}

fn write_alternates(directory: &Path, stores: &[PathBuf]) -> Result<(), Error> {
    let mut text = Vec::new();
    for store in stores {
        quote(store.as_os_str().as_bytes(), &mut text);
        text.push(b'\n');
    }
    let path = directory.join("objects/info/alternates");
    fs::write(&path, text).map_err(files::io("write", &path))
}

/// Quotes as C does, which git reads here; a bare path could begin with `#`.
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
