//! What a person changes: the plan, the checks, or their mind about a change that was refused.

use codeteam_core::assignment::build_assignment;
use expect_test::expect;

use super::one_task;
use crate::fixture::{HALTING, RunSetup};
use crate::scenario::{play, play_out};

/// One task whose first change fails the checks, which ends the run.
const GIVEN_UP: &str = r#"run/one make writes a.rs=1
    run/one check fails "b.rs is not the task's"
    ---"#;

fn halting() -> RunSetup {
    RunSetup::for_workflow(HALTING)
        .plan("one: a.rs\ntwo: b.rs < one")
        .cap(1)
}

fn given_up(more: &str) -> String {
    format!("{GIVEN_UP}\n{more}")
}

#[test]
fn a_change_that_ended_the_run_is_accepted_all_the_same() {
    let transcript = play(
        &halting(),
        &given_up(
            "accept note: that is fine
             run/one judge approves
             run/one commit goes",
        ),
    );
    expect![[r#"
        > accept note: that is fine
          run reopened
          run/one: ann accepted it over check
          one is pending
          run/one resumed
          run/one at judge.1 (resumed)
          run/one:judge.1.0.1#3 started: tester on claude
        > run/one judge approves
          run/one:judge.1.0.1#3 answered, for it
          run/one: judge approved
          run/one at commit.1 (next)
          run/one:commit.1.0.1#4 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: one: Do one
          run/one ended: completed
          run/two opened on c1
          run/two at make.1 (start)
          run/two:make.1.0.1#5 started: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn so_is_one_of_a_run_that_has_no_tasks() {
    let start = RunSetup::for_workflow(
        r"
name: whole
start: code
roles: { maker: { kind: implementer, worker: claude } }
steps:
  code: { role: maker, next: test }
  test: { gate: [{ name: unit, command: make test }], next: commit }
  commit: { commit: branch, next: done }
",
    );
    let transcript = play(
        &start,
        r#"run code writes a.rs=1
           run test fails "flaky"
           ---
           accept
           run commit goes
           accept"#,
    );
    expect![[r#"
        > accept
          run reopened
          run: ann accepted it over test
          run at commit.1 (resumed)
          run:commit.1.0.1#3 started: integrate
        > run commit goes
          c1 committed: README.md=0,a.rs=1: Add a password reset
          run ended: completed
          the run ended: completed
        > accept
          refused: nothing is held against a change there
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_change_is_judged_again_by_the_files_that_its_task_has_now() {
    let transcript = play(
        &halting(),
        &given_up(
            "retry with plan one: a.rs b.rs; two: c.rs < one
             run/one check passes",
        ),
    );
    expect![[r#"
        > retry with plan one: a.rs b.rs; two: c.rs < one
          run reopened
          plan revised: 2 tasks; to be judged again: run/one
          one is pending
          run/one resumed
          run/one at check.2 (resumed)
          run/one:check.2.0.1#3 started: the checks of `check`
        > run/one check passes
          `check` passed on README.md=0,a.rs=1
          run/one: check approved
          run/one at judge.1 (next)
          run/one:judge.1.0.1#4 started: tester on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_plan_that_does_not_fit_starts_nothing() {
    let transcript = play(&halting(), &given_up("retry with plan one: a.rs < three"));
    expect![[r#"
        > retry with plan one: a.rs < three
          refused: the plan cannot be changed like that: task `one` depends on `three`, which is not in the plan
    "#]].assert_eq(&transcript);
}

#[test]
fn a_change_is_judged_again_by_the_checks_that_are_configured_now() {
    let transcript = play(
        &halting(),
        &given_up(
            "repin check make quick
             repin check make quick
             retry
             run/one check passes",
        ),
    );
    expect![[r#"
        > repin check make quick
          other checks from now on: `check`
        > repin check make quick
          refused: those checks are in force already
        > retry
          run reopened
          one is pending
          run/one resumed
          run/one at check.2 (resumed)
          run/one:check.2.0.1#3 started: the checks of `check`
        > run/one check passes
          `check` passed on README.md=0,a.rs=1
          run/one: check approved
          run/one at judge.1 (next)
          run/one:judge.1.0.1#4 started: tester on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn without_any_change_whoever_made_it_makes_another() {
    let transcript = play(&halting(), &given_up("retry"));
    expect![[r#"
        > retry
          run reopened
          one is pending
          run/one resumed
          run/one at make.2 (resumed)
          run/one:make.2.0.1#3 started: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn checks_that_change_on_the_way_judge_before_the_commit() {
    let transcript = play(
        &one_task(),
        "run/one code writes a.rs=1
         run/one test passes
         run/one review approves
         ---
         repin test make strict
         run/one describe goes
         run/one commit passes",
    );
    expect![[r#"
        > repin test make strict
          other checks from now on: `test`
        > run/one describe goes
          run/one:describe.1.0.1#4 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#5 started: the checks of `test`
        > run/one commit passes
          `test` passed on README.md=0,a.rs=1
          run/one:commit.1.0.2#6 started: integrate
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn what_checks_leave_to_reviewers_is_a_finding_until_it_is_gone() {
    let (world, transcript) = play_out(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test notes b.rs
           run/one review rejects "not good"
           run/one code writes a.rs=2
           run/one test passes"#,
    );
    expect![[r#"
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#2 started: the checks of `test`
        > run/one test notes b.rs
          `test` passed on README.md=0,a.rs=1
          F1 opened (info): not a file of the task
          run/one: test approved
          run/one at review.1 (next)
          run/one:review.1.0.1#3 started: reviewer on codex
        > run/one review rejects "not good"
          run/one:review.1.0.1#3 answered, against it
          run/one: review rejected: not good
          run/one at code.2 (rejected)
          run/one:code.2.0.1#4 started: coder on claude
        > run/one code writes a.rs=2
          run/one:code.2.0.1#4 answered, tree README.md=0,a.rs=2
          run/one at test.2 (next)
          run/one:test.2.0.1#5 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=2
          F1 fixed
          run/one: test approved
          run/one at review.2 (next)
          run/one:review.2.0.1#6 started: reviewer on codex
    "#]]
    .assert_eq(&transcript);
    let review = world.flights.keys().next().unwrap();
    assert_eq!(
        build_assignment(&world.run, review)
            .unwrap()
            .feedback
            .findings,
        []
    );
    let (world, _) = play_out(
        &one_task(),
        "run/one code writes a.rs=1
         run/one test notes b.rs",
    );
    let review = world.flights.keys().next().unwrap();
    let [finding] = &build_assignment(&world.run, review)
        .unwrap()
        .feedback
        .findings[..]
    else {
        panic!("the reviewer is not told");
    };
    assert_eq!(finding.report.file.as_deref(), Some("b.rs"));
}
