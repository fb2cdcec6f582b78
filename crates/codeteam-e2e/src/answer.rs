//! An answer in no protocol's own words.

use serde::Deserialize;
use serde_json::Value;

/// An answer of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelAnswer {
    /// Tells this answer from the others of its conversation; the same again for the same turn.
    pub(crate) number: usize,
    /// The model that answers.
    pub(crate) model: String,
    /// Its text.
    pub(crate) text: Option<String>,
    /// The tools it calls.
    pub(crate) calls: Vec<ToolCall>,
    /// Whether it refuses to answer.
    pub(crate) refused: bool,
    /// Its token counts.
    pub(crate) usage: TokenUsage,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolCall {
    /// The tool's name.
    pub(crate) name: String,
    /// Its namespace, if it has one.
    pub(crate) namespace: Option<String>,
    /// Its input.
    pub(crate) input: ToolInput,
}

/// The input of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToolInput {
    /// A JSON value.
    Json(Value),
    /// Text that is sent as the JSON, even if it is not valid: a model may do that, a program would
    /// not.
    Raw(String),
    /// Plain text, for tools that take no JSON.
    Text(String),
}

impl ModelAnswer {
    /// An answer of text alone.
    pub(crate) fn from_text(text: impl Into<String>) -> Self {
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
pub(crate) fn split_in_half(text: &str) -> Vec<&str> {
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

/// The tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenUsage {
    /// Input that was not cached.
    pub input: u64,
    /// Input read from the cache.
    pub cached: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Output, reasoning included where the protocol counts so.
    pub output: u64,
    /// Reasoning.
    pub reasoning: u64,
}

impl Default for TokenUsage {
    fn default() -> Self {
        Self {
            input: 120,
            cached: 80,
            cache_write: 0,
            output: 30,
            reasoning: 0,
        }
    }
}
