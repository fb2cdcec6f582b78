//! People: questions, answers, and decisions nobody asked for.

use expect_test::expect;

use super::{finish, one_task, three_tasks};
use crate::fixture::{HALTING, PHASES, RunSetup, SEQUENCE};
use crate::scenario::play;

#[test]
fn what_is_asked_before_the_first_commit_is_asked_once() {
    let asks = "
name: asks
start: tasks
roles: { coder: { kind: implementer, worker: claude } }
steps:
  tasks:
    each: task
    cap: 2
    next: done
    steps:
      code: { role: coder, next: ask }
      ask: { person: Commit it?, when: { committed: false }, next: commit, answers: { commit: commit } }
      commit: { commit: branch, next: done }
";
    let script = "run/one code writes a.rs=1
                  run/two code writes b.rs=1
                  person run/one commit
                  ---
                  run/one commit goes";
    let start = RunSetup::for_workflow(asks).plan("one: a.rs\ntwo: b.rs");
    expect![[r"
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: one: Do one
          run/one ended: completed
          run/two leaves out ask
          run/two at commit.1 (next)
          run/two:commit.1.0.1#6 started: rebase
    "]]
    .assert_eq(&play(&start, script));
}

#[test]
fn an_analyst_asks_and_a_person_answers() {
    let transcript = play(
        &RunSetup::for_workflow(SEQUENCE),
        r#"run analyse says {"questions":["Which mail service?"],"context":"Mail is needed."}
           person run the usual one
           run analyse says {"questions":["Which language?"]}
           person run english
           run design goes"#,
    );
    expect![[r#"
        > run analyse says {"questions":["Which mail service?"],"context":"Mail is needed."}
          run:analyse.1.0.1#1 answered
          run:analyse.1.0.1#2 asks: Mail is needed. Which mail service? []
        > person run the usual one
          run:analyse.1.0.1#2 answered: the usual one
          run at analyse.2 (answered)
          run:analyse.2.0.1#3 started: analyst on session
        > run analyse says {"questions":["Which language?"]}
          run:analyse.2.0.1#3 answered
          run:analyse.2.0.1#4 asks: Some things must be clear before work starts. Which language? []
        > person run english
          run:analyse.2.0.1#4 answered: english
          run at design.1 (next)
          run:design.1.0.1#5 started: architect on session
        > run design goes
          run:design.1.0.1#5 answered
          run at code.1 (next)
          run:code.1.0.1#6 started: coder on session
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_stale_or_unknown_answer_is_refused() {
    let transcript = play(
        &one_task(),
        r#"run/one code says {"blocked":"no access"}
           person run/one stale continue
           person run/one perhaps
           person run/one continue
           again"#,
    );
    expect![[r#"
        > run/one code says {"blocked":"no access"}
          run/one:code.1.0.1#1 failed: logic → escalate: no access
          run/one:code.1.0.1 abstains: no access
          run/one:code.1.0.1#2 asks: This does not get anywhere: `code` gave up: no access. Go on, or give it up? [continue, skip, fail]
        > person run/one stale continue
          refused: that question is no longer open
        > person run/one perhaps
          refused: `perhaps` is not an answer to it; `continue`, `skip`, `fail` are
        > person run/one continue
          run/one:code.1.0.1#2 answered: continue
          run/one at code.2 (answered)
          run/one:code.2.0.1#3 started: coder on claude
        > again
          refused: that question is no longer open
    "#]].assert_eq(&transcript);
}

#[test]
fn a_failed_task_blocks_what_depends_on_it_and_the_rest_goes_on() {
    let transcript = play(
        &three_tasks(),
        &format!(
            "run/one code says {{\"blocked\":\"no access\"}}
             person run/one fail
             ---
             due
             run/two code writes b.rs=1
             {}",
            finish("two")
        ),
    );
    expect![[r#"
        > due
          due: run/two:code.1.0.1#2: coder on claude
        > run/two code writes b.rs=1
          run/two:code.1.0.1#2 answered, tree README.md=0,b.rs=1
          run/two at test.1 (next)
          run/two:test.1.0.1#4 started: the checks of `test`
        > run/two test passes
          `test` passed on README.md=0,b.rs=1
          run/two: test approved
          run/two at review.1 (next)
          run/two:review.1.0.1#5 started: reviewer on codex
        > run/two review approves
          run/two:review.1.0.1#5 answered, for it
          run/two: review approved
          run/two leaves out approve
          run/two at describe.1 (next)
          run/two:describe.1.0.1#6 started: committer on claude
        > run/two describe goes
          run/two:describe.1.0.1#6 answered
          run/two at commit.1 (next)
          run/two:commit.1.0.1#7 started: integrate
        > run/two commit goes
          c1 committed: README.md=0,b.rs=1: Do it
          run/two ended: completed
          run ended: failed: `one` was given up; 1 more could not be done
          the run ended: failed: `one` was given up; 1 more could not be done
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn retrying_a_failed_task_takes_an_ended_run_up_again() {
    let transcript = play(
        &RunSetup::for_workflow(HALTING)
            .plan("one: a.rs\ntwo: b.rs\nthree: c.rs < one")
            .cap(2),
        r#"run/one make writes a.rs=1
           run/one check fails "does not compile"
           retry run/one note: add the import
           run/one make writes a.rs=2
           run/one check passes"#,
    );
    expect![[r#"
        > run/one make writes a.rs=1
          run/one:make.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at check.1 (next)
          run/one:check.1.0.1#3 started: the checks of `check`
        > run/one check fails "does not compile"
          `check` failed on README.md=0,a.rs=1
          run/one: check rejected: the check `build` failed / does not compile
          run/one ended: failed: `check` rejected it: the check `build` failed
          run/two ended: cancelled
          run ended: failed: `one` was given up; 2 more could not be done
          the run ended: failed: `one` was given up; 2 more could not be done
          run/two:make.1.0.1#2 spent 10
        > retry run/one note: add the import
          run reopened
          one is pending
          run/one resumed
          run/one at make.2 (resumed)
          run/two resumed
          run/two at make.2 (resumed)
          run/one:make.2.0.1#4 started: coder on claude
          run/two:make.2.0.1#5 started: coder on claude
          run/one is told: add the import
        > run/one make writes a.rs=2
          run/one:make.2.0.1#4 answered, tree README.md=0,a.rs=2
          run/one at check.2 (next)
          run/one:check.2.0.1#6 started: the checks of `check`
        > run/one check passes
          `check` passed on README.md=0,a.rs=2
          run/one: check approved
          run/one at judge.1 (next)
          run/one:judge.1.0.1#7 started: tester on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn skipping_a_failed_task_lets_its_dependents_go() {
    let transcript = play(
        &RunSetup::for_workflow(HALTING)
            .plan("one: a.rs\ntwo: b.rs < one")
            .cap(1),
        r#"run/one make fails odd
           skip one
           skip one"#,
    );
    expect![[r#"
        > run/one make fails odd
          run/one:make.1.0.1#1 failed: cli → retry_once: something odd
          run/one:make.1.0.1 abstains: something odd (1 of 1 tries)
          run/one ended: failed: `make` gave up: something odd (1 of 1 tries)
          run ended: failed: `one` was given up; 1 more could not be done
          the run ended: failed: `one` was given up; 1 more could not be done
        > skip one
          run reopened
          one is skipped
          run/two opened on c0
          run/two at make.1 (start)
          run/two:make.1.0.1#2 started: coder on claude
        > skip one
          refused: task `one` is skipped already
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn one_decision_ends_the_run() {
    let transcript = play(
        &three_tasks(),
        "abort it is the wrong branch
         due
         abort",
    );
    expect![[r#"
        > abort it is the wrong branch
          run/two ended: cancelled
          run/one ended: cancelled
          run ended: aborted: it is the wrong branch
          the run ended: aborted: it is the wrong branch
          run/two:code.1.0.1#2 spent 10
          run/one:code.1.0.1#1 spent 10
        > due
        > abort
          refused: the run has ended already
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn an_aborted_run_goes_on_where_it_was() {
    let transcript = play(
        &three_tasks(),
        "run/one code writes a.rs=1
         abort lunch
         retry",
    );
    expect![[r#"
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#3 started: the checks of `test`
        > abort lunch
          run/two ended: cancelled
          run/one ended: cancelled
          run ended: aborted: lunch
          the run ended: aborted: lunch
          run/two:code.1.0.1#2 spent 10
          run/one:test.1.0.1#3 spent 10
        > retry
          run reopened
          one is pending
          two is pending
          run/one resumed
          run/one at test.2 (resumed)
          run/two resumed
          run/two at code.2 (resumed)
          run/one:test.2.0.1#4 started: the checks of `test`
          run/two:code.2.0.1#5 started: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_failed_task_of_a_failed_phase_is_retried_with_its_phase() {
    let mut start = RunSetup::for_workflow(PHASES)
        .plan("one@first: a.rs\ntwo@first: b.rs < one\nthree@second: c.rs");
    start.compiled.workflow.on_exhausted = codeteam_core::workflow::ExhaustionPolicy::Fail;
    let transcript = play(
        &start,
        r#"run/first design goes
           run/first/one make says {"blocked":"no"}
           run/first/one make says {"blocked":"no"}
           ---
           run/first/one make says {"blocked":"no"}
           retry run/first/one note: try the other door
           skip one"#,
    );
    expect![[r#"
        > run/first/one make says {"blocked":"no"}
          run/first/one:make.3.0.1#4 failed: logic → escalate: no
          run/first/one:make.3.0.1 abstains: no
          run/first/one ended: failed: `make` gave up: no
          run/first ended: failed: `one` was given up; 1 more could not be done
          run ended: failed: `first` was given up; 1 more could not be done
          the run ended: failed: `first` was given up; 1 more could not be done
        > retry run/first/one note: try the other door
          run reopened
          first is pending
          one is pending
          run/first resumed
          run/first at tasks.2 (resumed)
          run/first/one resumed
          run/first/one at make.4 (resumed)
          run/first/one:make.4.0.1#5 started: maker on claude
          run/first/one is told: try the other door
        > skip one
          run/first/one ended: skipped
          run/first/two opened on c0
          run/first/two at make.1 (start)
          run/first/two:make.1.0.1#6 started: maker on claude
          run/first/one:make.4.0.1#5 spent 10
    "#]]
    .assert_eq(&transcript);
}

/// Entering the tasks anew tries what had failed again, from where it stood.
#[test]
fn a_workflow_may_lead_back_to_its_tasks() {
    let start = RunSetup::for_workflow(
        r"
name: again
start: tasks
roles: { maker: { kind: implementer, worker: claude } }
steps:
  tasks:
    each: task
    next: done
    on_fail: ask
    steps:
      make: { role: maker, retry: none, next: commit }
      commit: { commit: branch, next: done }
  ask: { person: Once more?, answers: { again: tasks, stop: done } }
",
    );
    let transcript = play(
        &start.plan("one: a.rs\ntwo: b.rs < one"),
        "run/one make fails odd
         person run again
         run/one make fails odd
         person run stop
         retry run/one",
    );
    expect![[r#"
        > run/one make fails odd
          run/one:make.1.0.1#1 failed: cli → retry_once: something odd
          run/one:make.1.0.1 abstains: something odd (1 of 1 tries)
          run/one ended: failed: `make` gave up: something odd (1 of 1 tries)
          run at ask.1 (failed)
          run:ask.1.0.1#2 asks: Once more? [again, stop]
        > person run again
          run:ask.1.0.1#2 answered: again
          run at tasks.2 (answered)
          run/one resumed
          run/one at make.2 (resumed)
          run/one:make.2.0.1#3 started: maker on claude
        > run/one make fails odd
          run/one:make.2.0.1#3 failed: cli → retry_once: something odd
          run/one:make.2.0.1 abstains: something odd (1 of 1 tries)
          run/one ended: failed: `make` gave up: something odd (1 of 1 tries)
          run at ask.2 (failed)
          run:ask.2.0.1#4 asks: Once more? [again, stop]
        > person run stop
          run:ask.2.0.1#4 answered: stop
          run ended: completed
          the run ended: completed
        > retry run/one
          run reopened
          one is pending
          run at tasks.3 (resumed)
          run/one resumed
          run/one at make.3 (resumed)
          run/one:make.3.0.1#5 started: maker on claude
    "#]]
    .assert_eq(&transcript);
}

/// A change whose checks fail goes to a person, who may take it all the same.
#[test]
fn a_person_may_accept_a_change_over_a_failing_check() {
    let start = RunSetup::for_workflow(
        r"
name: accepted
start: code
roles: { maker: { kind: implementer, worker: claude } }
steps:
  code: { role: maker, next: test }
  test: { gate: [{ name: unit, command: make test }], next: commit, on_fail: ask }
  ask:
    person: The checks fail. Take it all the same?
    answers: { take: commit, mend: { next: code, rejects: true } }
  commit: { commit: branch, next: done }
",
    );
    let transcript = play(
        &start,
        r#"run code writes a.rs=1
           run test fails "flaky"
           person run mend note: try harder
           run code writes a.rs=2
           run test fails "flaky"
           person run take
           run commit goes"#,
    );
    expect![[r#"
        > run code writes a.rs=1
          run:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run at test.1 (next)
          run:test.1.0.1#2 started: the checks of `test`
        > run test fails "flaky"
          `test` failed on README.md=0,a.rs=1
          run: test rejected: the check `unit` failed / flaky
          run at ask.1 (rejected)
          run:ask.1.0.1#3 asks: The checks fail. Take it all the same? [take, mend]
        > person run mend note: try harder
          run:ask.1.0.1#3 answered: mend
          run at code.2 (answered)
          run:code.2.0.1#4 started: maker on claude
        > run code writes a.rs=2
          run:code.2.0.1#4 answered, tree README.md=0,a.rs=2
          run at test.2 (next)
          run:test.2.0.1#5 started: the checks of `test`
        > run test fails "flaky"
          `test` failed on README.md=0,a.rs=2
          run: test rejected: the check `unit` failed / flaky
          run at ask.2 (rejected)
          run:ask.2.0.1#6 asks: The checks fail. Take it all the same? [take, mend]
        > person run take
          run:ask.2.0.1#6 answered: take, over test
          run at commit.1 (answered)
          run:commit.1.0.1#7 started: integrate
        > run commit goes
          c1 committed: README.md=0,a.rs=2: Add a password reset
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn publishing_that_was_interrupted_is_a_question() {
    let mut start = RunSetup::for_workflow(PHASES);
    start.compiled.workflow.start = "ship".into();
    let transcript = play(
        &start,
        "person run publish
         crash
         person run again
         run push goes",
    );
    expect![[r#"
        > person run publish
          run:ship.1.0.1#1 answered: publish
          run at push.1 (answered)
          run:push.1.0.1#2 started: publish
        > crash
          run resumed
          run:push.1.0.1#2 lost, 50 spent
          run:push.1.0.1#3 asks: codeteam ended while it was publishing. Look whether that happened: is it done, should it be done again, or does it fail? [done, again, fail]
        > person run again
          run:push.1.0.1#3 answered: again
          run at push.2 (answered)
          run:push.2.0.1#4 started: publish
        > run push goes
          published
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&transcript);
}

#[test]
fn a_change_that_a_person_rejected_is_not_judged_again_unchanged() {
    let judged = r#"
name: judged
start: tasks
roles: { coder: { kind: implementer, worker: claude } }
steps:
  tasks:
    each: task
    next: done
    steps:
      code: { role: coder, next: test }
      test: { gate: [{ name: unit, command: make test }], next: judge, on_fail: code }
      judge:
        person: Is this as you want it?
        answers:
          "yes": commit
          "no": { next: code, rejects: true, resets: true }
      commit: { commit: branch, next: done }
"#;
    let transcript = play(
        &RunSetup::for_workflow(judged).plan("one: a.rs"),
        "run/one code writes a.rs=1
         run/one test passes
         ---
         person run/one no note: use printf
         run/one code writes a.rs=1
         person run/one yes",
    );
    expect![[r#"
        > person run/one no note: use printf
          run/one:judge.1.0.1#3 answered: no
          run/one at code.2 (answered)
          run/one:code.2.0.1#4 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.2.0.1#4 answered, tree README.md=0,a.rs=1
          run/one repeats round 1
          run/one at judge.2 (rejected)
          run/one:judge.2.0.1#5 asks: Is this as you want it? This is the change of round 1 again, which `ann` rejected: nothing was changed since, and nothing was checked or reviewed again. [yes, no]
        > person run/one yes
          run/one:judge.2.0.1#5 answered: yes
          run/one at commit.1 (answered)
          run/one:commit.1.0.1#6 started: integrate
    "#]]
    .assert_eq(&transcript);
}
