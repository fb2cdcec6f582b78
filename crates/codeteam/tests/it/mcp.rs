//! `codeteam mcp`: a session led through a task by the real binary, over standard input and output.

#![expect(
    clippy::needless_pass_by_value,
    reason = "messages are written where they are passed"
)]

mod base;
mod branches;
mod client;
mod deaths;
mod diagnostics;
mod example;
mod gate;
mod hostile;
mod http;
mod install;
mod iterations;
mod merging;
mod people;
mod property;
mod raw;
mod refusals;
mod words;

use serde_json::{Value, json};

use crate::project::Project;

/// A project whose gate wants a file that says `works`.
fn project() -> Project {
    gated("grep -q works reset.txt")
}

/// A project with a gate of its own.
fn gated(command: &str) -> Project {
    let project = Project::new();
    project.config(&format!(
        "verification:\n  commands:\n    - {{ name: tests, command: '{command}' }}\n"
    ));
    project.commit("gate");
    project
}

fn requirements() -> Value {
    json!({"confirmed_requirements": "Reset by mail, 24 hours."})
}

fn design() -> Value {
    json!({"design": "Reuse TokenService.", "patterns": ["services"], "warnings": ["Redis"]})
}

fn change() -> Value {
    json!({
        "summary": "Implemented it.", "files_changed": ["reset.txt"], "proof": "$ grep works",
    })
}

fn approval() -> Value {
    json!({"approved": true, "reason": "the check ran it"})
}

fn rejection(issue: &str) -> Value {
    json!({"approved": false, "reason": "not shown", "issues": [issue]})
}
