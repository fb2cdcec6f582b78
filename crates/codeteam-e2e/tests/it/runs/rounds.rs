//! Each CLI, confined, edits files with its own tools, is rejected by a gate, corrects the change,
//! is reviewed and committed.

use codeteam_e2e::{Protocol, RecordedRequests};

use super::project::{ANTHROPIC_KEY, GEMINI_KEY, OPENAI_KEY, PLACEHOLDER, Project};
use super::samples::{RIGHT, one, two_rounds};

/// The header a provider's key is sent in, as the server keeps it.
fn header(protocol: Protocol) -> (&'static str, String) {
    let mask = |key: &str| format!("<masked, {} characters>", key.len());
    match protocol {
        Protocol::Anthropic => ("x-api-key", mask(ANTHROPIC_KEY)),
        Protocol::Gemini => ("x-goog-api-key", mask(GEMINI_KEY)),
        _ => ("authorization", format!("Bearer {}", mask(OPENAI_KEY))),
    }
}

/// Checks the result of [`two_rounds`], which is the same for every CLI.
#[track_caller]
pub(crate) fn is_done(project: &Project, protocol: Protocol) -> RecordedRequests {
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    assert_eq!(project.commits(), 1);
    let run = project.shown_run();
    let branch = run["branch"].as_str().unwrap();
    let message = project.git(&["log", "-1", "--format=%B", branch]);
    let tree = project.git(&["log", "-1", "--format=%T", branch]);
    assert!(message.contains(&format!("Codeteam-Verified: {tree}")));

    let gates = project.events("gate_judged");
    let passed: Vec<_> = gates.iter().map(|gate| &gate["passed"]).collect();
    assert_eq!(passed, [false, true]);
    let submissions = project.events("submission_received");
    assert_eq!(submissions.len(), 3, "two changes and a verdict");
    assert!(
        submissions
            .iter()
            .all(|s| s["usage"]["input_tokens"].as_u64() > Some(0))
    );
    assert_eq!(project.failures(), []);

    let asked = project.asked();
    assert_eq!(asked.of_protocol(protocol).len(), asked.len());
    let second = asked
        .filtered(|r| r.marks.round == Some(2))
        .of_role("coder");
    let said = second.iter().next().unwrap().user_text();
    for output in ["a sum is checked", "2 and 3 make -1"] {
        assert!(said.contains(output), "{said}");
    }

    let (name, value) = header(protocol);
    for request in &asked {
        assert_eq!(request.header(name), Some(value.as_str()));
    }
    // `env` was run in the second round.
    for key in [ANTHROPIC_KEY, OPENAI_KEY, GEMINI_KEY] {
        let told = asked
            .iter()
            .any(|request| request.body.to_string().contains(key));
        assert!(!told, "a key was in the sandbox");
    }
    asked
}

/// Checks that a CLI saw a placeholder instead of the key that it needs to start, as `env` shows.
#[track_caller]
fn saw_a_placeholder(asked: &RecordedRequests) {
    let second = asked
        .filtered(|r| r.marks.round == Some(2))
        .of_role("coder");
    let saw = second.iter().nth(1).unwrap().last_user_text();
    assert!(saw.contains(PLACEHOLDER), "{saw}");
}

#[test]
fn claude_is_rejected_by_a_gate_and_mends_it() {
    let project = Project::new(two_rounds());
    project
        .goal(&one("", ""), &["--worker", "claude"])
        .expect(0);
    saw_a_placeholder(&is_done(&project, Protocol::Anthropic));
}

#[test]
fn codex_is_rejected_by_a_gate_and_mends_it() {
    let project = Project::new(two_rounds());
    project.goal(&one("", ""), &["--worker", "codex"]).expect(0);
    saw_a_placeholder(&is_done(&project, Protocol::Responses));
}

#[test]
fn gemini_is_rejected_by_a_gate_and_mends_it() {
    let project = Project::new(two_rounds());
    project
        .goal(&one("", ""), &["--worker", "gemini"])
        .expect(0);
    let asked = is_done(&project, Protocol::Gemini);
    saw_a_placeholder(&asked);
    // Its answers come by codeteam's own MCP server, started in the sandbox.
    for request in &asked {
        let offered = request.tool_names();
        assert!(
            offered.contains(&"mcp_codeteam_submit".to_owned()),
            "{offered:?}"
        );
    }
}
