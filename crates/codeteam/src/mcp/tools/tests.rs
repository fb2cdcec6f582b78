//! What models pay for the tools before they have done anything, and that results fit their form.

use serde_json::{Value, json};

use super::{Call, TYPES, list, output, read};

#[test]
fn the_list_costs_less_than_1500_tokens() {
    let told: Vec<Value> = list()
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            })
        })
        .collect();
    let tokens = codeteam_context::tokens::count(&json!(told).to_string());
    assert!(tokens < 1_500, "{tokens}");
}

#[test]
fn all_tools_have_one_flat_output_schema_of_plain_types() {
    let all = list();
    assert_eq!(all.len(), 6);
    for tool in &all {
        assert_eq!(tool.output_schema, all[0].output_schema, "{}", tool.name);
    }
    let text = output().to_string();
    for word in ["$ref", "$defs", "oneOf", "anyOf", "allOf", "format", "uint"] {
        assert!(!text.contains(word), "{word}");
    }
    let schema = output();
    assert_eq!(schema["properties"]["type"]["enum"], json!(TYPES));
    for (name, property) in schema["properties"].as_object().unwrap() {
        assert!(property.get("properties").is_none(), "{name} is not flat");
        let kind = property.get("type");
        assert!(
            kind.is_none_or(Value::is_string),
            "{name} has one type or any"
        );
    }
    let tokens = codeteam_context::tokens::count(&text);
    assert!(tokens < 1_000, "{tokens}");
}

#[test]
fn arguments_are_read_strictly_and_by_path() {
    let wrong = |name: &str, arguments: Value| {
        let arguments = arguments.as_object().cloned();
        read(name, arguments).unwrap_err().message.into_owned()
    };
    assert_eq!(wrong("rm", json!({})), "there is no tool `rm`");
    for (arguments, says) in [
        (json!({}), "do not fit: missing field `task`"),
        (json!({"task": 7}), "at `task`: invalid type: integer `7`"),
        (json!({"task": "x", "force": true}), "unknown field `force`"),
        (json!({"task": "x", "another": "yes"}), "at `another`"),
    ] {
        let said = wrong("start_task", arguments);
        assert!(said.contains(says), "{said}");
    }
    let said = wrong("submit", json!({"questions": ["x"]}));
    assert!(said.ends_with("goes into `submission`"), "{said}");
    let said = wrong("submit", json!({"submission": [1]}));
    assert!(
        said.contains("at `submission`: it must be an object"),
        "{said}"
    );
    assert!(wrong("get_history", json!({"iteration": -1})).contains("at `iteration`"));
    assert!(wrong("get_status", json!({"x": 1})).contains("unknown field `x`"));
}

#[test]
fn what_is_null_is_left_out_and_text_is_handed_on() {
    let arguments = json!({"submission": "{\"design\":\"x\"}", "role": null});
    let call = read("submit", arguments.as_object().cloned()).unwrap();
    let Call::Submit(submit) = call else {
        panic!("{call:?}");
    };
    assert_eq!(submit.role, None);
    assert_eq!(submit.submission.text(), "{\"design\":\"x\"}");
    assert!(matches!(read("get_status", None), Ok(Call::Status)));
}
