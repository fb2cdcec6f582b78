//! The JSON Schema of an answer, made from the types that read it.
//!
//! One flat object without alternatives at the top: that is all that every model API takes for a
//! tool's input. What cannot be said that way (either this key or that one) is said in words, and
//! checked when the answer is read.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::{
    Blocked, Change, Design, Form, Planned, Questions, Requirements, TeamVerdict, Text, Verdict,
};
use crate::role::{Contract, Kind, Mode};

/// The schema of an answer.
pub fn schema(form: Form) -> Value {
    let mut parts = match (form.kind, form.contract) {
        (Kind::Analyst, _) => vec![of::<Questions>(), of::<Requirements>()],
        (Kind::Designer, _) => vec![of::<Design>()],
        (Kind::Planner, _) => vec![of::<Planned>()],
        (Kind::Implementer, _) => vec![of::<Change>()],
        (Kind::Gatekeeper, Contract::TeamMcp) => vec![of::<TeamVerdict>()],
        (Kind::Gatekeeper, Contract::Native) => vec![of::<Verdict>()],
        (Kind::Scribe, _) => vec![of::<Text>()],
    };
    parts.push(of::<Blocked>());
    let mut properties = Map::new();
    for part in &mut parts {
        if let Some(Value::Object(own)) = part.remove("properties") {
            properties.extend(own);
        }
    }
    if form.kind == Kind::Implementer && form.mode == Mode::Tools {
        properties.remove("edits");
    }
    if let Some(Value::Object(blocked)) = properties.get_mut("blocked") {
        let words = "Only if you cannot go on: why. No other key then.";
        blocked.insert("description".to_owned(), words.into());
    }
    let mut properties = Value::Object(properties);
    plain(&mut properties);
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Says the same in words that everybody knows. How wide a number is goes: some CLIs know no such
/// format, and drop a schema they cannot read without telling. A choice of constants is a list.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            let choices = fields.get("oneOf").and_then(Value::as_array);
            let constants: Option<Vec<Value>> =
                choices.and_then(|all| all.iter().map(|one| one.get("const").cloned()).collect());
            if let Some(constants) = constants {
                fields.remove("oneOf");
                fields.insert("type".to_owned(), "string".into());
                fields.insert("enum".to_owned(), constants.into());
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::example;

    #[test]
    fn every_key_of_an_example_is_in_the_schema() {
        for contract in [Contract::Native, Contract::TeamMcp] {
            for mode in [Mode::Tools, Mode::Edits] {
                for kind in Kind::ALL {
                    let form = Form {
                        kind,
                        contract,
                        mode,
                    };
                    let schema = schema(form);
                    let text = schema.to_string();
                    for word in ["$ref", "$defs", "\"format\"", "oneOf"] {
                        assert!(!text.contains(word), "{word} in {text}");
                    }
                    for key in example(form).as_object().unwrap().keys() {
                        let known = &schema["properties"][key];
                        let renamed = key == "confirmed_requirements" || key == "files_changed";
                        assert!(known.is_object() || renamed, "{key} in {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_verdict() {
        let form = Form {
            kind: Kind::Gatekeeper,
            contract: Contract::Native,
            mode: Mode::Tools,
        };
        let schema = schema(form);
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            ["verdict", "reason", "findings", "resolved", "blocked"]
        );
        assert_eq!(
            schema["properties"]["findings"]["items"]["required"],
            json!(["title"])
        );
    }
}
