//! Appends to the log and to the inbox, inside the writer's transaction.

use rusqlite::{Connection, OptionalExtension as _, named_params};

use super::error::WriteFailure;
use super::{AppendRequest, Error, RunUpdate, lease};

/// The end of a run's chain of events.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventChainHead {
    /// The run's integer key.
    pub(super) key: i64,
    /// The number of events in the run.
    pub(super) seq: u64,
    /// The row id of the last event.
    pub(super) last: Option<i64>,
}

/// Appends the events of one input. All checks come first, so that a refused append has written
/// nothing; the writer's savepoint undoes a failure halfway.
pub(super) fn append(
    conn: &Connection,
    append: &AppendRequest,
) -> Result<EventChainHead, WriteFailure> {
    lease::check_token(conn, &append.run, append.token)?;
    let found = head(conn, &append.run)?;
    let seq = found.map_or(0, |head| head.seq);
    if seq != append.expected_seq {
        return Err(WriteFailure::Refused(Error::Conflict {
            run: append.run.clone(),
            expected: append.expected_seq,
            found: seq,
        }));
    }
    if let Some(row) = &append.row {
        upsert_run(conn, &append.run, row)?;
    }
    let known = match found {
        Some(known) => known,
        None => self::head(conn, &append.run)?.ok_or_else(|| unknown_run(&append.run))?,
    };
    let head = append_known(conn, append, known)?;
    consume(conn, append, head.seq)?;
    Ok(head)
}

/// Does the same for a run for which the writer already knows that all checks pass.
pub(super) fn append_known(
    conn: &Connection,
    append: &AppendRequest,
    mut head: EventChainHead,
) -> Result<EventChainHead, WriteFailure> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO events (run, seq, previous, at, kind, version, data)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for event in &append.events {
        let (kind, version, data) = (&event.kind, event.version, &event.data);
        let seq = head.seq + 1;
        insert.execute((head.key, seq, head.last, append.at, kind, version, data))?;
        head = EventChainHead {
            seq,
            last: Some(conn.last_insert_rowid()),
            ..head
        };
    }
    Ok(head)
}

/// Updates the row of a run that exists.
pub(super) fn update_run(
    conn: &Connection,
    head: EventChainHead,
    row: &RunUpdate,
) -> Result<(), WriteFailure> {
    conn.prepare_cached("UPDATE runs SET goal = ?2, status = ?3, headline = ?4 WHERE key = ?1")?
        .execute((head.key, &row.goal, &row.status, &row.headline))?;
    Ok(())
}

/// Adds a message to the run's inbox.
pub(super) fn post(
    conn: &Connection,
    run: &str,
    at: i64,
    data: &str,
    replaced: &[i64],
) -> Result<i64, WriteFailure> {
    if !is_known(conn, run)? {
        return Err(unknown_run(run));
    }
    for id in replaced {
        conn.prepare_cached(
            "DELETE FROM inbox WHERE id = ?1 AND run = ?2 AND consumed_seq IS NULL",
        )?
        .execute((id, run))?;
    }
    conn.prepare_cached("INSERT INTO inbox (run, at, data) VALUES (?1, ?2, ?3)")?
        .execute((run, at, data))?;
    Ok(conn.last_insert_rowid())
}

/// Returns the end of a run's chain, if the run exists.
pub(super) fn head(conn: &Connection, run: &str) -> rusqlite::Result<Option<EventChainHead>> {
    conn.prepare_cached(
        "SELECT key, coalesce(seq, 0), last FROM runs LEFT JOIN heads ON run = key WHERE id = ?1",
    )?
    .query_row([run], |row| {
        Ok(EventChainHead {
            key: row.get(0)?,
            seq: row.get(1)?,
            last: row.get(2)?,
        })
    })
    .optional()
}

fn upsert_run(conn: &Connection, run: &str, row: &RunUpdate) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO runs (id, goal, created_at, status, headline)
         VALUES (:id, :goal, :created_at, :status, :headline)
         ON CONFLICT (id) DO UPDATE SET
            goal = excluded.goal, status = excluded.status, headline = excluded.headline
         WHERE (goal, status, headline)
            IS NOT (excluded.goal, excluded.status, excluded.headline)",
    )?
    .execute(named_params! {
        ":id": run, ":goal": row.goal, ":created_at": row.created_at,
        ":status": row.status, ":headline": row.headline,
    })?;
    Ok(())
}

fn is_known(conn: &Connection, run: &str) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1)")?
        .query_row([run], |row| row.get(0))
}

fn consume(conn: &Connection, append: &AppendRequest, seq: u64) -> Result<(), WriteFailure> {
    if append.consumed.is_empty() {
        return Ok(());
    }
    let mut consume = conn.prepare_cached(
        "UPDATE inbox SET consumed_seq = ?3
         WHERE id = ?1 AND run = ?2 AND consumed_seq IS NULL",
    )?;
    for &id in &append.consumed {
        if consume.execute((id, &append.run, seq))? == 0 {
            return Err(WriteFailure::Refused(Error::NotInInbox {
                run: append.run.clone(),
                id,
            }));
        }
    }
    Ok(())
}

fn unknown_run(run: &str) -> WriteFailure {
    WriteFailure::Refused(Error::UnknownRun { run: run.into() })
}
