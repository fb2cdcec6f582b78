//! Puts facts of the assignment into the strings of a script.
//!
//! A placeholder is two braces round letters, digits, dots and underscores with
//! no space between. Everything else that has braces is left alone, so scripts
//! can write templates of other languages: `{{ like this }}`.

use serde_json::Value;

use super::{Error, ScriptedAssignment};

/// Replaces every placeholder in the text. Inserted text is not searched for placeholders again.
pub(super) fn render(text: &str, assignment: &ScriptedAssignment) -> Result<String, Error> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, open) = rest.split_at(at);
        out.push_str(before);
        if let Some((name, after)) = placeholder(open) {
            out.push_str(&placeholder_value(name, assignment)?);
            rest = after;
        } else {
            out.push('{');
            rest = &open[1..];
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The same for every string inside a JSON value. Keys are left alone.
pub(super) fn render_json(value: &Value, assignment: &ScriptedAssignment) -> Result<Value, Error> {
    Ok(match value {
        Value::String(text) => Value::String(render(text, assignment)?),
        Value::Array(items) => items
            .iter()
            .map(|item| render_json(item, assignment))
            .collect::<Result<_, _>>()?,
        Value::Object(fields) => fields
            .iter()
            .map(|(key, item)| Ok((key.clone(), render_json(item, assignment)?)))
            .collect::<Result<_, Error>>()?,
        other => other.clone(),
    })
}

fn placeholder(open: &str) -> Option<(&str, &str)> {
    let (name, after) = open.strip_prefix("{{")?.split_once("}}")?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'));
    is_name.then_some((name, after))
}

fn placeholder_value(name: &str, assignment: &ScriptedAssignment) -> Result<String, Error> {
    let task = assignment.task.as_ref();
    let found = match name {
        "role" => Some(assignment.role.clone()),
        "kind" => Some(assignment.kind.clone()),
        "plan_id" => Some(assignment.plan_id.clone()),
        "step" => Some(assignment.step.clone()),
        "goal" => Some(assignment.goal.clone()),
        "slot" => Some(assignment.slot.to_string()),
        "generation" => Some(assignment.generation.to_string()),
        "attempt" => Some(assignment.attempt.to_string()),
        "round" => Some(assignment.round.to_string()),
        "task.id" => task.map(|task| task.id.clone()),
        "task.title" => task.map(|task| task.title.clone()),
        _ => None,
    };
    found.ok_or_else(|| Error::Placeholder {
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment() -> ScriptedAssignment {
        let json = r#"{"role":"coder","goal":"{{role}}","round":2,
                       "task":{"id":"task-001","title":"Greet"}}"#;
        ScriptedAssignment::parse(json).unwrap()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(render(text, &assignment()).unwrap(), expected);
    }

    #[test]
    fn placeholders_are_replaced_once() {
        check("{{task.id}}: {{task.title}}!", "task-001: Greet!");
        check("{{role}}{{round}}", "coder2");
        check("{{goal}}", "{{role}}");
    }

    #[test]
    fn other_braces_stay() {
        for text in ["{", "{{", "{{}}", "{{ role }}", "${x}", "}}", "{{a"] {
            check(text, text);
        }
        check("{{{role}}}", "{coder}");
    }

    #[test]
    fn unknown_names_are_errors() {
        let error = render("{{rol}}", &assignment()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`{{rol}}` has no value in this assignment"
        );
        let mut without_task = assignment();
        without_task.task = None;
        assert!(render("{{task.id}}", &without_task).is_err());
    }

    #[test]
    fn json_is_rendered_inside() {
        let value = serde_json::json!({"{{role}}": ["{{role}}", 1, null]});
        assert_eq!(
            render_json(&value, &assignment()).unwrap(),
            serde_json::json!({"{{role}}": ["coder", 1, null]})
        );
    }
}
