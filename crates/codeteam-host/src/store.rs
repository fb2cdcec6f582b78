//! The event log, in `SQLite`. This is the only place with SQL.
//!
//! A run is the sequence of its events; they are appended and never changed. The database also
//! holds one row per run for `status`, the inbox through which people and other processes reach a
//! run, and the leases that keep two processes from working on the same run. The store does not
//! know what an event means: kinds and data are plain text to it.
//!
//! All writes that are waiting are committed together (`writer`). Reads use their own connections
//! and never wait for a write (`read`). Nothing is acknowledged before it is on the disk.

mod append;
mod error;
mod lease;
mod process_identity;
mod read;
mod schema;
mod watch;
mod writer;
mod writer_cache;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

pub use error::Error;
use error::WriteFailure;
pub use lease::{Lease, LeaseHolder};
pub use process_identity::ProcessIdentity;
use read::ReaderPool;
use schema::SchemaState;
pub use watch::{StoreWatch, WatchInterrupt, WatchOutcome};
use writer::StoreWriter;

/// A handle on the database, usable from any number of threads; clones share it.
///
/// To work on a run, a process first takes its lease with [`Store::take_lease`] and renews it with
/// [`Store::heartbeat`]. Every [`Store::append`] names the lease's token and the last sequence
/// number the caller has seen, so an append by a process that has lost its lease, or has missed an
/// event, is refused inside the transaction. [`Store::release`] gives the lease up.
///
/// Reading needs no lease, and neither does [`Store::post`], which is how other processes send a
/// message to whoever holds the run. Messages stay in the [`Store::inbox`] until an append lists
/// them as consumed.
///
/// ```ignore
/// let lease = store.take_lease("run-1", &owner, now, 30_000)?;
/// let token = lease.token;
/// let first = AppendRequest { run, expected_seq: 0, token, at: now, events, consumed, row };
/// let seq = store.append(first)?; // on the disk when this returns
/// store.release(&lease)?;
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<StoreInner>,
}

/// Fields are dropped in this order: the writer's connection closes last, and so leaves a single
/// tidy file behind.
#[derive(Debug)]
struct StoreInner {
    path: PathBuf,
    /// The file that was opened, whatever is at the path by now.
    file: Option<FileIdentity>,
    readers: ReaderPool,
    /// `PRAGMA data_version` is only comparable within one connection, so one is kept for it.
    versions: Mutex<Option<Connection>>,
    writer: StoreWriter,
}

/// The device and the inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity(u64, u64);

impl FileIdentity {
    /// Returns `None` if there is no file, or nothing can be said about it.
    fn read(path: &Path) -> Option<Self> {
        let found = path.metadata().ok()?;
        Some(Self(found.dev(), found.ino()))
    }
}

/// The events of one input, which are written together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendRequest {
    /// The id of the run.
    pub run: String,
    /// The sequence number of the last event the caller has seen; 0 for a new run.
    pub expected_seq: u64,
    /// The token of the lease under which the caller works.
    pub token: u64,
    /// The time of the events, in milliseconds since the epoch.
    pub at: i64,
    /// The events, in order.
    pub events: Vec<NewEvent>,
    /// The ids of the inbox messages that these events answer.
    pub consumed: Vec<i64>,
    /// The new content of the run's row; `None` leaves it as it is. A run's first append needs one.
    pub row: Option<RunUpdate>,
}

/// An event to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The name of the event's variant.
    pub kind: String,
    /// The version of the event's format.
    pub version: u32,
    /// The content, as JSON.
    pub data: String,
}

/// An event as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// The position in the run, counted from 1 without gaps.
    pub seq: u64,
    /// The position in the log of all runs. Within a run it grows with `seq`, with gaps.
    pub row: i64,
    /// The time of the event, in milliseconds since the epoch.
    pub at: i64,
    /// The name of the event's variant.
    pub kind: String,
    /// The version of the event's format.
    pub version: u32,
    /// The content, as JSON.
    pub data: String,
}

/// The fields of the run's row that an append sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunUpdate {
    /// The goal as the user wrote it.
    pub goal: String,
    /// When the run was started, in milliseconds since the epoch; later updates do not change it.
    pub created_at: i64,
    /// The state of the run, in one word.
    pub status: String,
    /// The state of the run, in one line.
    pub headline: String,
}

