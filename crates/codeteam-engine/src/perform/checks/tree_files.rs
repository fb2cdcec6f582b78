//! Opens files of a worktree that tests have run in: whatever they put there, nothing outside of the
//! worktree is reached, and nothing but a regular file is opened.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};

/// Opens a file of a worktree without following links.
pub(super) fn open_file(tree: &Path, path: &str, how: OFlags) -> io::Result<File> {
    let top = rustix::fs::open(
        tree,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // A pipe would otherwise be waited for.
    let flags = how | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat2(
        top,
        path,
        flags,
        Mode::empty(),
        resolve,
    )?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}
