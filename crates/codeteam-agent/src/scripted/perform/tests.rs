//! Tests of plays in a temporary directory. An ending is only returned here; it is carried out
//! where the binary is tested.

use std::fs;

use serde_json::{Value, json};

use super::*;

/// A stage for one list of actions, written as in a script.
struct PlayTest {
    root: tempfile::TempDir,
    ending: Result<PlayEnding, Error>,
    out: Vec<u8>,
}

fn rehearse(actions: &str) -> PlayTest {
    let mut text = "version: 1\nplays:\n  - match: {role: coder}\n    do:\n".to_owned();
    for line in actions.lines() {
        text.push_str("      ");
        text.push_str(line);
        text.push('\n');
    }
    let script = Script::parse(&text, "x.yml").unwrap();
    let json = r#"{"role":"coder","attempt":3,"task":{"id":"task-007","title":"Tea"}}"#;
    let assignment = ScriptedAssignment::parse(json).unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut out = Vec::new();
    let ending = perform_play(&script, &assignment, root.path(), &mut out);
    PlayTest { root, ending, out }
}

impl PlayTest {
    fn events(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.out).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[track_caller]
    fn ends(&self, expected: PlayEnding) {
        assert_eq!(*self.ending.as_ref().unwrap(), expected);
    }
}

#[test]
fn a_good_worker() {
    let played = rehearse(
        "- text: working on {{task.id}}\n\
         - write: {path: 'src/{{task.id}}.txt', content: '{{task.title}}'}\n\
         - append: {path: 'src/task-007.txt', content: '!'}\n\
         - usage: {input_tokens: 1200, output_tokens: 300, cost_usd: 0.02}\n\
         - usage: {input_tokens: 1}\n\
         - submit: {summary: 'did {{task.id}}', files: []}",
    );
    played.ends(PlayEnding::Exit(0));
    assert_eq!(
        played.events(),
        [
            json!({"type": "text", "text": "working on task-007"}),
            json!({"type": "tool", "name": "write", "detail": "src/task-007.txt"}),
            json!({"type": "tool", "name": "append", "detail": "src/task-007.txt"}),
            json!({"type": "usage", "input_tokens": 1200, "output_tokens": 300,
                   "cost_microusd": 20000}),
            json!({"type": "usage", "input_tokens": 1, "output_tokens": 0}),
            json!({"type": "submission", "submission": {"summary": "did task-007", "files": []}}),
        ]
    );
    let written = fs::read_to_string(played.root.path().join("src/task-007.txt"));
    assert_eq!(written.unwrap(), "Tea!");
}

#[test]
fn commands_run_in_the_worktree_and_their_failure_is_told() {
    let played = rehearse("- run: echo out; echo err >&2; touch here; exit 3\n- text: going on");
    played.ends(PlayEnding::Exit(0));
    let texts: Vec<_> = played.events().iter().map(|e| e["text"].clone()).collect();
    assert_eq!(texts[1..3], ["out", "err"]);
    assert!(
        texts[3]
            .as_str()
            .unwrap()
            .ends_with("failed: exit status: 3")
    );
    assert_eq!(texts[4], "going on");
    assert!(played.root.path().join("here").exists());
}

#[test]
fn a_command_that_must_succeed_ends_the_play() {
    let played = rehearse("- run: {command: exit 3, must: true}\n- submit: {}");
    played.ends(PlayEnding::Exit(1));
    assert_eq!(played.events()[1]["type"], "error");
    assert_eq!(played.events().len(), 2);
}

#[test]
fn endings_are_answered_and_nothing_follows() {
    for (action, expected) in [
        ("exit: 3", PlayEnding::Exit(3)),
        ("crash: true", PlayEnding::Crash),
        ("hang: true", PlayEnding::Hang { ignore_term: false }),
        (
            "hang: {ignore_term: true}",
            PlayEnding::Hang { ignore_term: true },
        ),
    ] {
        let played = rehearse(&format!("- {action}\n- text: never"));
        played.ends(expected);
        assert!(played.out.is_empty());
    }
}

#[test]
fn errors_and_limits_are_events() {
    let played = rehearse(
        "- error: {message: overloaded, status: 529}\n- rate_limit: {resets_in_ms: 500}\n\
         - text: never",
    );
    played.ends(PlayEnding::Exit(1));
    assert_eq!(
        played.events(),
        [
            json!({"type": "error", "message": "overloaded", "status": 529}),
            json!({"type": "rate_limit", "resets_in_ms": 500}),
        ]
    );
}

#[test]
fn raw_output_is_raw() {
    let played = rehearse(
        "- say_raw: not JSON\n\
         - duplicate_keys: '{\"verdict\":\"reject\",\"verdict\":\"approve\"}'",
    );
    assert_eq!(
        String::from_utf8(played.out).unwrap(),
        "not JSON\n{\"type\":\"submission\",\"submission\":\
         {\"verdict\":\"reject\",\"verdict\":\"approve\"}}\n"
    );
}

#[test]
fn garbage_is_one_line_and_the_same_every_time() {
    let out = rehearse("- garbage: {bytes: 5000}").out;
    assert_eq!(out.len(), 5001);
    assert_eq!(out.iter().position(|byte| *byte == b'\n'), Some(5000));
    assert!(std::str::from_utf8(&out).is_err());
    assert_eq!(out, rehearse("- garbage: {bytes: 5000}").out);
}

#[test]
fn a_file_is_waited_for() {
    let played = rehearse("- run: touch barrier >/dev/null 2>&1 &\n- wait_for: {path: barrier}");
    played.ends(PlayEnding::Exit(0));
}

#[test]
fn slow_output_comes_line_by_line() {
    let played = rehearse("- slow: {lines: 2, every_ms: 0}");
    assert_eq!(played.events()[1]["text"], "line 2 of 2");
}

#[test]
fn nothing_is_done_if_a_placeholder_is_unknown() {
    let played = rehearse("- write: {path: a, content: b}\n- text: '{{nope}}'");
    assert!(matches!(played.ending, Err(Error::Placeholder { .. })));
    assert!(!played.root.path().join("a").exists());
}

#[test]
fn a_path_outside_is_refused() {
    let played = rehearse("- write: {path: ../a, content: b}");
    assert!(matches!(played.ending, Err(Error::Outside { .. })));
}

#[test]
fn an_assignment_without_a_play_is_named() {
    let script = Script::parse("version: 1\nplays: []\n", "x.yml").unwrap();
    let assignment = ScriptedAssignment::parse(r#"{"role":"coder","attempt":2}"#).unwrap();
    let error = perform_play(&script, &assignment, Path::new("."), &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no play matches role `coder`, task `-`, generation 1, round 1, attempt 2"
    );
}
