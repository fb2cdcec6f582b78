//! The errors of lending logins. No message contains any part of a file's content.

use std::io;
use std::path::{Path, PathBuf};

/// A failed operation on the user's login or on codeteam's record of a loan.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be read or written.
    #[error("could not {operation} `{}`", path.display())]
    Io {
        /// The operation, as a verb for the message.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The user's file cannot be a login.
    #[error("`{}` is not a credential file of `{cli}`: {reason}", path.display())]
    NotCredentials {
        /// The user's file.
        path: PathBuf,
        /// The CLI that it should belong to.
        cli: &'static str,
        /// The problem with it.
        reason: &'static str,
    },
    /// The worker has renewed the login and the user's file may not be changed. The renewed login
    /// is still in the worker's copy.
    #[error("the login in `{}` was renewed and cannot be updated: `{}` is read-only", path.display(), what.display())]
    ReadOnly {
        /// The user's file.
        path: PathBuf,
        /// The read-only file or directory.
        what: PathBuf,
    },
    /// The record of a loan has a form that codeteam does not write.
    #[error("the record of a login at `{}` cannot be understood", path.display())]
    BrokenRecord {
        /// The path of the record.
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
