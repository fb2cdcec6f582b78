//! Finds the answer in a model's message, and checks it against its schema.
//!
//! The orchestrator judges answers by their contract. This finds only keys that are missing or have
//! the wrong type, so that the model can correct them while it still knows what it did.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The answer that a text has in it, if it is clear which one that is: the text is one JSON object,
/// or has exactly one fenced block and that is one. What a model thinks aloud first does not count.
pub(super) fn extract_answer(text: &str) -> Option<Box<RawValue>> {
    let text = strip_thinking(text);
    parse_object(text).or_else(|| match fenced_blocks(text).as_slice() {
        [only] => parse_object(only),
        _ => None,
    })
}

/// Explains to the model why a text is not an answer.
pub(super) fn explain_missing_answer(text: &str) -> String {
    let text = strip_thinking(text);
    let blocks = fenced_blocks(text);
    let objects = blocks.iter().filter(|block| parse_object(block).is_some());
    if text.is_empty() {
        "it is empty".to_owned()
    } else if objects.clone().count() > 1 {
        "it has several JSON objects in it, and it is not clear which one counts".to_owned()
    } else if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text)
        && text.starts_with('{')
    {
        format!("it begins like a JSON object and is not one: {error}")
    } else if text.contains('{') {
        "it has other text around the JSON object".to_owned()
    } else {
        "there is no JSON object in it".to_owned()
    }
}

/// A text without what a model has thought aloud before it.
fn strip_thinking(text: &str) -> &str {
    let text = text.trim();
    for (begin, end) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(rest) = text.strip_prefix(begin)
            && let Some((_, after)) = rest.split_once(end)
        {
            return after.trim();
        }
        // Some servers swallow the beginning.
        if let Some((before, after)) = text.split_once(end)
            && !before.contains(begin)
            && !before.contains('{')
        {
            return after.trim();
        }
    }
    text
}

/// The fenced blocks of a text that may be JSON.
fn fenced_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("```") {
        let Some((block, behind)) = after.split_once("\n```") else {
            break;
        };
        let (language, inner) = block.split_once('\n').unwrap_or(("", block));
        if matches!(language.trim(), "" | "json" | "JSON") {
            blocks.push(inner.trim());
        }
        rest = behind;
    }
    blocks
}

/// A text as a JSON object, to the letter.
pub(super) fn parse_object(text: &str) -> Option<Box<RawValue>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    RawValue::from_string(text.to_owned()).ok()
}

/// Returns what is wrong with an answer, in words for the model, or `None` if it is valid.
/// Duplicate keys are left for the orchestrator to refuse.
pub(super) fn schema_problem(answer: &RawValue, schema: &Value) -> Option<String> {
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
            Some(wanted) => {
                problems.extend(type_mismatch(key, value, resolve_reference(wanted, schema)));
            }
            None if schema["additionalProperties"] == false => {
                problems.push(format!("the key `{key}` is not known"));
            }
            None => {}
        }
    }
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// Follows a schema that is only a reference to the schema it refers to.
fn resolve_reference<'a>(wanted: &'a Value, schema: &'a Value) -> &'a Value {
    let place = wanted["$ref"].as_str().and_then(|at| at.strip_prefix('#'));
    place.and_then(|at| schema.pointer(at)).unwrap_or(wanted)
}

fn type_mismatch(key: &str, value: &Value, wanted: &Value) -> Option<String> {
    let types: Vec<&str> = match &wanted["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| has_json_type(value, name)) {
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

fn has_json_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(is_integer),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        // A type nobody has heard of refuses nothing.
        _ => true,
    }
}

fn is_integer(number: f64) -> bool {
    number.fract() == 0.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_exactly_one_object() {
        let found = |text: &str| extract_answer(text).map(|raw| raw.get().to_owned());
        let object = r#"{"a": 1, "a": 2}"#;
        assert_eq!(found(object).as_deref(), Some(object));
        assert_eq!(found(&format!("\n{object}\n")).as_deref(), Some(object));
        for fence in ["```json\n", "```\n", "```JSON \n"] {
            let text = format!("{fence}{object}\n```");
            assert_eq!(found(&text).as_deref(), Some(object), "{text}");
            let text = format!("Sure! Here it is:\n{fence}{object}\n```\nAnything else?");
            assert_eq!(found(&text).as_deref(), Some(object), "{text}");
        }
        for thought in [
            "<think>a {\"b\": 1}</think>\n",
            "<think></think>",
            "so\n</think>\n\n",
        ] {
            let text = format!("{thought}{object}");
            assert_eq!(found(&text).as_deref(), Some(object), "{text}");
        }
        for text in [
            "",
            "done",
            "[1]",
            "{\"a\": 1} {\"a\": 2}",
            "Here it is: {}",
            "<think>{\"a\": 1}",
            "```json\n{}\n```\n```json\n{}\n```",
            "```python\n{}\n```",
            "{\"a\": ",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_answer_is_told_why() {
        for (text, why) in [
            ("", "it is empty"),
            ("<think>hm</think>", "it is empty"),
            ("All done!", "there is no JSON object"),
            ("Here: {\"a\": 1}", "other text around"),
            ("{\"a\": ", "begins like a JSON object"),
            (
                "```json\n{}\n```\nor\n```json\n{}\n```",
                "several JSON objects",
            ),
        ] {
            let told = explain_missing_answer(text);
            assert!(told.contains(why), "{text}: {told}");
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
        let told = |answer: &str| schema_problem(&parse_object(answer).unwrap(), &schema);
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
