//! Opens files below a folder and nowhere else, whatever links are there or are put there
//! meanwhile.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::files::FileContent;

/// The length of a path that is opened at once; the system's limit is 4,096 bytes including the
/// terminator.
const AT_ONCE: usize = 4_000;
/// A file with a NUL in this many first bytes is not text.
const LOOKED_AT: usize = 8 << 10;
/// How often an open is repeated when something was renamed meanwhile.
const TRIES: usize = 16;

/// A folder below which files are opened.
#[derive(Debug)]
pub(super) struct RootFolder {
    folder: OwnedFd,
    /// Whether paths must be opened segment by segment, because the system has no `openat2`.
    by_parts: AtomicBool,
}

impl RootFolder {
    pub(super) fn new(folder: OwnedFd) -> Self {
        Self {
            folder,
            by_parts: AtomicBool::new(false),
        }
    }

    /// Opens a folder below; the empty path is this one.
    pub(super) fn open_folder(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        if path.is_empty() {
            return Ok(rustix::fs::openat(
                &self.folder,
                ".",
                flags | OFlags::CLOEXEC,
                Mode::empty(),
            )?);
        }
        Ok(self.open(path, flags)?)
    }

    /// Reads a file below, if it is a regular file, text, and no longer than `max`.
    pub(super) fn read(&self, path: &[u8], max: u64) -> FileContent {
        match self.open(path, FILE) {
            Ok(file) => read_text(file, max),
            Err(Errno::NOENT | Errno::NOTDIR) => FileContent::Gone,
            // A link on the way or at the end, a path out of the folder, or a socket.
            Err(Errno::LOOP | Errno::XDEV | Errno::NXIO) => FileContent::Other,
            Err(error) => FileContent::Unreadable(error.into()),
        }
    }

    /// Opens a path without following links.
    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut above: Option<OwnedFd> = None;
        let mut rest = path;
        loop {
            let parts = self.by_parts.load(Ordering::Relaxed);
            let (now, then) = split(rest, if parts { 0 } else { AT_ONCE });
            let flags = match then {
                Some(_) => OFlags::PATH | OFlags::DIRECTORY,
                None => flags,
            };
            let from = above.as_ref().map_or(self.folder.as_fd(), AsFd::as_fd);
            let opened = if parts {
                open_name(from, now, flags)
            } else {
                match open_beneath(from, now, flags) {
                    // An old kernel, or a seccomp filter that does not know the call.
                    Err(Errno::NOSYS | Errno::PERM) => {
                        self.by_parts.store(true, Ordering::Relaxed);
                        continue;
                    }
                    opened => opened,
                }
            }?;
            match then {
                None => return Ok(opened),
                Some(then) => (above, rest) = (Some(opened), then),
            }
        }
    }
}

/// The flags for opening regular files; opening a pipe must not block.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Reads a regular file in an open folder as bytes, if it is no longer than `max`.
pub(super) fn read_in(folder: BorrowedFd<'_>, name: &str, max: u64) -> io::Result<Vec<u8>> {
    read_bytes(open_name(folder, name.as_bytes(), FILE)?, max)
}

/// Does the same anywhere, and follows links.
pub(super) fn read_at(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = rustix::fs::open(path, FILE | OFlags::CLOEXEC, Mode::empty())?;
    read_bytes(file, max)
}

