//! Reading, on connections of its own: never waits for the writer.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row};

use super::{Error, InboxRow, RunRow, StoredEvent, schema};

/// Idle connections worth keeping; more are opened when more threads read.
const KEPT: usize = 4;

/// Read connections, lent to one thread at a time.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
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
pub(super) fn events<E>(
    conn: &Connection,
    run: &str,
    after: u64,
    mut each: impl FnMut(StoredEvent) -> Result<(), E>,
) -> rusqlite::Result<Result<(), E>> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, at, kind, version, data FROM events
         WHERE run = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut rows = statement.query((run, after))?;
    while let Some(row) = rows.next()? {
        let event = StoredEvent {
            seq: row.get(0)?,
            at: row.get(1)?,
            kind: row.get(2)?,
            version: row.get(3)?,
            data: row.get(4)?,
        };
        if let Err(error) = each(event) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

/// Each run with its last event, found by one descent of the events' tree.
const RUNS: &str = "
    SELECT id, goal, created_at, coalesce(seq, 0) AS seq, status, headline,
           coalesce(at, created_at) AS updated_at
    FROM runs LEFT JOIN events
      ON run = id AND seq = (SELECT max(seq) FROM events WHERE run = id)";

pub(super) fn runs(conn: &Connection) -> rusqlite::Result<Vec<RunRow>> {
    conn.prepare_cached(&format!("{RUNS} ORDER BY created_at DESC, id DESC"))?
        .query_map((), run_row)?
        .collect()
}

pub(super) fn run(conn: &Connection, id: &str) -> rusqlite::Result<Option<RunRow>> {
    conn.prepare_cached(&format!("{RUNS} WHERE id = ?1"))?
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
