//! Tries: what fails, is tried again, rests, or is lost with codeteam itself.

use expect_test::expect;

use super::{one_task, three_tasks};
use codeteam_core::input::{Decision, WorkerOutcome};
use codeteam_core::{Effect, Input};

use crate::fixture::{PHASES, RunSetup};
use crate::git;
use crate::scenario::play;
use crate::world::SimulatedWorld;

#[test]
fn a_time_out_is_tried_again_after_a_growing_wait() {
    let transcript = play(
        &one_task(),
        "run/one code fails timeout
         due
         +1s
         +2s
         run/one code fails timeout
         +5s
         run/one code fails timeout",
    );
    expect![[r#"
        > run/one code fails timeout
          run/one:code.1.0.1#1 failed: network → retry_same: it ran too long
          run/one:code.1.0.2 paused until 2912 (backoff)
        > due
          due: wait until 2912 to try run/one:code.1.0.2 again
        > +1s
        > +2s
          run/one:code.1.0.2#2 started: coder on claude
        > run/one code fails timeout
          run/one:code.1.0.2#2 failed: network → retry_same: it ran too long
          run/one:code.1.0.3 paused until 8132 (backoff)
        > +5s
          run/one:code.1.0.3#3 started: coder on claude
        > run/one code fails timeout
          run/one:code.1.0.3#3 failed: network → retry_same: it ran too long
          run/one:code.1.0.4 is for another worker than claude: it ran too long (3 of 3 tries)
          run/one:code.1.0.4#4 started: coder on codex
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_bad_answer_goes_back_as_feedback_at_once() {
    let transcript = play(
        &one_task(),
        r#"run/one code says I am done!
           run/one code says {"summary":"x","lgtm":true}
           run/one code writes a.rs=1"#,
    );
    expect![[r#"
        > run/one code says I am done!
          run/one:code.1.0.1#1 failed: validation → retry_with_feedback: the answer is not valid JSON: expected value at line 1 column 1, near `I am done!`
          run/one:code.1.0.2 queued
          run/one:code.1.0.2#2 started: coder on claude
        > run/one code says {"summary":"x","lgtm":true}
          run/one:code.1.0.2#2 failed: validation → retry_with_feedback: unknown field `lgtm`, expected one of `summary`, `files`, `files_changed`, `proof`, `concerns`, `notes`, `edits`
          run/one:code.1.0.3 queued
          run/one:code.1.0.3#3 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.3#3 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#4 started: the checks of `test`
    "#]].assert_eq(&transcript);
}

#[test]
fn nothing_changed_is_refused() {
    let transcript = play(
        &one_task(),
        r#"run/one code says {"summary":"nothing to do"}"#,
    );
    expect![[r#"
        > run/one code says {"summary":"nothing to do"}
          run/one:code.1.0.1#1 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run/one:code.1.0.2 queued
          run/one:code.1.0.2#2 started: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn blocked_is_not_tried_again() {
    let transcript = play(
        &one_task(),
        r#"run/one code says {"blocked":"I cannot reach the database"}
           person run/one fail"#,
    );
    expect![[r#"
        > run/one code says {"blocked":"I cannot reach the database"}
          run/one:code.1.0.1#1 failed: logic → escalate: I cannot reach the database
          run/one:code.1.0.1 abstains: I cannot reach the database
          run/one:code.1.0.1#2 asks: This does not get anywhere: `code` gave up: I cannot reach the database. Go on, or give it up? [continue, skip, fail]
        > person run/one fail
          run/one:code.1.0.1#2 answered: fail
          run/one ended: failed: a person gave it up
          run ended: failed: `one` was given up
          the run ended: failed: `one` was given up
    "#]].assert_eq(&transcript);
}

#[test]
fn failing_often_in_a_short_time_opens_the_breaker() {
    let mut start = one_task();
    let code = start
        .compiled
        .workflow
        .steps
        .get_mut(&"code".into())
        .unwrap();
    if let codeteam_core::workflow::StepKind::Role(role) = &mut code.kind {
        role.retry.max_attempts = 50;
        role.retry.initial_delay_ms = 1_000;
        role.retry.max_delay_ms = 1_000;
    }
    let transcript = play(
        &start,
        "run/one code fails crash
         +2s
         run/one code fails crash
         +2s
         run/one code fails crash
         +2s
         run/one code fails crash
         +2s
         ---
         run/one code fails crash",
    );
    expect![[r#"
        > run/one code fails crash
          run/one:code.1.0.5#5 failed: cli → retry_same: it crashed
          run/one: the breaker of code opened
          run/one:code.1.0.5 abstains: it fails too often: it crashed
          run/one:code.1.0.1#6 asks: This does not get anywhere: `code` gave up: it fails too often: it crashed. Go on, or give it up? [continue, skip, fail]
    "#]].assert_eq(&transcript);
}

#[test]
fn another_worker_stands_in_for_one_that_is_not_logged_in() {
    let transcript = play(
        &one_task(),
        "run/one code fails login
         run/one code writes a.rs=1
         run/one test fails
         run/one code fails login
         run/one code fails login",
    );
    expect![[r#"
        > run/one code fails login
          run/one:code.1.0.1#1 failed: cli → escalate: it is not logged in
          run/one:code.1.0.2 is for another worker than claude: it is not logged in
          run/one:code.1.0.2#2 started: coder on codex
        > run/one code writes a.rs=1
          run/one:code.1.0.2#2 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#3 started: the checks of `test`
        > run/one test fails
          `test` failed on README.md=0,a.rs=1
          run/one: test rejected: the check `unit` failed
          run/one at code.2 (rejected)
          run/one:code.2.0.1#4 started: coder on claude
        > run/one code fails login
          run/one:code.2.0.1#4 failed: cli → escalate: it is not logged in
          run/one:code.2.0.2 is for another worker than claude: it is not logged in
          run/one:code.2.0.2#5 started: coder on codex
        > run/one code fails login
          run/one:code.2.0.2#5 failed: cli → escalate: it is not logged in
          run/one:code.2.0.2 abstains: it is not logged in
          run/one:code.2.0.1#6 asks: This does not get anywhere: `code` gave up: it is not logged in. Go on, or give it up? [continue, skip, fail]
    "#]].assert_eq(&transcript);
}

#[test]
fn who_stands_in_has_all_its_tries_whatever_the_other_did() {
    let transcript = play(
        &one_task(),
        "run/one code fails crash
         +40s
         run/one code fails crash
         +40s
         run/one code fails crash
         run/one code fails crash
         +40s
         run/one code fails crash
         +40s
         ---
         run/one code fails crash",
    );
    expect![[r#"
        > run/one code fails crash
          run/one:code.1.0.6#6 failed: cli → retry_same: it crashed
          run/one:code.1.0.6 abstains: it crashed (3 of 3 tries)
          run/one:code.1.0.1#7 asks: This does not get anywhere: `code` gave up: it crashed (3 of 3 tries). Go on, or give it up? [continue, skip, fail]
    "#]].assert_eq(&transcript);
}

/// The sessions that a coder is to go on in, each with how often it was used, if its workers tell these
/// sessions one after the other.
fn continued_sessions(most: Option<u32>, told: &[Option<&str>]) -> Vec<Option<(String, u32)>> {
    let mut start = one_task();
    let coder = start.compiled.roles.get_mut(&"coder".into()).unwrap();
    coder.means.continues = true;
    coder.means.max_continuations = most;
    let mut world = SimulatedWorld::begin(&start);
    let mut sessions = Vec::new();
    for (n, told) in told.iter().enumerate() {
        let id = world.flights.keys().next().unwrap().clone();
        let assignment = codeteam_core::assignment::build_assignment(&world.run, &id).unwrap();
        sessions.push(assignment.session.map(|s| (s.id, s.turns)));
        let files = [("a.rs".to_owned(), n.to_string())].into();
        let tree = git::tree(&files);
        let base = &world.run.frames[&id.frame].base.tree;
        let change = git::change(&id.without_fence(), base, &tree);
        let answer = WorkerOutcome::Answered(r#"{"summary":"x"}"#.to_owned());
        let mut input = world.exited(&id, answer, 1);
        if let Input::WorkerExited { report, .. } = &mut input {
            report.change = Some((tree, change));
            report.session = told.map(str::to_owned);
        }
        world.land(&input);
        let (gate, effect) = world.flights.iter().next().unwrap();
        let Effect::RunGate { step, .. } = effect else {
            break;
        };
        let judged = world.judged(&gate.clone(), &step.clone(), Some("no"));
        world.land(&judged);
        if let Some(question) = world.questions().first() {
            world.decide(Decision::Answer {
                question: question.id.clone(),
                answer: "continue".to_owned(),
                note: String::new(),
                change: None,
            });
        }
    }
    sessions
}

#[test]
fn a_role_that_may_goes_on_in_its_session_three_times() {
    let told = [
        Some("s1"),
        Some("s1"),
        Some("s1"),
        Some("s2"),
        None,
        Some("s3"),
    ];
    let named = |id: &str, turns| Some((id.to_owned(), turns));
    assert_eq!(
        continued_sessions(None, &told),
        [
            None,
            named("s1", 1),
            named("s1", 2),
            None,
            named("s2", 1),
            None
        ],
        "the third attempt in a session is the last one, and one that is not told is forgotten"
    );
}

#[test]
fn how_often_a_session_is_gone_on_with_can_be_said() {
    let told = [Some("s1"); 4];
    let turns = |most| -> Vec<Option<u32>> {
        let sessions = continued_sessions(Some(most), &told);
        let turns = sessions.into_iter().map(|one| one.map(|(_, turns)| turns));
        turns.collect()
    };
    assert_eq!(turns(0), [None; 4]);
    assert_eq!(turns(1)[..3], [None, Some(1), None]);
    assert_eq!(turns(3), [None, Some(1), Some(2), Some(3)]);
}

#[test]
fn another_worker_is_used_while_an_account_rests() {
    let transcript = play(
        &one_task(),
        "run/one code fails quota 60s
         run/one code writes a.rs=1",
    );
    expect![[r#"
        > run/one code fails quota 60s
          run/one:code.1.0.1#1 failed: resource → park: 
          claude rests until 61000
          run/one:code.1.0.1 queued
          run/one:code.1.0.1#2 started: coder on codex
        > run/one code writes a.rs=1
          run/one:code.1.0.1#2 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#3 started: the checks of `test`
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn when_every_account_rests_the_try_waits_and_uses_up_no_retry() {
    let transcript = play(
        &one_task(),
        "run/one code fails quota 60s
         run/one code fails quota 90s
         due
         +60s",
    );
    expect![[r#"
        > run/one code fails quota 60s
          run/one:code.1.0.1#1 failed: resource → park: 
          claude rests until 61000
          run/one:code.1.0.1 queued
          run/one:code.1.0.1#2 started: coder on codex
        > run/one code fails quota 90s
          run/one:code.1.0.1#2 failed: resource → park: 
          codex rests until 91000
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 61000 (quota)
        > due
          due: wait until 61000 for the quota of ["claude","codex"]
        > +60s
          claude may be used again
          run/one:code.1.0.1#3 started: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_usage_limit_may_be_told_by_another_run() {
    let transcript = play(
        &one_task(),
        "limited codex 60s
         run/one code writes a.rs=1
         run/one test passes
         due
         +60s",
    );
    expect![[r#"
        > limited codex 60s
          codex rests until 61000
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#2 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=1
          run/one: test approved
          run/one at review.1 (next)
          run/one:review.1.0.1 paused until 61000 (quota)
        > due
          due: wait until 61000 for the quota of ["codex"]
        > +60s
          codex may be used again
          run/one:review.1.0.1#3 started: reviewer on codex
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn after_a_crash_the_same_try_has_a_new_fence_and_its_cost_counts() {
    let (world, transcript) = crate::scenario::play_out(
        &three_tasks(),
        "crash
         run/one code writes a.rs=1
         again",
    );
    expect![[r#"
        > crash
          run resumed
          run/one:code.1.0.1#1 lost, 50 spent
          run/two:code.1.0.1#2 lost, 50 spent
          run/one:code.1.0.1#3 started: coder on claude
          run/two:code.1.0.1#4 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#3 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#5 started: the checks of `test`
        > again
    "#]]
    .assert_eq(&transcript);
    assert_eq!(world.run.budget.money_microusd, 50 + 50 + 100);
    assert_eq!(world.run.budget.attempts, 4);
}

#[test]
fn less_is_asked_for_and_a_person_decides_whether_that_will_do() {
    let start = RunSetup::for_workflow(PHASES).plan("one@first: a.rs");
    let transcript = play(
        &start,
        r#"run/first design goes
           run/first/one make says {"blocked":"too large"}
           run/first/one make writes a.rs=half
           run/first/one test passes
           run/first/one review approves
           ---
           run/first/one review/1 approves
           run/first/one review/2 approves
           person run/first/one accept
           run/first/one commit goes
           run verify passes"#,
    );
    expect![[r#"
        > run/first/one review/1 approves
          run/first/one:review.1.1.1#6 answered, for it
        > run/first/one review/2 approves
          run/first/one:review.1.2.1#7 answered, for it
          run/first/one: review approved
          run/first/one leaves out audit
          run/first/one leaves out approve
          run/first/one at commit.1 (next)
          run/first/one:commit.1.0.1#8 asks: Less was done than was asked for. Accept it as it is? [accept, fail]
        > person run/first/one accept
          run/first/one:commit.1.0.1#8 answered: accept
          run/first/one at commit.2 (answered)
          run/first/one:commit.2.0.1#9 started: integrate
        > run/first/one commit goes
          c1 committed: README.md=0,a.rs=half: one: Do one
          run/first/one ended: completed
          run/first ended: completed
          run at verify.1 (next)
          run:verify.1.0.1#10 started: the checks of `verify`
        > run verify passes
          `verify` passed on README.md=0,a.rs=half
          run: verify approved
          run at ship.1 (next)
          run:ship.1.0.1#11 asks: Publish it? `publish` runs this on your machine, outside the sandbox: git push [publish, stop]
    "#]].assert_eq(&transcript);
}

#[test]
fn each_level_has_all_its_tries() {
    let mut start = RunSetup::for_workflow(PHASES).plan("one@first: a.rs");
    let maker = start.compiled.roles.get_mut(&"maker".into()).unwrap();
    maker.workers.truncate(1);
    let transcript = play(
        &start,
        "run/first design goes
         ---
         run/first/one make fails timeout
         +10s
         run/first/one make fails timeout
         run/first/one make fails timeout",
    );
    expect![[r#"
        > run/first/one make fails timeout
          run/first/one:make.1.0.1#2 failed: network → retry_same: it ran too long
          run/first/one:make.1.0.2 paused until 5746 (backoff)
        > +10s
          run/first/one:make.1.0.2#3 started: maker on claude
        > run/first/one make fails timeout
          run/first/one:make.1.0.2#3 failed: network → retry_same: it ran too long
          run/first/one lowered to simplified
          run/first/one at make.2 (failed)
          run/first/one:make.2.0.1#4 started: maker on claude
        > run/first/one make fails timeout
          run/first/one:make.2.0.1#4 failed: network → retry_same: it ran too long
          run/first/one:make.2.0.2 paused until 15820 (backoff)
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_degraded_result_that_commits_nothing_needs_a_decision_too() {
    let start = RunSetup::for_workflow(PHASES).plan("one@first: a.rs");
    let transcript = play(
        &start,
        r#"run/first design says {"blocked":"too large"}
           run/first design goes
           skip one
           person run/first accept"#,
    );
    expect![[r#"
        > run/first design says {"blocked":"too large"}
          run/first:design.1.0.1#1 failed: logic → escalate: too large
          run/first lowered to simplified
          run/first at design.2 (failed)
          run/first:design.2.0.1#2 started: designer on claude
        > run/first design goes
          run/first:design.2.0.1#2 answered
          run/first leaves out ceremony
          run/first at tasks.1 (next)
          run/first/one opened on c0
          run/first/one at make.1 (start)
          run/first/one:make.1.0.1#3 started: maker on claude
        > skip one
          run/first/one ended: skipped
          run/first:tasks.1.0.1#4 asks: Less was done than was asked for. Accept it as it is? [accept, fail]
          run/first/one:make.1.0.1#3 spent 10
        > person run/first accept
          run/first:tasks.1.0.1#4 answered: accept
          run/first ended: completed
          run at verify.1 (next)
          run:verify.1.0.1#5 started: the checks of `verify`
    "#]].assert_eq(&transcript);
}

#[test]
fn checks_that_cannot_run_are_nobodys_fault_but_codeteams() {
    let transcript = play(
        &one_task(),
        r#"run/one code writes a.rs=1
           run/one test breaks "no sandbox"
           person run/one continue"#,
    );
    expect![[r#"
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#2 started: the checks of `test`
        > run/one test breaks "no sandbox"
          run/one:test.1.0.1#2 failed: cli → escalate: no sandbox
          run/one:test.1.0.1#3 asks: This does not get anywhere: checks could not run: no sandbox. Go on, or give it up? [continue, skip, fail]
        > person run/one continue
          run/one:test.1.0.1#3 answered: continue
          run/one at test.2 (answered)
          run/one:test.2.0.1#4 started: the checks of `test`
    "#]].assert_eq(&transcript);
}

#[test]
fn what_the_machine_is_to_blame_for_uses_up_tries() {
    let transcript = play(
        &one_task(),
        r#"run/one code stumbles "the worktree is gone"
           +5s
           run/one code writes a.rs=1
           run/one test stumbles "its sandbox was killed"
           +5s
           run/one test stumbles "its sandbox was killed"
           +10s
           run/one test stumbles "its sandbox was killed"
           person run/one continue"#,
    );
    let failed = |why: &str| format!("failed: resource → retry_same: {why}");
    assert_eq!(
        transcript.matches(&failed("the worktree is gone")).count(),
        1,
        "{transcript}"
    );
    assert_eq!(
        transcript
            .matches(&failed("its sandbox was killed"))
            .count(),
        3,
        "{transcript}"
    );
    assert!(
        transcript.contains("checks could not run: its sandbox was killed"),
        "{transcript}"
    );
}
