//! A person on the loop: a planner that asks, briefs, logs, choices, and changes that are judged.

use expect_test::expect;

use codeteam_core::assignment::build_assignment;
use codeteam_core::views::frame_team_state;

use crate::fixture::{RunSetup, TALKING};
use crate::scenario::{play, play_out};

const PLAN: &str = r#"{"plan":{"tasks":[{"id":"one","files":["a.rs"]}]}}"#;

/// One task, and no choice to be made.
fn one_task() -> RunSetup {
    RunSetup::for_workflow(TALKING).plan("one: a.rs")
}

#[test]
fn a_planner_asks_until_it_is_told_to_plan() {
    let transcript = play(
        &RunSetup::for_workflow(TALKING),
        &format!(
            r#"run plan says {{"questions":["By mail?"],"context":"Passwords are forgotten."}}
               person run yes
               run plan says {{"questions":["Which service?"]}}
               person run /save_plan the usual one
               run plan says {{"questions":["Really?"]}}
               run plan says {PLAN}
               person run change note: smaller
               run plan says {PLAN}
               person run feedback
               run feedback rejects "too coarse"
               person run accept"#
        ),
    );
    expect![[r#"
        > run plan says {"questions":["By mail?"],"context":"Passwords are forgotten."}
          run:plan.1.0.1#1 answered
          run:plan.1.0.1#2 asks: Passwords are forgotten. By mail? []
        > person run yes
          run:plan.1.0.1#2 answered: yes
          run at plan.2 (answered)
          run:plan.2.0.1#3 started: planner on claude
        > run plan says {"questions":["Which service?"]}
          run:plan.2.0.1#3 answered
          run:plan.2.0.1#4 asks: Some things must be clear before work starts. Which service? []
        > person run /save_plan the usual one
          run:plan.2.0.1#4 answered: /save_plan the usual one
          run at plan.3 (answered)
          run:plan.3.0.1#5 started: planner on claude
        > run plan says {"questions":["Really?"]}
          run:plan.3.0.1#5 failed: validation → retry_with_feedback: it asked questions (`Really?`), but the plan was wanted: nobody answers questions now, so give the plan with what is known
          run:plan.3.0.2 queued
          run:plan.3.0.2#6 started: planner on claude
        > run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"]}]}}
          run:plan.3.0.2#6 answered
          plan proposed: 1 tasks
          run at accept.1 (next)
          run:accept.1.0.1#7 asks: Is this the plan? [accept, feedback, change]
        > person run change note: smaller
          run:accept.1.0.1#7 answered: change
          run at plan.4 (answered)
          run:plan.4.0.1#8 started: planner on claude
        > run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"]}]}}
          run:plan.4.0.1#8 answered
          plan proposed: 1 tasks
          run at accept.2 (next)
          run:accept.2.0.1#9 asks: Is this the plan? [accept, feedback, change]
        > person run feedback
          run:accept.2.0.1#9 answered: feedback
          run at feedback.1 (answered)
          run:feedback.1.0.1#10 started: verifier on codex
        > run feedback rejects "too coarse"
          run:feedback.1.0.1#10 answered, against it
          run: feedback rejected: too coarse
          run at accept.3 (rejected)
          run:accept.3.0.1#11 asks: Is this the plan? [accept, feedback, change]
        > person run accept
          run:accept.3.0.1#11 answered: accept
          run at tasks.1 (answered)
          run/one opened on c0
          run/one at prompt.1 (start)
          run/one:prompt.1.0.1#12 started: scribe on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn a_planner_that_insists_on_asking_is_heard_and_one_that_fails_ends_nothing() {
    let transcript = play(
        &RunSetup::for_workflow(TALKING),
        r#"run plan says {"questions":["By mail?"]}
           person run /save_plan
           run plan says {"questions":["Really?"]}
           run plan says {"questions":["Really?"]}
           person run /save_plan
           run plan says nothing
           run plan says nothing
           run plan says nothing
           person run continue note: a small one"#,
    );
    expect![[r#"
        > run plan says {"questions":["By mail?"]}
          run:plan.1.0.1#1 answered
          run:plan.1.0.1#2 asks: Some things must be clear before work starts. By mail? []
        > person run /save_plan
          run:plan.1.0.1#2 answered: /save_plan
          run at plan.2 (answered)
          run:plan.2.0.1#3 started: planner on claude
        > run plan says {"questions":["Really?"]}
          run:plan.2.0.1#3 failed: validation → retry_with_feedback: it asked questions (`Really?`), but the plan was wanted: nobody answers questions now, so give the plan with what is known
          run:plan.2.0.2 queued
          run:plan.2.0.2#4 started: planner on claude
        > run plan says {"questions":["Really?"]}
          run:plan.2.0.2#4 answered
          run:plan.2.0.1#5 asks: Some things must be clear before work starts. Really? []
        > person run /save_plan
          run:plan.2.0.1#5 answered: /save_plan
          run at plan.3 (answered)
          run:plan.3.0.1#6 started: planner on claude
        > run plan says nothing
          run:plan.3.0.1#6 failed: validation → retry_with_feedback: the answer is not valid JSON: expected ident at line 1 column 2, near `nothing`
          run:plan.3.0.2 queued
          run:plan.3.0.2#7 started: planner on claude
        > run plan says nothing
          run:plan.3.0.2#7 failed: validation → retry_with_feedback: the answer is not valid JSON: expected ident at line 1 column 2, near `nothing`
          run:plan.3.0.3 queued
          run:plan.3.0.3#8 started: planner on claude
        > run plan says nothing
          run:plan.3.0.3#8 failed: validation → retry_with_feedback: the answer is not valid JSON: expected ident at line 1 column 2, near `nothing`
          run:plan.3.0.3 abstains: the answer is not valid JSON: expected ident at line 1 column 2, near `nothing` (3 of 3 tries)
          run:plan.3.0.1#9 asks: This does not get anywhere: `plan` gave up: the answer is not valid JSON: expected ident at line 1 column 2, near `nothing` (3 of 3 tries). Go on, or give it up? [continue, fail]
        > person run continue note: a small one
          run:plan.3.0.1#9 answered: continue
          run at plan.4 (answered)
          run:plan.4.0.1#10 started: planner on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn a_planner_that_insists_on_asking_is_heard_though_nobody_was_to_be_asked() {
    let mut setup = RunSetup::for_workflow(TALKING);
    let settings = &mut setup.compiled.workflow.settings;
    settings.insert("talk".to_owned(), false);
    let transcript = play(
        &setup,
        r#"run plan says {"questions":["By mail?","Which service?"]}
           run plan says {"questions":["By mail?"]}
           person run yes"#,
    );
    expect![[r#"
        > run plan says {"questions":["By mail?","Which service?"]}
          run:plan.1.0.1#1 failed: validation → retry_with_feedback: it asked questions (`By mail?`, `Which service?`), but the plan was wanted: nobody answers questions now, so give the plan with what is known
          run:plan.1.0.2 queued
          run:plan.1.0.2#2 started: planner on claude
        > run plan says {"questions":["By mail?"]}
          run:plan.1.0.2#2 answered
          run:plan.1.0.1#3 asks: Some things must be clear before work starts. By mail? []
        > person run yes
          run:plan.1.0.1#3 answered: yes
          run at plan.2 (answered)
          run:plan.2.0.1#4 started: planner on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn what_was_said_is_told_to_the_planner() {
    let script = r#"run plan says {"questions":["By mail?"],"context":"Passwords are forgotten."}
                    person run /save_plan"#;
    let (world, _) = play_out(&RunSetup::for_workflow(TALKING), script);
    let id = world.flights.keys().next().unwrap();
    let told = build_assignment(&world.run, id).unwrap();
    let asked = vec!["By mail?".to_owned()];
    let answer = "That is all; write the plan now.".to_owned();
    assert_eq!(told.earlier.answers, [(asked, answer)]);
    // What was understood is told as that, and not as a question.
    let analysis = told.earlier.analysis.unwrap();
    assert_eq!(analysis.context, "Passwords are forgotten.");
    assert!(!told.expected.asks);
}

#[test]
fn a_brief_is_told_in_every_round_and_the_log_from_the_second_on() {
    let script = r#"run/one prompt says {"message":"Look at b.rs."}
                    run/one code writes a.rs=1
                    run/one test fails "1 test failed""#;
    let (world, _) = play_out(&one_task(), script);
    let id = world.flights.keys().next().unwrap();
    let told = build_assignment(&world.run, id).unwrap();
    assert_eq!(told.earlier.brief.as_deref(), Some("Look at b.rs."));
    expect![[r#"
        ## Round 1: code

        > done

        Files:

        - a.rs


        ### Checks: test

        - unit: failed
          > 1 test failed
    "#]]
    .assert_eq(&told.earlier.log);
}

#[test]
fn a_long_log_is_shortened_before_the_next_round() {
    let long = "w".repeat(90_000);
    let mut start = one_task();
    let coder = start.compiled.roles.get_mut(&"coder".into()).unwrap();
    coder.log_tokens = Some(100);
    let transcript = play(
        &start,
        &format!(
            r#"run/one prompt fails crash
               +300s
               run/one prompt goes
               run/one code says {{"summary":"{long}"}}
               run/one code writes a.rs=1
               run/one test fails "{}"
               ---
               due
               run/one shorten says {{"message":"One test fails."}}
               run/one code writes a.rs=2
               run/one test fails "again"
               due"#,
            "x".repeat(500)
        ),
    );
    expect![[r#"
        > due
          due: run/one:shorten.1.0.1#6: scribe on claude
        > run/one shorten says {"message":"One test fails."}
          run/one:shorten.1.0.1#6 answered
          run/one at code.2 (next)
          run/one:code.2.0.1#7 started: coder on claude
        > run/one code writes a.rs=2
          run/one:code.2.0.1#7 answered, tree README.md=0,a.rs=2
          run/one at test.2 (next)
          run/one:test.2.0.1#8 started: the checks of `test`
        > run/one test fails "again"
          `test` failed on README.md=0,a.rs=2
          run/one: test rejected: the check `unit` failed / again
          run/one leaves out shorten
          run/one at code.3 (rejected)
          run/one:code.3.0.1#9 started: coder on claude
        > due
          due: run/one:code.3.0.1#9: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_role_says_which_task_comes_first() {
    let transcript = play(
        &RunSetup::for_workflow(TALKING).plan("one: a.rs\ntwo: b.rs\nthree: c.rs"),
        r#"start
           run tasks says {"message":"three\nIt could overturn the plan."}
           run tasks says {"message":"nine"}
           run/three prompt goes
           run/three code writes c.rs=1
           run/three test passes
           run/three review approves
           person run/three accept
           run/three describe goes
           run/three commit goes"#,
    );
    expect![[r#"
          run started: talking
          run leaves out plan
          run leaves out accept
          run at tasks.1 (start)
          run:tasks.1.0.1#0 may choose: scribe
          run:tasks.1.0.1#1 started: scribe on claude
        > run tasks says {"message":"three\nIt could overturn the plan."}
          run:tasks.1.0.1#1 answered
          three is first: three / It could overturn the plan.
          run/three opened on c0
          run/three at prompt.1 (start)
          run:tasks.1.0.2#0 may choose: scribe
          run:tasks.1.0.2#2 started: scribe on claude
          run/three:prompt.1.0.1#3 started: scribe on claude
        > run tasks says {"message":"nine"}
          run:tasks.1.0.2#2 answered
          one is first
          run/one opened on c0
          run/one at prompt.1 (start)
          run/one:prompt.1.0.1#4 started: scribe on claude
        > run/three prompt goes
          run/three:prompt.1.0.1#3 answered
          run/three at code.1 (next)
          run/three:code.1.0.1#5 started: coder on claude
        > run/three code writes c.rs=1
          run/three:code.1.0.1#5 answered, tree README.md=0,c.rs=1
          run/three at test.1 (next)
          run/three:test.1.0.1#6 started: the checks of `test`
        > run/three test passes
          `test` passed on README.md=0,c.rs=1
          run/three: test approved
          run/three at review.1 (next)
          run/three:review.1.0.1#7 started: verifier on codex
        > run/three review approves
          run/three:review.1.0.1#7 answered, for it
          run/three: review approved
          run/three at judge.1 (next)
          run/three:judge.1.0.1#8 asks: Is this change as you want it? [accept, reject, afresh, edit]
        > person run/three accept
          run/three:judge.1.0.1#8 answered: accept
          run/three at describe.1 (answered)
          run/three:describe.1.0.1#9 started: scribe on claude
        > run/three describe goes
          run/three:describe.1.0.1#9 answered
          run/three at commit.1 (next)
          run/three:commit.1.0.1#10 started: integrate
        > run/three commit goes
          c1 committed: README.md=0,c.rs=1: Do it
          run/three ended: completed
          run/two opened on c1
          run/two at prompt.1 (start)
          run/two:prompt.1.0.1#11 started: scribe on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn an_opinion_that_does_not_come_is_done_without() {
    let transcript = play(
        &RunSetup::for_workflow(TALKING).plan("one: a.rs\ntwo: b.rs"),
        "run tasks fails crash
         due",
    );
    expect![[r#"
        > run tasks fails crash
          run:tasks.1.0.1#1 failed: cli → retry_same: it crashed
          one is first
          run/one opened on c0
          run/one at prompt.1 (start)
          run/two opened on c0
          run/two at prompt.1 (start)
          run/one:prompt.1.0.1#2 started: scribe on claude
          run/two:prompt.1.0.1#3 started: scribe on claude
        > due
          due: run/one:prompt.1.0.1#2: scribe on claude
          due: run/two:prompt.1.0.1#3: scribe on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn an_opinion_is_asked_for_again_after_a_crash() {
    let transcript = play(
        &RunSetup::for_workflow(TALKING).plan("one: a.rs\ntwo: b.rs"),
        r#"crash
           run tasks says {"message":"two"}"#,
    );
    expect![[r#"
        > crash
          run resumed
          run:tasks.1.0.1#1 lost, 50 spent
          run:tasks.1.0.1#2 started: scribe on claude
        > run tasks says {"message":"two"}
          run:tasks.1.0.1#2 answered
          two is first: two
          run/two opened on c0
          run/two at prompt.1 (start)
          run/one opened on c0
          run/one at prompt.1 (start)
          run/one:prompt.1.0.1#3 started: scribe on claude
          run/two:prompt.1.0.1#4 started: scribe on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_person_mends_a_change_and_it_is_judged_again() {
    let transcript = play(
        &one_task(),
        "run/one prompt goes
         run/one code writes a.rs=1
         run/one test passes
         run/one review approves
         ---
         person run/one edit
         person run/one accept writes a.rs=2
         person run/one edit writes a.rs=2
         run/one test passes
         run/one review approves
         person run/one accept
         run/one describe goes
         run/one commit goes",
    );
    expect![[r#"
        > person run/one edit
          refused: `edit` comes with the change that was made
        > person run/one accept writes a.rs=2
          refused: `accept` does not come with a change
        > person run/one edit writes a.rs=2
          run/one:judge.1.0.1#5 answered: edit, tree README.md=0,a.rs=2
          run/one at test.2 (answered)
          run/one:test.2.0.1#6 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=2
          run/one: test approved
          run/one at review.2 (next)
          run/one:review.2.0.1#7 started: verifier on codex
        > run/one review approves
          run/one:review.2.0.1#7 answered, for it
          run/one: review approved
          run/one at judge.2 (next)
          run/one:judge.2.0.1#8 asks: Is this change as you want it? [accept, reject, afresh, edit]
        > person run/one accept
          run/one:judge.2.0.1#8 answered: accept
          run/one at describe.1 (answered)
          run/one:describe.1.0.1#9 started: scribe on claude
        > run/one describe goes
          run/one:describe.1.0.1#9 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#10 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=2: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn what_gets_nowhere_is_for_a_person_to_judge() {
    let transcript = play(
        &one_task(),
        r#"run/one prompt goes
           run/one code writes a.rs=1
           run/one test fails "one"
           run/one code writes a.rs=2
           run/one test fails "two"
           run/one code writes a.rs=3
           ---
           run/one test fails "three"
           person run/one afresh note: use the service class
           due
           run/one code writes a.rs=4
           run/one test passes
           run/one review rejects "no test"
           run/one code writes a.rs=4
           person run/one accept
           run/one describe goes
           run/one commit goes"#,
    );
    expect![[r#"
        > run/one test fails "three"
          `test` failed on README.md=0,a.rs=3
          run/one: test rejected: the check `unit` failed / three
          run/one at judge.1 (failed)
          run/one:judge.1.0.1#8 asks: Is this change as you want it? This does not get anywhere: it was rejected in 3 rounds: the check `unit` failed. [accept, reject, afresh, edit]
        > person run/one afresh note: use the service class
          run/one:judge.1.0.1#8 answered: afresh, undone
          run/one at code.4 (answered)
          run/one:code.4.0.1#9 started: coder on claude
        > due
          due: run/one:code.4.0.1#9: coder on claude
        > run/one code writes a.rs=4
          run/one:code.4.0.1#9 answered, tree README.md=0,a.rs=4
          run/one at test.4 (next)
          run/one:test.4.0.1#10 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=4
          run/one: test approved
          run/one at review.1 (next)
          run/one:review.1.0.1#11 started: verifier on codex
        > run/one review rejects "no test"
          run/one:review.1.0.1#11 answered, against it
          run/one: review rejected: no test
          run/one leaves out shorten
          run/one at code.5 (rejected)
          run/one:code.5.0.1#12 started: coder on claude
        > run/one code writes a.rs=4
          run/one:code.5.0.1#12 answered, tree README.md=0,a.rs=4
          run/one repeats round 5
          run/one at judge.2 (failed)
          run/one:judge.2.0.1#13 asks: Is this change as you want it? This does not get anywhere: the same change as in round 5 was submitted again, which `review` rejected: no test. [accept, reject, afresh, edit]
        > person run/one accept
          run/one:judge.2.0.1#13 answered: accept, over review
          run/one at describe.1 (answered)
          run/one:describe.1.0.1#14 started: scribe on claude
        > run/one describe goes
          run/one:describe.1.0.1#14 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#15 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=4: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&transcript);
}

#[test]
fn nobody_is_asked_where_nobody_judges() {
    let mut start = one_task();
    start
        .compiled
        .workflow
        .settings
        .insert("judge".to_owned(), false);
    let transcript = play(
        &start,
        r#"run/one prompt goes
           run/one code writes a.rs=1
           run/one test passes
           ---
           run/one review approves
           run/one describe fails crash
           +300s
           run/one describe fails crash
           +300s
           run/one describe fails crash"#,
    );
    expect![[r#"
        > run/one review approves
          run/one:review.1.0.1#4 answered, for it
          run/one: review approved
          run/one leaves out judge
          run/one at describe.1 (next)
          run/one:describe.1.0.1#5 started: scribe on claude
        > run/one describe fails crash
          run/one:describe.1.0.1#5 failed: cli → retry_same: it crashed
          run/one:describe.1.0.2 paused until 3001 (backoff)
        > +300s
          run/one:describe.1.0.2#6 started: scribe on claude
        > run/one describe fails crash
          run/one:describe.1.0.2#6 failed: cli → retry_same: it crashed
          run/one:describe.1.0.3 paused until 304601 (backoff)
        > +300s
          run/one:describe.1.0.3#7 started: scribe on claude
        > run/one describe fails crash
          run/one:describe.1.0.3#7 failed: cli → retry_same: it crashed
          run/one:describe.1.0.3 abstains: it crashed (3 of 3 tries)
          run/one at commit.1 (failed)
          run/one:commit.1.0.1#8 started: integrate
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn the_twelve_states_are_those_of_the_work() {
    let mut seen = Vec::new();
    let script = format!(
        r#"run plan says {{"questions":["By mail?"]}}
           person run yes
           run plan says {PLAN}
           person run feedback
           run feedback approves
           person run accept
           run/one prompt goes
           run/one code writes a.rs=1
           run/one test passes
           run/one review approves
           person run/one accept
           run/one describe goes
           run/one commit goes"#
    );
    let lines: Vec<&str> = script.lines().collect();
    for n in 0..=lines.len() {
        let (world, _) = play_out(&RunSetup::for_workflow(TALKING), &lines[..n].join("\n"));
        let frame = world.run.frames.values().last().unwrap();
        let state = frame_team_state(&world.run, frame).as_str();
        seen.push(format!(
            "{:30} {state}",
            lines.get(n.wrapping_sub(1)).map_or("", |l| l.trim())
        ));
    }
    expect![[r#"
                                       PLANNING_DRAFTING
        run plan says {"questions":["By mail?"]} PLANNING_DRAFTING
        person run yes                 PLANNING_DRAFTING
        run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"]}]}} PLANNING_AWAITING_REVIEW
        person run feedback            PLANNING_VERIFYING
        run feedback approves          PLANNING_AWAITING_REVIEW
        person run accept              CODING_PROMPTING
        run/one prompt goes            CODING_IN_PROGRESS
        run/one code writes a.rs=1     VERIFYING
        run/one test passes            VERIFYING
        run/one review approves        AWAITING_VERIFICATION_REVIEW
        person run/one accept          COMMITTING
        run/one describe goes          COMMITTING
        run/one commit goes            PLAN_COMPLETE
    "#]]
    .assert_eq(&(seen.join("\n") + "\n"));
}

#[test]
fn what_a_person_handed_back_comes_back_to_them() {
    let transcript = play(
        &one_task(),
        r#"run/one prompt goes
           run/one code writes a.rs=1
           run/one test passes
           run/one review approves
           person run/one edit writes a.rs=2
           ---
           run/one test fails "1 test failed"
           person run/one reject note: mend it
           run/one code writes a.rs=3
           run/one test fails "still""#,
    );
    expect![[r#"
        > run/one test fails "1 test failed"
          `test` failed on README.md=0,a.rs=2
          run/one: test rejected: the check `unit` failed / 1 test failed
          run/one at judge.2 (rejected)
          run/one:judge.2.0.1#7 asks: Is this change as you want it? `test` rejected what you handed back: the check `unit` failed [accept, reject, afresh, edit]
        > person run/one reject note: mend it
          run/one:judge.2.0.1#7 answered: reject
          run/one leaves out shorten
          run/one at code.2 (answered)
          run/one:code.2.0.1#8 started: coder on claude
        > run/one code writes a.rs=3
          run/one:code.2.0.1#8 answered, tree README.md=0,a.rs=3
          run/one at test.3 (next)
          run/one:test.3.0.1#9 started: the checks of `test`
        > run/one test fails "still"
          `test` failed on README.md=0,a.rs=3
          run/one: test rejected: the check `unit` failed / still
          run/one leaves out shorten
          run/one at code.3 (rejected)
          run/one:code.3.0.1#10 started: coder on claude
    "#]].assert_eq(&transcript);
}
