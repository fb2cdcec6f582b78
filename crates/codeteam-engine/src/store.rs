//! The event log, in `SQLite`. The only place with SQL.
//!
//! A run is the sequence of its events; they are appended and never changed.
//! Beside them are one row per run for `status`, the inbox through which people
//! and other processes reach a run, and the leases that keep two processes from
//! working on the same run. The store does not know what an event means: kinds
//! and data are text to it.
//!
//! Writes of all threads that wait are committed at once (`writer`). Reads use their own connections and never wait
//! for a write (`read`). Nothing is acknowledged before it is on the disk.

mod append;
mod error;
mod known;
mod lease;
mod owner;
mod read;
mod schema;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

pub use error::Error;
use error::WriteFailure;
pub use lease::{Lease, LeaseHolder};
pub use owner::ProcessIdentity;
use read::ReaderPool;
use schema::SchemaState;
use writer::StoreWriter;

/// A handle on the database, for any number of threads; clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<StoreInner>,
}

/// Fields are dropped in this order: the writer's connection closes last, and
/// so leaves a single tidy file behind.
#[derive(Debug)]
struct StoreInner {
    path: PathBuf,
    readers: ReaderPool,
    /// `PRAGMA data_version` only means something within one connection.
    versions: Mutex<Option<Connection>>,
    writer: StoreWriter,
}

/// The events of one input, to be written all or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendRequest {
    /// The run.
    pub run: String,
    /// The last event the caller has seen; 0 for a new run.
    pub expected_seq: u64,
    /// The token of the lease under which the caller works.
    pub token: u64,
    /// The time of the events, in milliseconds since the epoch.
    pub at: i64,
    /// What happened, in order.
    pub events: Vec<NewEvent>,
    /// The inbox entries these events answer.
    pub consumed: Vec<i64>,
    /// The run's new row; `None` leaves it as it is. A run's first append needs
    /// one.
    pub row: Option<RunUpdate>,
}

/// An event to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The name of its variant.
    pub kind: String,
    /// The version of its format.
    pub version: u32,
    /// Its content, as JSON.
    pub data: String,
}

/// An event as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place in the run, counted from 1 without gaps.
    pub seq: u64,
    /// Its time, in milliseconds since the epoch.
    pub at: i64,
    /// The name of its variant.
    pub kind: String,
    /// The version of its format.
    pub version: u32,
    /// Its content, as JSON.
    pub data: String,
}

/// What an append sets in the run's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunUpdate {
    /// What the user asked for.
    pub goal: String,
    /// When the run was started; later updates do not change it.
    pub created_at: i64,
    /// How it stands, in one word.
    pub status: String,
    /// How it stands, in one line.
    pub headline: String,
}

/// A run, as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The run.
    pub id: String,
    /// What the user asked for.
    pub goal: String,
    /// When it was started, in milliseconds since the epoch.
    pub created_at: i64,
    /// Its last event.
    pub seq: u64,
    /// How it stands, in one word.
    pub status: String,
    /// How it stands, in one line.
    pub headline: String,
    /// The time of its last event, in milliseconds since the epoch.
    pub updated_at: i64,
}

/// A message that waits for the holder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// Its number; later messages have larger ones.
    pub id: i64,
    /// When it was posted, in milliseconds since the epoch.
    pub at: i64,
    /// Its content, as JSON.
    pub data: String,
}

