//! Events, the run's row and the inbox.

use super::*;

#[test]
fn events_are_read_back_as_they_were_appended() {
    let f = fixture();
    let lease = f.lease();
    let two = AppendRequest {
        events: vec![event("{\"a\":1}"), event("{\"b\":\"é\"}")],
        ..one(&lease, 0)
    };
    assert_eq!(f.store.append(two).unwrap(), 2);
    assert_eq!(f.store.append(one(&lease, 2)).unwrap(), 3);

    let events = f.store.events(RUN, 0).unwrap();
    let seen: Vec<_> = events.iter().map(|e| (e.seq, e.data.as_str())).collect();
    let expected = [(1, "{\"a\":1}"), (2, "{\"b\":\"é\"}"), (3, "{\"n\":3}")];
    assert_eq!(seen, expected);
    assert_eq!(events[0].kind, "WorkerExited");
    assert_eq!((events[0].version, events[0].at), (1, NOW));

    assert_eq!(f.store.events(RUN, 2).unwrap(), events[2..]);
    assert!(f.store.events("another", 0).unwrap().is_empty());
}

#[test]
fn events_survive_closing_the_store() {
    let f = fixture();
    f.started(3);
    let StoreFixture { dir, store } = f;
    drop(store);
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 1, "closing leaves one file");
    let store = Store::open_existing(&dir.path().join("state.db"));
    assert_eq!(store.unwrap().unwrap().events(RUN, 0).unwrap().len(), 3);
}

#[test]
fn an_append_after_the_wrong_event_is_a_conflict_and_writes_nothing() {
    let f = fixture();
    let lease = f.started(2);
    for expected in [1, 3] {
        let stale = AppendRequest {
            row: Some(row("failed")),
            ..one(&lease, expected)
        };
        let error = f.store.append(stale).unwrap_err();
        let Error::Conflict { found, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(found, 2);
    }
    assert_eq!(f.store.events(RUN, 0).unwrap().len(), 2);
    assert_eq!(f.store.run(RUN).unwrap().unwrap().status, "planning");
}

#[test]
fn two_processes_with_the_same_belief_cannot_both_append() {
    let f = fixture();
    let lease = f.started(1);
    let other = f.other_process();
    other.append(one(&lease, 1)).unwrap();
    let error = f.store.append(one(&lease, 1)).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
}

#[test]
fn events_cannot_be_changed_even_by_hand() {
    let f = fixture();
    f.started(2);
    let raw = f.raw();
    for sql in [
        "UPDATE events SET data = '{}'",
        "DELETE FROM events WHERE seq = 2",
        "INSERT OR REPLACE INTO events VALUES (2, 1, 4, 3, 0, 'x', 1, '{}')",
        "INSERT INTO events VALUES (9, 1, 2, 1, 0, 'x', 1, '{}')",
        "INSERT INTO events VALUES (9, 1, 5, 3, 0, 'x', 1, '{}')",
        "INSERT INTO events VALUES (9, 1, 4, 2, 0, 'x', 1, '{}')",
    ] {
        let error = raw.execute(sql, ()).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{sql}: {error}");
    }
    assert_eq!(f.store.events(RUN, 1).unwrap()[0].data, "{\"n\":2}");
}

#[test]
fn the_row_of_a_run_is_updated_with_its_events() {
    let f = fixture();
    let lease = f.started(1);
    let update = AppendRequest {
        at: NOW + 5,
        row: Some(RunUpdate {
            created_at: NOW + 5,
            ..row("running")
        }),
        ..one(&lease, 1)
    };
    f.store.append(update).unwrap();
    f.store.append(one(&lease, 2)).unwrap();
    let expected = RunRow {
        id: RUN.into(),
        goal: "a goal".into(),
        created_at: NOW,
        seq: 3,
        status: "running".into(),
        headline: "it is running".into(),
        updated_at: NOW,
    };
    assert_eq!(f.store.run(RUN).unwrap(), Some(expected));
}

#[test]
fn runs_are_listed_newest_first() {
    let f = fixture();
    for (id, created_at) in [("b", 1), ("a", 3), ("c", 2)] {
        let lease = lease(&f.store, id);
        let start = AppendRequest {
            row: Some(RunUpdate {
                created_at,
                ..row("planning")
            }),
            ..one(&lease, 0)
        };
        f.store.append(start).unwrap();
    }
    let ids: Vec<_> = f.store.runs().unwrap().into_iter().map(|r| r.id).collect();
    assert_eq!(ids, ["a", "c", "b"]);
}

#[test]
fn a_run_that_was_never_started_is_unknown() {
    let f = fixture();
    let rowless = AppendRequest {
        row: None,
        ..one(&f.lease(), 0)
    };
    let error = f.store.append(rowless).unwrap_err();
    assert!(matches!(error, Error::UnknownRun { .. }), "{error}");
    let error = f.store.post(RUN, NOW, "{}").unwrap_err();
    assert!(matches!(error, Error::UnknownRun { .. }), "{error}");
    assert_eq!(f.store.run(RUN).unwrap(), None);
}

#[test]
fn the_inbox_is_consumed_together_with_the_events_that_answer_it() {
    let f = fixture();
    let lease = f.started(1);
    let other = f.other_process();
    let first = other.post(RUN, NOW, "\"approve\"").unwrap();
    let second = other.post(RUN, NOW + 1, "\"stop\"").unwrap();
    let waiting = f.store.inbox(RUN).unwrap();
    let seen: Vec<_> = waiting.iter().map(|m| (m.id, m.data.as_str())).collect();
    assert_eq!(seen, [(first, "\"approve\""), (second, "\"stop\"")]);

    let answer = AppendRequest {
        consumed: vec![first],
        ..one(&lease, 1)
    };
    f.store.append(answer).unwrap();
    let waiting = f.store.inbox(RUN).unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].id, second);
}

