//! The store against real `SQLite` files. Two stores on one path stand for two
//! processes: they share nothing but the files.

mod appending;
mod group_commit;
mod leases;
mod opening;
mod watching;

use std::path::PathBuf;

use super::*;

const RUN: &str = "run-1";
const NOW: i64 = 1_700_000_000_000;
const STALE_AFTER: i64 = 10_000;

struct StoreFixture {
    dir: tempfile::TempDir,
    store: Store,
}

fn fixture() -> StoreFixture {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("state.db")).unwrap();
    StoreFixture { dir, store }
}

impl StoreFixture {
    fn path(&self) -> PathBuf {
        self.dir.path().join("state.db")
    }

    /// What another process would open.
    fn other_process(&self) -> Store {
        Store::open(&self.path()).unwrap()
    }

    /// A connection that knows none of the store's rules.
    fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn lease(&self) -> Lease {
        lease(&self.store, RUN)
    }

    /// A run with `count` events, and the lease on it.
    fn started(&self, count: u64) -> Lease {
        let lease = self.lease();
        for seq in 0..count {
            self.store.append(one(&lease, seq)).unwrap();
        }
        lease
    }
}

fn me() -> ProcessIdentity {
    ProcessIdentity::this_process("test")
}

fn lease(store: &Store, run: &str) -> Lease {
    store.take_lease(run, &me(), NOW, STALE_AFTER).unwrap()
}

fn event(data: &str) -> NewEvent {
    NewEvent {
        kind: "WorkerExited".into(),
        version: 1,
        data: data.into(),
    }
}

/// An append of one event after `seq`.
fn one(lease: &Lease, seq: u64) -> AppendRequest {
    AppendRequest {
        run: lease.run.clone(),
        expected_seq: seq,
        token: lease.token,
        at: NOW,
        events: vec![event(&format!("{{\"n\":{}}}", seq + 1))],
        consumed: Vec::new(),
        row: (seq == 0).then(|| row("planning")),
    }
}

fn row(status: &str) -> RunUpdate {
    RunUpdate {
        goal: "a goal".into(),
        created_at: NOW,
        status: status.into(),
        headline: format!("it is {status}"),
    }
}

/// How a write fails that may write nothing at all.
fn write_failure<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}