fn read_bytes(file: OwnedFd, max: u64) -> io::Result<Vec<u8>> {
    if !is_file(&file)? {
        return Err(io::Error::other("is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::from(file).take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("is longer than {max} bytes")));
    }
    Ok(bytes)
}

/// Opens a name in a folder, which must not be a link.
fn open_name(folder: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
        return Err(Errno::XDEV);
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// Opens a path below a folder, without links on the way.
fn open_beneath(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    let mut tried = 0;
    loop {
        match rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve) {
            // Something was renamed meanwhile, so the kernel could not decide.
            Err(Errno::AGAIN) if tried < TRIES => tried += 1,
            opened => return opened,
        }
    }
}

/// Splits off as many path segments as can be opened at once, at least one, and returns the rest.
fn split(path: &[u8], at_once: usize) -> (&[u8], Option<&[u8]>) {
    if path.len() <= at_once {
        return (path, None);
    }
    let within = path.get(..=at_once).unwrap_or(path);
    let end = memchr::memrchr(b'/', within).or_else(|| memchr::memchr(b'/', path));
    match end {
        Some(end) => (&path[..end], Some(&path[end + 1..])),
        None => (path, None),
    }
}

fn is_file(file: &OwnedFd) -> Result<bool, Errno> {
    let found = rustix::fs::fstat(file)?;
    Ok(FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
}

/// Reads a text. The file may grow or shrink meanwhile; only what was read counts.
fn read_text(file: OwnedFd, max: u64) -> FileContent {
    let found = match rustix::fs::fstat(&file) {
        Ok(found) => found,
        Err(error) => return FileContent::Unreadable(error.into()),
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return FileContent::Other;
    }
    let size = u64::try_from(found.st_size).unwrap_or(u64::MAX);
    if size > max {
        return FileContent::TooLarge;
    }
    // One byte more, so that the end is detected without another allocation.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    match File::from(file)
        .take(max.saturating_add(1))
        .read_to_end(&mut bytes)
    {
        Err(error) => return FileContent::Unreadable(error),
        Ok(read) if read as u64 > max => return FileContent::TooLarge,
        Ok(_) => {}
    }
    let start = &bytes[..bytes.len().min(LOOKED_AT)];
    if memchr::memchr(0, start).is_some() {
        return FileContent::Binary;
    }
    String::from_utf8(bytes).map_or(FileContent::Binary, FileContent::Text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn places(folder: &std::path::Path) -> [RootFolder; 2] {
        let open = || OwnedFd::from(fs::File::open(folder).unwrap());
        let by_parts = RootFolder::new(open());
        by_parts.by_parts.store(true, Ordering::Relaxed);
        [RootFolder::new(open()), by_parts]
    }

    #[test]
    fn links_are_not_followed_by_either_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("in/below")).unwrap();
        fs::write(path("in/below/a"), "text").unwrap();
        fs::write(path("secret"), "secret").unwrap();
        symlink("../secret", path("in/file")).unwrap();
        symlink("..", path("in/up")).unwrap();
        symlink("below", path("in/same")).unwrap();
        symlink("loop", path("in/loop")).unwrap();
        for place in places(&path("in")) {
            assert!(matches!(place.read(b"below/a", 4), FileContent::Text(text) if text == "text"));
            assert!(matches!(place.read(b"below/a", 3), FileContent::TooLarge));
            for astray in [
                "file",
                "up/secret",
                "same/a",
                "loop",
                "../secret",
                "below/../../secret",
            ] {
                let read = place.read(astray.as_bytes(), 100);
                assert!(
                    matches!(read, FileContent::Other | FileContent::Gone),
                    "{astray}: {read:?}"
                );
            }
            assert!(matches!(place.read(b"none", 100), FileContent::Gone));
            assert!(matches!(place.read(b"below", 100), FileContent::Other));
            assert!(place.open_folder(b"up").is_err() && place.open_folder(b"below").is_ok());
        }
    }

    #[test]
    fn long_paths_go_in_parts() {
        assert_eq!(split(b"a/b", 10), (&b"a/b"[..], None));
        assert_eq!(split(b"aa/bb/cc", 5), (&b"aa/bb"[..], Some(&b"cc"[..])));
        assert_eq!(split(b"aa/bb/cc", 4), (&b"aa"[..], Some(&b"bb/cc"[..])));
        assert_eq!(split(b"aaaa/b", 2), (&b"aaaa"[..], Some(&b"b"[..])));
        assert_eq!(split(b"aa/bb", 0), (&b"aa"[..], Some(&b"bb"[..])));
        assert_eq!(split(b"aaaa", 0), (&b"aaaa"[..], None));
    }
}
