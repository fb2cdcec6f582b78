//! Rounds: what is judged, rejected, sent back and given up.

use expect_test::expect;

use super::one_task;
use crate::scenario::play;

#[test]
fn the_happy_path() {
    let transcript = play(
        &one_task(),
        "start
         run/one code writes a.rs=1
         run/one test passes
         run/one review approves
         run/one describe goes
         run/one commit goes",
    );
    expect![[r#"
          run started: each-task
          run leaves out plan
          run leaves out weigh
          run leaves out accept
          run at tasks.1 (start)
          run/one opened on c0
          run/one leaves out prompt
          run/one at code.1 (start)
          run/one:code.1.0.1#1 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#2 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=1
          run/one: test approved
          run/one at review.1 (next)
          run/one:review.1.0.1#3 started: reviewer on codex
        > run/one review approves
          run/one:review.1.0.1#3 answered, for it
          run/one: review approved
          run/one leaves out approve
          run/one at describe.1 (next)
          run/one:describe.1.0.1#4 started: committer on claude
        > run/one describe goes
          run/one:describe.1.0.1#4 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#5 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_gate_fails_and_then_passes() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test fails "expected 2, found 1"
           run/one code writes a.rs=2
           run/one test passes"#,
    );
    expect![[r#"
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#2 started: the checks of `test`
        > run/one test fails "expected 2, found 1"
          `test` failed on README.md=0,a.rs=1
          run/one: test rejected: the check `unit` failed / expected 2, found 1
          run/one at code.2 (rejected)
          run/one:code.2.0.1#3 started: coder on claude
        > run/one code writes a.rs=2
          run/one:code.2.0.1#3 answered, tree README.md=0,a.rs=2
          run/one at test.2 (next)
          run/one:test.2.0.1#4 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=2
          run/one: test approved
          run/one at review.1 (next)
          run/one:review.1.0.1#5 started: reviewer on codex
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn the_same_change_again_is_a_loop() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test fails "expected 2, found 1"
           ---
           run/one code writes a.rs=1
           person run/one continue
           run/one code writes a.rs=1"#,
    );
    expect![[r#"
        > run/one code writes a.rs=1
          run/one:code.2.0.1#3 answered, tree README.md=0,a.rs=1
          run/one repeats round 1
          run/one:code.2.0.1#4 asks: This does not get anywhere: the same change as in round 1 was submitted again, which `test` rejected: the check `unit` failed. Go on, or give it up? [continue, skip, fail]
        > person run/one continue
          run/one:code.2.0.1#4 answered: continue
          run/one at code.3 (answered)
          run/one:code.3.0.1#5 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.3.0.1#5 answered, tree README.md=0,a.rs=1
          run/one at test.2 (next)
          run/one:test.2.0.1#6 started: the checks of `test`
    "#]].assert_eq(&transcript);
}

#[test]
fn a_step_may_send_back_only_so_often() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test fails "no"
           run/one code writes a.rs=2
           run/one test fails "no"
           run/one code writes a.rs=3
           run/one test fails "no"
           run/one code writes a.rs=4
           ---
           run/one test fails "no"
           person run/one skip"#,
    );
    expect![[r#"
        > run/one test fails "no"
          `test` failed on README.md=0,a.rs=4
          run/one: test rejected: the check `unit` failed / no
          run/one:test.4.0.1#9 asks: This does not get anywhere: `test` rejected it 4 times: the check `unit` failed. Go on, or give it up? [continue, skip, fail]
        > person run/one skip
          run/one:test.4.0.1#9 answered: skip
          run/one ended: skipped
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&transcript);
}

#[test]
fn exhausted_fails_where_nobody_is_to_be_asked() {
    let mut start = one_task();
    start.compiled.workflow.on_exhausted = codeteam_core::workflow::ExhaustionPolicy::Fail;
    let transcript = play(
        &start,
        r#"run/one code writes a.rs=1
           run/one test fails "no"
           run/one code writes a.rs=1"#,
    );
    expect![[r#"
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#2 started: the checks of `test`
        > run/one test fails "no"
          `test` failed on README.md=0,a.rs=1
          run/one: test rejected: the check `unit` failed / no
          run/one at code.2 (rejected)
          run/one:code.2.0.1#3 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.2.0.1#3 answered, tree README.md=0,a.rs=1
          run/one repeats round 1
          run/one ended: failed: the same change as in round 1 was submitted again, which `test` rejected: the check `unit` failed
          run ended: failed: `one` was given up
          the run ended: failed: `one` was given up
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn findings_are_opened_fixed_and_withdrawn_by_id() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test passes
           ---
           run/one review says {"verdict":"reject","reason":"two things","findings":[{"title":"No test","file":"a.rs"},{"title":"Wrong name"}]}
           run/one code writes a.rs=2
           run/one test passes
           run/one review says {"verdict":"approve","reason":"fine now","resolved":[{"id":"F1","state":"fixed"},{"id":"F2","state":"withdrawn"}]}"#,
    );
    expect![[r#"
        > run/one review says {"verdict":"reject","reason":"two things","findings":[{"title":"No test","file":"a.rs"},{"title":"Wrong name"}]}
          run/one:review.1.0.1#3 answered, against it
          F1 opened (major): No test, F2 opened (major): Wrong name
          run/one: review rejected: two things; F1: No test (a.rs); F2: Wrong name
          run/one at code.2 (rejected)
          run/one:code.2.0.1#4 started: coder on claude
        > run/one code writes a.rs=2
          run/one:code.2.0.1#4 answered, tree README.md=0,a.rs=2
          run/one at test.2 (next)
          run/one:test.2.0.1#5 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=2
          run/one: test approved
          run/one at review.2 (next)
          run/one:review.2.0.1#6 started: reviewer on codex
        > run/one review says {"verdict":"approve","reason":"fine now","resolved":[{"id":"F1","state":"fixed"},{"id":"F2","state":"withdrawn"}]}
          run/one:review.2.0.1#6 answered, for it
          F1 fixed, F2 withdrawn
          run/one: review approved
          run/one leaves out approve
          run/one at describe.1 (next)
          run/one:describe.1.0.1#7 started: committer on claude
    "#]].assert_eq(&transcript);
}

/// A finding of the first round, and the second round up to the review.
const ONE_OPEN_FINDING: &str = r#"run/one code writes a.rs=1
    run/one test passes
    run/one review says {"verdict":"reject","reason":"untested","findings":[{"title":"No test"}]}
    run/one code writes a.rs=2
    run/one test passes
    ---"#;

#[test]
fn a_reviewer_that_approves_over_its_own_open_finding_is_asked_what_became_of_it() {
    let script = format!(
        r#"{ONE_OPEN_FINDING}
           run/one review says {{"verdict":"approve","reason":"looks good"}}
           run/one review says {{"verdict":"approve","reason":"looks good","resolved":[{{"id":"F1","state":"fixed"}}]}}"#
    );
    expect![[r#"
        > run/one review says {"verdict":"approve","reason":"looks good"}
          run/one:review.2.0.1#6 failed: logic → retry_with_feedback: it approves, but does not say what became of F1 (No test), which it reported in an earlier round: `resolved` must name it, as `fixed`, `withdrawn` or `open`
          run/one:review.2.0.2 queued
          run/one:review.2.0.2#7 started: reviewer on codex
        > run/one review says {"verdict":"approve","reason":"looks good","resolved":[{"id":"F1","state":"fixed"}]}
          run/one:review.2.0.2#7 answered, for it
          F1 fixed
          run/one: review approved
          run/one leaves out approve
          run/one at describe.1 (next)
          run/one:describe.1.0.1#8 started: committer on claude
    "#]].assert_eq(&play(&one_task(), &script));
}

#[test]
fn approving_over_an_own_open_finding_is_a_rejection_in_the_end() {
    let approves = r#"run/one review says {"verdict":"approve","reason":"looks good"}"#;
    let script = [ONE_OPEN_FINDING, approves, approves, approves].join("\n");
    expect![[r#"
        > run/one review says {"verdict":"approve","reason":"looks good"}
          run/one:review.2.0.1#6 failed: logic → retry_with_feedback: it approves, but does not say what became of F1 (No test), which it reported in an earlier round: `resolved` must name it, as `fixed`, `withdrawn` or `open`
          run/one:review.2.0.2 queued
          run/one:review.2.0.2#7 started: reviewer on codex
        > run/one review says {"verdict":"approve","reason":"looks good"}
          run/one:review.2.0.2#7 failed: logic → retry_with_feedback: it approves, but does not say what became of F1 (No test), which it reported in an earlier round: `resolved` must name it, as `fixed`, `withdrawn` or `open`
          run/one:review.2.0.3 queued
          run/one:review.2.0.3#8 started: reviewer on codex
        > run/one review says {"verdict":"approve","reason":"looks good"}
          run/one:review.2.0.3#8 answered, against it
          run/one: review rejected: F1 is still open: looks good; F1: No test
          run/one at code.3 (rejected)
          run/one:code.3.0.1#9 started: coder on claude
    "#]].assert_eq(&play(&one_task(), &script));
}

#[test]
fn approving_over_a_finding_that_is_said_to_be_open_is_a_rejection_at_once() {
    let script = format!(
        r#"{ONE_OPEN_FINDING}
           run/one review says {{"verdict":"approve","reason":"later","resolved":[{{"id":"F1","state":"open"}}]}}"#
    );
    expect![[r#"
        > run/one review says {"verdict":"approve","reason":"later","resolved":[{"id":"F1","state":"open"}]}
          run/one:review.2.0.1#6 answered, against it
          run/one: review rejected: F1 is still open: later; F1: No test
          run/one at code.3 (rejected)
          run/one:code.3.0.1#7 started: coder on claude
    "#]].assert_eq(&play(&one_task(), &script));
}

#[test]
fn a_rejection_for_trifles_is_an_approval() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test passes
           ---
           run/one review says {"verdict":"reject","reason":"style","findings":[{"severity":"minor","title":"Long line"}]}"#,
    );
    expect![[r#"
        > run/one review says {"verdict":"reject","reason":"style","findings":[{"severity":"minor","title":"Long line"}]}
          run/one:review.1.0.1#3 answered, for it
          F1 opened (minor): Long line
          run/one: review approved
          run/one leaves out approve
          run/one at describe.1 (next)
          run/one:describe.1.0.1#4 started: committer on claude
    "#]].assert_eq(&transcript);
}

/// Three rounds of one task, each with one finding that is new.
const ONE_FINDING_EACH: &str = r#"run/one code writes a.rs=1
    run/one test passes
    run/one review says {"verdict":"reject","reason":"A","findings":[{"title":"A"}]}
    run/one code writes a.rs=2
    run/one test passes
    run/one review says {"verdict":"reject","reason":"B","findings":[{"title":"B"}],"resolved":[{"id":"F1","state":"fixed"}]}
    run/one code writes a.rs=3
    run/one test passes
    ---
    run/one review says {"verdict":"reject","reason":"C","findings":[{"title":"C"}],"resolved":[{"id":"F2","state":"fixed"}]}"#;

#[test]
fn rounds_that_find_as_much_as_ever_go_on_where_only_rounds_are_bounded() {
    let mut start = one_task();
    start.compiled.workflow.max_rounds = Some(5);
    assert_eq!(start.compiled.workflow.max_stagnant_rounds, None);
    let transcript = play(&start, ONE_FINDING_EACH);
    assert!(
        transcript.contains("run/one at code.4 (rejected)"),
        "{transcript}"
    );
}

#[test]
fn rounds_that_stagnate_are_for_a_person() {
    let mut start = one_task();
    start.compiled.workflow.max_rounds = None;
    start.compiled.workflow.max_stagnant_rounds = Some(3);
    let transcript = play(&start, ONE_FINDING_EACH);
    expect![[r#"
        > run/one review says {"verdict":"reject","reason":"C","findings":[{"title":"C"}],"resolved":[{"id":"F2","state":"fixed"}]}
          run/one:review.3.0.1#9 answered, against it
          F3 opened (major): C, F2 fixed
          run/one: review rejected: C; F3: C
          run/one:review.3.0.1#10 asks: This does not get anywhere: each round finds as much as the one before. Go on, or give it up? [continue, skip, fail]
    "#]].assert_eq(&transcript);
}
