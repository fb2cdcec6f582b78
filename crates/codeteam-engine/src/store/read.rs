//! Reading, on connections of its own: never waits for the writer.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row};

use super::append::{self, EventChainHead};
use super::{Error, InboxRow, RunRow, StoredEvent, schema};

/// Idle connections worth keeping; more are opened when more threads read.
const KEPT: usize = 4;

/// Read connections, lent to one thread at a time.
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
    pub(super) fn with<T>(
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

/// Calls `each` for every event after `after`; stops at its first error, which
/// is the inner result.
///
/// The chain is followed from its end back to `after`, so that reading what is
/// new costs what is new. Where most of what lies in between is the run's own,
/// reading straight through is faster than going from event to event.
pub(super) fn events<E>(
    conn: &Connection,
    run: &str,
    after: u64,
    mut each: impl FnMut(StoredEvent) -> Result<(), E>,
) -> rusqlite::Result<Result<(), E>> {
    // One snapshot: the chain must not grow between its end and its rows.
    let _snapshot = conn.unchecked_transaction()?;
    let Some(head) = append::head(conn, run)? else {
        // A damaged index does not find what is there.
        return if is_listed(conn, run)? {
            Err(damaged())
        } else {
            Ok(Ok(()))
        };
    };
    let ids = chain(conn, head, after)?;
    if u64::try_from(ids.len()).ok() != Some(head.seq.saturating_sub(after)) {
        return Err(damaged());
    }
    let (Some(first), Some(last)) = (ids.last(), ids.first()) else {
        return Ok(Ok(()));
    };
    let dense = last - first < 4 * i64::try_from(ids.len()).unwrap_or(i64::MAX / 4);
    if dense {
        let mut statement = conn.prepare_cached(
            "SELECT seq, at, kind, version, data FROM events
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
        conn.prepare_cached("SELECT seq, at, kind, version, data FROM events WHERE id = ?1")?;
    for id in ids.iter().rev() {
        if let Err(error) = each(statement.query_row([id], event)?) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

/// Whether a run is in the table, whatever its index says.
fn is_listed(conn: &Connection, run: &str) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM runs NOT INDEXED WHERE id = ?1)")?
        .query_row([run], |row| row.get(0))
}

/// What `SQLite` itself says of a damaged file, for what only the store can notice.
fn damaged() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, None)
}

/// Reads everything once and fails if something is not as it was written, as far as that can be told.
pub(super) fn verify(conn: &Connection) -> rusqlite::Result<()> {
    // Pages, rows and whether indexes find them.
    let found: String = conn.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?;
    if found != "ok" {
        return Err(damaged());
    }
    for row in runs(conn)? {
        events(conn, &row.id, 0, |_| Ok::<(), ()>(()))?.map_err(|()| damaged())?;
    }
    Ok(())
}

/// The ids of a run's events after `after`, the last one first.
fn chain(conn: &Connection, head: EventChainHead, after: u64) -> rusqlite::Result<Vec<i64>> {
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
        at: row.get(1)?,
        kind: row.get(2)?,
        version: row.get(3)?,
        data: row.get(4)?,
    })
}

/// Each run with its last event.
const RUNS: &str = "
    SELECT runs.id AS id, goal, created_at, coalesce(heads.seq, 0) AS seq, status, headline,
           coalesce(at, created_at) AS updated_at
    FROM runs LEFT JOIN heads ON heads.run = key LEFT JOIN events ON events.id = last";

pub(super) fn runs(conn: &Connection) -> rusqlite::Result<Vec<RunRow>> {
    conn.prepare_cached(&format!("{RUNS} ORDER BY created_at DESC, runs.id DESC"))?
        .query_map((), run_row)?
        .collect()
}

/// A run whose id is not one that could name a folder.
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
