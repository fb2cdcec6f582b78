//! A person at a terminal and each CLI: a conversation about a plan, then the loop that carries it
//! out, with the roles and workflows that codeteam brings along.

use codeteam_e2e::{Play, Protocol, Scenario, Turn};
use serde_json::{Value, json};

use super::project::Project;
use super::samples::{RIGHT, written};

const QUESTION: &str = "How many numbers?";
const ANSWER: &str = "Two of them, whole ones";
const VERIFIERS: [&str; 4] = ["architecture", "task_completion", "security", "performance"];

/// An answer of the planner. Where every key is required, `null` leaves a key out.
fn planned(protocol: Protocol, mut answer: Value) -> Turn {
    if protocol == Protocol::Responses {
        for key in ["questions", "context", "partial_spec", "plan", "blocked"] {
            answer[key] = answer[key].take();
        }
    }
    Turn::submit(answer)
}

fn scenario(protocol: Protocol) -> Scenario {
    let asks = json!({"context": "It is to add.", "questions": [QUESTION]});
    let plan = json!({"plan": {"description": "A script that adds", "tasks": [
        {"id": "task-001", "title": "Add two numbers", "description": "Write add.sh.",
         "dependencies": [], "files": ["README.md", "add.sh"],
         "acceptance": ["`sh add.sh 2 3` prints `5`"]}]}});
    let brief = json!({"message": "Keep to plain sh in add.sh."});
    let message = json!({"message": "feat: add two numbers"});
    let scenario = Scenario::new()
        .play(
            Play::new()
                .role("planner")
                .says(ANSWER)
                .turn(planned(protocol, plan)),
        )
        .play(Play::new().role("planner").turn(planned(protocol, asks)))
        .play(Play::new().role("prompter").turn(Turn::submit(brief)))
        .play(
            Play::new()
                .role("coder")
                .turn(Turn::new().read("README.md"))
                .turn(Turn::new().edit("README.md", "A calculator.\n", "It adds.\n"))
                .turn(Turn::new().write("add.sh", RIGHT))
                .turn(written()),
        )
        .play(Play::new().role("committer").turn(Turn::submit(message)));
    VERIFIERS.iter().fold(scenario, |scenario, role| {
        let reason = format!("{role}: it adds");
        let approves = Turn::submit(json!({"verdict": "approve", "reason": reason}));
        scenario.play(
            Play::new()
                .role(role)
                .turn(Turn::new().read("add.sh"))
                .turn(approves),
        )
    })
}

/// The planner asks, is answered, and its plan is accepted.
#[track_caller]
fn plans(project: &Project) {
    let mut plan = project.terminal(&["plan", "A script that adds"]);
    plan.until("feature-0001: A script that adds");
    plan.shows(&["It is to add.", QUESTION, "plan feature-0001> "]);
    plan.line(ANSWER);
    plan.shows(&["Plan feature-0001, 1 task:", "task-001  Add two numbers"]);
    plan.until("Do you want to /accept_plan or /request_feedback_round?");
    plan.line("/accept_plan");
    plan.shows(&["accepted: feature-0001", "codeteam run feature-0001"]);
    plan.end(0);
    assert_eq!(project.failures(), []);
}

/// Checks that the plan is carried out, and that the change is reviewed from all sides and
/// accepted.
#[track_caller]
fn builds(project: &Project) {
    let mut run = project.terminal(&["run", "feature-0001"]);
    run.until("you judge every change");
    run.shows(&[
        "task-001: Is this change what you want?",
        "judge task-001> ",
    ]);
    run.keys("d");
    run.shows(&["+It adds.", "+++ b/add.sh", "judge task-001> "]);
    run.line("/report");
    run.until("# Verification Report for Task: task-001");
    run.shows(&VERIFIERS.map(|_| ": it adds"));
    run.until("judge task-001> ");
    run.line("/accept_changes thank you");
    run.shows(&["committed", "done: "]);
    run.end(0);
    assert_eq!(project.failures(), []);
}

#[track_caller]
fn talks(worker: &str, protocol: Protocol) {
    let project = Project::new(scenario(protocol));
    project.config(&format!("worker: {worker}\n"));
    plans(&project);
    builds(&project);

    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    assert_eq!(project.committed_file("README.md"), "It adds.");
    assert_eq!(project.commits(), 1);
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let message = project.git(&["log", "-1", "--format=%B", &branch]);
    let tree = project.git(&["log", "-1", "--format=%T", &branch]);
    assert!(message.starts_with("feat: add two numbers\n"), "{message}");
    assert!(
        message.contains(&format!("Codeteam-Verified: {tree}")),
        "{message}"
    );

    let asked = project.asked();
    assert_eq!(asked.of_protocol(protocol).len(), asked.len());
    let planner = asked.of_role("planner");
    let first = planner.iter().next().unwrap().asked.as_ref().unwrap();
    let tools = first.tools.iter().map(|tool| &tool.schema);
    let mut schemas = tools.chain(&first.schema);
    assert!(
        schemas.any(|schema| {
            let takes = |key: &str| schema["properties"].get(key).is_some();
            takes("questions") && takes("plan")
        }),
        "it may ask, or give a plan"
    );
    let told = |role: &str| {
        let of_role = asked.of_role(role);
        of_role.last().unwrap().user_text()
    };
    assert!(told("planner").contains(QUESTION), "what was asked is told");
    assert!(told("coder").contains("Keep to plain sh in add.sh."));
    for role in VERIFIERS.iter().chain(&["committer"]) {
        let told = told(role);
        assert!(told.contains("It adds."), "{role}: {told}");
    }
}

#[test]
fn a_person_plans_and_judges_with_claude() {
    talks("claude", Protocol::Anthropic);
}

#[test]
fn a_person_plans_and_judges_with_codex() {
    talks("codex", Protocol::Responses);
}

#[test]
fn a_person_plans_and_judges_with_gemini() {
    talks("gemini", Protocol::Gemini);
}
