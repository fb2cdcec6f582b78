//! Approval of changes by people: risk, votes, deadlines, and what makes votes void.

use expect_test::expect;

use super::one_task;
use crate::fixture::{EACH_TASK, RunSetup};
use crate::scenario::play;

/// The levels of the seed in short.
const LEVELS: &str = "low: auto if file_count < 2, no_security_sensitive_files
    medium: 30min if file_count < 10, no_breaking_changes
    high: require anna ben cem if changes_auth_code, file_count > 20
    critical: 2 of anna ben cem if changes_key_management";

fn policy() -> RunSetup {
    one_task().approval(LEVELS)
}

/// Leads the task to the reading of its risk.
const JUDGED: &str = "run/one code writes a.rs=1
    run/one test passes
    run/one review approves
    run/one describe goes
    ---
    ";

fn judged(script: &str) -> String {
    play(&policy(), &format!("{JUDGED}{script}"))
}

#[test]
fn a_change_of_low_risk_goes_on_by_itself() {
    expect![[r#"
        > run/one commit reads 1
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 1 files
          run/one: approved by policy
          run/one:commit.1.0.2#6 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&judged(
        "run/one commit reads 1
         run/one commit goes",
    ));
}

#[test]
fn a_change_of_high_risk_waits_for_somebody_who_may_approve_it() {
    expect![[r#"
        > run/one commit reads 2 auth
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 2 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is high. `auth.rs` is in `auth` needs 1 of anna, ben, cem [approve, reject, override]
          run/one: high risk of README.md=0,a.rs=1
        > due
          due: run/one:commit.1.0.1#6: ask
        > as nobody person run/one approve
          refused: codeteam does not know who `nobody` is: an approval needs the user id of whoever decides, or their signature
        > as mallory person run/one approve
          refused: mallory may not decide this: it needs 1 of anna, ben, cem
        > as anna person run/one stale approve
          refused: that question is no longer open
        > as anna person run/one approve
          run/one: anna votes for README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: approve
          run/one: approved by {"votes":["anna"]}
          run/one:commit.1.0.2#7 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&judged(
        "run/one commit reads 2 auth
         due
         as nobody person run/one approve
         as mallory person run/one approve
         as anna person run/one stale approve
         as anna person run/one approve
         run/one commit goes",
    ));
}

#[test]
fn a_session_answers_no_question_for_approval() {
    expect![[r#"
        > run/one commit reads 2 auth
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 2 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is high. `auth.rs` is in `auth` needs 1 of anna, ben, cem [approve, reject, override]
          run/one: high risk of README.md=0,a.rs=1
        > reply run/one approve
          refused: only a person can decide this, and not in this session
    "#]].assert_eq(&judged(
        "run/one commit reads 2 auth
         reply run/one approve",
    ));
}

