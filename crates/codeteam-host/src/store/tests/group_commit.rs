//! The writer thread: grouping, isolation of failures, locks and full disks.

use std::sync::mpsc;
use std::time::Duration;

use super::*;
use crate::store::writer::PendingWrite;

/// Keeps a transaction open until dropped, so that a test decides what is
/// queued behind it.
struct HeldTransaction {
    open: mpsc::Sender<()>,
    leader: std::thread::JoinHandle<Result<(), Error>>,
}

impl HeldTransaction {
    fn close(store: &Store) -> Self {
        let (open, opened) = mpsc::channel::<()>();
        let (inside, is_inside) = mpsc::channel();
        let store = store.clone();
        let wait = move |_: &Connection| {
            inside.send(()).unwrap();
            let _ = opened.recv();
            Ok(())
        };
        let leader = std::thread::spawn(move || store.write("wait in", wait));
        is_inside.recv().unwrap();
        Self { open, leader }
    }

    fn open(self) {
        drop(self.open);
        self.leader.join().unwrap().unwrap();
    }
}

fn submit(store: &Store, append: AppendRequest) -> PendingWrite<'_, u64> {
    store.shared.writer.append(append)
}

#[test]
fn everything_that_waits_is_committed_at_once() {
    let f = fixture();
    let leases: Vec<_> = (0..16).map(|n| lease(&f.store, &format!("r{n}"))).collect();
    let before = f.store.commits();
    let gate = HeldTransaction::close(&f.store);
    let tickets: Vec<_> = leases.iter().map(|l| submit(&f.store, one(l, 0))).collect();
    gate.open();
    for ticket in tickets {
        assert_eq!(ticket.wait().unwrap(), 1);
    }
    assert_eq!(f.store.commits() - before, 1);
    assert_eq!(f.store.runs().unwrap().len(), 16);
}

#[test]
fn a_refused_append_does_not_harm_its_group() {
    let f = fixture();
    let (a, b) = (lease(&f.store, "a"), lease(&f.store, "b"));
    let before = f.store.commits();
    let gate = HeldTransaction::close(&f.store);
    let first = submit(&f.store, one(&a, 0));
    let conflicting = submit(&f.store, one(&a, 5));
    // Fails after it has written its events: all of it has to go again.
    let halfway = AppendRequest {
        consumed: vec![99],
        ..one(&b, 0)
    };
    let halfway = submit(&f.store, halfway);
    let last = submit(&f.store, one(&a, 1));
    gate.open();

    assert_eq!(first.wait().unwrap(), 1);
    assert!(matches!(conflicting.wait(), Err(Error::Conflict { .. })));
    assert!(matches!(halfway.wait(), Err(Error::NotInInbox { .. })));
    assert_eq!(last.wait().unwrap(), 2);
    assert_eq!(f.store.commits() - before, 1);
    assert!(f.store.events("b", 0).unwrap().is_empty());
    assert_eq!(f.store.run("b").unwrap(), None);
}

#[test]
fn many_runs_append_at_the_same_time() {
    let f = fixture();
    let before = f.store.commits();
    let leases: Vec<_> = (0..16).map(|n| lease(&f.store, &format!("r{n}"))).collect();
    let gate = HeldTransaction::close(&f.store);
    let first: Vec<_> = leases.iter().map(|l| submit(&f.store, one(l, 0))).collect();
    gate.open();
    std::thread::scope(|scope| {
        for (lease, first) in leases.iter().zip(first) {
            let store = f.store.clone();
            scope.spawn(move || {
                assert_eq!(first.wait().unwrap(), 1);
                for seq in 1..50 {
                    assert_eq!(store.append(one(lease, seq)).unwrap(), seq + 1);
                }
            });
        }
    });
    for lease in &leases {
        let events = f.store.events(&lease.run, 0).unwrap();
        let seqs: Vec<_> = events.iter().map(|e| e.seq).collect();
        assert_eq!(seqs, (1..=50).collect::<Vec<_>>());
        assert_eq!(events[49].data, "{\"n\":50}");
        assert_eq!(f.store.run(&lease.run).unwrap().unwrap().seq, 50);
    }
    assert!(f.store.commits() - before - 16 < 16 * 50);
}

#[test]
fn readers_do_not_wait_for_an_open_transaction() {
    let f = fixture();
    let lease = f.started(1);
    let gate = HeldTransaction::close(&f.store);
    let waiting = submit(&f.store, one(&lease, 1));
    assert_eq!(f.store.events(RUN, 0).unwrap().len(), 1);
    assert_eq!(f.other_process().runs().unwrap().len(), 1);
    gate.open();
    waiting.wait().unwrap();
    assert_eq!(f.store.events(RUN, 0).unwrap().len(), 2);
}

#[test]
fn a_write_waits_for_another_process_to_finish() {
    let f = fixture();
    let lease = f.started(1);
    let raw = f.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let append = scope.spawn(|| f.store.append(one(&lease, 1)));
        raw.execute_batch("COMMIT").unwrap();
        assert_eq!(append.join().unwrap().unwrap(), 2);
    });
}

#[test]
fn a_lock_that_is_never_given_back_is_reported() {
    let f = fixture();
    let lease = f.started(1);
    let impatient = |conn: &Connection| Ok(conn.busy_timeout(Duration::ZERO)?);
    f.store.write("configure", impatient).unwrap();
    let raw = f.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = f.store.append(one(&lease, 1)).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    raw.execute_batch("ROLLBACK").unwrap();
    f.store.append(one(&lease, 1)).unwrap();
}

#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    let f = fixture();
    let lease = f.started(1);
    let limit = |pages: i64| {
        move |conn: &Connection| {
            let set = conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()));
            Ok(set?)
        }
    };
    f.store.write("configure", limit(1)).unwrap();
    let large = AppendRequest {
        events: vec![event(&"x".repeat(1 << 20))],
        ..one(&lease, 1)
    };
    let error = f.store.append(large.clone()).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("state.db"), "{error}");
    assert_eq!(f.store.events(RUN, 0).unwrap().len(), 1);

    f.store.write("configure", limit(100_000)).unwrap();
    assert_eq!(f.store.append(large).unwrap(), 2);
}

#[test]
fn a_read_only_database_is_named() {
    let f = fixture();
    let lease = f.started(1);
    let freeze = |conn: &Connection| Ok(conn.pragma_update(None, "query_only", true)?);
    f.store.write("configure", freeze).unwrap();
    let message = write_failure(f.store.append(one(&lease, 1)));
    assert!(message.contains("state.db` is read-only"), "{message}");
}

#[test]
fn a_panic_in_a_write_leaves_nobody_waiting() {
    let f = fixture();
    let lease = f.started(1);
    let gate = HeldTransaction::close(&f.store);
    let doomed = f
        .store
        .shared
        .writer
        .submit("panic in", |_| -> Result<(), WriteFailure> {
            panic!("expected by this test")
        });
    let behind = submit(&f.store, one(&lease, 1));
    drop(gate.open);
    gate.leader.join().unwrap_err();
    assert!(matches!(doomed.wait(), Err(Error::WriterStopped { .. })));
    // Promoted to lead, it finds the transaction of the panic and undoes it.
    assert_eq!(behind.wait().unwrap(), 2);
}
