//! Checks JSON against a JSON Schema. References lead nowhere but into the schema itself.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// The most characters of a fault that are told: it quotes the value it is about.
const SHOWN: usize = 300;

/// The longest text that is compared with a schema: each fault takes some memory.
const LONGEST: usize = 1 << 20;

/// Returns what is wrong with a text as JSON of a schema, one line for each fault.
pub(super) fn check_json(path: &str, text: &str, schema: &Value) -> Vec<String> {
    if text.len() > LONGEST {
        let most = LONGEST >> 20;
        return vec![format!(
            "{path}: it is longer than {most} MB, which is the most that is compared with a schema"
        )];
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return vec![format!("{path}:{}: invalid JSON: {error}", error.line())],
    };
    let validator = match compile_schema(schema) {
        Ok(validator) => validator,
        Err(why) => return vec![format!("{path}: its schema cannot be used: {why}")],
    };
    let faults = validator.iter_errors(&value);
    faults
        .map(|fault| {
            let place = fault.instance_path().to_string();
            let place = if place.is_empty() { "/" } else { &place };
            format!("{path}: at `{place}`: {}", shorten(&fault.to_string()))
        })
        .collect()
}

/// Compiles a schema. Patterns in it take linear time, as everywhere here.
pub(super) fn compile_schema(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| shorten(&error.to_string()))
}

fn shorten(text: &str) -> String {
    let line: String = text.chars().take(SHOWN).collect();
    if line.len() < text.len() {
        format!("{line}…")
    } else {
        line
    }
}
