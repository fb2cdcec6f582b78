//! Notes what the folders of a work tree were like when git had written it, so that the folders that
//! nobody has touched since need not be read again.
//!
//! The time of a folder's last change is set whenever an entry comes, goes or gets another name, and
//! with its permissions, owner, flags and attributes. So a folder that has the inode and the times that
//! were noted holds the entries that it held then; see [`verify`](super::verify) for which times are
//! trusted. What is *in* its files, and in the folders below it, says nothing about it: each of them is
//! looked at by itself.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};
use rustix::io::Errno;

/// The numbers that are noted of a folder.
const NUMBERS: usize = 9;

/// What the folders of a work tree were like, by their path in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FolderNotes {
    folders: HashMap<PathBuf, [i64; NUMBERS]>,
    /// Folders that changed at this time or later are not trusted. Seconds and nanoseconds.
    noted_at: (i64, i64),
}

impl FolderNotes {
    /// Parses the notes that were written at this time. Returns `None` if they are broken.
    pub(super) fn parse(bytes: &[u8], noted_at: (u32, u32)) -> Option<Self> {
        let mut folders = HashMap::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|&byte| byte == 0)?;
            let (path, after) = (rest.get(..end)?, rest.get(end + 1..)?);
            let (numbers, after) = after.split_at_checked(NUMBERS * 8)?;
            let mut noted = [0; NUMBERS];
            for (number, bytes) in noted.iter_mut().zip(numbers.chunks_exact(8)) {
                *number = i64::from_be_bytes(bytes.try_into().ok()?);
            }
            folders.insert(OsString::from_vec(path.to_vec()).into(), noted);
            rest = after;
        }
        Some(Self {
            folders,
            noted_at: (i64::from(noted_at.0), i64::from(noted_at.1)),
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.folders.len() * 112);
        for (path, noted) in &self.folders {
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
            bytes.extend(noted.iter().flat_map(|number| number.to_be_bytes()));
        }
        bytes
    }

    /// Notes what a folder is like.
    pub(super) fn insert(&mut self, path: &Path, found: &Stat) {
        self.folders.insert(path.to_owned(), numbers_of(found));
    }

    /// Returns true if a folder is as it was noted, and the note can be trusted.
    pub(super) fn is_unchanged(&self, path: &Path, found: &Stat) -> bool {
        let now = numbers_of(found);
        let is_old = (now[0], now[1]) < self.noted_at;
        is_old && self.folders.get(path) == Some(&now)
    }

    /// Returns the paths of all folders.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.folders.keys().map(PathBuf::as_path)
    }
}

fn numbers_of(found: &Stat) -> [i64; NUMBERS] {
    [
        found.st_ctime,
        found.st_ctime_nsec.cast_signed(),
        found.st_mtime,
        found.st_mtime_nsec.cast_signed(),
        found.st_dev.cast_signed(),
        found.st_ino.cast_signed(),
        i64::from(found.st_mode),
        i64::from(found.st_uid),
        i64::from(found.st_gid),
    ]
}

/// Reads the metadata of something below an open folder, without following a link in its place.
/// Returns `None` if there is nothing.
pub(super) fn stat_below(top: impl AsFd, path: &Path) -> io::Result<Option<Stat>> {
    if path.as_os_str().is_empty() {
        return Ok(Some(fstat(top)?));
    }
    match statat(top, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns true for a folder itself, not for a link to one.
pub(super) fn is_folder(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}
