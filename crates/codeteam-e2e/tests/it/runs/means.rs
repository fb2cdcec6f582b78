//! A role's permissions reach the CLI: tools, turns, money.

use codeteam_e2e::{Fault, FaultKind, Play, Scenario, TokenUsage, Turn};

use serde_json::{Value, json};

use super::project::Project;
use super::samples::{RIGHT, alone, one, writes};

/// A worker whose role has these keys is offered these tools.
#[track_caller]
fn offers(worker: &str, role: &str, tools: &[&str]) {
    let project = Project::new(Scenario::new().play(writes(Play::new())));
    project.user_config("workers: { builtin: { protocol: openai, model: local-model } }\n");
    let workflow = alone(role, "");
    project.goal(&workflow, &["--worker", worker]).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    for request in &project.asked() {
        assert_eq!(request.tool_names(), tools);
    }
}

#[test]
fn claude_is_offered_the_tools_its_role_allows() {
    let tools = ["Read", "StructuredOutput", "Write"];
    offers("claude", "allowed_tools: [read, write]", &tools);
    offers("claude", "allowed_tools: [read_file, write_file]", &tools);
}

#[test]
fn claude_is_offered_what_an_implementer_needs() {
    let tools = ["Bash", "Edit", "Read", "StructuredOutput", "Write"];
    offers("claude", "", &tools);
}

#[test]
fn gemini_is_offered_what_an_implementer_needs() {
    offers(
        "gemini",
        "",
        &[
            "list_directory",
            "read_file",
            "grep_search",
            "glob",
            "replace",
            "write_file",
            "run_shell_command",
            "mcp_codeteam_submit",
        ],
    );
}

#[test]
fn codex_is_offered_no_search_of_the_web_and_no_goals() {
    let scenario = Scenario::new().play(writes(Play::new()));
    let project = Project::lasting(scenario);
    let workflow = alone("", "");
    project.goal(&workflow, &["--worker", "codex"]).expect(0);
    for request in &project.asked() {
        let tools = request.tool_names();
        let needless = |tool: &String| tool.contains("goal") || tool.contains("web_search");
        assert!(!tools.iter().any(needless), "{tools:?}");
        let runs = |tool: &String| tool.ends_with("exec") || tool == "exec_command";
        assert!(tools.iter().any(runs), "{tools:?}");
    }
}

#[test]
fn a_tool_that_no_worker_has_is_refused_before_anything_starts() {
    let project = Project::new(Scenario::new());
    let workflow = alone("allowed_tools: [read, fly]", "");
    let done = project.goal(&workflow, &["--worker", "claude"]).expect(2);
    done.says(&["the tool `fly`, which no worker has", "`read`, `write`"]);
    assert!(project.asked().is_empty());
}

#[test]
fn gemini_is_offered_the_tools_its_role_allows() {
    offers(
        "gemini",
        "allowed_tools: [read, Write]",
        &["read_file", "write_file", "mcp_codeteam_submit"],
    );
}

#[test]
fn the_built_in_worker_is_offered_the_tools_its_role_allows() {
    let tools = ["read_file", "write_file", "submit"];
    offers("builtin", "allowed_tools: [read, write]", &tools);
    offers("builtin", "allowed_tools: [Read, Write]", &tools);
}

/// A worker whose role has two turns looks around for longer than that, and is told so.
#[track_caller]
fn uses_up_its_turns(worker: &str) -> Project {
    let looks = || Turn::new().read("README.md");
    let mut stall = Fault::new(FaultKind::Stall);
    "never".clone_into(&mut stall.gate);
    let slow = (0..3).fold(Play::new().attempt(1), |play, _| play.turn(looks()));
    let slow = slow.turn(looks().fault(stall));
    let project = Project::lasting(Scenario::new().play(slow).play(writes(Play::new())));
    let workflow = alone("max_turns: 2", "");
    project.goal(&workflow, &["--worker", worker]).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let failures = project.failures();
    let (category, action, message) = &failures[0];
    assert_eq!(
        (category.as_str(), action.as_str()),
        ("logic", "retry_with_feedback")
    );
    assert_eq!(failures.len(), 1, "{failures:?}");
    let asked = project.asked();
    let first = asked.filtered(|r| r.marks.attempt == Some(1));
    assert!(first.0[0].user_text().contains("You have 2 turns;"));
    let second = asked.filtered(|r| r.marks.attempt == Some(2));
    assert!(second.0[0].user_text().contains(message));
    project
}

#[test]
fn turns_that_are_used_up_are_told_to_the_next_attempt() {
    let project = uses_up_its_turns("claude");
    let asked = project.asked();
    assert_eq!(asked.filtered(|r| r.marks.attempt == Some(1)).len(), 2);
}

#[test]
fn codex_is_ended_when_it_goes_on_after_its_last_turn() {
    let project = uses_up_its_turns("codex");
    let failures = project.failures();
    let message = &failures[0].2;
    assert!(
        message.contains("it was not done after 2 turns"),
        "{message}"
    );
}

