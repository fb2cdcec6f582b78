//! What can go wrong in the store, in the words of its callers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

/// Why the store did not do what it was asked.
///
/// It can be cloned because one failed commit is the answer to every write that
/// was in it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The run has moved on since the caller read it. Nothing was written.
    #[error("run `{run}` is at event {found}, not {expected}: it was appended to meanwhile")]
    Conflict {
        /// The run.
        run: String,
        /// The sequence number the caller believed to be the last.
        expected: u64,
        /// The one that is.
        found: u64,
    },
    /// A newer lease was given out: this holder must stop. Nothing was written.
    #[error("run `{run}` was taken over under lease token {by}; this process must let go of it")]
    Fenced {
        /// The run.
        run: String,
        /// The token of the newest lease.
        by: u64,
    },
    /// The lease was never given out, or was released. Nothing was written.
    #[error("run `{run}` can only be written by the holder of its lease, which was released")]
    NoLease {
        /// The run.
        run: String,
    },
    /// Somebody else works on the run.
    #[error("run `{run}` is held by process {pid} (`{label}`) on `{host}`")]
    Held {
        /// The run.
        run: String,
        /// The holder's process id.
        pid: u32,
        /// The holder's host name.
        host: String,
        /// What the holder called itself.
        label: String,
        /// When it last showed that it lives, in milliseconds since the epoch.
        heartbeat: i64,
    },
    /// No run with this id has been started.
    #[error("there is no run `{run}`")]
    UnknownRun {
        /// The id that was asked for.
        run: String,
    },
    /// The entry is not waiting in this run's inbox. Nothing was written.
    #[error("entry {id} is not waiting in the inbox of run `{run}`")]
    NotInInbox {
        /// The run.
        run: String,
        /// The entry.
        id: i64,
    },
    /// The database was written by a later version of the program.
    #[error(
        "`{path}` has schema version {found}, and this codeteam knows versions up to {known}: \
         use the newer codeteam that wrote it"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: u64,
        /// The newest version this program reads.
        known: u64,
    },
    /// The file is something else; it was not touched.
    #[error("`{path}` is not a codeteam database: {why}")]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// The database was overwritten or its disk is failing.
    #[error("`{path}` is damaged: could not {doing} it")]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
    },
    /// The disk holding the database is full. Nothing was written.
    #[error("the disk is full: could not {doing} `{path}`; free some space and try again")]
    DiskFull {
        /// The database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
    },
    /// The database, or its directory, cannot be written.
    #[error("`{path}` is read-only: could not {doing} it")]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
    },
    /// Another process kept the database locked for longer than we wait.
    #[error("`{path}` stayed locked by another process: could not {doing} it")]
    Busy {
        /// The database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
    },
    /// Anything else `SQLite` reports.
    #[error("could not {doing} `{path}`")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
        /// The cause.
        source: Arc<rusqlite::Error>,
    },
    /// The filesystem or the operating system refused.
    #[error("could not {doing} `{path}`")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
        /// The cause.
        source: Arc<io::Error>,
    },
    /// The thread that was to commit this write panicked: a defect of codeteam.
    #[error("a write to `{path}` was abandoned by a panic")]
    WriterStopped {
        /// The database.
        path: PathBuf,
    },
}

impl Error {
    /// Names the operation and the database a bare `SQLite` error is about.
    pub(super) fn sqlite(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        let path = path.into();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull { path, doing },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path, doing },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path, doing },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, doing },
            // A row that another one names is not there, or is not what the schema says.
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

/// A failure inside one write, before it is known which database it was about.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// `SQLite` failed.
    Sqlite(rusqlite::Error),
    /// The rules of the store forbid it.
    Refused(Error),
}

impl WriteFailure {
    pub(super) fn at(self, path: &Path, doing: &'static str) -> Error {
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
