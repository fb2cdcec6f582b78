//! The files of a tree, whether they are in a folder or in git's objects.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

/// A file's path and size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileEntry {
    /// The path from the top of the tree, with `/`.
    pub path: String,
    /// The size in bytes.
    pub bytes: u64,
    /// A stamp that reveals changes without reading the file, where the system provides one.
    pub stamp: Option<FileStamp>,
}

/// Identifies a file's content without reading it. Two equal stamps of one path mean the same
/// content, if they are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FileStamp {
    /// A stamp from the file system.
    Touched {
        /// The time of the last content change, in nanoseconds.
        modified: i128,
        /// The time of the last change of any kind, in nanoseconds.
        changed: i128,
        /// The inode number.
        inode: u64,
    },
    /// A stamp from git: the id of the content itself.
    Content([u8; 32]),
}

impl FileStamp {
    /// Returns true if the stamp reliably identifies the content at time `now`, in nanoseconds.
    /// File system clocks advance in steps, so a recent stamp may stay the same across a change.
    pub(crate) fn is_settled(&self, now: i128) -> bool {
        const YOUNG: i128 = 2_000_000_000;
        match self {
            Self::Touched {
                modified, changed, ..
            } => *modified.max(changed) < now - YOUNG,
            Self::Content(_) => true,
        }
    }
}

/// The result of reading a file.
#[derive(Debug)]
pub enum FileContent {
    /// UTF-8 text.
    Text(String),
    /// Binary data: it contains a NUL or is not UTF-8.
    Binary,
    /// More than is read.
    TooLarge,
    /// A link, a pipe, or anything else that is not a regular file.
    Other,
    /// The file no longer exists.
    Gone,
    /// The system does not allow reading the file.
    Unreadable(io::Error),
}

/// A path that exists but was skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedPath {
    /// The path, as in [`FileEntry::path`]; folders end with `/`.
    pub path: String,
    /// Why it was skipped.
    pub reason: SkipReason,
}

/// Why a path was skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It contains a NUL or is not UTF-8, which includes UTF-16.
    Binary,
    /// It is larger than the size limit.
    TooLarge,
    /// It is a link; links are never followed.
    Link,
    /// It is a pipe, a socket or a device.
    Special,
    /// It is a repository of its own: a submodule, or a nested repository.
    Repository,
    /// Its path is longer than the limit.
    TooDeep,
    /// It disappeared before it could be read.
    Gone,
    /// It changed while it was being read.
    Changed,
    /// The system does not allow reading it; the text says why.
    Unreadable(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "binary, or not UTF-8",
            Self::TooLarge => "too large",
            Self::Link => "a link",
            Self::Special => "no plain file",
            Self::Repository => "a repository of its own",
            Self::TooDeep => "too deep",
            Self::Gone => "gone when it was read",
            Self::Changed => "changed while it was read",
            Self::Unreadable(error) => return write!(f, "cannot be read: {error}"),
        })
    }
}

/// A list of readable files, in the order of their paths.
///
/// Everything in this crate that reads a tree takes this trait, so that it works the same on a
/// folder ([`FileTree`](crate::tree::FileTree)) and on a commit. An implementation must keep these
/// promises:
///
/// - The list is sorted by path and does not change. Callers look files up by binary search and
///   refer to them by index.
/// - A settled stamp, where there is one, identifies the content: results are cached by it.
/// - [`read`](Self::read) may be called from several threads, never fails as a whole, and never
///   leaves the tree: a file that has disappeared or is not text is a [`FileContent`] like any
///   other.
pub trait FileSet: Sync {
    /// Returns all files, in the order of their paths.
    fn list(&self) -> &[FileEntry];

    /// Reads the file at an index of the list.
    fn read(&self, at: usize) -> FileContent;

    /// Returns the paths that exist but are not in the list, in order.
    fn skipped(&self) -> &[SkippedPath] {
        &[]
    }
}