#[test]
fn a_refused_append_leaves_the_inbox_as_it_was() {
    let f = fixture();
    let lease = f.started(1);
    let id = f.store.post(RUN, NOW, "{}").unwrap();
    let conflicting = AppendRequest {
        consumed: vec![id],
        ..one(&lease, 7)
    };
    f.store.append(conflicting).unwrap_err();
    // The first entry exists, the second does not: neither may be consumed.
    let half_known = AppendRequest {
        consumed: vec![id, id + 1],
        ..one(&lease, 1)
    };
    let error = f.store.append(half_known).unwrap_err();
    assert!(matches!(error, Error::NotInInbox { .. }), "{error}");
    assert_eq!(f.store.inbox(RUN).unwrap().len(), 1);
    assert_eq!(f.store.events(RUN, 0).unwrap().len(), 1);
}

#[test]
fn an_inbox_entry_is_consumed_once() {
    let f = fixture();
    let lease = f.started(1);
    let id = f.store.post(RUN, NOW, "{}").unwrap();
    let answer = |seq| AppendRequest {
        consumed: vec![id],
        ..one(&lease, seq)
    };
    f.store.append(answer(1)).unwrap();
    let error = f.store.append(answer(2)).unwrap_err();
    assert!(matches!(error, Error::NotInInbox { .. }), "{error}");
}

#[test]
fn a_long_run_is_read_as_a_stream() {
    let f = fixture();
    let lease = f.lease();
    let many = AppendRequest {
        events: (1..=100_000).map(|n| event(&format!("{n}"))).collect(),
        ..one(&lease, 0)
    };
    assert_eq!(f.store.append(many).unwrap(), 100_000);
    let mut last = 0;
    let read = f.store.for_each_event(RUN, 0, |event| {
        assert_eq!(event.seq, last + 1);
        last = event.seq;
        Ok::<(), Error>(())
    });
    read.unwrap();
    assert_eq!(last, 100_000);
}

#[test]
fn a_stream_stops_at_the_readers_own_error() {
    #[derive(Debug, PartialEq)]
    enum CallerError {
        Store(String),
        Enough,
    }
    impl From<Error> for CallerError {
        fn from(error: Error) -> Self {
            CallerError::Store(error.to_string())
        }
    }
    let f = fixture();
    f.started(3);
    let mut seen = 0;
    let read = f.store.for_each_event(RUN, 0, |_| {
        seen += 1;
        // Reading inside a read must not wait for it.
        f.store.run(RUN)?;
        if seen < 2 {
            Ok(())
        } else {
            Err(CallerError::Enough)
        }
    });
    assert_eq!((read, seen), (Err(CallerError::Enough), 2));
}
