//! One login in the hands of several workers.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

fn access(path: &Path) -> String {
    let value = read(path);
    let token = value.pointer("/claudeAiOauth/accessToken").unwrap();
    token.as_str().unwrap().to_owned()
}

#[test]
fn a_renewed_login_reaches_the_user_and_every_other_worker() {
    let bench = LoginFixture::new();
    let workers = ["a", "b", "c"].map(|name| bench.lend(&CLAUDE, name));
    bench.logins.sync().unwrap();
    for (round, worker) in [(2, &workers[1]), (3, &workers[2]), (4, &workers[0])] {
        worker.renew(&round.to_string(), round);
        bench.logins.sync().unwrap();
        let expected = format!("access-{round}");
        assert_eq!(access(&bench.user(&CLAUDE)), expected);
        for worker in &workers {
            assert_eq!(access(&worker.path()), expected);
            assert_eq!(mode(&worker.path()), 0o600);
            assert!(read(&worker.path()).get("mcpOAuth").is_none());
        }
    }
    for worker in workers {
        assert_eq!(worker.give_back().unwrap(), LoanOutcome::Unchanged);
    }
}

#[test]
fn a_login_that_the_user_has_renewed_reaches_every_worker() {
    let bench = LoginFixture::new();
    let workers = ["a", "b"].map(|name| bench.lend(&CLAUDE, name));
    bench.write_user(&CLAUDE, &login(&CLAUDE, "second", 2));
    bench.logins.sync().unwrap();
    for worker in workers {
        assert_eq!(access(&worker.path()), "access-second");
        assert_eq!(worker.give_back().unwrap(), LoanOutcome::Unchanged);
    }
}

#[test]
fn a_workers_newer_login_is_not_overwritten() {
    let bench = LoginFixture::new();
    let (newer, older) = (bench.lend(&CLAUDE, "a"), bench.lend(&CLAUDE, "b"));
    bench.write_user(&CLAUDE, &login(&CLAUDE, "user", 3));
    newer.renew("newer", 4);
    older.renew("older", 2);
    bench.logins.sync().unwrap();
    for path in [bench.user(&CLAUDE), newer.path(), older.path()] {
        assert_eq!(access(&path), "access-newer");
    }
}

#[test]
fn a_copy_that_the_worker_has_just_written_is_not_overwritten() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CLAUDE, "w");
    bench.write_user(&CLAUDE, &login(&CLAUDE, "user", 2));
    let mut loans = bench.logins.loans();
    let lent = loans.lent.get_mut(&loan.number).unwrap();
    let seen = lent.copy.stamp();
    loan.renew("worker", 3);
    assert!(!lent.pass_to_worker(seen).unwrap());
    assert_eq!(access(&loan.path()), "access-worker");
    drop(loans);
    bench.logins.sync().unwrap();
    assert_eq!(access(&bench.user(&CLAUDE)), "access-worker");
}

#[test]
fn a_worker_whose_token_was_spent_by_another_gets_the_new_one() {
    let bench = LoginFixture::new();
    let (quick, late) = (bench.lend(&CLAUDE, "a"), bench.lend(&CLAUDE, "b"));
    quick.renew("second", 2);
    let spent = json!({"claudeAiOauth": {"accessToken": "", "refreshToken": "", "expiresAt": 0}});
    fs::write(late.path(), spent.to_string()).unwrap();
    bench.logins.sync().unwrap();
    assert_eq!(access(&bench.user(&CLAUDE)), "access-second");
    assert_eq!(access(&late.path()), "access-second");
}

#[test]
fn nothing_is_read_while_nothing_changes() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CLAUDE, "w");
    loan.renew("second", 2);
    bench.logins.sync().unwrap();
    bench.logins.sync().unwrap();
    let lock = bench.base("state/logins.lock");
    fs::remove_file(&lock).unwrap();
    bench.logins.sync().unwrap();
    assert!(!lock.exists(), "it would have been locked to read");
}

#[test]
fn after_a_kill_the_login_that_was_passed_on_counts_as_lent() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CLAUDE, "w");
    bench.write_user(&CLAUDE, &login(&CLAUDE, "second", 2));
    bench.logins.sync().unwrap();
    drop(loan);
    // Older than what the worker has, but newly the user's.
    bench.write_user(&CLAUDE, &login(&CLAUDE, "another", 1));
    let recovered = bench.logins.recover(&bench.base("w")).unwrap();
    assert_eq!(recovered, [(&CLAUDE, LoanOutcome::Kept)]);
    assert_eq!(access(&bench.user(&CLAUDE)), "access-another");
}

#[test]
fn the_newest_of_many_that_are_given_back_at_once_stays() {
    let bench = LoginFixture::new();
    let loans: Vec<LoginLoan> = (0..8)
        .map(|n| bench.lend(&CLAUDE, &format!("w{n}")))
        .collect();
    // A second process would have its own `Logins`, and only the lock in common.
    let other = Logins::new(Some(&bench.base("user")), &bench.base("state"), |_| None);
    let others = (8..12).map(|n| other.lend(&CLAUDE, None, &bench.base(&format!("w{n}"))));
    let loans: Vec<LoginLoan> = loans
        .into_iter()
        .chain(others.map(|loan| loan.unwrap().unwrap()))
        .collect();
    for (n, loan) in (2..).zip(&loans) {
        loan.renew(&n.to_string(), n);
    }
    let (start, done) = (Barrier::new(loans.len() + 2), AtomicBool::new(false));
    thread::scope(|scope| {
        let watching = || {
            start.wait();
            while !done.load(Ordering::Relaxed) {
                assert_eq!(read(&bench.user(&CLAUDE)).as_object().unwrap().len(), 2);
            }
        };
        scope.spawn(watching);
        scope.spawn(|| {
            start.wait();
            while !done.load(Ordering::Relaxed) {
                bench.logins.sync().unwrap();
            }
        });
        let give_back = |loan: LoginLoan| {
            start.wait();
            loan.give_back().unwrap()
        };
        let threads: Vec<_> = loans
            .into_iter()
            .map(|loan| scope.spawn(move || give_back(loan)))
            .collect();
        let outcomes: Vec<_> = threads
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        // Whatever came of it: those two wait for it.
        done.store(true, Ordering::Relaxed);
        for outcome in outcomes {
            let outcome = outcome.unwrap();
            assert!(
                !matches!(outcome, LoanOutcome::Refused { .. }),
                "{outcome:?}"
            );
        }
    });
    assert_eq!(read(&bench.user(&CLAUDE)), login(&CLAUDE, "13", 13));
    assert_eq!(mode(&bench.user(&CLAUDE)), 0o640);
}
