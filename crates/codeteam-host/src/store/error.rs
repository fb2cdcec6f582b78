//! The store's errors, in terms of what its callers wanted to do.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

/// The reason an operation of the store failed.
///
/// Errors can be cloned, because one failed commit is the answer to every write that was in it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Events were appended to the run since the caller read it. Nothing was written.
    #[error("run `{run}` is at event {found}, not {expected}: it was appended to meanwhile")]
    Conflict {
        /// The id of the run.
        run: String,
        /// The sequence number the caller believed to be the last.
        expected: u64,
        /// The actual last sequence number.
        found: u64,
    },
    /// A newer lease was given out: this holder must stop. Nothing was written.
    #[error("run `{run}` was taken over under lease token {by}; this process must let go of it")]
    Fenced {
        /// The id of the run.
        run: String,
        /// The token of the newest lease.
        by: u64,
    },
    /// The lease was never given out, or was released. Nothing was written.
    #[error("run `{run}` can only be written by the holder of its lease, which was released")]
    NoLease {
        /// The id of the run.
        run: String,
    },
    /// Another process works on the run.
    #[error("run `{run}` is held by process {pid} (`{label}`) on `{host}`")]
    Held {
        /// The id of the run.
        run: String,
        /// The holder's process id.
        pid: u32,
        /// The holder's host name.
        host: String,
        /// The label that the holder gave itself.
        label: String,
        /// When it last renewed the lease, in milliseconds since the epoch.
        heartbeat: i64,
    },
    /// No run with this id has been started.
    #[error("there is no run `{run}`")]
    UnknownRun {
        /// The id that was requested.
        run: String,
    },
    /// The message is not waiting in this run's inbox. Nothing was written.
    #[error("entry {id} is not waiting in the inbox of run `{run}`")]
    NotInInbox {
        /// The id of the run.
        run: String,
        /// The number of the message.
        id: i64,
    },
    /// The database was written by a later version of the program.
    #[error(
        "`{path}` has schema version {found}, and this codeteam knows versions up to {known}: \
         use the newer codeteam that wrote it"
    )]
    Newer {
        /// The path of the database.
        path: PathBuf,
        /// The schema version of the database.
        found: u64,
        /// The newest version this program can read.
        known: u64,
    },
    /// The file is not a codeteam database; it was not touched.
    #[error("`{path}` is not a codeteam database: {why}")]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// A description of what it is instead.
        why: &'static str,
    },
    /// The database was overwritten or its disk is failing.
    #[error("`{path}` is damaged: could not {doing} it")]
    Damaged {
        /// The path of the database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
    },
    /// The database is no longer at its path, or another file is.
    #[error(
        "`{path}` was removed, moved or replaced while it was in use: this process lets go of the run"
    )]
    Removed {
        /// The path of the database.
        path: PathBuf,
    },
    /// The disk holding the database is full. Nothing was written.
    #[error("the disk is full: could not {doing} `{path}`; free some space and try again")]
    DiskFull {
        /// The path of the database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
    },
    /// The database, or its directory, cannot be written.
    #[error("`{path}` is read-only: could not {doing} it")]
    ReadOnly {
        /// The path of the database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
    },
    /// Another process kept the database locked for longer than we wait.
    #[error("`{path}` stayed locked by another process: could not {doing} it")]
    Busy {
        /// The path of the database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
    },
    /// `SQLite` reported another error.
    #[error("could not {doing} `{path}`")]
    Sqlite {
        /// The path of the database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
        /// The error of `SQLite`.
        source: Arc<rusqlite::Error>,
    },
    /// The file system or the operating system reported an error.
    #[error("could not {doing} `{path}`")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// The thread that was to commit this write panicked: a bug in codeteam.
    #[error("a write to `{path}` was abandoned by a panic")]
    WriterStopped {
        /// The path of the database.
        path: PathBuf,
    },
}

impl Error {
    /// Adds the operation and the database to a bare `SQLite` error.
    pub(super) fn sqlite(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        let path = path.into();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull { path, doing },
            Some(ErrorCode::SystemIoFailure) if is_full(&source) => Self::DiskFull { path, doing },
            // Reading needs two files beside the database, which `SQLite` has to create.
            Some(ErrorCode::CannotOpen) if !is_folder_writable(&path) => {
                Self::ReadOnly { path, doing }
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path, doing },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path, doing },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, doing },
            // A row refers to another one that does not exist, or does not match the schema.
            None if is_inconsistent(&source) => Self::Damaged { path, doing },
            Some(ErrorCode::NotADatabase) => Self::NotADatabase {
                path,
                why: "it is not an SQLite file",
            },
            _ => Self::Sqlite {
                path,
                doing,
                source: Arc::new(source),
            },
        }
    }

    pub(super) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Self::Io {
            path: path.into(),
            doing,
            source: Arc::new(source),
        }
    }
}

/// Returns true if there was no room for the shared memory that readers of the database need.
fn is_full(error: &rusqlite::Error) -> bool {
    const NO_ROOM_FOR_SHARED_MEMORY: i32 = 4874;
    let error = error.sqlite_error();
    error.is_some_and(|error| error.extended_code == NO_ROOM_FOR_SHARED_MEMORY)
}

fn is_folder_writable(path: &Path) -> bool {
    let folder = path.parent();
    folder.is_some_and(|folder| rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok())
}

fn is_inconsistent(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::QueryReturnedNoRows
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

/// A failure inside one write, before the operation and the database are added.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// `SQLite` failed.
    Sqlite(rusqlite::Error),
    /// The rules of the store forbid the write.
    Refused(Error),
}

impl WriteFailure {
    pub(super) fn into_error(self, path: &Path, doing: &'static str) -> Error {
        match self {
            Self::Sqlite(error) => Error::sqlite(path, doing, error),
            Self::Refused(error) => error,
        }
    }
}

impl From<rusqlite::Error> for WriteFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for WriteFailure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: i32, path: &Path) -> Error {
        let source = rusqlite::ffi::Error::new(code);
        Error::sqlite(path, "open", rusqlite::Error::SqliteFailure(source, None))
    }

    #[test]
    fn a_full_disk_and_a_folder_that_cannot_be_written_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("runs.db");
        let full = of(4874, &there);
        assert!(matches!(full, Error::DiskFull { .. }), "{full:?}");
        let closed = of(14, &folder.path().join("absent/runs.db"));
        assert!(matches!(closed, Error::ReadOnly { .. }), "{closed:?}");
        for (code, path) in [(14, &there), (10, &there)] {
            let other = of(code, path);
            assert!(matches!(other, Error::Sqlite { .. }), "{other:?}");
        }
    }
}
