//! Making and removing files and directories of a workspace. Nothing here
//! follows a symbolic link: a worker may have put one anywhere in its tree.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::Error;
use crate::git::IndexEntry;

pub(super) fn io<'a>(
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
    fs::create_dir_all(path).map_err(io("create", path))
}

/// Makes a directory that must be new, or be there and empty.
pub(super) fn create_empty(path: &Path) -> Result<(), Error> {
    create_dir(path)?;
    match fs::read_dir(path).map_err(io("read", path))?.next() {
        None => Ok(()),
        Some(_) => Err(Error::NotEmpty {
            path: path.to_owned(),
        }),
    }
}

/// Writes a file whole, or not at all.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let new = path.with_extension("new");
    fs::write(&new, bytes).map_err(io("write", &new))?;
    fs::rename(&new, path).map_err(io("write", path))
}

/// Removes a file, or a symbolic link itself; one that is not there is fine.
pub(super) fn remove_file(path: &Path) -> Result<(), Error> {
    absent_is_fine(fs::remove_file(path)).map_err(io("remove", path))
}

/// Removes whatever is at `path`, also if its directories were made read-only,
/// as some package caches do to theirs.
pub(crate) fn remove_tree(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return remove_file(path),
        Err(error) => return absent_is_fine(Err(error)).map_err(io("remove", path)),
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            unlock_directories(path).map_err(io("make writable", path))?;
            absent_is_fine(fs::remove_dir_all(path))
        }
        done => absent_is_fine(done),
    }
    .map_err(io("remove", path))
}

/// Removes what is in a directory, and leaves the directory.
pub(super) fn empty(directory: &Path) -> Result<(), Error> {
    remove_tree(directory)?;
    create_dir(directory)
}

/// Whether every component of `path` below `root` is a real directory.
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
pub(super) fn sweep(tree: &Path, tracked: &[IndexEntry]) -> Result<(), Error> {
    let mut directories = HashSet::new();
    for entry in tracked {
        for ancestor in entry.path.ancestors().skip(1) {
            // Its own ancestors are known by then, too.
            if !directories.insert(ancestor) {
                break;
            }
        }
    }
    let leaves: HashSet<&Path> = tracked.iter().map(|entry| entry.path.as_path()).collect();
    let mut pending = vec![PathBuf::new()];
    while let Some(relative) = pending.pop() {
        let directory = tree.join(&relative);
        for entry in fs::read_dir(&directory).map_err(io("read", &directory))? {
            let entry = entry.map_err(io("read", &directory))?;
            let path = relative.join(entry.file_name());
            let is_directory = entry.file_type().map_err(io("read", &directory))?.is_dir();
            if path == Path::new(".git") {
                continue;
            }
            if is_directory && (directories.contains(&*path) || leaves.contains(&*path)) {
                // A tracked directory is a submodule's: it stays, empty.
                pending.push(path);
            } else if is_directory || !leaves.contains(&*path) {
                remove_tree(&tree.join(&path))?;
            }
        }
    }
    Ok(())
}

/// Removes the `.git` of every repository below `tree`, but not its own.
pub(super) fn dissolve_repositories(tree: &Path) -> Result<(), Error> {
    let mut pending = vec![tree.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).map_err(io("read", &directory))? {
            let entry = entry.map_err(io("read", &directory))?;
            let is_git = entry.file_name() == ".git";
            if is_git && directory != tree {
                remove_tree(&entry.path())?;
            } else if !is_git && entry.file_type().map_err(io("read", &directory))?.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    Ok(())
}

fn absent_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn unlock_directories(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            unlock_directories(&entry.path())?;
        }
    }
    Ok(())
}
