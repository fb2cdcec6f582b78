//! Defines the tables and their migrations, and opens connections.
//!
//! A database whose schema is current is never written here, so that a status call is fast and
//! works next to a busy writer.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::Error;

/// How long a write waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Marks the file as codeteam's in the `SQLite` header ("CDTM").
const APPLICATION_ID: i64 = 0x4344_544d;

/// Step `n` takes the schema from version `n` to `n + 1`. Steps are history: new ones are added,
/// existing ones are never edited.
const MIGRATIONS: &[&str] = &[V1];

const V1: &str = "
-- `key` is short, because every event carries it.
CREATE TABLE runs (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    goal       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    status     TEXT NOT NULL,
    headline   TEXT NOT NULL
);

-- Events stand in the order they were written, whichever run they are of, so
-- that a commit for many runs fills few pages. The events of one run are a
-- chain, from the last back to the first; `heads` has both ends.
CREATE TABLE events (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES runs (key),
    seq      INTEGER NOT NULL,
    previous INTEGER,
    at       INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    version  INTEGER NOT NULL,
    data     TEXT NOT NULL
);

CREATE TABLE heads (
    run  INTEGER PRIMARY KEY REFERENCES runs (key),
    seq  INTEGER NOT NULL,
    last INTEGER NOT NULL
);

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE (ABORT, 'events are append-only'); END;

CREATE TRIGGER events_are_never_removed BEFORE DELETE ON events
BEGIN SELECT RAISE (ABORT, 'events are append-only'); END;

-- Also catches INSERT OR REPLACE, which fires no trigger for the row it removes.
-- An id is -1 here where the database is to choose it.
CREATE TRIGGER events_have_no_gaps BEFORE INSERT ON events
WHEN NEW.seq - 1 IS NOT coalesce((SELECT seq FROM heads WHERE run = NEW.run), 0)
  OR NEW.previous IS NOT (SELECT last FROM heads WHERE run = NEW.run)
  OR NEW.id BETWEEN 0 AND (SELECT max(id) FROM events)
BEGIN SELECT RAISE (ABORT, 'events are append-only: out of sequence'); END;

CREATE TRIGGER events_have_a_head AFTER INSERT ON events
BEGIN
    INSERT INTO heads (run, seq, last) VALUES (NEW.run, NEW.seq, NEW.id)
    ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, last = excluded.last;
END;

CREATE TABLE inbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    run          TEXT NOT NULL,
    at           INTEGER NOT NULL,
    data         TEXT NOT NULL,
    consumed_seq INTEGER
);

CREATE INDEX inbox_waiting ON inbox (run, id) WHERE consumed_seq IS NULL;

-- A released lease keeps its row, without a pid, so that no token is reused.
CREATE TABLE leases (
    run           TEXT PRIMARY KEY,
    token         INTEGER NOT NULL,
    pid           INTEGER,
    started       TEXT NOT NULL,
    boot          TEXT NOT NULL,
    host          TEXT NOT NULL,
    pid_namespace TEXT NOT NULL,
    label         TEXT NOT NULL,
    heartbeat     INTEGER NOT NULL
) WITHOUT ROWID;
";

/// The schema version this program writes.
pub(super) const CURRENT: u64 = MIGRATIONS.len() as u64;

/// The state of a database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaState {
    /// There are no tables yet: it was just created, or its creator died.
    Empty,
    /// It is codeteam's, in an older version.
    Old,
    /// It is codeteam's, and up to date.
    Current,
}

/// Opens an existing database for reading and determines its state.
pub(super) fn inspect(path: &Path) -> Result<(Connection, SchemaState), Error> {
    let conn = reader(path)?;
    let state = state(&conn, path)?;
    Ok((conn, state))
}

/// Opens a connection that reads and never writes.
pub(super) fn reader(path: &Path) -> Result<Connection, Error> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let configured = || -> rusqlite::Result<()> {
        // A reader that happens to close last must not spend a status call on
        // moving a crashed writer's log into the database.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.pragma_update(None, "query_only", true)
    };
    configured().map_err(|e| Error::sqlite(path, "open", e))?;
    Ok(conn)
}

/// Opens the one connection of a store that writes.
pub(super) fn writer(path: &Path) -> Result<Connection, Error> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    configure_writer(&conn).map_err(|e| Error::sqlite(path, "open", e))?;
    Ok(conn)
}

fn configure_writer(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(32);
    // A commit is acknowledged to people and workers, so it has to survive a
    // power cut, not only a crash of this process.
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    // The data that a savepoint may have to undo need not go through a file.
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // Each run appends to its own page, so many runs fill the log quickly; moving the log into the
    // database less often moves each page less often. 16 MB are read back in a moment.
    conn.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    // A reader can hold up a checkpoint; give the space back once it is done.
    conn.pragma_update(None, "journal_size_limit", 16 << 20)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, Error> {
    // `SQLITE_OPEN_URI` is left out: a path is a path, whatever its name.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(BUSY_TIMEOUT)?;
        // Otherwise the planner takes the values bound to a statement into account and compiles it
        // again whenever they change, which is every time.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(conn)
    };
    open().map_err(|e| Error::sqlite(path, "open", e))
}

fn state(conn: &Connection, path: &Path) -> Result<SchemaState, Error> {
    let read = || -> rusqlite::Result<(u64, i64, bool)> {
        // Without one snapshot, the work of another creator could be seen half done.
        let _snapshot = conn.unchecked_transaction()?;
        let version = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let owner = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
        let empty = conn.query_row(sql, (), |row| row.get(0))?;
        Ok((version, owner, empty))
    };
    match read().map_err(|e| Error::sqlite(path, "read", e))? {
        (0, 0, true) => Ok(SchemaState::Empty),
        (found, APPLICATION_ID, _) if found > CURRENT => Err(Error::Newer {
            path: path.into(),
            found,
            known: CURRENT,
        }),
        (CURRENT, APPLICATION_ID, _) => Ok(SchemaState::Current),
        (_, APPLICATION_ID, _) => Ok(SchemaState::Old),
        _ => Err(Error::NotADatabase {
            path: path.into(),
            why: "it is an SQLite database of another program",
        }),
    }
}

/// Creates the database if it does not exist and brings its schema up to date. Any number of
/// processes may do this at once.
pub(super) fn migrate(path: &Path) -> Result<(), Error> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", e))?;
    }
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut conn = connect(path, access)?;
    // The state is checked before anything is written: a file of another program stays as it is.
    state(&conn, path)?;
    enter_wal_mode(&conn).map_err(|e| Error::sqlite(path, "create", e))?;
    configure_writer(&conn).map_err(|e| Error::sqlite(path, "create", e))?;
    run_migrations(&mut conn).map_err(|e| Error::sqlite(path, "update the schema of", e))
}

/// Switches to the write-ahead log. The setting is stored in the file.
fn enter_wal_mode(conn: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        // The switch needs the file to itself and, unlike everything else,
        // fails at once instead of waiting when another process is creating it.
        match conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
}

fn run_migrations(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // The version is read again under the lock: another process may have migrated first.
    let version: usize = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for step in MIGRATIONS.iter().skip(version) {
        tx.execute_batch(step)?;
    }
    if version < MIGRATIONS.len() {
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", CURRENT)?;
    }
    tx.commit()
}
