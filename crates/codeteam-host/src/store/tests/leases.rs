//! Leases, fencing and what other processes see.

use super::*;

/// Larger than any pid Linux gives out.
const NOBODY: u32 = 0x3fff_ffff;

fn dead() -> ProcessIdentity {
    ProcessIdentity {
        pid: NOBODY,
        ..me()
    }
}

fn elsewhere() -> ProcessIdentity {
    ProcessIdentity {
        host: "elsewhere".into(),
        ..me()
    }
}

fn take(store: &Store, owner: &ProcessIdentity, now: i64) -> Result<Lease, Error> {
    store.take_lease(RUN, owner, now, STALE_AFTER)
}

#[test]
fn a_held_lease_is_refused_and_names_its_holder() {
    let f = fixture();
    f.lease();
    for store in [&f.store, &f.other_process()] {
        let error = take(store, &me(), NOW + 1).unwrap_err();
        let Error::Held {
            pid,
            label,
            heartbeat,
            ..
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!(pid, std::process::id());
        assert_eq!((label.as_str(), heartbeat), ("test", NOW));
    }
}

#[test]
fn a_database_that_was_removed_or_replaced_is_let_go() {
    let f = fixture();
    let lease = f.lease();
    f.store.heartbeat(&lease, NOW + 1).unwrap();
    let moved = f.dir.path().join("elsewhere.db");
    std::fs::rename(f.path(), &moved).unwrap();
    let error = f.store.heartbeat(&lease, NOW + 2).unwrap_err();
    assert!(matches!(error, Error::Removed { .. }), "{error}");
    std::fs::copy(&moved, f.path()).unwrap();
    let error = f.store.heartbeat(&lease, NOW + 3).unwrap_err();
    assert!(matches!(error, Error::Removed { .. }), "{error}");
    std::fs::rename(&moved, f.path()).unwrap();
    f.store.heartbeat(&lease, NOW + 4).unwrap();
}

#[test]
fn the_lease_of_a_dead_process_is_taken_over_at_once() {
    let f = fixture();
    let theirs = take(&f.store, &dead(), NOW).unwrap();
    let mine = take(&f.store, &me(), NOW).unwrap();
    assert!(mine.token > theirs.token);
    assert_eq!(f.store.holder(RUN).unwrap().unwrap().owner, me());
}

#[test]
fn an_owner_out_of_sight_is_replaced_only_when_stale() {
    let f = fixture();
    take(&f.store, &elsewhere(), NOW).unwrap();
    let error = take(&f.store, &me(), NOW + STALE_AFTER).unwrap_err();
    assert!(matches!(error, Error::Held { .. }), "{error}");
    take(&f.store, &me(), NOW + STALE_AFTER + 1).unwrap();
}

#[test]
fn a_heartbeat_keeps_a_lease() {
    let f = fixture();
    let lease = take(&f.store, &elsewhere(), NOW).unwrap();
    f.store.heartbeat(&lease, NOW + STALE_AFTER).unwrap();
    let error = take(&f.store, &me(), NOW + STALE_AFTER + 1).unwrap_err();
    assert!(matches!(error, Error::Held { .. }), "{error}");
}

#[test]
fn a_clock_that_went_back_makes_nothing_stale() {
    let f = fixture();
    take(&f.store, &elsewhere(), NOW).unwrap();
    let error = take(&f.store, &me(), i64::MIN).unwrap_err();
    assert!(matches!(error, Error::Held { .. }), "{error}");
}

#[test]
fn a_hung_holder_that_comes_back_is_fenced_off() {
    let f = fixture();
    let hung = f.started(1);
    let id = f.store.post(RUN, NOW, "{}").unwrap();
    let other = f.other_process();
    let new = take(&other, &elsewhere(), NOW + STALE_AFTER + 1).unwrap();

    let late = AppendRequest {
        consumed: vec![id],
        ..one(&hung, 1)
    };
    let refusals = [
        f.store.append(late).map(drop),
        f.store.heartbeat(&hung, NOW),
        f.store.release(&hung),
    ];
    for refusal in refusals {
        let error = refusal.unwrap_err();
        let Error::Fenced { by, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(by, new.token);
    }
    assert_eq!(f.store.events(RUN, 0).unwrap().len(), 1);
    assert_eq!(f.store.inbox(RUN).unwrap().len(), 1);
    other.append(one(&new, 1)).unwrap();
}

#[test]
fn a_released_lease_can_be_taken_and_no_token_is_used_twice() {
    let f = fixture();
    let first = f.started(1);
    f.store.release(&first).unwrap();
    f.store.release(&first).unwrap();
    assert_eq!(f.store.holder(RUN).unwrap(), None);

    let error = f.store.append(one(&first, 1)).unwrap_err();
    assert!(matches!(error, Error::NoLease { .. }), "{error}");

    let second = take(&f.store, &elsewhere(), NOW).unwrap();
    assert_eq!(second.token, first.token + 1);
    let error = f.store.append(one(&first, 1)).unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
}

#[test]
fn a_token_that_was_never_given_out_is_refused() {
    let f = fixture();
    let lease = f.started(1);
    let forged = AppendRequest {
        token: lease.token + 1,
        ..one(&lease, 1)
    };
    let error = f.store.append(forged).unwrap_err();
    assert!(matches!(error, Error::NoLease { .. }), "{error}");
}

#[test]
fn of_many_who_want_a_dead_owners_lease_one_gets_it() {
    let f = fixture();
    take(&f.store, &dead(), NOW).unwrap();
    let won: usize = std::thread::scope(|scope| {
        let contenders: Vec<_> = (0..8)
            .map(|_| {
                let store = f.other_process();
                scope.spawn(move || usize::from(take(&store, &me(), NOW).is_ok()))
            })
            .collect();
        contenders.into_iter().map(|c| c.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
}

#[test]
fn the_data_version_changes_with_the_writes_of_others() {
    let f = fixture();
    let lease = f.started(1);
    let other = f.other_process();
    let before = f.store.data_version().unwrap();
    assert_eq!(f.store.data_version().unwrap(), before);
    f.store.events(RUN, 0).unwrap();
    assert_eq!(f.store.data_version().unwrap(), before, "reading is silent");

    other.post(RUN, NOW, "{}").unwrap();
    let posted = f.store.data_version().unwrap();
    assert_ne!(posted, before);
    f.store.append(one(&lease, 1)).unwrap();
    assert_ne!(f.store.data_version().unwrap(), posted);
}
