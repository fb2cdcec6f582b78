//! What counts as an answer, and whether it fits as far as a model can be told.
//!
//! The orchestrator judges answers by their contract. Here only what is plainly
//! missing or plainly of another type is found, so that the model can mend it
//! while it still knows what it did.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The answer that a text is, if it is exactly one JSON object, in a fence or
/// not.
pub(super) fn find(text: &str) -> Option<Box<RawValue>> {
    let text = text.trim();
    let text = unfenced(text).unwrap_or(text);
    object(text)
}

/// A text as a JSON object, to the letter.
pub(super) fn object(text: &str) -> Option<Box<RawValue>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    RawValue::from_string(text.to_owned()).ok()
}

fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let (language, inner) = inner.split_once('\n')?;
    let is_json = matches!(language.trim(), "" | "json" | "JSON");
    is_json.then_some(inner.trim())
}

/// What is wrong with an answer, for the model to mend; nothing if it fits.
/// Keys that occur twice are left for the orchestrator to refuse.
pub(super) fn problem(answer: &RawValue, schema: &Value) -> Option<String> {
    let fields: Map<String, Value> = match serde_json::from_str(answer.get()) {
        Ok(fields) => fields,
        Err(error) => return Some(format!("it cannot be read: {error}")),
    };
    // Every role may say, honestly, that it cannot go on.
    if fields.contains_key("blocked") {
        return None;
    }
    let mut problems = Vec::new();
    for key in schema["required"].as_array().into_iter().flatten() {
        if let Some(key) = key.as_str().filter(|key| !fields.contains_key(*key)) {
            problems.push(format!("the key `{key}` is missing"));
        }
    }
    for (key, value) in &fields {
        match schema["properties"].get(key) {
            Some(wanted) => problems.extend(misfit(key, value, resolved(wanted, schema))),
            None if schema["additionalProperties"] == false => {
                problems.push(format!("the key `{key}` is not known"));
            }
            None => {}
        }
    }
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// What a schema refers to, if it is only a reference.
fn resolved<'a>(wanted: &'a Value, schema: &'a Value) -> &'a Value {
    let place = wanted["$ref"].as_str().and_then(|at| at.strip_prefix('#'));
    place.and_then(|at| schema.pointer(at)).unwrap_or(wanted)
}

fn misfit(key: &str, value: &Value, wanted: &Value) -> Option<String> {
    let types: Vec<&str> = match &wanted["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of(value, name)) {
        let types = types.join(" or ");
        return Some(format!("`{key}` must be of type {types}"));
    }
    let allowed = wanted["enum"].as_array()?;
    if allowed.contains(value) {
        return None;
    }
    let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
    Some(format!("`{key}` must be one of {}", allowed.join(", ")))
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(is_whole),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        // A type nobody has heard of refuses nothing.
        _ => true,
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_exactly_one_object() {
        let found = |text: &str| find(text).map(|raw| raw.get().to_owned());
        let object = r#"{"a": 1, "a": 2}"#;
        assert_eq!(found(object).as_deref(), Some(object));
        assert_eq!(found(&format!("\n{object}\n")).as_deref(), Some(object));
        for fence in ["```json\n", "```\n", "```JSON \n"] {
            let text = format!("{fence}{object}\n```");
            assert_eq!(found(&text).as_deref(), Some(object), "{text}");
        }
        for text in [
            "",
            "done",
            "[1]",
            "{\"a\": 1} {\"a\": 2}",
            "Here it is:\n```json\n{}\n```",
            "```json\n{}\n```\n```json\n{}\n```",
            "```python\n{}\n```",
            "{\"a\": ",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let schema = json!({
            "type": "object",
            "required": ["summary", "verdict"],
            "additionalProperties": false,
            "properties": {
                "summary": {"type": "string"},
                "verdict": {"$ref": "#/$defs/Choice"},
                "score": {"type": ["integer", "null"]},
            },
            "$defs": {"Choice": {"type": "string", "enum": ["approve", "reject"]}},
        });
        let told = |answer: &str| problem(&object(answer).unwrap(), &schema);
        assert_eq!(
            told(r#"{"summary":"x","verdict":"approve","score":3}"#),
            None
        );
        assert_eq!(told(r#"{"blocked":"no network"}"#), None);
        let doubled = r#"{"summary":"x","summary":"y","verdict":"reject"}"#;
        assert_eq!(told(doubled), None, "that is for core to refuse");
        assert_eq!(
            told(r#"{"summary":3,"score":1.5,"lgtm":true}"#).unwrap(),
            "the key `verdict` is missing; `summary` must be of type string; \
             `score` must be of type integer or null; the key `lgtm` is not known"
        );
        let bad = told(r#"{"summary":"x","verdict":"maybe"}"#).unwrap();
        assert_eq!(bad, r#"`verdict` must be one of "approve", "reject""#);
    }
}
