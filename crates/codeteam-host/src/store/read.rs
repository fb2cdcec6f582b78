//! Reads the database, on separate connections that never wait for the writer.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row};

use super::append::{self, EventChainHead};
use super::{Error, InboxRow, RunRow, StoredEvent, schema};

/// The number of idle connections to keep; more are opened when more threads read.
const KEPT: usize = 4;

/// A pool of read connections, each lent to one thread at a time.
#[derive(Debug)]
pub(super) struct ReaderPool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl ReaderPool {
    pub(super) fn new(path: &Path, first: Connection) -> Self {
        Self {
            path: path.into(),
            idle: Mutex::new(vec![first]),
        }
    }

    /// Lends a connection to `query`, which may itself read from the store.
    pub(super) fn with_connection<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let conn = match self.idle().pop() {
            Some(conn) => conn,
            None => schema::reader(&self.path)?,
        };
        let answer = query(&conn).map_err(|e| self.error(e));
        let mut idle = self.idle();
        if idle.len() < KEPT {
            idle.push(conn);
        }
        answer
    }

    pub(super) fn error(&self, error: rusqlite::Error) -> Error {
        Error::sqlite(&self.path, "read", error)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // A list of connections cannot be left half-changed.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `each` for every event after `after`. Stops at its first error, which is the inner result.
///
/// The chain is followed from its end back to `after`, so that the cost depends only on the number
/// of new events. If most of the rows in between belong to this run, they are scanned in one go,
/// which is faster than following the chain.
pub(super) fn events<E>(
    conn: &Connection,
    run: &str,
    after: u64,
    mut each: impl FnMut(StoredEvent) -> Result<(), E>,
) -> rusqlite::Result<Result<(), E>> {
    // One snapshot is needed: the chain must not grow between reading its end and its rows.
    let _snapshot = conn.unchecked_transaction()?;
    let Some(head) = append::head(conn, run)? else {
        // A damaged index may not find a row that exists.
        return if is_listed(conn, run)? {
            Err(damaged())
        } else {
            Ok(Ok(()))
        };
    };
    let ids = event_ids(conn, head, after)?;
    if u64::try_from(ids.len()).ok() != Some(head.seq.saturating_sub(after)) {
        return Err(damaged());
    }
    let (Some(first), Some(last)) = (ids.last(), ids.first()) else {
        return Ok(Ok(()));
    };
    let dense = last - first < 4 * i64::try_from(ids.len()).unwrap_or(i64::MAX / 4);
    if dense {
        let mut statement = conn.prepare_cached(
            "SELECT seq, id, at, kind, version, data FROM events
             WHERE id BETWEEN ?1 AND ?2 AND run = ?3 ORDER BY id",
        )?;
        let mut rows = statement.query((first, last, head.key))?;
        let mut seq = after;
        while let Some(row) = rows.next()? {
            let event = event(row)?;
            seq += 1;
            if event.seq != seq {
                return Err(damaged());
            }
            if let Err(error) = each(event) {
                return Ok(Err(error));
            }
        }
        return if seq == head.seq.max(after) {
            Ok(Ok(()))
        } else {
            Err(damaged())
        };
    }
    let mut statement =
        conn.prepare_cached("SELECT seq, id, at, kind, version, data FROM events WHERE id = ?1")?;
    for id in ids.iter().rev() {
        if let Err(error) = each(statement.query_row([id], event)?) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

/// Returns the first events of a run in a range of rows.
pub(super) fn events_in_rows(
    conn: &Connection,
    run: &str,
    rows: &RangeInclusive<i64>,
    limit: usize,
) -> rusqlite::Result<Vec<StoredEvent>> {
    let Some(head) = append::head(conn, run)? else {
        return Ok(Vec::new());
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    conn.prepare_cached(
        "SELECT seq, id, at, kind, version, data FROM events
         WHERE id BETWEEN ?1 AND ?2 AND run = ?3 ORDER BY id LIMIT ?4",
    )?
    .query_map((rows.start(), rows.end(), head.key, limit), event)?
    .collect()
}

/// Returns true if the run is in the table, whatever its index says.
fn is_listed(conn: &Connection, run: &str) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM runs NOT INDEXED WHERE id = ?1)")?
        .query_row([run], |row| row.get(0))
}

/// Returns the error that `SQLite` gives for a damaged file, for damage that only the store can
/// notice.
fn damaged() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, None)
}

