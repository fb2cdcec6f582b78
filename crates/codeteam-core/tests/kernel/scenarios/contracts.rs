//! Other wire forms of the same kinds: what they lead to is what the native ones lead to.

use codeteam_core::event::Event;
use codeteam_core::submission::Submission;
use expect_test::expect;

use crate::fixture::RunSetup;
use crate::scenario::{play, play_out};

const STRICT: &str = "
name: strict
start: plan
roles:
  planner: { kind: planner, contract: strict, worker: claude }
  coder: { kind: implementer, contract: strict, mode: edits, worker: claude }
  tester: { kind: gatekeeper, contract: strict, worker: claude }
steps:
  plan: { role: planner, when: { plan: missing }, next: tasks }
  tasks:
    each: task
    cap: 3
    on_task_failure: halt
    next: done
    start: code
    steps:
      code: { role: coder, next: report }
      report: { role: tester, next: commit }
      commit: { commit: branch, next: done }
";

const PLAN: &str = r#"run plan says {"plan_id":"plan_0001","tasks":[{"id":"T1","title":"Add","rationale":"why","acceptance":"adds","artifacts":["a.py"]},{"id":"T2","title":"Sub","rationale":"why","acceptance":"subs","artifacts":["b.py"]}]}"#;

#[test]
fn strict_tasks_follow_each_other() {
    let script = format!(
        r#"{PLAN}
           run/T1 code writes a.py=1
           ---
           run/T1 report says {{"task_id":"T2","passed":true,"report":"5 passed"}}
           run/T1 report approves
           run/T1 commit goes
           run/T2 code says {{"status":"error","reason":"c.py is not among the artifacts"}}"#
    );
    let (world, transcript) = play_out(&RunSetup::for_workflow(STRICT), &script);
    expect![[r#"
        > run/T1 report says {"task_id":"T2","passed":true,"report":"5 passed"}
          run/T1:report.1.0.1#3 failed: validation → retry_with_feedback: at `task_id`: `T1` is to be judged, not `T2`
          run/T1:report.1.0.2 queued
          run/T1:report.1.0.2#4 started: tester on claude
        > run/T1 report approves
          run/T1:report.1.0.2#4 answered, for it
          run/T1: report approved
          run/T1 at commit.1 (next)
          run/T1:commit.1.0.1#5 started: integrate
        > run/T1 commit goes
          c1 committed: README.md=0,a.py=1: T1: Add

        why
          run/T1 ended: completed
          run/T2 opened on c1
          run/T2 at code.1 (start)
          run/T2:code.1.0.1#6 started: coder on claude
        > run/T2 code says {"status":"error","reason":"c.py is not among the artifacts"}
          run/T2:code.1.0.1#6 failed: logic → escalate: c.py is not among the artifacts
          run/T2:code.1.0.1 abstains: c.py is not among the artifacts
          run/T2 ended: failed: `code` gave up: c.py is not among the artifacts
          run ended: failed: `T2` was given up
          the run ended: failed: `T2` was given up
    "#]].assert_eq(&transcript);
    let plan = world.run.plan.as_ref().unwrap();
    assert_eq!(plan.plan_id, "", "no run has the plan of another");
    let changes: Vec<Vec<String>> = world
        .log
        .iter()
        .filter_map(|line| match Event::read(1, line) {
            Ok(Event::SubmissionReceived {
                submission: Submission::Change(change),
                ..
            }) => Some(change.files),
            _ => None,
        })
        .collect();
    assert_eq!(changes, [["a.py"]], "the files, and not their contents");
}

#[test]
fn a_plan_of_another_name_goes_back() {
    let renamed = PLAN.replace("plan_0001", "plan_0002");
    expect![[r#"
        > run plan says {"plan_id":"plan_0002","tasks":[{"id":"T1","title":"Add","rationale":"why","acceptance":"adds","artifacts":["a.py"]},{"id":"T2","title":"Sub","rationale":"why","acceptance":"subs","artifacts":["b.py"]}]}
          run:plan.1.0.1#1 failed: validation → retry_with_feedback: at `plan_id`: `plan_0002` is not the plan's id; it must be `plan_0001`
          run:plan.1.0.2 queued
          run:plan.1.0.2#2 started: planner on claude
    "#]].assert_eq(&play(&RunSetup::for_workflow(STRICT), &renamed));
}

const SUPERVISED: &str = "
name: supervised
start: code
roles:
  maker: { kind: implementer, contract: supervisor, worker: claude }
  judge: { kind: gatekeeper, contract: supervisor, worker: claude }
steps:
  code: { role: maker, next: review }
  review: { role: judge, next: done, on_reject: code }
";

#[test]
fn an_approval_over_its_own_issue_is_a_rejection() {
    let script = r#"run code writes a.py=1
        ---
        run review says {"status":"APPROVED","issues":[],"suggestions":[],"security_concerns":["The token is logged"]}
        run code writes a.py=2
        run review says {"status":"CHANGES_REQUESTED","issues":[{"severity":"minor","title":"A bad name"}],"suggestions":[]}"#;
    expect![[r#"
        > run review says {"status":"APPROVED","issues":[],"suggestions":[],"security_concerns":["The token is logged"]}
          run:review.1.0.1#2 answered, against it
          F1 opened (major): The token is logged
          run: review rejected: approved, but: The token is logged; F1: The token is logged
          run at code.2 (rejected)
          run:code.2.0.1#3 started: maker on claude
        > run code writes a.py=2
          run:code.2.0.1#3 answered, tree README.md=0,a.py=2
          run at review.2 (next)
          run:review.2.0.1#4 started: judge on claude
        > run review says {"status":"CHANGES_REQUESTED","issues":[{"severity":"minor","title":"A bad name"}],"suggestions":[]}
          run:review.2.0.1#4 answered, for it
          F2 opened (minor): A bad name, F1 fixed
          run: review approved
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(&RunSetup::for_workflow(SUPERVISED), script));
}

#[test]
fn what_is_done_in_part_goes_back_and_what_is_kept_from_going_on_ends() {
    let script = r#"run code says {"status":"PARTIAL","files_created":[],"files_modified":["a.py"],"tests_written":[]}
        run code says {"status":"PARTIAL","files_created":[],"files_modified":["a.py"],"tests_written":[],"blockers":["no key"]}"#;
    expect![[r#"
        > run code says {"status":"PARTIAL","files_created":[],"files_modified":["a.py"],"tests_written":[]}
          run:code.1.0.1#1 failed: validation → retry_with_feedback: `PARTIAL` is not done: do all of it, or say in `blockers` what keeps you from it
          run:code.1.0.2 queued
          run:code.1.0.2#2 started: maker on claude
        > run code says {"status":"PARTIAL","files_created":[],"files_modified":["a.py"],"tests_written":[],"blockers":["no key"]}
          run:code.1.0.2#2 failed: logic → escalate: done in part only: no key
          run:code.1.0.2 abstains: done in part only: no key
          run ended: failed: `code` gave up: done in part only: no key
          the run ended: failed: `code` gave up: done in part only: no key
    "#]].assert_eq(&play(&RunSetup::for_workflow(SUPERVISED), script));
}

#[test]
fn components_are_tasks_by_phase() {
    let start = RunSetup::for_workflow(
        "
name: phases
start: plan
roles:
  lead: { kind: planner, contract: supervisor, worker: claude }
  architect: { kind: designer, contract: supervisor, worker: claude }
  maker: { kind: implementer, contract: supervisor, worker: claude }
steps:
  plan: { role: lead, next: phases }
  phases:
    each: phase
    next: done
    start: design
    steps:
      design: { role: architect, next: tasks }
      tasks:
        each: task
        cap: 2
        next: done
        start: make
        steps:
          make: { role: maker, next: commit }
          commit: { commit: branch, next: done }
",
    );
    let script = r#"run plan says {"status":"COMPLETE","estimated_components":3,"dependencies":[],"phases":[{"id":"backend","components":[{"id":"model","files":["m.py"]},{"id":"api","files":["a.py"],"depends_on":["model"]}]},{"id":"frontend","components":[{"id":"form","files":["f.ts"],"depends_on":["backend.api"]}]}]}
        run/backend design says {"components":[],"interfaces":[{"name":"login","type":"openapi","definition":"/login"}]}"#;
    expect![[r#"
        > run plan says {"status":"COMPLETE","estimated_components":3,"dependencies":[],"phases":[{"id":"backend","components":[{"id":"model","files":["m.py"]},{"id":"api","files":["a.py"],"depends_on":["model"]}]},{"id":"frontend","components":[{"id":"form","files":["f.ts"],"depends_on":["backend.api"]}]}]}
          run:plan.1.0.1#1 answered
          plan proposed: 3 tasks
          run at phases.1 (next)
          run/backend opened on c0
          run/backend at design.1 (start)
          run/backend:design.1.0.1#2 started: architect on claude
        > run/backend design says {"components":[],"interfaces":[{"name":"login","type":"openapi","definition":"/login"}]}
          run/backend:design.1.0.1#2 answered
          backend broken down: model, api, 1 interfaces
          run/backend at tasks.1 (next)
          run/backend/model opened on c0
          run/backend/model at make.1 (start)
          run/backend/model:make.1.0.1#3 started: maker on claude
    "#]].assert_eq(&play(&start, script));
}
