//! The keys of the files that people write, as their schemas describe them. The reference
//! documentation and the lookup of a single key use them.

use serde_json::Value;

use super::{SchemaKind, json_schema, planned_keys};

/// A key of a file, with its documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaKey {
    /// The path, such as `limits.max_tasks` or `workers.*.model`; `*` is any name, `[]` each item
    /// of a list.
    pub path: String,
    /// The type of the value, in words: `text`, `list of texts`, `one of …`.
    pub takes: String,
    /// The description from the schema.
    pub meaning: String,
    /// Whether the key has no effect yet.
    pub is_later: bool,
}

/// The maximum depth of keys.
const DEPTH: usize = 6;

/// Returns all keys of a kind of file, in the order of its type. A part that can be a file of its
/// own is one key here.
pub fn list_keys(of: SchemaKind) -> Vec<SchemaKey> {
    let schema = json_schema(of);
    let mut found = Vec::new();
    walk(&schema, &schema, "", &mut found, DEPTH);
    for key in &mut found {
        key.is_later = match of {
            SchemaKind::Config => planned_keys::is_planned_key(&key.path),
            SchemaKind::Role | SchemaKind::Workflow | SchemaKind::Strategy => false,
        };
    }
    found
}

/// Looks up a key and its description. A name in `path` matches `*`, a number matches `[]`.
pub fn find_key(of: SchemaKind, path: &str) -> Option<SchemaKey> {
    let parts: Vec<&str> = path.split('.').collect();
    list_keys(of).into_iter().find(|key| {
        let pattern = key.path.replace("[]", ".[]");
        let pattern: Vec<&str> = pattern.split('.').collect();
        pattern.len() == parts.len()
            && pattern
                .iter()
                .zip(&parts)
                .all(|(pattern, part)| match *pattern {
                    "*" => true,
                    "[]" => part.parse::<usize>().is_ok(),
                    pattern => pattern == *part,
                })
    })
}

fn walk(root: &Value, schema: &Value, path: &str, found: &mut Vec<SchemaKey>, depth: usize) {
    if depth == 0 {
        return;
    }
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        found.push(SchemaKey {
            path: path.clone(),
            takes: match describe_type(root, property, depth) {
                words if words.is_empty() => "anything".to_owned(),
                words => words,
            },
            meaning: match meaning(root, property) {
                // The schema is one of several forms, which has this key only.
                said if said.is_empty() => meaning(root, schema),
                said => said,
            },
            is_later: false,
        });
        if path != "workflow" && path != "roles" {
            below(root, property, &path, found, depth);
        }
    }
}

/// Collects the keys of the values that a key takes.
fn below(root: &Value, schema: &Value, path: &str, found: &mut Vec<SchemaKey>, depth: usize) {
    if depth == 0 {
        return;
    }
    for form in forms(root, schema) {
        if form["properties"].is_object() {
            walk(root, form, path, found, depth - 1);
        }
        if form["additionalProperties"].is_object() {
            let any = format!("{path}.*");
            below(root, &form["additionalProperties"], &any, found, depth - 1);
        }
        if form["items"].is_object() {
            let each = format!("{path}[]");
            below(root, &form["items"], &each, found, depth - 1);
        }
    }
}

/// Returns the alternatives of a schema, with references resolved and without `null`.
fn forms<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(name) = schema["$ref"].as_str() {
        let definition = name.strip_prefix('#').and_then(|at| root.pointer(at));
        return definition
            .map(|definition| forms(root, definition))
            .unwrap_or_default();
    }
    let choices = ["anyOf", "oneOf"]
        .into_iter()
        .find_map(|key| schema[key].as_array());
    match choices {
        Some(choices) => choices
            .iter()
            .filter(|choice| choice["type"] != "null")
            .flat_map(|choice| forms(root, choice))
            .collect(),
        None => vec![schema],
    }
}

fn meaning(root: &Value, schema: &Value) -> String {
    let said = schema["description"].as_str();
    let said = said.or_else(|| forms(root, schema).first()?["description"].as_str());
    let lines = said.unwrap_or_default().lines().map(str::trim);
    lines.collect::<Vec<_>>().join(" ")
}

/// Describes the type of a schema in words.
fn describe_type(root: &Value, schema: &Value, depth: usize) -> String {
    if depth == 0 {
        return String::new();
    }
    let forms = forms(root, schema);
    let mut words: Vec<String> = forms
        .iter()
        .filter_map(|form| form["const"].as_str())
        .map(quoted)
        .collect();
    for form in &forms {
        let listed = form["enum"].as_array().into_iter().flatten();
        words.extend(listed.filter_map(Value::as_str).map(quoted));
    }
    let types = forms
        .iter()
        .filter(|form| form["const"].is_null() && form["enum"].is_null());
    for form in types {
        let kinds = match &form["type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => kind.as_str().into_iter().collect::<Vec<_>>(),
        };
        for kind in kinds {
            let word = match kind {
                "string" => "text".to_owned(),
                "integer" => "whole number".to_owned(),
                "number" => "number".to_owned(),
                "boolean" => "`true` or `false`".to_owned(),
                "array" => match describe_type(root, &form["items"], depth - 1) {
                    inner if inner.is_empty() => "list".to_owned(),
                    inner => format!("list: {inner}"),
                },
                "object" if form["additionalProperties"].is_object() => {
                    match describe_type(root, &form["additionalProperties"], depth - 1) {
                        inner if inner.is_empty() => "mapping by name".to_owned(),
                        inner => format!("mapping by name: {inner}"),
                    }
                }
                "object" => "mapping".to_owned(),
                _ => continue,
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    let any = ["number", "`true` or `false`"];
    if words.iter().any(|word| word == "text")
        && any.iter().all(|any| words.iter().any(|w| w == any))
    {
        // The schema accepts any scalar, which means a text, whatever it looks like.
        words.retain(|word| !any.contains(&word.as_str()));
    }
    words.join(", ")
}

fn quoted(word: &str) -> String {
    format!("`{word}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_meaning_and_takes_something() {
        for of in SchemaKind::ALL {
            for key in list_keys(of) {
                assert!(!key.meaning.is_empty(), "{of:?} {}", key.path);
                assert!(!key.takes.is_empty(), "{of:?} {}", key.path);
            }
        }
    }

    #[test]
    fn a_key_is_found_by_the_names_in_it() {
        let meaning = |path: &str| find_key(SchemaKind::Config, path).map(|key| key.meaning);
        assert_eq!(meaning("limits.max_tasks").unwrap(), "Tasks of a plan.");
        assert!(meaning("workers.mine.model").is_some());
        assert!(meaning("verification.commands.0.command").is_some());
        assert!(meaning("verification.commands.command").is_none());
        assert!(meaning("limits.max_task").is_none());
    }
}
