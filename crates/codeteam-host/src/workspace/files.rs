//! Creates and removes files and directories of a workspace. Nothing here follows a symbolic link:
//! a worker may have put one anywhere in its tree.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::path::{Component, Path};

use super::Error;
use crate::git::IndexEntry;
use crate::walk::{self, WalkEntry, WalkVisitor};

pub(super) fn io_error<'a>(
    operation: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io {
        operation,
        path: path.to_owned(),
        source,
    }
}

pub(super) fn create_dir(path: &Path) -> Result<(), Error> {
    loop {
        match fs::create_dir_all(path) {
            // It existed when it was to be created, and was removed before it was looked at.
            Err(error)
                if error.kind() == ErrorKind::AlreadyExists
                    && path
                        .symlink_metadata()
                        .is_err_and(|e| e.kind() == ErrorKind::NotFound) => {}
            done => return done.map_err(io_error("create", path)),
        }
    }
}

/// Creates a directory, or accepts an existing one if it is empty.
pub(super) fn create_empty(path: &Path) -> Result<(), Error> {
    create_dir(path)?;
    match fs::read_dir(path).map_err(io_error("read", path))?.next() {
        None => Ok(()),
        Some(_) => Err(Error::NotEmpty {
            path: path.to_owned(),
        }),
    }
}

/// Writes a file atomically: completely or not at all.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let new = path.with_extension("new");
    fs::write(&new, bytes).map_err(io_error("write", &new))?;
    fs::rename(&new, path).map_err(io_error("write", path))
}

/// Removes a file, or a symbolic link itself. It is fine if it does not exist.
pub(super) fn remove_file(path: &Path) -> Result<(), Error> {
    absent_is_fine(fs::remove_file(path)).map_err(io_error("remove", path))
}

/// Removes whatever is at `path`, even if its directories were made read-only, as some package
/// caches do.
pub fn remove_tree(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return remove_file(path),
        Err(error) => return absent_is_fine(Err(error)).map_err(io_error("remove", path)),
    }
    absent_is_fine(walk::remove_tree(path)).map_err(io_error("remove", path))
}

/// Does the same for a directory that is likely to contain many others.
pub(super) fn remove_large_tree(directory: &Path) -> Result<(), Error> {
    absent_is_fine(walk::remove_large_tree(directory)).map_err(io_error("remove", directory))
}

/// Removes everything in a directory but keeps the directory.
pub(super) fn empty_directory(directory: &Path) -> Result<(), Error> {
    remove_tree(directory)?;
    create_dir(directory)
}

/// Returns true if every component of `path` below `root` is a real directory.
pub(super) fn is_inside(root: &Path, path: &Path) -> bool {
    let mut current = root.to_owned();
    path.components().all(|component| {
        current.push(component);
        let plain = matches!(component, Component::Normal(_));
        plain
            && current
                .symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir())
    })
}

/// Removes everything under `tree` that is not tracked, except its own `.git`.
pub(super) fn remove_untracked(tree: &Path, tracked: &[IndexEntry]) -> Result<(), Error> {
    let mut directories = HashSet::new();
    for entry in tracked {
        for ancestor in entry.path.ancestors().skip(1) {
            // Its own ancestors have been added by then, too.
            if !directories.insert(ancestor) {
                break;
            }
        }
    }
    let mut sweeper = UntrackedSweeper {
        directories,
        leaves: tracked.iter().map(|entry| entry.path.as_path()).collect(),
    };
    walk::walk_tree(tree, &mut sweeper).map_err(io_error("sweep", tree))
}

struct UntrackedSweeper<'a> {
    directories: HashSet<&'a Path>,
    leaves: HashSet<&'a Path>,
}

impl WalkVisitor for UntrackedSweeper<'_> {
    fn opened(&mut self, path: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
        walk::refuse_mount(path, folder)
    }

    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        if folder.path == Path::new(".git") {
            return Ok(false);
        }
        // A tracked directory is a submodule: it stays, empty.
        if self.directories.contains(folder.path) || self.leaves.contains(folder.path) {
            return Ok(true);
        }
        folder.remove()?;
        Ok(false)
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        if entry.path == Path::new(".git") || self.leaves.contains(entry.path) {
            return Ok(());
        }
        entry.remove()
    }
}

/// Removes the `.git` of every repository below `tree`, but not its own.
pub(super) fn remove_nested_git(tree: &Path) -> Result<(), Error> {
    walk::walk_tree(tree, &mut NestedGitRemover).map_err(io_error("look for repositories in", tree))
}

struct NestedGitRemover;

impl WalkVisitor for NestedGitRemover {
    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        if folder.name() != ".git" {
            return Ok(true);
        }
        if folder.path != Path::new(".git") {
            folder.remove()?;
        }
        Ok(false)
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        if entry.name() == ".git" && entry.path != Path::new(".git") {
            entry.remove()?;
        }
        Ok(())
    }
}

fn absent_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
