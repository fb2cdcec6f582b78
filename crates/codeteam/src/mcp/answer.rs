//! What a tool answers: fields, and the same as a text.
//!
//! Some clients show their model only the fields (Claude Code, Codex), others only the text (Gemini
//! CLI, opencode, goose). So each of the two has everything, and both begin with what to do next.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

/// The field that says what to do next.
pub(super) const DO_NEXT: &str = "do_next";
/// The field with what the user should hear.
const TELL_USER: &str = "tell_user";

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct ToolAnswer {
    fields: JsonObject,
    /// What the model should do now, then what it needs for that.
    text: String,
    refused: bool,
}

impl ToolAnswer {
    /// One of a kind, with what to do now.
    pub(super) fn new(kind: &str, do_next: impl Into<String>) -> Self {
        let text = do_next.into();
        let mut fields = JsonObject::new();
        fields.insert("type".to_owned(), json!(kind));
        fields.insert(DO_NEXT.to_owned(), json!(text));
        Self {
            fields,
            text,
            refused: false,
        }
    }

    /// Something that was not done, why, and what to do instead.
    pub(super) fn refused(errors: &[String], do_next: &str) -> Self {
        let mut answer = Self::new("refused", do_next).with("errors", json!(errors));
        answer.text = format!("Refused: {}\n{do_next}", errors.join("\n"));
        answer.refused = true;
        answer
    }

    /// With a field, unless it is empty.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        let is_empty = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        };
        if !is_empty {
            self.fields.insert(name.to_owned(), value);
        }
        self
    }

    /// With a field that is there even if it is empty.
    #[must_use]
    pub(super) fn always(mut self, name: &str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }

    /// With a part of the text under its own heading, unless it is empty.
    #[must_use]
    pub(super) fn part(mut self, heading: &str, body: &str) -> Self {
        let body = body.trim();
        if !body.is_empty() {
            self.text.push_str("\n\n## ");
            self.text.push_str(heading);
            self.text.push_str("\n\n");
            self.text.push_str(body);
        }
        self
    }

    /// The same with a list.
    #[must_use]
    pub(super) fn list<'a>(self, heading: &str, items: impl IntoIterator<Item = &'a str>) -> Self {
        let lines: Vec<String> = items.into_iter().map(|item| format!("- {item}")).collect();
        self.part(heading, &lines.join("\n"))
    }

    /// With what the user should hear before anything else is done, if there is anything.
    #[must_use]
    pub(super) fn telling(mut self, notes: &[String]) -> Self {
        if notes.is_empty() {
            return self;
        }
        let first = "First tell the user what stands under `tell_user`. ";
        let before = self.do_next().to_owned();
        self.fields
            .insert(DO_NEXT.to_owned(), json!(format!("{first}{before}")));
        self.fields
            .shift_insert(2, TELL_USER.to_owned(), json!(notes));
        self.text.insert_str(0, first);
        self.list(TELL_USER, notes.iter().map(String::as_str))
    }

    /// Adds to the text what another one has to say.
    pub(super) fn append(&mut self, details: &str) {
        self.text.push_str(details);
    }

    /// What to do next.
    pub(super) fn do_next(&self) -> &str {
        let said = self.fields.get(DO_NEXT).and_then(Value::as_str);
        said.unwrap_or_default()
    }

    /// The fields.
    pub(super) fn fields(&self) -> &JsonObject {
        &self.fields
    }

    /// The fields as a part of another answer, which says itself what to do next.
    pub(super) fn as_part(&self) -> Value {
        let mut fields = self.fields.clone();
        fields.shift_remove(DO_NEXT);
        Value::Object(fields)
    }

    /// The words.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The words after those that say what to do next.
    pub(super) fn details(&self) -> &str {
        let at = self.text.find("\n\n## ");
        at.map_or("", |at| &self.text[at..])
    }
}

impl From<ToolAnswer> for CallToolResult {
    fn from(answer: ToolAnswer) -> Self {
        let content = vec![ContentBlock::text(answer.text)];
        let mut result = if answer.refused {
            Self::error(content)
        } else {
            Self::success(content)
        };
        result.structured_content = Some(Value::Object(answer.fields));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_next_is_the_first_thing_that_is_said_in_both_forms() {
        let notes = ["no checks are configured".to_owned()];
        let answer = ToolAnswer::new("role_assignment", "You are now `qa`.")
            .with("run", json!("r"))
            .telling(&notes);
        let keys: Vec<&str> = answer.fields().keys().map(String::as_str).collect();
        assert_eq!(keys, ["type", "do_next", "tell_user", "run"]);
        let first = "First tell the user what stands under `tell_user`. You are now `qa`.";
        assert_eq!(answer.do_next(), first);
        assert!(answer.text().starts_with(first), "{}", answer.text());
        assert!(answer.text().ends_with("\n- no checks are configured"));
        assert_eq!(answer.as_part().get(DO_NEXT), None);
    }
}
