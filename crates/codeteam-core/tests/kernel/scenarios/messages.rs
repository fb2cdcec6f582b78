//! Commit messages have the form that is configured, and commits are handed over at the end.

use codeteam_core::assignment::build_assignment;
use codeteam_core::workflow::DeliveryMethod;
use expect_test::expect;

use super::one_task;
use crate::fixture::{EACH_TASK, RunSetup};
use crate::scenario::{play, play_out};

const TO_DESCRIBE: &str = "run/one code writes a.rs=1
     run/one test passes
     run/one review approves
     ---";

/// A task whose message is asked for only once.
fn tries_once() -> RunSetup {
    let workflow = EACH_TASK.replace(
        "describe: { role: committer, next: commit }",
        "describe: { role: committer, next: commit, retry: { max_attempts: 1 } }",
    );
    RunSetup::for_workflow(&workflow).plan("one: a.rs")
}

#[test]
fn a_message_without_the_form_goes_back_and_the_next_one_is_taken() {
    let script = format!(
        "{TO_DESCRIBE}
         run/one describe says {{\"message\":\"Did it\"}}
         run/one describe says {{\"message\":\"feat: do it\\n\\nCodeteam-Task: other\\nSigned-off-by: me\"}}
         run/one commit goes"
    );
    expect![[r#"
        > run/one describe says {"message":"Did it"}
          run/one:describe.1.0.1#4 failed: logic → retry_with_feedback: the first line must be `type(scope): summary`, the scope may be left out; but it is `Did it`
          run/one:describe.1.0.2 queued
          run/one:describe.1.0.2#5 started: committer on claude
        > run/one describe says {"message":"feat: do it\n\nCodeteam-Task: other\nSigned-off-by: me"}
          run/one:describe.1.0.2#5 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#6 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: feat: do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(&one_task().message("conventional"), &script));
}

#[test]
fn the_form_is_told_to_whoever_writes_it_and_to_nobody_else() {
    let start = one_task().message("[{task_id}] {summary}");
    let told = |script: &str| {
        let (world, _) = play_out(&start, script);
        let id = world.flights.keys().next().unwrap();
        build_assignment(&world.run, id).unwrap().expected.outputs
    };
    assert_eq!(told(""), [""; 0]);
    let outputs = told(TO_DESCRIBE);
    assert!(outputs[0].contains("`[one] <summary>`"), "{outputs:?}");
}

#[test]
fn codeteam_writes_it_itself_if_nobody_does() {
    let start = tries_once();
    let script = format!(
        "{TO_DESCRIBE}
         run/one describe says {{\"message\":\"Use [redacted: api key]\"}}
         run/one commit goes"
    );
    expect![[r#"
        > run/one describe says {"message":"Use [redacted: api key]"}
          run/one:describe.1.0.1#4 failed: logic → retry_with_feedback: the message has something in it that looks like a secret; leave it out
          run/one:describe.1.0.1 abstains: the message has something in it that looks like a secret; leave it out (1 of 1 tries)
          run/one at commit.1 (next)
          run/one:commit.1.0.1#5 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: [one] Do one
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(&start.message("[{task_id}] {summary}"), &script));
}

#[test]
fn a_person_writes_it_if_codeteam_cannot() {
    let start = tries_once();
    let script = format!(
        "{TO_DESCRIBE}
         run/one describe says {{\"message\":\"Do it\"}}
         person run/one Do it
         person run/one ABC-7 do it
         run/one commit goes"
    );
    expect![[r#"
        > run/one describe says {"message":"Do it"}
          run/one:describe.1.0.1#4 failed: logic → retry_with_feedback: the first line must match the regular expression `/^ABC-\d+ /`, but is `Do it`
          run/one:describe.1.0.1 abstains: the first line must match the regular expression `/^ABC-\d+ /`, but is `Do it` (1 of 1 tries)
          run/one at commit.1 (next)
          run/one:commit.1.0.1#5 asks: No message that was written for this commit has the form `/^ABC-\d+ /`. Write one. []
        > person run/one Do it
          refused: the first line must match the regular expression `/^ABC-\d+ /`, but is `Do it`
        > person run/one ABC-7 do it
          run/one:commit.1.0.1#5 answered: ABC-7 do it
          run/one at commit.2 (answered)
          run/one:commit.2.0.1#6 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: ABC-7 do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(&start.message(r"/^ABC-\d+ /"), &script));
}

#[test]
fn what_was_committed_is_handed_over_at_the_end() {
    let how = DeliveryMethod::Forward {
        branch: Some("main".to_owned()),
        at: "c0".into(),
    };
    let script = format!(
        "{TO_DESCRIBE}
         run/one describe goes
         run/one commit goes
         crash after run deliver
         run deliver goes"
    );
    let (world, told) = play_out(&one_task().deliver(how), &script);
    expect![[r#"
        > run/one describe goes
          run/one:describe.1.0.1#4 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#5 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run at deliver.1 (next)
          run:deliver.1.0.1#6 started: deliver
        > crash after run deliver
          run resumed
          run:deliver.1.0.1#6 lost, 50 spent
          run:deliver.1.0.1#7 started: deliver
        > run deliver goes
          delivered: {"forward":{"branch":"main","from":"c0"}}
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&told);
    assert_eq!(world.run.branch, "main");
}

#[test]
fn what_cannot_be_handed_over_is_done_all_the_same() {
    let script = format!(
        "{TO_DESCRIBE}
         run/one describe goes
         run/one commit goes
         run deliver breaks \"the disk is gone\""
    );
    expect![[r#"
        > run/one describe goes
          run/one:describe.1.0.1#4 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#5 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run at deliver.1 (next)
          run:deliver.1.0.1#6 started: deliver
        > run deliver breaks "the disk is gone"
          run:deliver.1.0.1#6 failed: cli → escalate: the disk is gone
          delivered: {"left":{"why":"the disk is gone"}}
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&play(&one_task().deliver(DeliveryMethod::Patch), &script));
}

#[test]
fn nothing_is_handed_over_if_nothing_was_committed() {
    let script = "skip one";
    expect![[r#"
        > skip one
          run/one ended: skipped
          run ended: completed
          the run ended: completed
          run/one:code.1.0.1#1 spent 10
    "#]]
    .assert_eq(&play(&one_task().deliver(DeliveryMethod::Patch), script));
}

#[test]
fn less_than_was_asked_for_is_not_handed_over_unseen() {
    let workflow = "
start: code
roles: { coder: { kind: implementer, worker: claude } }
steps:
  code: { role: coder, next: commit, retry: { max_attempts: 1 }, degrade: true }
  commit: { commit: branch, next: done }
";
    let script = "run code fails odd
         ---
         run code writes a.rs=1
         person run accept
         run commit goes
         run deliver goes";
    let start = RunSetup::for_workflow(workflow).deliver(DeliveryMethod::Patch);
    expect![[r#"
        > run code writes a.rs=1
          run:code.2.0.1#2 answered, tree README.md=0,a.rs=1
          run at commit.1 (next)
          run:commit.1.0.1#3 asks: Less was done than was asked for. Accept it as it is? [accept, fail]
        > person run accept
          run:commit.1.0.1#3 answered: accept
          run at commit.2 (answered)
          run:commit.2.0.1#4 started: integrate
        > run commit goes
          c1 committed: README.md=0,a.rs=1: Add a password reset
          run at deliver.1 (next)
          run:deliver.1.0.1#5 started: deliver
        > run deliver goes
          delivered: {"patch":{"file":"changes.patch"}}
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(&start, script));
}
