//! Rounds: what is judged, rejected, sent back and given up.

use expect_test::expect;

use super::one_task;
use crate::fixture::{SEQUENCE, Start};
use crate::scenario::play;

#[test]
fn the_happy_path() {
    let transcript = play(
        &one_task(),
        "run/one code writes a.rs=1
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
    "#]].assert_eq(&transcript);
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
    "#]].assert_eq(&transcript);
}

#[test]
fn the_same_change_again_is_a_loop() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test fails "expected 2, found 1"
           run/one code writes a.rs=1
           person run/one continue
           run/one code writes a.rs=1"#,
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
        > run/one test fails "expected 2, found 1"
          `test` failed on README.md=0,a.rs=1
          run/one: test rejected: the check `unit` failed / expected 2, found 1
          run/one at code.2 (rejected)
          run/one:code.2.0.1#3 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.2.0.1#3 answered, tree README.md=0,a.rs=1
          run/one repeats round 1
          run/one:code.2.0.1#4 asks: This does not get anywhere: the same change as in round 1 was submitted again. Go on, or give it up? [continue, skip, fail]
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
           run/one test fails "no"
           person run/one skip"#,
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
        > run/one test fails "no"
          `test` failed on README.md=0,a.rs=1
          run/one: test rejected: the check `unit` failed / no
          run/one at code.2 (rejected)
          run/one:code.2.0.1#3 started: coder on claude
        > run/one code writes a.rs=2
          run/one:code.2.0.1#3 answered, tree README.md=0,a.rs=2
          run/one at test.2 (next)
          run/one:test.2.0.1#4 started: the checks of `test`
        > run/one test fails "no"
          `test` failed on README.md=0,a.rs=2
          run/one: test rejected: the check `unit` failed / no
          run/one at code.3 (rejected)
          run/one:code.3.0.1#5 started: coder on claude
        > run/one code writes a.rs=3
          run/one:code.3.0.1#5 answered, tree README.md=0,a.rs=3
          run/one at test.3 (next)
          run/one:test.3.0.1#6 started: the checks of `test`
        > run/one test fails "no"
          `test` failed on README.md=0,a.rs=3
          run/one: test rejected: the check `unit` failed / no
          run/one at code.4 (rejected)
          run/one:code.4.0.1#7 started: coder on claude
        > run/one code writes a.rs=4
          run/one:code.4.0.1#7 answered, tree README.md=0,a.rs=4
          run/one at test.4 (next)
          run/one:test.4.0.1#8 started: the checks of `test`
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
    start.compiled.workflow.on_exhausted = codeteam_core::workflow::Exhausted::Fail;
    let transcript = play(
        &start,
        r#"run/one code writes a.rs=1
           run/one test fails "no"
           run/one code writes a.rs=1"#,
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
        > run/one test fails "no"
          `test` failed on README.md=0,a.rs=1
          run/one: test rejected: the check `unit` failed / no
          run/one at code.2 (rejected)
          run/one:code.2.0.1#3 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.2.0.1#3 answered, tree README.md=0,a.rs=1
          run/one repeats round 1
          run/one ended: failed: the same change as in round 1 was submitted again
          run ended: failed: 1 of 1 failed (`one`); 1 are not done
          the run ended: failed: 1 of 1 failed (`one`); 1 are not done
    "#]].assert_eq(&transcript);
}

#[test]
fn findings_are_opened_fixed_and_withdrawn_by_id() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test passes
           run/one review says {"verdict":"reject","reason":"two things","findings":[{"title":"No test","file":"a.rs"},{"title":"Wrong name"}]}
           run/one code writes a.rs=2
           run/one test passes
           run/one review says {"verdict":"approve","reason":"fine now","resolved":[{"id":"F1","state":"fixed"},{"id":"F2","state":"withdrawn"}]}"#,
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

#[test]
fn approving_over_an_own_open_finding_is_a_rejection() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test passes
           run/one review says {"verdict":"reject","reason":"untested","findings":[{"title":"No test"}]}
           run/one code writes a.rs=2
           run/one test passes
           run/one review says {"verdict":"approve","reason":"looks good"}"#,
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
        > run/one review says {"verdict":"reject","reason":"untested","findings":[{"title":"No test"}]}
          run/one:review.1.0.1#3 answered, against it
          F1 opened (major): No test
          run/one: review rejected: untested; F1: No test
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
        > run/one review says {"verdict":"approve","reason":"looks good"}
          run/one:review.2.0.1#6 answered, against it
          run/one: review rejected: looks good; F1: No test
          run/one at code.3 (rejected)
          run/one:code.3.0.1#7 started: coder on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn a_rejection_for_trifles_is_an_approval() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test passes
           run/one review says {"verdict":"reject","reason":"style","findings":[{"severity":"minor","title":"Long line"}]}"#,
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
        > run/one review says {"verdict":"reject","reason":"style","findings":[{"severity":"minor","title":"Long line"}]}
          run/one:review.1.0.1#3 answered, for it
          F1 opened (minor): Long line
          run/one: review approved
          run/one leaves out approve
          run/one at describe.1 (next)
          run/one:describe.1.0.1#4 started: committer on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn rounds_that_do_not_converge_are_for_a_person() {
    let mut start = one_task();
    start.compiled.workflow.max_rounds = None;
    let transcript = play(
        &start,
        r#"run/one code writes a.rs=1
           run/one test passes
           run/one review says {"verdict":"reject","reason":"A","findings":[{"title":"A"}]}
           run/one code writes a.rs=2
           run/one test passes
           run/one review says {"verdict":"reject","reason":"B","findings":[{"title":"B"}],"resolved":[{"id":"F1","state":"fixed"}]}
           run/one code writes a.rs=3
           run/one test passes
           run/one review says {"verdict":"reject","reason":"C","findings":[{"title":"C"}],"resolved":[{"id":"F2","state":"fixed"}]}"#,
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
        > run/one review says {"verdict":"reject","reason":"A","findings":[{"title":"A"}]}
          run/one:review.1.0.1#3 answered, against it
          F1 opened (major): A
          run/one: review rejected: A; F1: A
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
        > run/one review says {"verdict":"reject","reason":"B","findings":[{"title":"B"}],"resolved":[{"id":"F1","state":"fixed"}]}
          run/one:review.2.0.1#6 answered, against it
          F2 opened (major): B, F1 fixed
          run/one: review rejected: B; F2: B
          run/one at code.3 (rejected)
          run/one:code.3.0.1#7 started: coder on claude
        > run/one code writes a.rs=3
          run/one:code.3.0.1#7 answered, tree README.md=0,a.rs=3
          run/one at test.3 (next)
          run/one:test.3.0.1#8 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=3
          run/one: test approved
          run/one at review.3 (next)
          run/one:review.3.0.1#9 started: reviewer on codex
        > run/one review says {"verdict":"reject","reason":"C","findings":[{"title":"C"}],"resolved":[{"id":"F2","state":"fixed"}]}
          run/one:review.3.0.1#9 answered, against it
          F3 opened (major): C, F2 fixed
          run/one: review rejected: C; F3: C
          run/one:review.3.0.1#10 asks: This does not get anywhere: each round finds as much as the one before. Go on, or give it up? [continue, skip, fail]
    "#]].assert_eq(&transcript);
}

/// One change and three reviewers, under a join rule.
fn reviewers(join: &str) -> Start {
    Start::of(&format!(
        "
name: reviewers
start: code
roles:
  maker: {{ kind: implementer, worker: claude }}
  judge: {{ kind: gatekeeper, worker: claude }}
steps:
  code: {{ role: maker, next: review }}
  review: {{ roles: [judge, judge, judge], join: {join}, retry: none, next: done, on_reject: code }}
"
    ))
}

#[test]
fn reviewers_disagree() {
    let script = r#"run code writes a.rs=1
                    run review/1 approves
                    run review rejects "no"
                    run review/2 rejects "no tests""#;
    for (join, verdict) in [("all", false), ("majority", false), ("any", true)] {
        let transcript = play(&reviewers(join), script);
        assert_eq!(transcript.contains("review approved"), verdict, "{join}: {transcript}");
    }
    expect![[r#"
          run started: reviewers
          run at code.1 (start)
          run:code.1.0.1#1 started: maker on claude
        > run code writes a.rs=1
          run:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run at review.1 (next)
          run:review.1.0.1#2 started: judge on claude
          run:review.1.1.1#3 started: judge on claude
          run:review.1.2.1#4 started: judge on claude
        > run review/1 approves
          run:review.1.1.1#3 answered, for it
        > run review rejects "no"
          run:review.1.0.1#2 answered, against it
        > run review/2 rejects "no tests"
          run:review.1.2.1#4 answered, against it
          run: review rejected: no tests; no
          run at code.2 (rejected)
          run:code.2.0.1#5 started: maker on claude
    "#]].assert_eq(&play(&reviewers("majority"), script));
}

#[test]
fn a_reviewer_without_a_verdict_abstains_and_never_approves() {
    let script = "run code writes a.rs=1
                  run review approves
                  run review/1 approves
                  run review/2 fails crash";
    for (join, verdict) in [("all", false), ("majority", true), ("any", true)] {
        let transcript = play(&reviewers(join), script);
        assert_eq!(transcript.contains("review approved"), verdict, "{join}: {transcript}");
    }
    expect![[r#"
          run started: reviewers
          run at code.1 (start)
          run:code.1.0.1#1 started: maker on claude
        > run code writes a.rs=1
          run:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run at review.1 (next)
          run:review.1.0.1#2 started: judge on claude
          run:review.1.1.1#3 started: judge on claude
          run:review.1.2.1#4 started: judge on claude
        > run review approves
          run:review.1.0.1#2 answered, for it
        > run review/1 approves
          run:review.1.1.1#3 answered, for it
        > run review/2 fails crash
          run:review.1.2.1#4 failed: cli → retry_same: it crashed
          run:review.1.2.1 abstains: it crashed (1 of 1 tries)
          run ended: failed: `review` gave up: 1 of 3 gave no verdict
          the run ended: failed: `review` gave up: 1 of 3 gave no verdict
    "#]].assert_eq(&play(&reviewers("all"), script));
}

const REJECTED_THRICE: &str = r#"run analyse goes
    run design goes
    run code writes a.rs=1
    run review rejects "no"
    run code writes a.rs=2
    run review rejects "no"
    run code writes a.rs=3
    run review rejects "no""#;

#[test]
fn a_rebound_is_offered_and_taken() {
    let script = format!("{REJECTED_THRICE}\nperson run yes\nrun design goes");
    expect![[r#"
          run started: sequence
          run at analyse.1 (start)
          run:analyse.1.0.1#1 started: analyst on session
        > run analyse goes
          run:analyse.1.0.1#1 answered
          run at design.1 (next)
          run:design.1.0.1#2 started: architect on session
        > run design goes
          run:design.1.0.1#2 answered
          run at code.1 (next)
          run:code.1.0.1#3 started: coder on session
        > run code writes a.rs=1
          run:code.1.0.1#3 answered, tree README.md=0,a.rs=1
          run at review.1 (next)
          run:review.1.0.1#4 started: reviewer on session
        > run review rejects "no"
          run:review.1.0.1#4 answered, against it
          F1 opened (major): no
          run: review rejected: no; F1: no
          run at code.2 (rejected)
          run:code.2.0.1#5 started: coder on session
        > run code writes a.rs=2
          run:code.2.0.1#5 answered, tree README.md=0,a.rs=2
          run at review.2 (next)
          run:review.2.0.1#6 started: reviewer on session
        > run review rejects "no"
          run:review.2.0.1#6 answered, against it
          run: review rejected: no; F1: no
          run at code.3 (rejected)
          run:code.3.0.1#7 started: coder on session
        > run code writes a.rs=3
          run:code.3.0.1#7 answered, tree README.md=0,a.rs=3
          run at review.3 (next)
          run:review.3.0.1#8 started: reviewer on session
        > run review rejects "no"
          run:review.3.0.1#8 answered, against it
          run: review rejected: no; F1: no
          run at offer.1 (rebound)
          run:offer.1.0.1#9 asks: The change keeps being rejected. Back to the design? [yes, no]
        > person run yes
          run:offer.1.0.1#9 answered: yes
          run at design.2 (answered)
          run:design.2.0.1#10 started: architect on session
        > run design goes
          run:design.2.0.1#10 answered
          run at code.4 (next)
          run:code.4.0.1#11 started: coder on session
    "#]].assert_eq(&play(&Start::of(SEQUENCE), &script));
}

#[test]
fn a_rebound_is_offered_and_declined() {
    let script = format!(
        "{REJECTED_THRICE}
         person run no note: just fix it
         run code writes a.rs=4
         run review approves
         run verify rejects \"untested\"
         run code writes a.rs=5
         run review approves
         run verify approves
         run commit goes"
    );
    expect![[r#"
          run started: sequence
          run at analyse.1 (start)
          run:analyse.1.0.1#1 started: analyst on session
        > run analyse goes
          run:analyse.1.0.1#1 answered
          run at design.1 (next)
          run:design.1.0.1#2 started: architect on session
        > run design goes
          run:design.1.0.1#2 answered
          run at code.1 (next)
          run:code.1.0.1#3 started: coder on session
        > run code writes a.rs=1
          run:code.1.0.1#3 answered, tree README.md=0,a.rs=1
          run at review.1 (next)
          run:review.1.0.1#4 started: reviewer on session
        > run review rejects "no"
          run:review.1.0.1#4 answered, against it
          F1 opened (major): no
          run: review rejected: no; F1: no
          run at code.2 (rejected)
          run:code.2.0.1#5 started: coder on session
        > run code writes a.rs=2
          run:code.2.0.1#5 answered, tree README.md=0,a.rs=2
          run at review.2 (next)
          run:review.2.0.1#6 started: reviewer on session
        > run review rejects "no"
          run:review.2.0.1#6 answered, against it
          run: review rejected: no; F1: no
          run at code.3 (rejected)
          run:code.3.0.1#7 started: coder on session
        > run code writes a.rs=3
          run:code.3.0.1#7 answered, tree README.md=0,a.rs=3
          run at review.3 (next)
          run:review.3.0.1#8 started: reviewer on session
        > run review rejects "no"
          run:review.3.0.1#8 answered, against it
          run: review rejected: no; F1: no
          run at offer.1 (rebound)
          run:offer.1.0.1#9 asks: The change keeps being rejected. Back to the design? [yes, no]
        > person run no note: just fix it
          run:offer.1.0.1#9 answered: no
          run at code.4 (answered)
          run:code.4.0.1#10 started: coder on session
        > run code writes a.rs=4
          run:code.4.0.1#10 answered, tree README.md=0,a.rs=4
          run at review.4 (next)
          run:review.4.0.1#11 started: reviewer on session
        > run review approves
          run:review.4.0.1#11 answered, for it
          F1 fixed
          run: review approved
          run at verify.1 (next)
          run:verify.1.0.1#12 started: tester on session
        > run verify rejects "untested"
          run:verify.1.0.1#12 answered, against it
          F2 opened (major): untested
          run: verify rejected: untested; F2: untested
          run at code.5 (rejected)
          run:code.5.0.1#13 started: coder on session
        > run code writes a.rs=5
          run:code.5.0.1#13 answered, tree README.md=0,a.rs=5
          run at review.5 (next)
          run:review.5.0.1#14 started: reviewer on session
        > run review approves
          run:review.5.0.1#14 answered, for it
          run: review approved
          run at verify.2 (next)
          run:verify.2.0.1#15 started: tester on session
        > run verify approves
          run:verify.2.0.1#15 answered, for it
          F2 fixed
          run: verify approved
          run at commit.1 (next)
          run:commit.1.0.1#16 started: integrate
        > run commit goes
          c1 committed: README.md=0,a.rs=5: Add a password reset
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(&Start::of(SEQUENCE), &script));
}
