//! Without a sandbox, where the user says so by name.

use codeteam_e2e::{Play, Protocol, Scenario};

use super::project::{ANTHROPIC_KEY, OPENAI_KEY, Project};
use super::samples::{RIGHT, alone, writes};

#[track_caller]
fn works(worker: &str, protocol: Protocol, header: &str, value: &str) {
    let project = Project::new(Scenario::new().play(writes(Play::new())));
    let args = ["--worker", worker, "--no-sandbox"];
    project.goal(&alone("", ""), &args).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let asked = project.asked();
    assert_eq!(asked.of_protocol(protocol).len(), 2);
    for request in &asked {
        assert_eq!(request.header(header), Some(value));
    }
}

#[test]
fn claude_works_without_a_sandbox() {
    let value = format!("<masked, {} characters>", ANTHROPIC_KEY.len());
    works("claude", Protocol::Anthropic, "x-api-key", &value);
}

#[test]
fn codex_works_without_a_sandbox() {
    let value = format!("Bearer <masked, {} characters>", OPENAI_KEY.len());
    works("codex", Protocol::Responses, "authorization", &value);
}
