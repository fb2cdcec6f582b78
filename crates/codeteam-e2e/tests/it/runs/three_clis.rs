//! One run in which three CLIs play four roles.

use codeteam_e2e::{Play, Protocol, Scenario, Turn};
use serde_json::json;

use super::project::Project;
use super::samples::{RIGHT, written};

const TEAM: &str = "
name: team
start: plan
roles:
  planner: { kind: planner, prompt: You plan., worker: gemini }
  coder: { kind: implementer, prompt: You write code., worker: codex }
  correctness: { kind: gatekeeper, prompt: You look for errors., worker: claude }
  style: { kind: gatekeeper, prompt: You look at the style., worker: codex }
steps:
  plan: { role: planner, next: work }
  work:
    each: task
    next: done
    steps:
      code: { role: coder, next: verify }
      verify: { gate: project, next: review, on_fail: code }
      review: { roles: [correctness, style], join: all, next: commit, on_reject: code }
      commit: { commit: branch, next: done }
";

const COMMENTED: &str = "# Adds two numbers.\necho $(($1 + $2))\n";

fn scenario() -> Scenario {
    let plan = json!({"plan": {"description": "a script that adds", "tasks": [
        {"id": "task-001", "title": "add.sh", "description": "Write add.sh.",
         "dependencies": [], "files": ["add.sh"], "acceptance": ["it adds"]}]}});
    let finding = json!({"severity": "major", "title": "it says not what it does",
                         "detail": "Put a comment above.", "file": "add.sh", "line": 1});
    let approve = || Turn::submit(json!({"verdict": "approve", "reason": "fine"}));
    Scenario::new()
        .play(Play::new().role("planner").turn(Turn::submit(plan)))
        .play(
            Play::new()
                .role("coder")
                .round(1)
                .turn(Turn::new().write("add.sh", RIGHT))
                .turn(written()),
        )
        .play(
            Play::new()
                .role("coder")
                .round(2)
                .turn(Turn::new().edit("add.sh", RIGHT, COMMENTED))
                .turn(written()),
        )
        .play(
            Play::new()
                .role("correctness")
                .round(1)
                .turn(Turn::submit(json!({"verdict": "reject",
                    "reason": "nobody knows what it does", "findings": [finding]}))),
        )
        .play(
            Play::new()
                .role("correctness")
                .round(2)
                .turn(Turn::new().read("add.sh"))
                .turn(Turn::submit(
                    json!({"verdict": "approve", "reason": "it says so now",
                    "resolved": [{"id": "F1", "state": "fixed"}]}),
                )),
        )
        .play(Play::new().role("style").turn(approve()))
}

#[test]
fn three_clis_plan_code_and_review_one_run() {
    let project = Project::new(scenario());
    project.goal(TEAM, &[]).expect(0);

    assert_eq!(project.committed_file("add.sh"), COMMENTED.trim_end());
    assert_eq!(project.commits(), 1);
    let run = project.shown_run();
    assert_eq!(run["tasks"][0]["status"], "completed");
    assert_eq!(run["tasks"][0]["rounds"], 2);

    let asked = project.asked();
    for (role, protocol) in [
        ("planner", Protocol::Gemini),
        ("coder", Protocol::Responses),
        ("correctness", Protocol::Anthropic),
        ("style", Protocol::Responses),
    ] {
        let of_role = asked.of_role(role);
        assert!(!of_role.is_empty(), "{role}");
        assert_eq!(of_role.of_protocol(protocol).len(), of_role.len(), "{role}");
    }

    let judged = project.events("step_judged");
    let approved: Vec<_> = judged.iter().filter(|j| j["step"] == "review").collect();
    assert_eq!(approved[0]["approved"], false, "one of two is not all");
    assert_eq!(approved[1]["approved"], true);
    let changed = project.events("findings_changed");
    assert_eq!(changed[0]["opened"][0]["id"], "F1");
    assert_eq!(
        changed[1]["resolved"][0],
        json!({"id": "F1", "state": "fixed"})
    );

    let told = |role: &str| {
        let second = asked.of_role(role).filtered(|r| r.marks.round == Some(2));
        second.iter().next().unwrap().user_text()
    };
    for role in ["coder", "correctness"] {
        let told = told(role);
        assert!(
            told.contains("F1 (major): it says not what it does in add.sh:1"),
            "{told}"
        );
    }
    assert!(
        told("correctness").contains("# Adds two numbers."),
        "the change"
    );
}
