//! Checks that failed before anything was changed: what a commit has repaired stays repaired, and what
//! must pass in the end may fail as long as other tasks are left.

use expect_test::expect;

use super::finish;
use crate::fixture::{EACH_TASK, RunSetup};
use crate::scenario::{play, play_out};

fn two_tasks() -> RunSetup {
    RunSetup::for_workflow(EACH_TASK).plan("one: a.rs\ntwo: b.rs < one")
}

/// Leads a task to its commit; its check passes, though these tests fail.
fn finish_leaving(task: &str, tests: &str) -> String {
    finish(task).replace("test passes", &format!("test leaves {tests}"))
}

#[test]
fn what_a_commit_has_repaired_must_not_fail_again() {
    let script = format!(
        "run/one code writes a.rs=1
         {}",
        finish_leaving("one", "t2")
    );
    let start = two_tasks().baseline("unit", "make test", &["t1", "t2"]);
    let (world, transcript) = play_out(&start, &script);
    let committed = transcript.lines().find(|line| line.contains("committed"));
    assert_eq!(
        committed.unwrap().trim(),
        "c1 committed: README.md=0,a.rs=1: Do it; `unit` may fail for t2"
    );
    let left: Vec<&str> = world.run.unrepaired_tests().collect();
    assert_eq!(left, ["t2"]);
}

#[test]
fn a_check_that_passes_in_a_commit_must_pass_from_then_on() {
    let script = format!(
        "run/one code writes a.rs=1
         {}",
        finish("one")
    );
    let start = two_tasks().baseline("unit", "make test", &["t1"]);
    let (world, _) = play_out(&start, &script);
    assert_eq!(world.run.unrepaired_tests().count(), 0);
    assert!(world.run.baseline[0].tests.is_empty());
}

#[test]
fn what_must_pass_in_the_end_may_fail_while_another_task_is_left() {
    let (world, _) = play_out(&two_tasks().must_pass(), "");
    let one = &world.run.frames[&"run/one".into()];
    assert!(world.run.may_leave_failures(one));
    let script = format!(
        "run/one code writes a.rs=1
         {}",
        finish_leaving("one", "t2")
    );
    let (world, _) = play_out(&two_tasks().must_pass(), &script);
    let two = &world.run.frames[&"run/two".into()];
    assert!(!world.run.may_leave_failures(two), "it is the last one");
}

#[test]
fn a_task_that_has_become_the_last_one_is_checked_again() {
    let start = RunSetup::for_workflow(EACH_TASK)
        .plan("one: a.rs\ntwo: b.rs")
        .must_pass();
    let transcript = play(
        &start,
        r#"run/one code writes a.rs=1
           run/one test leaves t2
           run/one review approves
           skip two
           ---
           run/one describe goes
           run/one commit fails "t2 fails"
           run/one code writes a.rs=2"#,
    );
    expect![[r#"
        > run/one describe goes
          run/one:describe.1.0.1#5 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#6 started: the checks of `test`
        > run/one commit fails "t2 fails"
          `test` failed on README.md=0,a.rs=1
          run/one: test rejected: the check `unit` failed / t2 fails
          run/one at code.2 (rejected)
          run/one:code.2.0.1#7 started: coder on claude
        > run/one code writes a.rs=2
          run/one:code.2.0.1#7 answered, tree README.md=0,a.rs=2
          run/one at test.2 (next)
          run/one:test.2.0.1#8 started: the checks of `test`
    "#]]
    .assert_eq(&transcript);
}