/// The model that a role without a model of its own asks, where it wants a small one, and where it
/// does not.
#[track_caller]
fn asks_a_small_model(worker: &str) {
    let project = Project::lasting(
        Scenario::new()
            .play(writes(Play::new().role("coder")))
            .play(Play::new().role("reviewer").turn(Turn::submit(
                json!({ "verdict": "approve", "reason": "it adds" }),
            ))),
    );
    let models = "model: model-large, small_model: model-small";
    project.user_config(&format!("workers: {{ {worker}: {{ {models} }} }}\n"));
    let workflow = one("", "small_model: true");
    project.goal(&workflow, &["--worker", worker]).expect(0);
    let asked = project.asked();
    for (role, model) in [("coder", "model-large"), ("reviewer", "model-small")] {
        let of_role = asked.of_role(role);
        assert!(!of_role.is_empty(), "{role}");
        for request in &of_role {
            assert_eq!(request.asked.as_ref().unwrap().model, model, "{role}");
        }
    }
}

#[test]
fn claude_asks_a_small_model_where_the_role_wants_one() {
    asks_a_small_model("claude");
}

#[test]
fn codex_asks_a_small_model_where_the_role_wants_one() {
    asks_a_small_model("codex");
}

#[test]
fn gemini_asks_a_small_model_where_the_role_wants_one() {
    asks_a_small_model("gemini");
}

/// A CLI whose role has a planner is asked for a plan, goes on after it, and its trace has it.
#[track_caller]
fn plans_before_it_acts(worker: &str) {
    let message = "Plan:\n1. Nothing is there yet: write add.sh";
    let play = Play::new()
        .turn(Turn::say(message).write("add.sh", RIGHT))
        .turn(Turn::submit(
            json!({ "summary": "wrote add.sh", "files": ["add.sh"] }),
        ));
    let project = Project::lasting(Scenario::new().play(play));
    let workflow = alone("use_planner: true", "");
    project.goal(&workflow, &["--worker", worker]).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let told = project.asked().0[0].user_text();
    assert!(told.contains("Plan before you act:"), "{told}");
    let traced = project.run(&["trace", "--json"]).expect(0).stdout;
    let traced: Value = serde_json::from_str(&traced).unwrap();
    let steps = traced["attempts"][0]["steps"].as_array().unwrap();
    let planned = steps
        .iter()
        .position(|step| step["kind"] == "plan")
        .unwrap();
    assert!(
        steps[planned]["text"]
            .as_str()
            .unwrap()
            .contains("1. Nothing is there yet")
    );
    // Codex does not call a tool for a patch, as far as its output says.
    let is_work = |step: &Value| step["kind"] == "call" || step["kind"] == "file";
    let began = steps.iter().position(is_work);
    assert!(began.is_some_and(|began| began > planned), "{steps:?}");
}

#[test]
fn claude_writes_its_plan_before_it_acts() {
    plans_before_it_acts("claude");
}

#[test]
fn codex_writes_its_plan_before_it_acts() {
    plans_before_it_acts("codex");
}

#[test]
fn gemini_writes_its_plan_before_it_acts() {
    plans_before_it_acts("gemini");
}

#[test]
fn money_that_is_used_up_ends_the_work() {
    let looks = || Turn::new().read("README.md");
    let scenario = Scenario::new().play(Play::new().turn(looks()).turn(looks()));
    let project = Project::new(scenario);
    let workflow = alone("max_cost_microusd: 1, worker: claude", "");
    let done = project.goal(&workflow, &[]).expect(1);
    done.says(&["not done:", "it used up its money"]);
    let failures = project.failures();
    assert_eq!(
        (failures[0].0.as_str(), failures[0].1.as_str()),
        ("resource", "escalate")
    );
    assert_eq!(failures.len(), 1, "and nobody else is asked");
    let spent = project.shown_run()["cost"]["money_microusd"].as_u64();
    assert!(spent > Some(1), "{spent:?}");
}

/// A worker that reports its usage only at its end is ended by a limit before that: the model does
/// not answer its fifth request before the gate is opened, which nobody does.
#[track_caller]
fn is_ended_by_its_tokens(worker: &str) {
    let usage = TokenUsage {
        input: 1_000,
        output: 10,
        ..TokenUsage::default()
    };
    let looks = || Turn::new().read("README.md").usage(usage);
    let mut stall = Fault::new(FaultKind::Stall);
    "never".clone_into(&mut stall.gate);
    let play = (0..4).fold(Play::new(), |play, _| play.turn(looks()));
    let scenario = Scenario::new().play(play.turn(looks().fault(stall)));
    let project = Project::lasting(scenario);
    let workflow = alone("", "");
    let done = project.goal(&workflow, &["--worker", worker, "--max-tokens", "1500"]);
    done.expect(4).says(&["limit reached:", "--max-tokens"]);
    assert!(project.asked().len() <= 5);
    let spent = project.shown_run()["cost"]["tokens"].as_u64();
    assert!(spent > Some(1_500), "{spent:?}");
}

#[test]
fn codex_is_ended_in_the_middle_of_its_work() {
    is_ended_by_its_tokens("codex");
}

#[test]
fn gemini_is_ended_in_the_middle_of_its_work() {
    is_ended_by_its_tokens("gemini");
}
