//! How deep a change is looked into, by facts: its size, its paths, what the checks found.

use expect_test::expect;

use crate::fixture::RunSetup;
use crate::scenario::play;

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
    RunSetup::of(BY_SIZE).goal_files(&["a.rs"]).small_changes()
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
        &RunSetup::of(BY_SIZE).goal_files(&["a.rs"]),
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
          run:review.2.2.1#8 answered, against it
          run: review rejected: fine; F1: no test
          run at code.3 (rejected)
          run:code.3.0.1#9 started: maker on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_goal_that_names_no_file_is_planned() {
    let transcript = play(&RunSetup::of(BY_SIZE), "start");
    // There is nothing but events, so their indentation is not seen in an expected text.
    let lines: Vec<&str> = transcript.lines().map(str::trim).collect();
    let expected = [
        "run started: by-size",
        "run at plan.1 (start)",
        "run:plan.1.0.1#1 started: planner on claude",
    ];
    assert_eq!(lines, expected);
}
