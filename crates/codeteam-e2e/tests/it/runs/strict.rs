//! The workflow `strict` with every worker: its agents are given JSON and answer with JSON.

use codeteam_e2e::{Play, Scenario, SubmissionRoute, Turn};
use serde_json::{Value, json};

use super::project::{CommandResult, Project};
use super::samples::RIGHT;

fn plan() -> Value {
    json!({"plan_id": "plan_0001", "tasks": [{
        "id": "T1", "title": "Add", "rationale": "It calculates",
        "acceptance": "2 and 3 make 5", "artifacts": ["README.md", "add.sh"],
    }]})
}

/// An answer that is nothing else: without tools, the model of the server would put it into a fence.
fn bare(worker: &str, answer: Value) -> Turn {
    let turn = Turn::submit(answer);
    match worker {
        "builtin" => turn.road(SubmissionRoute::Text),
        _ => turn,
    }
}

fn scenario(worker: &str, plan: Turn) -> Scenario {
    let edits = json!({"edits": [{"path": "add.sh", "content": RIGHT}]});
    let told = json!({"task_id": "T1", "passed": true, "report": "2 and 3 make 5"});
    Scenario::new()
        .play(Play::new().role("planner").turn(plan))
        .play(Play::new().role("coder").turn(bare(worker, edits)))
        .play(Play::new().role("tester").turn(bare(worker, told)))
}

fn start(worker: &str, model: &str, plan: Turn) -> (Project, CommandResult) {
    let project = Project::new(scenario(worker, plan));
    project.user_config("workers: { builtin: { protocol: openai, model: local-model } }\n");
    let roles = ["planner", "coder", "tester"].map(|role| {
        let more = if model.is_empty() {
            String::new()
        } else {
            format!(", model: {model}")
        };
        format!("  strict/{role}: {{ worker: {worker}{more} }}\n")
    });
    project.config(&format!("roles:\n{}", roles.concat()));
    let args = ["run", "A calculator that adds", "--workflow", "strict"];
    let done = project.run(&args);
    (project, done)
}

/// With every worker, the agents get the contract's object, at the end of their prompt or alone,
/// and their answers are accepted.
#[track_caller]
fn plays(worker: &str, model: &str) {
    let (project, done) = start(worker, model, bare(worker, plan()));
    done.expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let inputs = [
        (
            "planner",
            r#"{"goal":"A calculator that adds","repo_summary":"README.md - markdown, 1 line","plan_id":"plan_0001"}"#,
        ),
        (
            "coder",
            r#"{"task":{"id":"T1","title":"Add","rationale":"It calculates","acceptance":"2 and 3 make 5","artifacts":["README.md","add.sh"]},"context_files":[{"path":"README.md","content":"A calculator.\n"}]}"#,
        ),
    ];
    let asked = project.asked();
    for (role, input) in inputs {
        let told = asked.of_role(role).iter().next().unwrap().user_text();
        // Gemini's CLI has one place for all that it is told, and adds to it.
        let is_given = match worker {
            "gemini" => told.contains(input),
            _ => told.trim_end().ends_with(input),
        };
        assert!(is_given, "{role}: {told}");
    }
    let told = asked.of_role("tester").iter().next().unwrap().user_text();
    let begins =
        r#"{"task_id":"T1","pytest_exit_code":0,"pytest_output":"a sum is checked\n1\n2\n"#;
    assert!(told.contains(begins), "{told}");
}

#[test]
fn claude_plays_the_strict_agents() {
    plays("claude", "");
}

#[test]
fn codex_plays_the_strict_agents() {
    plays("codex", "gpt-5.5");
}

#[test]
fn gemini_plays_the_strict_agents() {
    plays("gemini", "");
}

#[test]
fn the_built_in_worker_plays_the_strict_agents() {
    plays("builtin", "");
}

/// An answer in a fence, or with a word beside it, is not accepted, and nobody is asked twice.
#[test]
fn prose_and_fences_are_refused() {
    let fenced = format!("```json\n{}\n```", plan());
    for said in [
        fenced,
        format!("Here it is: {}", plan()),
        "Done.".to_owned(),
    ] {
        let (project, done) = start("builtin", "", Turn::say(&said));
        done.expect(1)
            .says(&["its answer is not exactly one JSON object"]);
        assert_eq!(project.asked().len(), 1, "{said}");
    }
}
