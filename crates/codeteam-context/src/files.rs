//! The files of a tree, wherever they lie: in a folder, or in git's objects.

use std::io;

/// A file's name and size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// Where it is, from the top of the tree, with `/`.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// By what a change shows without reading it, where the system tells.
    pub stamp: Option<Stamp>,
}

/// What the system says of a file's content. Two equal stamps mean the same content, if the younger
/// of the file's times is safely past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// When its content was changed last, in nanoseconds.
    pub modified: i128,
    /// When anything of it was changed last, in nanoseconds.
    pub changed: i128,
    /// Which file it is on its disk.
    pub inode: u64,
}

/// What was found when a file was read.
#[derive(Debug)]
pub enum Content {
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

/// Files, in the order of their paths, each of which can be read.
pub trait Files: Sync {
    /// All of them.
    fn list(&self) -> &[File];

    /// Reads one, by its place in the list.
    fn read(&self, at: usize) -> Content;
}
