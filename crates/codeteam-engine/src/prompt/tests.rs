//! What workers are told.

use super::*;

fn redactor() -> Redactor {
    Redactor::new(["correct-horse-battery".to_owned()])
}

/// What the built-in templates make of an assignment.
fn told(assignment: &Assignment, attached: &Attached) -> Prompt {
    render(assignment, attached, &Templates::default(), &redactor()).unwrap()
}

/// An assignment that goes on in a session, at a try of a later visit.
fn going_on(kind: &str, attempt: u32) -> Assignment {
    serde_json::from_value(serde_json::json!({
        "id": { "frame": "run", "step": "s", "generation": 2, "slot": 0, "attempt": attempt,
                "fence": 2 },
        "run": "r", "goal": "Greet", "role": "someone", "kind": kind, "contract": "native",
        "prompt": "", "example": {}, "worker": "w", "step": "s", "task": null, "slot": 0,
        "generation": 2, "attempt": attempt, "round": 2, "level": "primary", "tree": "t",
        "writable": false, "timeout_ms": 1, "feedback": [], "findings": [],
        "answers": [[["Which one?"], "the blue one"]],
        "session": { "worker": "w", "id": "1", "turns": 1, "usage": {} },
    }))
    .unwrap()
}

#[test]
fn who_goes_on_in_a_session_is_told_what_has_changed_since() {
    let attached = Attached {
        diff: Some("+the second change".to_owned()),
        ..Attached::default()
    };
    let first = told(&going_on("gatekeeper", 1), &attached).user;
    assert!(first.contains("+the second change"), "{first}");
    assert!(
        first.contains("the blue one") && !first.contains("## Goal"),
        "{first}"
    );
    let again = told(&going_on("gatekeeper", 2), &attached).user;
    assert!(!again.contains("+the second change"), "{again}");
}

fn assignment(kind: &str, more: &serde_json::Value) -> Assignment {
    let mut value = serde_json::json!({
        "id": { "frame": "run/task-001", "step": "code", "generation": 2, "slot": 0, "attempt": 1, "fence": 4 },
        "run": "r", "goal": "Greet people by name", "role": "someone", "kind": kind,
        "contract": "native", "prompt": "You do it well.", "example": { "a": 1 }, "worker": "w",
        "schema": { "type": "object" }, "step": "code",
        "task": { "id": "task-001", "title": "Greet", "description": "Say hello to a name.",
                  "files": ["src/greet.rs"], "acceptance": ["`greet(\"Ada\")` says hello to Ada"] },
        "slot": 0, "generation": 2, "attempt": 1, "round": 2, "level": "primary", "tree": "t",
        "writable": kind == "implementer", "timeout_ms": 1000, "feedback": [], "findings": [],
    });
    for (key, field) in more.as_object().unwrap() {
        value[key] = field.clone();
    }
    serde_json::from_value(value).unwrap()
}

#[test]
fn what_workers_are_told() {
    let json = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
    let finding = r#"[{"id":"F1","report":{"severity":"major","title":"No test","detail":"Names with\nblanks are not tried.","file":"src/greet.rs","line":3},"step":"review","round":1,"state":"open"}]"#;
    let attached = Attached {
        diff: Some("+fn greet() {}\n".to_owned()),
        feedback: vec!["test greets ... FAILED\n".to_owned(), " \n".to_owned()],
        files: vec![
            ("src/greet.rs".to_owned(), Some("fn main() {}\n".to_owned())),
            ("src/new.rs".to_owned(), None),
        ],
        others: vec!["README.md".to_owned()],
        ..Attached::default()
    };
    let again = json(&format!(
        r#"{{"feedback":["[verify] the check `tests` failed\n(exit code 101)"],"findings":{finding}}}"#
    ));
    let mut goes_on = again.clone();
    goes_on["session"] = json(r#"{"worker":"w","id":"s","turns":1}"#);
    let judges = json(&format!(
        r#"{{"findings":{finding},"claimed":{{"summary":"Done","files":[],"concerns":["blanks"]}},"checks":[{{"name":"tests","passed":true}}]}}"#
    ));
    let plain = Attached {
        files: Vec::new(),
        others: Vec::new(),
        ..attached.clone()
    };
    let only_feedback = Attached {
        diff: None,
        ..plain.clone()
    };
    let only_diff = Attached {
        feedback: Vec::new(),
        ..plain
    };
    let edits = json(r#"{"means":{"mode":"edits"}}"#);
    let cases = [
        (
            "a change, again",
            assignment("implementer", &again),
            only_feedback.clone(),
        ),
        (
            "the same in a session",
            assignment("implementer", &goes_on),
            only_feedback,
        ),
        ("a verdict", assignment("gatekeeper", &judges), only_diff),
        (
            "whole files",
            assignment("implementer", &edits),
            Attached {
                diff: None,
                feedback: Vec::new(),
                ..attached
            },
        ),
    ];
    let all = cases.map(|(case, assignment, attached)| {
        let Prompt { system, user } = told(&assignment, &attached);
        format!("==== {case}\n{system}\n----\n{user}")
    });
    expect_test::expect_file!["told.txt"].assert_eq(&all.join("\n"));
}
