//! An answer in no protocol's own words.

use serde_json::Value;

use crate::scenario::TokenUsage;

/// What the model answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelAnswer {
    /// Tells this answer from the others of its conversation; the same again for the same turn.
    pub(crate) number: usize,
    /// The model that answers.
    pub(crate) model: String,
    /// What it says.
    pub(crate) text: Option<String>,
    /// The tools it calls.
    pub(crate) calls: Vec<ToolCall>,
    /// Whether it refuses to answer.
    pub(crate) refused: bool,
    /// What it cost.
    pub(crate) usage: TokenUsage,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolCall {
    /// The tool's name.
    pub(crate) name: String,
    /// Its namespace, where it stands in one.
    pub(crate) namespace: Option<String>,
    /// What it is given.
    pub(crate) input: ToolInput,
}

/// What a tool is given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToolInput {
    /// A JSON value.
    Json(Value),
    /// JSON text as it stands, which may be none: what a model may do and a program would not.
    Raw(String),
    /// Plain text, for tools that take no JSON.
    Text(String),
}

impl ModelAnswer {
    /// An answer of text alone.
    pub(crate) fn of_text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// The id of its `index`th call.
    pub(crate) fn call_id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}_{:04}_{index:02}", self.number)
    }

    /// The id of the answer.
    pub(crate) fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{:04}", self.number)
    }
}

impl ToolInput {
    /// As text, to be sent where the protocol wants text.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Raw(text) | Self::Text(text) => text.clone(),
        }
    }

    /// As JSON, to be sent where the protocol wants an object.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Raw(text) | Self::Text(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
            }
        }
    }
}

/// Splits a text in two for streaming, so that no reader gets away with taking the first piece.
pub(crate) fn halves(text: &str) -> Vec<&str> {
    let middle = text
        .char_indices()
        .map(|(at, _)| at)
        .nth(text.chars().count() / 2)
        .unwrap_or(0);
    if middle == 0 {
        return vec![text];
    }
    let (first, second) = text.split_at(middle);
    vec![first, second]
}