/// Reads everything once and fails if something is not as it was written, as far as that can be
/// determined.
pub(super) fn verify(conn: &Connection) -> rusqlite::Result<()> {
    // This checks the pages, the rows, and whether the indexes find them.
    let found: String = conn.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?;
    if found != "ok" {
        return Err(damaged());
    }
    for row in runs(conn)? {
        events(conn, &row.id, 0, |_| Ok::<(), ()>(()))?.map_err(|()| damaged())?;
    }
    Ok(())
}

/// Returns the ids of a run's events after `after`, the last one first.
fn event_ids(conn: &Connection, head: EventChainHead, after: u64) -> rusqlite::Result<Vec<i64>> {
    let mut statement = conn.prepare_cached("SELECT previous FROM events WHERE id = ?1")?;
    let mut ids = Vec::new();
    let (mut next, mut seq) = (head.last, head.seq);
    while let Some(id) = next.filter(|_| seq > after) {
        ids.push(id);
        next = statement.query_row([id], |row| row.get(0))?;
        seq -= 1;
    }
    Ok(ids)
}

fn event(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    Ok(StoredEvent {
        seq: row.get(0)?,
        row: row.get(1)?,
        at: row.get(2)?,
        kind: row.get(3)?,
        version: row.get(4)?,
        data: row.get(5)?,
    })
}

/// Selects each run with its last event.
const RUNS: &str = "
    SELECT runs.id AS id, goal, created_at, coalesce(heads.seq, 0) AS seq, status, headline,
           coalesce(at, created_at) AS updated_at
    FROM runs LEFT JOIN heads ON heads.run = key LEFT JOIN events ON events.id = last";

pub(super) fn runs(conn: &Connection) -> rusqlite::Result<Vec<RunRow>> {
    conn.prepare_cached(&format!("{RUNS} ORDER BY created_at DESC, runs.id DESC"))?
        .query_map((), run_row)?
        .collect()
}

/// Returns a run whose id could not name a folder, if there is one.
pub(super) fn misnamed_run(conn: &Connection) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached(
        "SELECT id FROM runs WHERE id GLOB '*[^-A-Za-z0-9_.]*' OR id GLOB '.*' OR id = '' LIMIT 1",
    )?
    .query_row((), |row| row.get(0))
    .optional()
}

pub(super) fn run(conn: &Connection, id: &str) -> rusqlite::Result<Option<RunRow>> {
    conn.prepare_cached(&format!("{RUNS} WHERE runs.id = ?1"))?
        .query_row([id], run_row)
        .optional()
}

pub(super) fn inbox(conn: &Connection, run: &str) -> rusqlite::Result<Vec<InboxRow>> {
    let row = |row: &Row<'_>| {
        Ok(InboxRow {
            id: row.get("id")?,
            at: row.get("at")?,
            data: row.get("data")?,
        })
    };
    conn.prepare_cached(
        "SELECT id, at, data FROM inbox
         WHERE run = ?1 AND consumed_seq IS NULL ORDER BY id",
    )?
    .query_map([run], row)?
    .collect()
}

pub(super) fn consumed_at(conn: &Connection, message: i64) -> rusqlite::Result<Option<u64>> {
    let consumed = conn
        .prepare_cached("SELECT consumed_seq FROM inbox WHERE id = ?1")?
        .query_row([message], |row| row.get(0))
        .optional()?;
    Ok(consumed.flatten())
}

pub(super) fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA data_version")?
        .query_row((), |row| row.get(0))
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: row.get("id")?,
        goal: row.get("goal")?,
        created_at: row.get("created_at")?,
        seq: row.get("seq")?,
        status: row.get("status")?,
        headline: row.get("headline")?,
        updated_at: row.get("updated_at")?,
    })
}