/// A run, as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The id of the run.
    pub id: String,
    /// The goal as the user wrote it.
    pub goal: String,
    /// When the run was started, in milliseconds since the epoch.
    pub created_at: i64,
    /// The sequence number of the last event.
    pub seq: u64,
    /// The state of the run, in one word.
    pub status: String,
    /// The state of the run, in one line.
    pub headline: String,
    /// The time of the last event, in milliseconds since the epoch.
    pub updated_at: i64,
}

/// A message waiting for the process that holds the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// The message's number; later messages have larger ones.
    pub id: i64,
    /// When the message was posted, in milliseconds since the epoch.
    pub at: i64,
    /// The content, as JSON.
    pub data: String,
}

impl Store {
    /// Opens the database, creating it and its directory if they do not exist.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if exists(path)?
            && let (conn, SchemaState::Current) = schema::inspect(path)?
        {
            return Ok(Self::new(path, conn));
        }
        schema::migrate(path)?;
        Ok(Self::new(path, schema::reader(path)?))
    }

    /// Opens the database if it exists. Creates nothing.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, Error> {
        if !exists(path)? {
            return Ok(None);
        }
        match schema::inspect(path)? {
            (conn, SchemaState::Current) => Ok(Some(Self::new(path, conn))),
            // Its creator has not finished yet, or died: there is nothing in it.
            (_, SchemaState::Empty) => Ok(None),
            (conn, SchemaState::Old) => {
                drop(conn);
                Self::open(path).map(Some)
            }
        }
    }

    /// Appends events to a run and returns its new last sequence number.
    ///
    /// Fails with [`Error::Fenced`] or [`Error::NoLease`] if the caller no longer holds the lease,
    /// and with [`Error::Conflict`] if events were appended meanwhile.
    pub fn append(&self, append: AppendRequest) -> Result<u64, Error> {
        self.shared.writer.append(append).wait()
    }

    /// Returns the events of a run after sequence number `after`, in order.
    pub fn events(&self, run: &str, after: u64) -> Result<Vec<StoredEvent>, Error> {
        let mut events = Vec::new();
        self.for_each_event(run, after, |event| {
            events.push(event);
            Ok::<(), Error>(())
        })?;
        Ok(events)
    }

    /// Calls `each` for the events of a run after `after`, one at a time and in order, from one
    /// snapshot of the database. Stops at the first error.
    pub fn for_each_event<E: From<Error>>(
        &self,
        run: &str,
        after: u64,
        each: impl FnMut(StoredEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let readers = &self.shared.readers;
        readers.with_connection(|conn| read::events(conn, run, after, each))?
    }

    /// Returns at most `limit` events of a run, from those rows of the log, in order. Unlike
    /// [`Store::for_each_event`] this does not notice missing events; `seq` tells.
    pub fn events_in_rows(
        &self,
        run: &str,
        rows: RangeInclusive<i64>,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        self.shared
            .readers
            .with_connection(|conn| read::events_in_rows(conn, run, &rows, limit))
    }

    /// Returns all runs, newest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, Error> {
        self.shared.readers.with_connection(read::runs)
    }

    /// Returns a run whose id could not name a folder, if there is one. codeteam does not write
    /// such ids.
    pub fn misnamed_run(&self) -> Result<Option<String>, Error> {
        self.shared.readers.with_connection(read::misnamed_run)
    }

    /// Reads the whole database, and fails with [`Error::Damaged`] if something in it is not as it
    /// was written. Takes as long as reading the file.
    pub fn verify(&self) -> Result<(), Error> {
        self.shared.readers.with_connection(read::verify)
    }

    /// Returns one run, if it exists.
    pub fn run(&self, id: &str) -> Result<Option<RunRow>, Error> {
        self.shared
            .readers
            .with_connection(|conn| read::run(conn, id))
    }

    /// Leaves a message for whoever holds the run and returns its number. Any process may do this,
    /// without a lease.
    pub fn post(&self, run: &str, at: i64, data: &str) -> Result<i64, Error> {
        self.post_instead(run, at, data, &[])
    }

    /// Does the same, and withdraws the messages in `replaced` unless they were consumed already.
    pub fn post_instead(
        &self,
        run: &str,
        at: i64,
        data: &str,
        replaced: &[i64],
    ) -> Result<i64, Error> {
        let (run, data, replaced) = (run.to_owned(), data.to_owned(), replaced.to_vec());
        self.write("post to", move |conn| {
            append::post(conn, &run, at, &data, &replaced)
        })
    }

    /// Returns the messages of a run that no append has consumed, in order.
    pub fn inbox(&self, run: &str) -> Result<Vec<InboxRow>, Error> {
        self.shared
            .readers
            .with_connection(|conn| read::inbox(conn, run))
    }

    /// Returns the sequence number of the last event of the append that consumed a message, if one
    /// has.
    pub fn consumed_at(&self, message: i64) -> Result<Option<u64>, Error> {
        self.shared
            .readers
            .with_connection(|conn| read::consumed_at(conn, message))
    }

    /// Returns a number that changes when anything is committed to the database, by this process or
    /// another. It is only meaningful in comparison with an earlier value from the same store.
    pub fn data_version(&self) -> Result<i64, Error> {
        let mut slot = lock(&self.shared.versions);
        let conn = match slot.take() {
            Some(conn) => conn,
            None => schema::reader(&self.shared.path)?,
        };
        let version = read::data_version(slot.insert(conn));
        version.map_err(|e| self.shared.readers.error(e))
    }

    /// Returns a way to wait for changes of the database, by this process or another. Every thread
    /// that waits has its own.
    pub fn watch(&self) -> Result<StoreWatch, Error> {
        StoreWatch::new(&self.shared.path, &self.shared.writer.watches)
    }

    /// Takes the lease of a run, which need not exist yet.
    ///
    /// Fails with [`Error::Held`] if another owner has it. An owner whose process is certainly gone
    /// is replaced at once; any other owner, this very process included, once its heartbeat is more
    /// than `stale_after_ms` old.
    pub fn take_lease(
        &self,
        run: &str,
        owner: &ProcessIdentity,
        now: i64,
        stale_after_ms: i64,
    ) -> Result<Lease, Error> {
        let (run, owner) = (run.to_owned(), owner.clone());
        self.write("take a lease in", move |conn| {
            lease::take_lease(conn, &run, &owner, now, stale_after_ms)
        })
    }

    /// Renews the lease's heartbeat. Fails with [`Error::Fenced`] if the lease was taken over, and
    /// with [`Error::Removed`] if the database was removed or moved: `SQLite` would go on writing to
    /// the file that nobody finds any more.
    pub fn heartbeat(&self, lease: &Lease, now: i64) -> Result<(), Error> {
        if self.shared.file != FileIdentity::read(&self.shared.path) {
            return Err(Error::Removed {
                path: self.shared.path.clone(),
            });
        }
        let lease = lease.clone();
        self.write("renew a lease in", move |conn| {
            lease::heartbeat(conn, &lease, now)
        })
    }

    /// Gives the lease up. Fails with [`Error::Fenced`] if it was taken over.
    pub fn release(&self, lease: &Lease) -> Result<(), Error> {
        let lease = lease.clone();
        self.write("release a lease in", move |conn| {
            lease::release(conn, &lease)
        })
    }

    /// Returns the holder of the run's lease. Its process may be gone: see
    /// [`ProcessIdentity::is_gone`].
    pub fn holder(&self, run: &str) -> Result<Option<LeaseHolder>, Error> {
        self.shared
            .readers
            .with_connection(|conn| lease::holder(conn, run))
    }

    /// Returns the number of transactions this store has committed.
    pub fn commits(&self) -> u64 {
        self.shared.writer.commits()
    }

    fn new(path: &Path, reader: Connection) -> Self {
        let shared = StoreInner {
            path: path.into(),
            file: FileIdentity::read(path),
            readers: ReaderPool::new(path, reader),
            versions: Mutex::new(None),
            writer: StoreWriter::new(path),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, WriteFailure> + Send + 'static,
    ) -> Result<T, Error> {
        self.shared.writer.submit(doing, work).wait()
    }
}

fn exists(path: &Path) -> Result<bool, Error> {
    path.try_exists().map_err(|e| Error::io(path, "inspect", e))
}

/// Locks a mutex even if it is poisoned: a panic elsewhere leaves a connection as usable as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
