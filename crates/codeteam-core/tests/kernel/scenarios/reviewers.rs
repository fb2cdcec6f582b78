//! Reviewers side by side, and one after the other.

use expect_test::expect;

use crate::fixture::{RunSetup, SEQUENCE};
use crate::scenario::play;

/// One change and three reviewers, under a join rule.
fn reviewers(join: &str) -> RunSetup {
    RunSetup::for_workflow(&format!(
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
        assert_eq!(
            transcript.contains("review approved"),
            verdict,
            "{join}: {transcript}"
        );
    }
    expect![[r#"
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
    "#]]
    .assert_eq(&play(&reviewers("majority"), script));
}

#[test]
fn a_reviewer_without_a_verdict_abstains_and_never_approves() {
    let script = "run code writes a.rs=1
                  run review approves
                  run review/1 approves
                  run review/2 fails crash";
    for (join, verdict) in [("all", false), ("majority", true), ("any", true)] {
        let transcript = play(&reviewers(join), script);
        assert_eq!(
            transcript.contains("review approved"),
            verdict,
            "{join}: {transcript}"
        );
    }
    expect![[r#"
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
    "#]]
    .assert_eq(&play(&reviewers("all"), script));
}

/// Three of one role and one of another: each role has a majority of its own.
#[test]
fn reviewers_are_counted_by_role() {
    let start = RunSetup::for_workflow(
        "
name: roles
start: code
roles:
  maker: { kind: implementer, worker: claude }
  judge: { kind: gatekeeper, worker: claude }
  auditor: { kind: gatekeeper, worker: codex }
steps:
  code: { role: maker, next: review }
  review: { roles: [judge, judge, judge, auditor], join: roles, retry: none, next: done, on_reject: code }
",
    );
    let play = |judge: &str, auditor: &str| {
        let script = format!(
            "run code writes a.rs=1
             run review approves
             run review/1 approves
             run review/2 {judge}
             ---
             run review/3 {auditor}"
        );
        play(&start, &script)
    };
    expect![[r#"
        > run review/3 approves
          run:review.1.3.1#5 answered, for it
          run: review approved
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&play("rejects \"no\"", "approves"));
    expect![[r#"
        > run review/3 rejects "it leaks"
          run:review.1.3.1#5 answered, against it
          run: review rejected: it leaks
          run at code.2 (rejected)
          run:code.2.0.1#6 started: maker on claude
    "#]]
    .assert_eq(&play("approves", "rejects \"it leaks\""));
    expect![[r#"
        > run review/3 fails crash
          run:review.1.3.1#5 failed: cli → retry_same: it crashed
          run:review.1.3.1 abstains: it crashed (1 of 1 tries)
          run ended: failed: `review` gave up: 1 of 4 gave no verdict
          the run ended: failed: `review` gave up: 1 of 4 gave no verdict
    "#]]
    .assert_eq(&play("approves", "fails crash"));
}

const REJECTED_THRICE: &str = r#"run analyse goes
    run design goes
    run code writes a.rs=1
    run review rejects "no"
    run code writes a.rs=2
    run review rejects "no"
    run code writes a.rs=3
    ---
    run review rejects "no""#;

#[test]
fn a_rebound_is_offered_and_taken() {
    let script = format!("{REJECTED_THRICE}\nperson run yes\nrun design goes");
    expect![[r#"
        > run review rejects "no"
          run:review.3.0.1#8 answered, against it
          run: review rejected: F1 is still open: no; F1: no
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
    "#]]
    .assert_eq(&play(&RunSetup::for_workflow(SEQUENCE), &script));
}

#[test]
fn who_says_to_keep_trying_gets_as_many_rounds_as_before() {
    let mut start = RunSetup::for_workflow(SEQUENCE);
    start.compiled.workflow.max_stagnant_rounds = Some(3);
    let round = |n: u32| {
        format!(
            r#"run code writes a.rs={n}
            run review says {{"approved":false,"reason":"no","issues":["thing {n}"]}}
            "#
        )
    };
    let before: String = (1..=3).map(round).collect();
    let after: String = (4..=5).map(round).collect();
    let script = format!("run analyse goes\nrun design goes\n{before}person run no\n---\n{after}");
    let transcript = play(&start, &script);
    assert!(
        transcript.contains("run at code.5 (rejected)"),
        "{transcript}"
    );
    assert!(
        transcript.contains("run at code.6 (rejected)"),
        "{transcript}"
    );
    assert!(!transcript.contains("finds as much"), "{transcript}");
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
        > run review rejects "no"
          run:review.3.0.1#8 answered, against it
          run: review rejected: F1 is still open: no; F1: no
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
    "#]]
    .assert_eq(&play(&RunSetup::for_workflow(SEQUENCE), &script));
}