impl Store {
    /// Opens the database, creating it and its directory if they are absent.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if exists(path)?
            && let (conn, SchemaState::Current) = schema::inspect(path)?
        {
            return Ok(Self::new(path, conn));
        }
        schema::migrate(path)?;
        Ok(Self::new(path, schema::reader(path)?))
    }

    /// Opens the database if there is one. Creates nothing.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, Error> {
        if !exists(path)? {
            return Ok(None);
        }
        match schema::inspect(path)? {
            (conn, SchemaState::Current) => Ok(Some(Self::new(path, conn))),
            // Its creator has not finished, or died: there is nothing in it.
            (_, SchemaState::Empty) => Ok(None),
            (conn, SchemaState::Old) => {
                drop(conn);
                Self::open(path).map(Some)
            }
        }
    }

    /// Adds events to a run and returns its new last sequence number.
    ///
    /// Refused with [`Error::Fenced`] or [`Error::NoLease`] if the lease is no
    /// longer the caller's, with [`Error::Conflict`] if the run has moved on.
    pub fn append(&self, append: AppendRequest) -> Result<u64, Error> {
        self.shared.writer.append(append).wait()
    }

    /// The events of a run after sequence number `after`, in order.
    pub fn events(&self, run: &str, after: u64) -> Result<Vec<StoredEvent>, Error> {
        let mut events = Vec::new();
        self.for_each_event(run, after, |event| {
            events.push(event);
            Ok::<(), Error>(())
        })?;
        Ok(events)
    }

    /// Hands the events of a run after `after` to `each`, one at a time and in
    /// order, from one snapshot of the database. Stops at the first error.
    pub fn for_each_event<E: From<Error>>(
        &self,
        run: &str,
        after: u64,
        each: impl FnMut(StoredEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let readers = &self.shared.readers;
        readers.with(|conn| read::events(conn, run, after, each))?
    }

    /// All runs, newest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, Error> {
        self.shared.readers.with(read::runs)
    }

    /// A run whose id is not one that could name a folder: codeteam did not write it.
    pub fn misnamed_run(&self) -> Result<Option<String>, Error> {
        self.shared.readers.with(read::misnamed_run)
    }

    /// Reads all of the database, and fails with [`Error::Damaged`] if something in it is not as it was
    /// written. Takes as long as reading the file.
    pub fn verify(&self) -> Result<(), Error> {
        self.shared.readers.with(read::verify)
    }

    /// One run.
    pub fn run(&self, id: &str) -> Result<Option<RunRow>, Error> {
        self.shared.readers.with(|conn| read::run(conn, id))
    }

    /// Leaves a message for whoever holds the run and returns its number. Any
    /// process may do this, without a lease.
    pub fn post(&self, run: &str, at: i64, data: &str) -> Result<i64, Error> {
        self.post_instead(run, at, data, &[])
    }

    /// The same; the messages that it replaces are withdrawn, unless somebody has consumed them.
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

    /// The messages of a run that no append has consumed, in order.
    pub fn inbox(&self, run: &str) -> Result<Vec<InboxRow>, Error> {
        self.shared.readers.with(|conn| read::inbox(conn, run))
    }

    /// A number that changes when anything was committed to the database, by
    /// this process or another. It means something only in comparison with an
    /// earlier one of this same store.
    pub fn data_version(&self) -> Result<i64, Error> {
        let mut slot = lock(&self.shared.versions);
        let conn = match slot.take() {
            Some(conn) => conn,
            None => schema::reader(&self.shared.path)?,
        };
        let version = read::data_version(slot.insert(conn));
        version.map_err(|e| self.shared.readers.error(e))
    }

    /// Takes the lease of a run, which need not exist yet.
    ///
    /// [`Error::Held`] if another owner has it. One whose process is certainly
    /// gone is replaced at once; any other, this very process included, once
    /// its heartbeat is more than `stale_after_ms` old.
    pub fn take_lease(
        &self,
        run: &str,
        owner: &ProcessIdentity,
        now: i64,
        stale_after_ms: i64,
    ) -> Result<Lease, Error> {
        let (run, owner) = (run.to_owned(), owner.clone());
        self.write("take a lease in", move |conn| {
            lease::take(conn, &run, &owner, now, stale_after_ms)
        })
    }

    /// Shows that the holder lives. [`Error::Fenced`] if it was taken over.
    pub fn heartbeat(&self, lease: &Lease, now: i64) -> Result<(), Error> {
        let lease = lease.clone();
        self.write("renew a lease in", move |conn| {
            lease::heartbeat(conn, &lease, now)
        })
    }

    /// Gives the lease up. [`Error::Fenced`] if it was taken over.
    pub fn release(&self, lease: &Lease) -> Result<(), Error> {
        let lease = lease.clone();
        self.write("release a lease in", move |conn| {
            lease::release(conn, &lease)
        })
    }

    /// Who holds the run's lease. It may be gone: see [`ProcessIdentity::is_gone`].
    pub fn holder(&self, run: &str) -> Result<Option<LeaseHolder>, Error> {
        self.shared.readers.with(|conn| lease::holder(conn, run))
    }

    /// How many transactions this store has committed.
    pub fn commits(&self) -> u64 {
        self.shared.writer.commits()
    }

    fn new(path: &Path, reader: Connection) -> Self {
        let shared = StoreInner {
            path: path.into(),
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

/// A panic elsewhere leaves a connection as usable as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
