//! Adding to the log and to the inbox, inside the writer's transaction.

use rusqlite::{Connection, named_params};

use super::error::Failure;
use super::{Append, Error, RunUpdate, lease};

/// Appends the events of one input. Checks first, so that a refusal has
/// written nothing; the writer's savepoint undoes a failure halfway.
pub(super) fn append(conn: &Connection, append: &Append) -> Result<u64, Failure> {
    lease::check(conn, &append.run, append.token)?;
    let found = last_seq(conn, &append.run)?;
    if found != append.expected_seq {
        return Err(Failure::Refused(Error::Conflict {
            run: append.run.clone(),
            expected: append.expected_seq,
            found,
        }));
    }
    let seq = found + append.events.len() as u64;
    match &append.row {
        Some(row) => upsert_run(conn, &append.run, row)?,
        None if found == 0 && !is_known(conn, &append.run)? => return Err(unknown(&append.run)),
        None => {}
    }
    insert_events(conn, append)?;
    consume(conn, append, seq)?;
    Ok(seq)
}

/// The same for a run of which the writer knows already that all checks pass and the row stays.
pub(super) fn append_known(conn: &Connection, append: &Append) -> Result<u64, Failure> {
    insert_events(conn, append)?;
    Ok(append.expected_seq + append.events.len() as u64)
}

/// Leaves a message for whoever holds the run.
pub(super) fn post(conn: &Connection, run: &str, at: i64, data: &str) -> Result<i64, Failure> {
    if !is_known(conn, run)? {
        return Err(unknown(run));
    }
    conn.prepare_cached("INSERT INTO inbox (run, at, data) VALUES (?1, ?2, ?3)")?
        .execute((run, at, data))?;
    Ok(conn.last_insert_rowid())
}

/// Asked of the log itself and not of its read model: the log is the truth.
fn last_seq(conn: &Connection, run: &str) -> rusqlite::Result<u64> {
    conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE run = ?1")?
        .query_row([run], |row| row.get(0))
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

fn insert_events(conn: &Connection, append: &Append) -> Result<(), Failure> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO events (run, seq, at, kind, version, data)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (seq, event) in (append.expected_seq + 1..).zip(&append.events) {
        let (kind, version, data) = (&event.kind, event.version, &event.data);
        insert.execute((&append.run, seq, append.at, kind, version, data))?;
    }
    Ok(())
}

fn consume(conn: &Connection, append: &Append, seq: u64) -> Result<(), Failure> {
    if append.consumed.is_empty() {
        return Ok(());
    }
    let mut consume = conn.prepare_cached(
        "UPDATE inbox SET consumed_seq = ?3
         WHERE id = ?1 AND run = ?2 AND consumed_seq IS NULL",
    )?;
    for &id in &append.consumed {
        if consume.execute((id, &append.run, seq))? == 0 {
            return Err(Failure::Refused(Error::NotInInbox {
                run: append.run.clone(),
                id,
            }));
        }
    }
    Ok(())
}

fn unknown(run: &str) -> Failure {
    Failure::Refused(Error::UnknownRun { run: run.into() })
}
