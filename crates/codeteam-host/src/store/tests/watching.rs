//! Waiting for changes: by the same process, by another, and by nobody.

use std::time::Duration;

use super::*;

/// Longer than anything here takes.
const LONG: Option<Duration> = Some(Duration::from_mins(1));

#[test]
fn a_watch_hears_what_was_committed_before_it_waits() {
    let f = fixture();
    let lease = f.lease();
    for by in [f.store.clone(), f.other_process()] {
        let seq = f.store.run(RUN).unwrap().map_or(0, |row| row.seq);
        let mut watch = f.store.watch().unwrap();
        by.append(one(&lease, seq)).unwrap();
        assert_eq!(watch.wait(LONG).unwrap(), WatchOutcome::Changed);
        // It is told once.
        let now = Some(Duration::ZERO);
        assert_eq!(watch.wait(now).unwrap(), WatchOutcome::TimedOut);
    }
}

#[test]
fn a_watch_that_waits_is_woken_by_any_process() {
    let f = fixture();
    f.started(1);
    for by in [f.store.clone(), f.other_process()] {
        let mut watch = f.store.watch().unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| by.post(RUN, NOW, "{}").unwrap());
            assert_eq!(watch.wait(LONG).unwrap(), WatchOutcome::Changed);
        });
    }
}

#[test]
fn a_watch_can_be_ended_from_another_thread() {
    let f = fixture();
    let mut watch = f.store.watch().unwrap();
    let interrupt = watch.interrupter();
    std::thread::scope(|threads| {
        threads.spawn(|| interrupt.interrupt());
        assert_eq!(watch.wait(None).unwrap(), WatchOutcome::Interrupted);
    });
    f.lease();
    assert_eq!(watch.wait(None).unwrap(), WatchOutcome::Interrupted);
}

#[test]
fn a_watch_that_is_gone_is_not_woken_any_more() {
    let f = fixture();
    drop(f.store.watch().unwrap());
    f.started(2);
    let mut watch = f.store.watch().unwrap();
    let soon = Some(Duration::from_millis(1));
    assert_eq!(watch.wait(soon).unwrap(), WatchOutcome::TimedOut);
}
