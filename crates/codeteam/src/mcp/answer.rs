//! What a tool answers: fields for programs, and the same in words for a model.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    fields: JsonObject,
    /// What the model should do now, then what it needs for that.
    text: String,
    refused: bool,
}

impl Answer {
    /// One of a kind, with what to do now.
    pub(super) fn new(kind: &str, text: impl Into<String>) -> Self {
        let mut fields = JsonObject::new();
        fields.insert("type".to_owned(), json!(kind));
        Self {
            fields,
            text: text.into(),
            refused: false,
        }
    }

    /// Something that was not done, why, and what is expected instead.
    pub(super) fn refused(errors: &[String], expected: &str) -> Self {
        let text = format!("Refused: {}\n{expected}", errors.join("\n"));
        let mut answer = Self::new("refused", text)
            .with("errors", json!(errors))
            .with("expected", json!(expected));
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

    /// The fields.
    pub(super) fn fields(&self) -> &JsonObject {
        &self.fields
    }

    /// The words.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl From<Answer> for CallToolResult {
    fn from(answer: Answer) -> Self {
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
