//! How deep a change is looked into, by facts: its size, its paths, what the checks found.

use expect_test::expect;

use crate::fixture::RunSetup;
use crate::scenario::{play, play_out};

/// A change is judged by two reviewers, a small one by a third; vague tasks get a brief, and broad
/// goals a plan.
const BY_SIZE: &str = "
name: by-size
start: plan
roles:
  planner: { kind: planner, worker: claude }
  briefer: { kind: scribe, worker: claude }
  maker: { kind: implementer, worker: claude }
  one: { kind: gatekeeper, worker: claude }
  two: { kind: gatekeeper, worker: claude }
  quick: { kind: gatekeeper, worker: claude }
steps:
  plan: { role: planner, when: { all: [{ plan: missing }, { goal: broad }] }, next: code }
  code: { role: maker, next: test }
  test: { gate: [{ name: unit, command: make test }], next: review, on_fail: code }
  review: { roles: [one, two], small_change: [quick], next: extra, on_reject: code }
  extra: { role: briefer, when: { not: { change: small } }, next: done }
";

fn start() -> RunSetup {
    RunSetup::for_workflow(BY_SIZE)
        .goal_files(&["a.rs"])
        .small_changes()
}

#[test]
fn a_small_change_is_judged_by_one_reviewer() {
    let transcript = play(
        &start(),
        "start
         run code writes a.rs=1
         run test passes
         run review/2 approves",
    );
    expect![[r#"
          run started: by-size
          run leaves out plan: the goal names `a.rs`
          run at code.1 (start)
          run:code.1.0.1#1 started: maker on claude
        > run code writes a.rs=1
          run:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run at test.1 (next)
          run:test.1.0.1#2 started: the checks of `test`
        > run test passes
          `test` passed on README.md=0,a.rs=1
          run: test approved
          run at review.1 (next): 1 file, 1 line, no risky path, checks passed
          run:review.1.2.1#3 started: quick on claude
        > run review/2 approves
          run:review.1.2.1#3 answered, for it
          run: review approved
          run leaves out extra: 1 file, 1 line, no risky path, checks passed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_change_that_is_not_small_is_judged_by_all() {
    let script = |written: &str| format!("run code writes {written}\n---\nrun test passes");
    let of = |written: &str| play(&start(), &script(written));
    expect![[r#"
        > run test passes
          `test` passed on README.md=0,a.rs=1,b.rs=1,c.rs=1
          run: test approved
          run at review.1 (next): 3 files
          run:review.1.0.1#3 started: one on claude
          run:review.1.1.1#4 started: two on claude
    "#]]
    .assert_eq(&of("a.rs=1 b.rs=1 c.rs=1"));
    expect![[r#"
        > run test passes
          `test` passed on README.md=0,src/Auth.rs=1
          run: test approved
          run at review.1 (next): `src/Auth.rs` is a risky path
          run:review.1.0.1#3 started: one on claude
          run:review.1.1.1#4 started: two on claude
    "#]]
    .assert_eq(&of("src/Auth.rs=1"));
    let never = play(
        &RunSetup::for_workflow(BY_SIZE).goal_files(&["a.rs"]),
        &script("a.rs=1"),
    );
    expect![[r#"
        > run test passes
          `test` passed on README.md=0,a.rs=1
          run: test approved
          run at review.1 (next)
          run:review.1.0.1#3 started: one on claude
          run:review.1.1.1#4 started: two on claude
    "#]]
    .assert_eq(&never);
}

#[test]
fn who_has_judged_a_change_once_judges_it_again() {
    let transcript = play(
        &start(),
        r#"run code writes a.rs=1 b.rs=1 README.md=1
           run test passes
           run review approves
           run review/1 rejects "no"
           run code writes README.md=0
           ---
           run test passes"#,
    );
    expect![[r#"
        > run test passes
          `test` passed on README.md=0,a.rs=1,b.rs=1
          run: test approved
          run at review.2 (next): they have judged it before
          run:review.2.0.1#7 started: one on claude
          run:review.2.1.1#8 started: two on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_finding_is_answered_by_who_opened_it_however_large_the_change_has_become() {
    let transcript = play(
        &start(),
        r#"run code writes a.rs=1
           run test passes
           run review/2 says {"verdict":"reject","reason":"no","findings":[{"severity":"major","title":"no test"}]}
           run code writes a.rs=2 b.rs=1 c.rs=1
           ---
           run test passes
           run review approves
           run review/1 approves
           run review/2 approves"#,
    );
    expect![[r#"
        > run test passes
          `test` passed on README.md=0,a.rs=2,b.rs=1,c.rs=1
          run: test approved
          run at review.2 (next): 3 files
          run:review.2.0.1#6 started: one on claude
          run:review.2.1.1#7 started: two on claude
          run:review.2.2.1#8 started: quick on claude
        > run review approves
          run:review.2.0.1#6 answered, for it
        > run review/1 approves
          run:review.2.1.1#7 answered, for it
        > run review/2 approves
          run:review.2.2.1#8 failed: logic → retry_with_feedback: it approves, but does not say what became of F1 (no test), which it reported in an earlier round: `resolved` must name it, as `fixed`, `withdrawn` or `open`
          run:review.2.2.2 queued
          run:review.2.2.2#9 started: quick on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_goal_that_names_no_file_is_planned() {
    let transcript = play(&RunSetup::for_workflow(BY_SIZE), "start");
    // There is nothing but events, so their indentation is not seen in an expected text.
    let lines: Vec<&str> = transcript.lines().map(str::trim).collect();
    let expected = [
        "run started: by-size",
        "run at plan.1 (start)",
        "run:plan.1.0.1#1 started: planner on claude",
    ];
    assert_eq!(lines, expected);
}

/// As the built-in workflows have it: a role words the message, unless the change is small and any
/// message will do.
const WITH_MESSAGE: &str = "
name: with-message
start: code
roles:
  maker: { kind: implementer, worker: claude }
  scribe: { kind: scribe, worker: claude }
steps:
  code: { role: maker, next: test }
  test: { gate: [{ name: unit, command: make test }], next: message, on_fail: code }
  message:
    role: scribe
    when: { any: [{ not: { change: small } }, { message: formatted }] }
    next: commit
  commit: { commit: branch, next: done }
";

#[test]
fn a_small_change_needs_nobody_to_word_its_message() {
    let after = |setup: RunSetup, written: &str| {
        let script = format!("run code writes {written}\n---\nrun test passes");
        let transcript = play(&setup.small_changes(), &script);
        let lines: Vec<String> = transcript.lines().map(|l| l.trim().to_owned()).collect();
        lines[3..].to_vec()
    };
    let setup = || RunSetup::for_workflow(WITH_MESSAGE);
    let small = after(setup(), "a.rs=1");
    assert_eq!(
        small[0],
        "run leaves out message: 1 file, 1 line, no risky path, checks passed"
    );
    let asked = "run:message.1.0.1#3 started: scribe on claude";
    let large = after(setup(), "a.rs=1 b.rs=1 c.rs=1");
    assert_eq!(large[1], asked);
    let formatted = after(setup().message("conventional"), "a.rs=1");
    assert_eq!(formatted[1], asked);
}

/// Broad goals are planned; every task is coded and committed.
const BY_TASK: &str = "
name: by-task
start: plan
roles:
  planner: { kind: planner, worker: claude }
  briefer: { kind: scribe, worker: claude }
  maker: { kind: implementer, worker: claude }
steps:
  plan: { role: planner, when: { goal: broad }, next: ask }
  ask: { person: 'Go on?', when: { setting: talk }, next: tasks, answers: { yes: tasks } }
  tasks:
    each: task
    next: done
    steps:
      brief: { role: briefer, when: { task: vague }, writes: brief, next: code }
      code: { role: maker, next: commit }
      commit: { commit: branch, next: done }
settings: { talk: false }
";

#[test]
fn a_goal_about_one_place_is_its_own_plan() {
    let start = RunSetup::for_workflow(BY_TASK).goal_files(&["a.rs"]);
    let (world, transcript) = play_out(
        &start,
        "start
         run/task-001 brief goes
         run/task-001 code writes a.rs=1 b.rs=1
         run/task-001 commit goes",
    );
    expect![[r#"
          run started: by-task
          run leaves out plan: the goal names `a.rs`
          run leaves out ask
          plan proposed: 1 tasks
          run at tasks.1 (start)
          run/task-001 opened on c0
          run/task-001 at brief.1 (start)
          run/task-001:brief.1.0.1#1 started: briefer on claude
        > run/task-001 brief goes
          run/task-001:brief.1.0.1#1 answered
          run/task-001 at code.1 (next)
          run/task-001:code.1.0.1#2 started: maker on claude
        > run/task-001 code writes a.rs=1 b.rs=1
          run/task-001:code.1.0.1#2 answered, tree README.md=0,a.rs=1,b.rs=1
          run/task-001 at commit.1 (next)
          run/task-001:commit.1.0.1#3 started: integrate
        > run/task-001 commit goes
          c1 committed: README.md=0,a.rs=1,b.rs=1: task-001: Add a password reset in a.rs
          run/task-001 ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
    let plan = world.run.plan.as_ref().unwrap();
    assert_eq!(plan.tasks[0].title, world.run.goal);
}

#[test]
fn a_goal_about_more_is_planned_by_a_planner() {
    let transcript = play(&RunSetup::for_workflow(BY_TASK), "start");
    let lines: Vec<&str> = transcript.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "run started: by-task",
            "run at plan.1 (start)",
            "run:plan.1.0.1#1 started: planner on claude",
        ]
    );
}

#[test]
fn without_a_planner_that_was_left_out_a_goal_is_no_plan() {
    let asks = BY_TASK.replace(
        "when: { goal: broad }, next: ask",
        "next: ask, on_fail: tasks, retry: { max_attempts: 1 }",
    );
    let start = RunSetup::for_workflow(&asks).goal_files(&["a.rs"]);
    let transcript = play(&start, "run plan fails odd");
    expect![[r#"
        > run plan fails odd
          run:plan.1.0.1#1 failed: cli → retry_once: something odd
          run:plan.1.0.1 abstains: something odd (1 of 1 tries)
          run at tasks.1 (failed)
          run ended: failed: there is no plan to go through
          the run ended: failed: there is no plan to go through
    "#]]
    .assert_eq(&transcript);
}
