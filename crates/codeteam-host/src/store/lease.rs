//! Leases: at most one process works on a run, and a dead one is replaced.
//!
//! The token of a lease grows every time the lease changes hands, and every append names the token
//! under which it was made. A holder that merely hung and then comes back is therefore refused
//! inside the transaction, whatever it believes.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::error::WriteFailure;
use super::{Error, ProcessIdentity};

/// The right to append to a run, until it is released or taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run it is for.
    pub run: String,
    /// The fencing token: grows with every lease of this run.
    pub token: u64,
}

/// The current holder of a run's lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseHolder {
    /// The process that holds it.
    pub owner: ProcessIdentity,
    /// The fencing token of the lease.
    pub token: u64,
    /// When it last renewed the lease, in milliseconds since the epoch.
    pub heartbeat: i64,
}

/// The newest token given out, and its owner unless it was released.
struct NewestLease {
    token: u64,
    holder: Option<LeaseHolder>,
}

/// Gives the lease to `owner`, unless its holder is alive or may be: then only once its heartbeat
/// is more than `stale_after` milliseconds old.
pub(super) fn take_lease(
    conn: &Connection,
    run: &str,
    owner: &ProcessIdentity,
    now: i64,
    stale_after: i64,
) -> Result<Lease, WriteFailure> {
    let newest = newest(conn, run)?;
    let last = newest.as_ref().map_or(0, |newest| newest.token);
    if let Some(holder) = newest.and_then(|newest| newest.holder) {
        let is_stale = now.saturating_sub(holder.heartbeat) > stale_after;
        if !is_stale && !holder.owner.is_gone(owner) {
            return Err(held_error(run, holder).into());
        }
    }
    let token = last + 1;
    conn.prepare_cached(
        "INSERT INTO leases
            (run, token, pid, started, boot, host, pid_namespace, label, heartbeat)
         VALUES
            (:run, :token, :pid, :started, :boot, :host, :pid_namespace, :label, :now)
         ON CONFLICT (run) DO UPDATE SET
            token = excluded.token, pid = excluded.pid, started = excluded.started,
            boot = excluded.boot, host = excluded.host, label = excluded.label,
            pid_namespace = excluded.pid_namespace, heartbeat = excluded.heartbeat",
    )?
    .execute(named_params! {
        ":run": run, ":token": token, ":pid": owner.pid, ":started": owner.started,
        ":boot": owner.boot, ":host": owner.host, ":pid_namespace": owner.pid_namespace,
        ":label": owner.label, ":now": now,
    })?;
    Ok(Lease {
        run: run.into(),
        token,
    })
}

/// Refuses a token that no longer holds the run.
pub(super) fn check_token(conn: &Connection, run: &str, token: u64) -> Result<(), WriteFailure> {
    let newest = newest_token(conn, run)?;
    match newest {
        Some((newest, _)) if newest > token => Err(WriteFailure::Refused(Error::Fenced {
            run: run.into(),
            by: newest,
        })),
        Some((newest, true)) if newest == token => Ok(()),
        // The lease was released, or the token was never given out.
        _ => Err(WriteFailure::Refused(Error::NoLease { run: run.into() })),
    }
}

pub(super) fn heartbeat(conn: &Connection, lease: &Lease, now: i64) -> Result<(), WriteFailure> {
    check_token(conn, &lease.run, lease.token)?;
    conn.prepare_cached("UPDATE leases SET heartbeat = ?2 WHERE run = ?1")?
        .execute((&lease.run, now))?;
    Ok(())
}

/// Gives the lease up. Doing so twice is not an error.
pub(super) fn release(conn: &Connection, lease: &Lease) -> Result<(), WriteFailure> {
    match check_token(conn, &lease.run, lease.token) {
        Err(WriteFailure::Refused(Error::NoLease { .. })) => return Ok(()),
        other => other?,
    }
    conn.prepare_cached("UPDATE leases SET pid = NULL WHERE run = ?1")?
        .execute([&lease.run])?;
    Ok(())
}

pub(super) fn holder(conn: &Connection, run: &str) -> rusqlite::Result<Option<LeaseHolder>> {
    Ok(newest(conn, run)?.and_then(|newest| newest.holder))
}

/// Returns the newest token and whether it is still held, which is all that an append needs to
/// know.
fn newest_token(conn: &Connection, run: &str) -> rusqlite::Result<Option<(u64, bool)>> {
    conn.prepare_cached("SELECT token, pid IS NOT NULL FROM leases WHERE run = ?1")?
        .query_row([run], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn newest(conn: &Connection, run: &str) -> rusqlite::Result<Option<NewestLease>> {
    conn.prepare_cached(
        "SELECT token, pid, started, boot, host, pid_namespace, label, heartbeat
         FROM leases WHERE run = ?1",
    )?
    .query_row([run], read_newest)
    .optional()
}

fn read_newest(row: &Row<'_>) -> rusqlite::Result<NewestLease> {
    let token = row.get("token")?;
    let Some(pid) = row.get("pid")? else {
        return Ok(NewestLease {
            token,
            holder: None,
        });
    };
    let owner = ProcessIdentity {
        pid,
        started: row.get("started")?,
        boot: row.get("boot")?,
        host: row.get("host")?,
        pid_namespace: row.get("pid_namespace")?,
        label: row.get("label")?,
    };
    let heartbeat = row.get("heartbeat")?;
    Ok(NewestLease {
        token,
        holder: Some(LeaseHolder {
            owner,
            token,
            heartbeat,
        }),
    })
}

fn held_error(run: &str, holder: LeaseHolder) -> Error {
    Error::Held {
        run: run.into(),
        pid: holder.owner.pid,
        host: holder.owner.host,
        label: holder.owner.label,
        heartbeat: holder.heartbeat,
    }
}
