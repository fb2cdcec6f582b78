//! What can go wrong with a login. No message has anything of a file's content.

use std::io;
use std::path::{Path, PathBuf};

/// A failed operation on the user's login or on codeteam's record of a loan.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be read or written.
    #[error("could not {operation} `{}`", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The user's file is not one that can be a login.
    #[error("`{}` is not a credential file of `{cli}`: {reason}", path.display())]
    NotCredentials {
        /// The user's file.
        path: PathBuf,
        /// Whose it should be.
        cli: &'static str,
        /// What it is instead.
        reason: &'static str,
    },
    /// The worker has renewed the login and the user's file may not be changed. The renewed login
    /// is still where the worker had it.
    #[error("the login in `{}` was renewed and cannot be updated: `{}` is read-only", path.display(), what.display())]
    ReadOnly {
        /// The user's file.
        path: PathBuf,
        /// The file, or its directory.
        what: PathBuf,
    },
    /// The record of a loan is not what codeteam writes.
    #[error("the record of a login at `{}` cannot be understood", path.display())]
    BrokenRecord {
        /// The record.
        path: PathBuf,
    },
}

pub(super) fn io<E: Into<io::Error>>(
    operation: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> Error {
    move |source| Error::Io {
        operation,
        path: path.to_owned(),
        source: source.into(),
    }
}
