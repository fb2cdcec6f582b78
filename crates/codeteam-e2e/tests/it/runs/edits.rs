//! Roles without tools: whole files are in the answer, and codeteam puts them into the tree.

use codeteam_e2e::{Play, Scenario, Turn};
use serde_json::json;

use super::project::Project;
use super::samples::{RIGHT, one};

/// Answers with whole files: a new one, a changed one and one that goes.
fn scenario() -> Scenario {
    let edits = json!([
        {"path": "add.sh", "content": RIGHT},
        {"path": "README.md", "content": "A calculator that adds.\n"},
        {"path": "old.txt", "delete": true},
    ]);
    Scenario::new()
        .play(Play::new().role("coder").turn(Turn::submit(
            json!({"summary": "wrote add.sh", "edits": edits}),
        )))
        .play(Play::new().role("reviewer").turn(Turn::submit(
            json!({"verdict": "approve", "reason": "it adds"}),
        )))
}

/// A worker without tools gets no other tools than these, and what it answers is committed.
#[track_caller]
fn edits(worker: &str, more: &str, tools: &[&str]) {
    let project = Project::new(scenario());
    project.write("old.txt", "old\n");
    project.config("");
    project.user_config("workers: { builtin: { protocol: openai, model: local-model } }\n");
    let role = format!("mode: edits, {more}");
    project
        .goal(&one(&role, &role), &["--worker", worker])
        .expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    assert_eq!(
        project.committed_file("README.md"),
        "A calculator that adds."
    );
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let files = project.git(&["ls-tree", "--name-only", &branch]);
    assert!(!files.contains("old.txt"), "{files}");
    assert_eq!(project.commits(), 1);

    let asked = project.asked();
    for request in &asked {
        assert_eq!(request.tool_names(), tools);
        assert!(!request.body.to_string().contains("additional_tools"));
    }
    let told = asked.of_role("coder").iter().next().unwrap().user_text();
    for shown in ["You have no tools", "\nREADME.md\n", "\nold.txt\n"] {
        assert!(told.contains(shown), "{told}");
    }
}

#[test]
fn claude_answers_with_whole_files() {
    edits("claude", "", &["StructuredOutput"]);
}

/// `request_user_input` cannot be disabled; its description says that it only works where a person
/// plans.
#[test]
fn codex_answers_with_whole_files() {
    edits("codex", "model: gpt-5.5", &["request_user_input"]);
}

/// A model that would write scripts to call tools.
#[test]
fn codex_answers_with_whole_files_without_code_mode() {
    edits("codex", "model: gpt-6-sol", &["request_user_input"]);
}

#[test]
fn gemini_answers_with_whole_files() {
    edits("gemini", "", &["mcp_codeteam_submit"]);
}

#[test]
fn the_built_in_worker_answers_with_whole_files() {
    edits("builtin", "", &[]);
}
