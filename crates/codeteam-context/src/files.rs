//! The files of a tree, wherever they lie: in a folder, or in git's objects.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

/// A file's name and size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileEntry {
    /// Where it is, from the top of the tree, with `/`.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// By what a change shows without reading it, where the system tells.
    pub stamp: Option<FileStamp>,
}

/// What is said of a file's content without reading it. Two equal stamps of one path mean the same
/// content, if they are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FileStamp {
    /// By a file system.
    Touched {
        /// When its content was changed last, in nanoseconds.
        modified: i128,
        /// When anything of it was changed last, in nanoseconds.
        changed: i128,
        /// Which file it is on its disk.
        inode: u64,
    },
    /// By git: the id of the content itself.
    Content([u8; 32]),
}

impl FileStamp {
    /// Whether it says for sure what the content is, if it is looked at now, in nanoseconds. Clocks of
    /// file systems go in steps: a stamp that is young may stay the same over a change.
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

/// What was found when a file was read.
#[derive(Debug)]
pub enum FileContent {
    /// A text.
    Text(String),
    /// Something else: it has a NUL, or is not UTF-8.
    Binary,
    /// More than is read.
    TooLarge,
    /// A link, a pipe, or something else that is no plain file.
    Other,
    /// It is no longer there.
    Gone,
    /// The system does not let it be read.
    Unreadable(io::Error),
}

/// Something that is there and was not taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedPath {
    /// Where it is, as in [`FileEntry::path`]; folders end with `/`.
    pub path: String,
    /// Why.
    pub why: SkipReason,
}

/// Why something was not taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It has a NUL, or is not UTF-8; what is in UTF-16 is neither.
    Binary,
    /// It is larger than files may be.
    TooLarge,
    /// It is a link, which nobody follows.
    Link,
    /// It is a pipe, a socket or a device.
    Special,
    /// It is a repository of its own: a submodule, or one that lies here.
    Repository,
    /// Its path is longer than paths may be.
    TooDeep,
    /// It was gone when it was to be read.
    Gone,
    /// It was changed while it was read.
    Changed,
    /// The system does not let it be read, and says why.
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

/// Files, in the order of their paths, each of which can be read.
pub trait FileSet: Sync {
    /// All of them.
    fn list(&self) -> &[FileEntry];

    /// Reads one, by its place in the list.
    fn read(&self, at: usize) -> FileContent;

    /// What is there and not in the list, in the order of the paths.
    fn skipped(&self) -> &[SkippedPath] {
        &[]
    }
}
