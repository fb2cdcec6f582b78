//! The answer of a tool: structured fields, and the same content as text.
//!
//! Some clients show their model only the fields (Claude Code, Codex), others only the text (Gemini
//! CLI, opencode, goose). So both contain everything, and both begin with what to do next.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

/// The field that says what to do next.
pub(super) const DO_NEXT: &str = "do_next";
/// The field with notes for the user.
const TELL_USER: &str = "tell_user";

/// The answer to a tool call.
///
/// Build it with [`new`](Self::new) or [`refused`](Self::refused), then add fields and text
/// sections. Whatever goes into a field for the model to read must also go into a section, because
/// a client may show only one of the two.
#[derive(Clone, Debug)]
pub(super) struct ToolAnswer {
    fields: JsonObject,
    /// What the model should do now, followed by what it needs for that.
    text: String,
    refused: bool,
}

impl ToolAnswer {
    /// Creates an answer of a kind, with what to do now.
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

    /// Creates a refusal: why nothing was done, and what to do instead.
    pub(super) fn refused(errors: &[String], do_next: &str) -> Self {
        let mut answer = Self::new("refused", do_next).with("errors", json!(errors));
        answer.text = format!("Refused: {}\n{do_next}", errors.join("\n"));
        answer.refused = true;
        answer
    }

    /// Adds a field, unless it is empty.
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

    /// Adds a field even if it is empty.
    #[must_use]
    pub(super) fn with_always(mut self, name: &str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }

    /// Adds a section of text under its own heading, unless it is empty.
    #[must_use]
    pub(super) fn with_section(mut self, heading: &str, body: &str) -> Self {
        let body = body.trim();
        if !body.is_empty() {
            self.text.push_str("\n\n## ");
            self.text.push_str(heading);
            self.text.push_str("\n\n");
            self.text.push_str(body);
        }
        self
    }

    /// Adds a section with a list.
    #[must_use]
    pub(super) fn with_list<'a>(
        self,
        heading: &str,
        items: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let lines: Vec<String> = items.into_iter().map(|item| format!("- {item}")).collect();
        self.with_section(heading, &lines.join("\n"))
    }

    /// Adds notes that the user should hear before anything else is done, if there are any.
    #[must_use]
    pub(super) fn with_user_notes(mut self, notes: &[String]) -> Self {
        if notes.is_empty() {
            return self;
        }
        let first = "First tell the user what is under `tell_user`. ";
        let before = self.do_next().to_owned();
        self.fields
            .insert(DO_NEXT.to_owned(), json!(format!("{first}{before}")));
        self.fields
            .shift_insert(2, TELL_USER.to_owned(), json!(notes));
        self.text.insert_str(0, first);
        self.with_list(TELL_USER, notes.iter().map(String::as_str))
    }

    /// Appends the text of another answer.
    pub(super) fn append(&mut self, details: &str) {
        self.text.push_str(details);
    }

    /// Returns what to do next.
    pub(super) fn do_next(&self) -> &str {
        let said = self.fields.get(DO_NEXT).and_then(Value::as_str);
        said.unwrap_or_default()
    }

    /// Returns the structured fields.
    pub(super) fn fields(&self) -> &JsonObject {
        &self.fields
    }

    /// Returns the fields for embedding in another answer, which has its own `do_next`.
    pub(super) fn nested_fields(&self) -> Value {
        let mut fields = self.fields.clone();
        fields.shift_remove(DO_NEXT);
        Value::Object(fields)
    }

    /// Returns the text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text after the part that says what to do next.
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
            .with_user_notes(&notes);
        let keys: Vec<&str> = answer.fields().keys().map(String::as_str).collect();
        assert_eq!(keys, ["type", "do_next", "tell_user", "run"]);
        let first = "First tell the user what is under `tell_user`. You are now `qa`.";
        assert_eq!(answer.do_next(), first);
        assert!(answer.text().starts_with(first), "{}", answer.text());
        assert!(answer.text().ends_with("\n- no checks are configured"));
        assert_eq!(answer.nested_fields().get(DO_NEXT), None);
    }
}
