//! `codeteam repin`: a changed workflow is taken into a run that waits for a person.

use crate::project::Project;
use crate::samples::THREE_TASKS;

const FLOW: &str = "name: own
start: plan
steps:
  plan: { role: planner, next: ok }
  ok:
    person: Is this the plan?
    answers: { \"yes\": tasks, \"no\": fail }
  tasks:
    each: task
    next: done
    start: code
    steps:
      code: { role: coder, next: commit }
      commit: { commit: branch, next: done }
";

/// A run that waits for a person to accept its plan.
fn waiting() -> Project {
    let project = Project::new();
    project.write(".codeteam/workflows/own.yml", FLOW);
    project.commit("a workflow");
    let script = project.script(THREE_TASKS);
    let run = [
        "run",
        "Three things",
        "--workflow",
        "own",
        "--script",
        &script,
    ];
    project.run(&run).expect(3);
    project
}

#[test]
fn a_changed_workflow_holds_from_now_on() {
    let project = waiting();
    project.run(&["repin"]).expect(0).says(&["as they are now"]);
    let review = FLOW.replace("next: commit }", "next: review }").replace(
        "      commit: {",
        "      review: { role: reviewer, next: commit, on_reject: code }\n      commit: {",
    );
    project.write(".codeteam/workflows/own.yml", &review);
    project.run(&["repin"]).expect(3).says(&[
        "step code: changed: next",
        "step review: new",
        "`--yes` does it",
    ]);
    project.run(&["repin", "--yes"]).expect(0);
    project.run(&["answer", "yes"]).expect(0);
    project.run(&["resume"]).expect(0);
    let log = project.run(&["log", "--json"]).expect(0).stdout;
    assert!(log.contains("workflow_repinned"), "{log}");
    assert!(log.contains("\"step\":\"review\""), "{log}");
    assert_eq!(project.shown_run()["status"], "completed");
}

#[test]
fn a_workflow_without_the_step_somebody_is_at_is_refused() {
    let project = waiting();
    let gone = FLOW.replace("next: ok }", "next: tasks }").replace(
        "  ok:\n    person: Is this the plan?\n    answers: { \"yes\": tasks, \"no\": fail }\n",
        "",
    );
    project.write(".codeteam/workflows/own.yml", &gone);
    project.run(&["repin", "--yes"]).expect(2).says(&[
        "step ok: gone",
        "cannot go on with the changed workflow",
        "it is at the step `ok`, which is gone",
        "fork",
    ]);
    project.run(&["answer", "yes"]).expect(0);
    project.run(&["resume"]).expect(0);
}
