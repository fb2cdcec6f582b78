//! What the workflow `team` costs compared with others on the same goal: the calls of each role, and
//! what they send to the model. With `--nocapture`, the figures are printed.

use std::collections::BTreeMap;

use codeteam_context::tokens;
use codeteam_e2e::{Play, Scenario, Turn};
use serde_json::{Value, json};

use super::project::Project;
use super::samples::{RIGHT, writes};

/// The goal names no file, so that every workflow plans it.
const GOAL: &str = "Add a shell script that prints the sum of its two arguments";

/// Everybody does at once what they have to do, and everything is good.
fn scenario() -> Scenario {
    let drawn_up = json!({ "plan": { "description": "A script that adds", "tasks": [
        { "id": "task-001", "title": "add.sh", "dependencies": [], "files": ["add.sh"],
          "description": "Write `add.sh`, which prints the sum of its two arguments and nothing else.",
          "acceptance": ["`sh add.sh 2 3` prints 5"] }] } });
    let assembly = json!({ "assignments": [
        { "task": "task-001", "roles": ["developer"], "reason": "It is code." }] });
    let score = json!({ "overall_score": 90, "criteria_scores": [
        { "criterion": 1, "score": 90, "reason": "It prints 5." }] });
    let mut scenario = Scenario::new();
    for role in ["planner", "decomposer"] {
        let play = Play::new().role(role).turn(Turn::submit(drawn_up.clone()));
        scenario = scenario.play(play);
    }
    for implementer in ["executor", "coder", "developer"] {
        scenario = scenario.play(writes(Play::new().role(implementer)));
    }
    let says = |role: &str, answer: Value| Play::new().role(role).turn(Turn::submit(answer));
    let verdict = json!({ "verdict": "approve", "reason": "It adds." });
    for judge in [
        "architecture",
        "task_completion",
        "security",
        "performance",
        "reviewer",
    ] {
        scenario = scenario.play(says(judge, verdict.clone()));
    }
    for scribe in ["prompter", "committer"] {
        scenario = scenario.play(says(scribe, json!({ "message": "feat: add" })));
    }
    scenario
        .play(says("assembler", assembly))
        .play(says("quality_validator", score))
}

/// What a role has sent to the model.
#[derive(Clone, Copy, Debug, Default)]
struct SentPrompts {
    requests: usize,
    bytes: usize,
    /// By codeteam's own count; the vocabulary of another model differs by some percent.
    tokens: usize,
}

impl SentPrompts {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.tokens += other.tokens;
    }
}

/// Takes the goal through a workflow, and returns what each role sent.
fn cost_of(workflow: &str) -> BTreeMap<String, SentPrompts> {
    let project = Project::new(scenario());
    let args = [
        "run",
        GOAL,
        "--auto",
        "--worker",
        "claude",
        "--workflow",
        workflow,
    ];
    project.run(&args).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let mut costs: BTreeMap<String, SentPrompts> = BTreeMap::new();
    for request in &project.asked() {
        let role = request.marks.role.clone().unwrap_or_default();
        let body = request.body.to_string();
        costs.entry(role).or_default().add(SentPrompts {
            requests: 1,
            bytes: body.len(),
            tokens: tokens::count(&body),
        });
    }
    costs
}

/// Returns the names of the roles, and the tokens of what they sent together.
fn total(costs: &BTreeMap<String, SentPrompts>) -> (Vec<&str>, usize) {
    let roles = costs.keys().map(String::as_str).collect();
    (roles, costs.values().map(|sent| sent.tokens).sum())
}

#[test]
fn a_team_asks_four_roles_about_a_goal_of_one_task() {
    let costs = ["solo", "codeteam", "team"].map(|workflow| (workflow, cost_of(workflow)));
    for (workflow, costs) in &costs {
        println!("{workflow}: {costs:?}");
    }
    let [(_, solo), (_, usual), (_, team)] = &costs;
    let ((_, solo), (_, usual), (roles, team)) = (total(solo), total(usual), total(team));
    let expected = ["assembler", "decomposer", "developer", "quality_validator"];
    assert_eq!(
        roles, expected,
        "nobody asks the leader about a good result"
    );
    assert!(solo < usual, "{solo} and {usual}");
    assert!(
        team < 2 * usual,
        "{team} of the team, {usual} of the default"
    );
}
