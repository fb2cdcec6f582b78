//! What models pay for the tools before they have done anything, and which arguments are taken.

use serde_json::{Value, json};

use super::{InvalidCall, MAX_TEXT, ToolCall, list_tools, parse_call};

/// What is said of arguments that do not fit.
fn wrong(name: &str, arguments: &Value) -> String {
    match parse_call(name, arguments.as_object().cloned()) {
        Err(InvalidCall::Arguments(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_whole_list_costs_less_than_1500_tokens() {
    let tokens = codeteam_context::tokens::count(&json!(list_tools()).to_string());
    assert!(tokens < 1_500, "{tokens}");
    assert_eq!(list_tools().len(), 6);
    // Clients hand it to the model with every request.
    assert!(list_tools().iter().all(|tool| tool.output_schema.is_none()));
}

#[test]
fn arguments_are_read_strictly_and_by_path() {
    let unknown = parse_call("rm", None).unwrap_err();
    let InvalidCall::Tool(error) = unknown else {
        panic!("{unknown:?}");
    };
    assert_eq!(error.message, "there is no tool `rm`");
    for (arguments, says) in [
        (json!({}), "do not fit: missing field `task`"),
        (json!({"task": 7}), "at `task`: invalid type: integer `7`"),
        (json!({"task": "x", "force": true}), "unknown field `force`"),
        (json!({"task": "x", "another": "yes"}), "at `another`"),
    ] {
        let said = wrong("start_task", &arguments);
        assert!(said.contains(says), "{said}");
    }
    let said = wrong("submit", &json!({"questions": ["x"]}));
    assert!(said.ends_with("goes into `submission`"), "{said}");
    let said = wrong("submit", &json!({"submission": [1]}));
    assert!(
        said.contains("at `submission`: it must be an object"),
        "{said}"
    );
    for iteration in [-1, 0] {
        let said = wrong("get_history", &json!({"iteration": iteration}));
        assert!(said.contains("at `iteration`"), "{said}");
    }
    let said = wrong("start_task", &json!({"task": {}}));
    assert!(said.contains("invalid type: object"), "{said}");
    assert!(wrong("get_status", &json!({"x": 1})).contains("unknown field `x`"));
}

#[test]
fn what_is_null_is_left_out_and_text_is_handed_on() {
    let arguments = json!({"submission": "{\"design\":\"x\"}", "role": null});
    let call = parse_call("submit", arguments.as_object().cloned()).unwrap();
    let ToolCall::Submit(submit) = call else {
        panic!("{call:?}");
    };
    assert_eq!(submit.role, None);
    assert_eq!(submit.submission.text(), "{\"design\":\"x\"}");
    assert!(matches!(
        parse_call("get_status", None),
        Ok(ToolCall::Status)
    ));
}

#[test]
fn a_text_that_is_too_long_is_refused_with_its_size() {
    let long = "x".repeat(MAX_TEXT + 1);
    for (name, arguments, place) in [
        ("start_task", json!({"task": long}), "`task`"),
        ("resume", json!({"input": long}), "`input`"),
        ("abort", json!({"reason": long}), "`reason`"),
        (
            "submit",
            json!({"submission": {"issues": ["short", long]}}),
            "`submission.issues[1]`",
        ),
    ] {
        let said = wrong(name, &arguments);
        let told = format!("{place} has 65537 bytes, and 65536 are the most");
        assert!(said.contains(&told), "{said}");
    }
    let many = vec!["x".repeat(MAX_TEXT); 5];
    let said = wrong("submit", &json!({"submission": {"issues": many}}));
    assert!(said.contains("bytes of text in all"), "{said}");
    let fits = json!({"task": "x".repeat(MAX_TEXT)});
    assert!(parse_call("start_task", fits.as_object().cloned()).is_ok());
}