#[test]
fn several_people_are_several_people_and_not_who_began_the_run() {
    expect![[r#"
        > run/one commit reads 1 keys
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 1 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is critical. `keys.rs` is in `keys` needs 2 of anna, ben, cem, not counting cem, who began the run [approve, reject, override]
          run/one: critical risk of README.md=0,a.rs=1
        > as anna person run/one approve
          run/one: anna votes for README.md=0,a.rs=1
        > as anna person run/one approve
          refused: anna has approved this tree already
        > as cem person run/one approve
          refused: cem may not decide this: it needs 2 of anna, ben, cem, not counting cem, who began the run
        > crash
          run resumed
        > as ben person run/one approve note: fine
          run/one: ben votes for README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: approve
          run/one: approved by {"votes":["anna","ben"]}
          run/one:commit.1.0.2#7 started: integrate
        > again
          refused: that question is no longer open
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&judged(
        "run/one commit reads 1 keys
         as anna person run/one approve
         as anna person run/one approve
         as cem person run/one approve
         crash
         as ben person run/one approve note: fine
         again
         run/one commit goes",
    ));
}

#[test]
fn one_rejection_closes_it_with_its_words() {
    expect![[r#"
        > run/one commit reads 1 keys
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 1 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is critical. `keys.rs` is in `keys` needs 2 of anna, ben, cem, not counting cem, who began the run [approve, reject, override]
          run/one: critical risk of README.md=0,a.rs=1
        > as anna person run/one approve
          run/one: anna votes for README.md=0,a.rs=1
        > as ben person run/one reject
          refused: a rejection needs its reason: what has to change?
        > as ben person run/one reject note: rotate the key first
          run/one: ben votes against README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: reject
          run/one at code.2 (answered)
          run/one:code.2.0.1#7 started: coder on claude
        > run/one code writes a.rs=2
          run/one:code.2.0.1#7 answered, tree README.md=0,a.rs=2
          run/one at test.2 (next)
          run/one:test.2.0.1#8 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=2
          run/one: test approved
          run/one at review.2 (next)
          run/one:review.2.0.1#9 started: reviewer on codex
        > run/one review approves
          run/one:review.2.0.1#9 answered, for it
          run/one: review approved
          run/one leaves out approve
          run/one at describe.2 (next)
          run/one:describe.2.0.1#10 started: committer on claude
        > run/one describe goes
          run/one:describe.2.0.1#10 answered
          run/one at commit.2 (next)
          run/one:commit.2.0.1#11 started: read the risk
        > run/one commit reads 1 keys
          run/one:commit.2.0.1#11 read README.md=0,a.rs=2: 1 files
          run/one:commit.2.0.1#12 asks: Approve this change? Its risk is critical. `keys.rs` is in `keys` needs 2 of anna, ben, cem, not counting cem, who began the run [approve, reject, override]
          run/one: critical risk of README.md=0,a.rs=2
    "#]].assert_eq(&judged(
        "run/one commit reads 1 keys
         as anna person run/one approve
         as ben person run/one reject
         as ben person run/one reject note: rotate the key first
         run/one code writes a.rs=2
         run/one test passes
         run/one review approves
         run/one describe goes
         run/one commit reads 1 keys",
    ));
}

#[test]
fn votes_do_not_survive_another_commit() {
    let setup = RunSetup::for_workflow(EACH_TASK)
        .plan("one: a.rs\ntwo: b.rs")
        .approval(LEVELS);
    expect![[r#"
        > run/two commit goes
          c1 committed: README.md=0,b.rs=1: Do it
          run/two ended: completed
          run/one: the votes of [anna] are void: another change was committed, so this one has to be replayed on it
          run/one:commit.1.0.2#13 started: rebase
        > run/one commit goes
          rebased on c1: README.md=0,a.rs=1,b.rs=1
          run/one:commit.1.0.3#14 started: the checks of `test`
        > run/one commit passes
          `test` passed on README.md=0,a.rs=1,b.rs=1
          run/one:commit.1.0.4#15 started: read the risk
        > run/one commit reads 1 keys
          run/one:commit.1.0.4#15 read README.md=0,a.rs=1,b.rs=1: 1 files
          run/one:commit.1.0.1#16 asks: Approve this change? Its risk is critical. `keys.rs` is in `keys` needs 2 of anna, ben, cem, not counting cem, who began the run [approve, reject, override]
          run/one: critical risk of README.md=0,a.rs=1,b.rs=1
        > as anna person run/one approve
          run/one: anna votes for README.md=0,a.rs=1,b.rs=1
        > as ben person run/one approve
          run/one: ben votes for README.md=0,a.rs=1,b.rs=1
          run/one:commit.1.0.1#16 answered: approve
          run/one: approved by {"votes":["anna","ben"]}
          run/one:commit.1.0.5#17 started: integrate
        > run/one commit goes
          c2 committed: README.md=0,a.rs=1,b.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(
        &setup,
        "run/one code writes a.rs=1
         run/one test passes
         run/one review approves
         run/one describe goes
         run/one commit reads 1 keys
         as anna person run/one approve
         run/two code writes b.rs=1
         run/two test passes
         run/two review approves
         run/two describe goes
         run/two commit reads 1
         ---
         run/two commit goes
         run/one commit goes
         run/one commit passes
         run/one commit reads 1 keys
         as anna person run/one approve
         as ben person run/one approve
         run/one commit goes",
    ));
}

#[test]
fn nobody_objects_within_the_time_that_runs_from_the_notification() {
    expect![[r#"
        > run/one commit reads 5
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 5 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is medium. 5 files no public signature is gone or changed needs that nobody rejects it within 30 min of the notification [approve, reject, override]
          run/one: medium risk of README.md=0,a.rs=1
        > due
          due: run/one:commit.1.0.1#6: ask
          due: run/one:commit.1.0.1#6: notify people
        > +3600s
        > run/one commit reaches slack
          run/one: notified by slack, goes on at 5401000
        > due
          due: run/one:commit.1.0.1#6: ask
          due: wait until 5401000 for objections to run/one:commit.1.0.1#6
        > +1799s
        > +1s
          run/one: approved by {"no_objection":{"within_ms":1800000}}
          run/one:commit.1.0.2#7 started: integrate
        > +1s
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&judged(
        "run/one commit reads 5
         due
         +3600s
         run/one commit reaches slack
         due
         +1799s
         +1s
         +1s
         run/one commit goes",
    ));
}

#[test]
fn somebody_objects_in_time() {
    expect![[r#"
        > run/one commit reads 5
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 5 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is medium. 5 files no public signature is gone or changed needs that nobody rejects it within 30 min of the notification [approve, reject, override]
          run/one: medium risk of README.md=0,a.rs=1
        > run/one commit reaches slack
          run/one: notified by slack, goes on at 1801000
        > +60s
        > as mallory person run/one reject note: not like this
          run/one: mallory votes against README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: reject
          run/one at code.2 (answered)
          run/one:code.2.0.1#7 started: coder on claude
        > +3600s
    "#]].assert_eq(&judged(
        "run/one commit reads 5
         run/one commit reaches slack
         +60s
         as mallory person run/one reject note: not like this
         +3600s",
    ));
}

#[test]
fn where_nobody_was_notified_time_changes_nothing() {
    expect![[r#"
        > run/one commit reads 5
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 5 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is medium. 5 files no public signature is gone or changed needs that nobody rejects it within 30 min of the notification [approve, reject, override]
          run/one: medium risk of README.md=0,a.rs=1
        > run/one commit reaches_nobody
          run/one: nobody was notified
        > +59s
        > due
          due: run/one:commit.1.0.1#6: ask
        > +7200s
          run/one: to be notified again
        > due
          due: run/one:commit.1.0.1#6: ask
          due: run/one:commit.1.0.1#6: notify people
        > crash
          run resumed
        > run/one commit breaks "no network"
          run/one: nobody was notified
        > due
          due: run/one:commit.1.0.1#6: ask
        > as anna person run/one approve
          run/one: anna votes for README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: approve
          run/one: approved by {"votes":["anna"]}
          run/one:commit.1.0.2#7 started: integrate
    "#]].assert_eq(&judged(
        "run/one commit reads 5
         run/one commit reaches_nobody
         +59s
         due
         +7200s
         due
         crash
         run/one commit breaks \"no network\"
         due
         as anna person run/one approve",
    ));
}

#[test]
fn a_notification_that_reached_nobody_is_sent_again_after_longer_and_longer_pauses() {
    expect![[r#"
        > run/one commit reads 5
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 5 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is medium. 5 files no public signature is gone or changed needs that nobody rejects it within 30 min of the notification [approve, reject, override]
          run/one: medium risk of README.md=0,a.rs=1
        > run/one commit reaches_nobody
          run/one: nobody was notified
        > +60s
          run/one: to be notified again
        > run/one commit reaches_nobody
          run/one: nobody was notified
        > +119s
        > +1s
          run/one: to be notified again
        > run/one commit reaches slack
          run/one: notified by slack, goes on at 1981000
        > +1800s
          run/one: approved by {"no_objection":{"within_ms":1800000}}
          run/one:commit.1.0.2#7 started: integrate
    "#]].assert_eq(&judged(
        "run/one commit reads 5
         run/one commit reaches_nobody
         +60s
         run/one commit reaches_nobody
         +119s
         +1s
         run/one commit reaches slack
         +1800s",
    ));
}

#[test]
fn a_deadline_that_passed_while_nobody_ran_it_starts_again() {
    expect![[r#"
        > run/one commit reads 5
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 5 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is medium. 5 files no public signature is gone or changed needs that nobody rejects it within 30 min of the notification [approve, reject, override]
          run/one: medium risk of README.md=0,a.rs=1
        > run/one commit reaches slack
          run/one: notified by slack, goes on at 1801000
        > +1790s
        > crash
          run resumed
          run/one: to be notified again
        > due
          due: run/one:commit.1.0.1#6: ask
          due: run/one:commit.1.0.1#6: notify people
        > run/one commit reaches slack
          run/one: notified by slack, goes on at 2391000
        > +599s
        > +1s
          run/one: approved by {"no_objection":{"within_ms":1800000}}
          run/one:commit.1.0.2#7 started: integrate
        > crash after run/one commit
          run resumed
          run/one:commit.1.0.2#7 lost, 50 spent
          run/one:commit.1.0.2#8 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&judged(
        "run/one commit reads 5
         run/one commit reaches slack
         +1790s
         crash
         due
         run/one commit reaches slack
         +599s
         +1s
         crash after run/one commit
         run/one commit goes",
    ));
}

#[test]
fn an_override_is_for_those_who_may_and_is_no_verification() {
    expect![[r#"
        > run/one commit reads 1 keys
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 1 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is critical. `keys.rs` is in `keys` needs 2 of anna, ben, cem, not counting cem, who began the run [approve, reject, override]
          run/one: critical risk of README.md=0,a.rs=1
        > as anna person run/one override note: it is urgent
          refused: anna may not override the approval policy
        > as olga person run/one override
          refused: an override needs a reason
        > as olga person run/one override note: it is urgent
          run/one:commit.1.0.1#6 answered: override
          run/one: approved by {"override":{"by":"olga","reason":"it is urgent"}}
          run/one:commit.1.0.2#7 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&judged(
        "run/one commit reads 1 keys
         as anna person run/one override note: it is urgent
         as olga person run/one override
         as olga person run/one override note: it is urgent
         run/one commit goes",
    ));
}

#[test]
fn an_override_is_recorded_in_the_commit() {
    let (world, _) = crate::scenario::play_out(
        &policy(),
        &format!(
            "{JUDGED}run/one commit reads 1 keys
             as olga person run/one override note: it is urgent"
        ),
    );
    let accepted: Vec<_> = world
        .flights
        .values()
        .filter_map(|effect| match effect {
            codeteam_core::Effect::Integrate { accepted_by, .. } => accepted_by.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(accepted, ["olga"]);
}

#[test]
fn what_no_level_fits_and_what_is_not_known_needs_a_person() {
    expect![[r#"
        > run/one commit reads 15
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 15 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is high. no level of the policy fits, so a person has to approve needs 1 of the people who are known here [approve, reject, override]
          run/one: high risk of README.md=0,a.rs=1
    "#]].assert_eq(&judged("run/one commit reads 15"));
    expect![[r#"
        > run/one commit reads 5 unread
          run/one:commit.1.0.1#5 read README.md=0,a.rs=1: 5 files
          run/one:commit.1.0.1#6 asks: Approve this change? Its risk is high. no level of the policy fits, so a person has to approve needs 1 of the people who are known here [approve, reject, override]
          run/one: high risk of README.md=0,a.rs=1
    "#]].assert_eq(&judged("run/one commit reads 5 unread"));
}

#[test]
fn what_was_overruled_does_not_go_on_by_time() {
    expect![[r#"
        > run/one commit reads 5
          run/one:commit.1.0.1#6 read README.md=0,a.rs=1: 5 files
          run/one:commit.1.0.1#7 asks: Approve this change? Its risk is high. 5 files no public signature is gone or changed objections were overruled or less was done, so time alone is not enough needs 1 of the people who are known here [approve, reject, override]
          run/one: high risk of README.md=0,a.rs=1
    "#]].assert_eq(&play(
        &policy(),
        r#"run/one code writes a.rs=1
           run/one test fails "no"
           accept
           run/one review approves
           run/one describe goes
           ---
           run/one commit reads 5"#,
    ));
}

/// The policy with what follows if nobody approves.
fn overdue(then: &str) -> RunSetup {
    one_task().approval(&format!("all: require anna ben then {then}"))
}

fn waiting(then: &str, script: &str) -> String {
    let script = format!("{JUDGED}run/one commit reads 2 auth\n---\n{script}");
    play(&overdue(then), &script)
}

#[test]
fn people_are_reminded_after_longer_and_longer_pauses() {
    expect![[r#"
        > +3599s
        > +1s
          run/one: not approved in time: reminded, next at 10801000
        > again
        > +7199s
        > +1s
          run/one: not approved in time: reminded, next at 25201000
        > crash
          run resumed
        > +200000s
          run/one: not approved in time: reminded, next at 239601000
        > +1s
        > as ben person run/one approve
          run/one: ben votes for README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: approve
          run/one: approved by {"votes":["ben"]}
          run/one:commit.1.0.2#7 started: integrate
        > +200000s
    "#]]
    .assert_eq(&waiting(
        "60min remind",
        "+3599s
         +1s
         again
         +7199s
         +1s
         crash
         +200000s
         +1s
         as ben person run/one approve
         +200000s",
    ));
}

#[test]
fn when_the_time_is_over_more_people_may_approve() {
    expect![[r#"
        > as dora person run/one approve
          refused: dora may not decide this: it needs 1 of anna, ben; after 60 min dora, eve may approve it too
        > +3600s
          run/one: not approved in time: {"escalated":["dora","eve"]}, next at 10801000
        > crash
          run resumed
        > +7200s
          run/one: not approved in time: reminded, next at 25201000
        > as dora person run/one approve
          run/one: dora votes for README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: approve
          run/one: approved by {"votes":["dora"]}
          run/one:commit.1.0.2#7 started: integrate
    "#]].assert_eq(&waiting(
        "60min escalate dora eve",
        "as dora person run/one approve
         +3600s
         crash
         +7200s
         as dora person run/one approve",
    ));
}

#[test]
fn escalation_lowers_nothing() {
    let setup = one_task().approval("all: 2 of anna ben then 60min escalate dora");
    expect![[r#"
        > +3600s
          run/one: not approved in time: {"escalated":["dora"]}, next at 10801000
        > as dora person run/one approve
          run/one: dora votes for README.md=0,a.rs=1
        > as cem person run/one approve
          refused: cem may not decide this: it needs 2 of anna, ben, dora, not counting cem, who began the run; people are reminded after 60 min
        > as anna person run/one approve
          run/one: anna votes for README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: approve
          run/one: approved by {"votes":["anna","dora"]}
          run/one:commit.1.0.2#7 started: integrate
    "#]].assert_eq(&play(
        &setup,
        &format!(
            "{JUDGED}run/one commit reads 2 auth
             ---
             +3600s
             as dora person run/one approve
             as cem person run/one approve
             as anna person run/one approve"
        ),
    ));
}

#[test]
fn what_nobody_approves_in_time_is_rejected_and_can_be_asked_again() {
    expect![[r#"
        > +3000s
        > +600s
          run/one: not approved in time: rejected, next at 10801000
          run/one ended: failed: it was not approved within 60 min
          run ended: failed: `one` was given up
          the run ended: failed: `one` was given up
        > retry
          run reopened
          one is pending
          run/one resumed
          run/one at commit.2 (resumed)
          run/one:commit.2.0.1#7 asks: Approve this change? Its risk is high. needs 1 of anna, ben; after 60 min it counts as rejected [approve, reject, override]
          run/one: high risk of README.md=0,a.rs=1
    "#]].assert_eq(&waiting(
        "60min reject",
        "+3000s
         +600s
         retry",
    ));
}

#[test]
fn nothing_is_rejected_by_time_while_codeteam_was_not_running() {
    expect![[r#"
        > +3300s
        > crash
          run resumed
          run/one: not approved in time: reminded, next at 3901000
        > +599s
        > +1s
          run/one: not approved in time: rejected, next at 18301000
          run/one ended: failed: it was not approved within 60 min
          run ended: failed: `one` was given up
          the run ended: failed: `one` was given up
    "#]]
    .assert_eq(&waiting(
        "60min reject",
        "+3300s
         crash
         +599s
         +1s",
    ));
}

#[test]
fn a_vote_is_handed_to_somebody_else_and_counts_as_theirs() {
    let setup = one_task().approval("all: 2 of anna ben cem");
    expect![[r#"
        > as nobody delegate run/one dora
          refused: codeteam does not know who `nobody` is: handing a vote over needs the user id of whoever decides, or their signature
        > as mallory delegate run/one dora
          refused: mallory has no vote of their own here to hand over
        > as anna delegate run/one mallory
          refused: this run does not know `mallory`: `people` of the configuration with which it began has nobody of that name
        > as anna delegate run/one cem
          refused: cem may approve it already, and has one vote
        > as anna delegate run/one dora note: on leave
          run/one: anna hands the vote to dora
        > again
          refused: dora votes in the place of anna already
        > as anna person run/one approve
          refused: anna may not decide this: it needs 2 of ben, cem, dora, not counting cem, who began the run
        > as dora delegate run/one eve
          refused: dora has no vote of their own here to hand over
        > crash
          run resumed
        > as dora person run/one approve
          run/one: dora votes for README.md=0,a.rs=1
        > as anna delegate run/one anna
          refused: dora has already voted in the place of anna
        > as ben person run/one approve
          run/one: ben votes for README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: approve
          run/one: approved by {"votes":["ben","dora"]}
          run/one:commit.1.0.2#7 started: integrate
    "#]].assert_eq(&play(
        &setup,
        &format!(
            "{JUDGED}run/one commit reads 2 auth
             ---
             as nobody delegate run/one dora
             as mallory delegate run/one dora
             as anna delegate run/one mallory
             as anna delegate run/one cem
             as anna delegate run/one dora note: on leave
             again
             as anna person run/one approve
             as dora delegate run/one eve
             crash
             as dora person run/one approve
             as anna delegate run/one anna
             as ben person run/one approve"
        ),
    ));
}

#[test]
fn whoever_has_handed_their_vote_over_may_still_object() {
    let setup = one_task().approval("all: require anna");
    expect![[r#"
        > as anna delegate run/one dora
          run/one: anna hands the vote to dora
        > as anna person run/one reject note: not before Monday
          run/one: anna votes against README.md=0,a.rs=1
          run/one:commit.1.0.1#6 answered: reject
          run/one at code.2 (answered)
          run/one:code.2.0.1#7 started: coder on claude
    "#]]
    .assert_eq(&play(
        &setup,
        &format!(
            "{JUDGED}run/one commit reads 2 auth
             ---
             as anna delegate run/one dora
             as anna person run/one reject note: not before Monday"
        ),
    ));
}

/// Returns true if the change was approved after these people have said yes, one after another.
fn is_approved_by(order: &[&str]) -> bool {
    let setup = one_task().approval("all: 3 of anna ben dora eve cem");
    let votes = order
        .iter()
        .map(|who| format!("as {who} person run/one approve"));
    let votes = votes.collect::<Vec<_>>().join("\n");
    let script = format!("{JUDGED}run/one commit reads 2 auth\n---\n");
    let (world, _) = crate::scenario::play_out(&setup, &script);
    // Votes after the last one that was needed have no question any more.
    let mut world = world;
    for line in votes.lines() {
        if !world.questions().is_empty() {
            crate::scenario::command(&mut world, line);
        }
    }
    world.questions().is_empty()
}

fn permutations<'a>(people: &[&'a str]) -> Vec<Vec<&'a str>> {
    if people.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in people.iter().enumerate() {
        let mut rest = people.to_vec();
        rest.remove(at);
        for mut order in permutations(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

#[test]
fn the_order_of_votes_does_not_matter() {
    // cem has begun the run, and mallory is nobody.
    for (people, enough) in [
        (&["anna", "ben", "dora"][..], true),
        (&["anna", "ben", "cem", "mallory"], false),
        (&["anna", "ben", "dora", "cem"], true),
        (&["eve", "eve", "dora", "mallory"], false),
        (&["eve", "eve", "dora", "ben"], true),
    ] {
        for order in permutations(people) {
            assert_eq!(is_approved_by(&order), enough, "{order:?}");
        }
    }
}
