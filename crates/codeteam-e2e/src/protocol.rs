//! The protocols: each reads a request into [`ModelRequest`] and writes an [`ModelAnswer`] in its own words.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use crate::answer::ModelAnswer;
use crate::model_protocol::Protocol;
use crate::model_request::ModelRequest;

impl Protocol {
    /// Parses a request. `model` is the one in the path, if the path has one.
    pub(crate) fn read_request(self, body: &Value, model: &str, stream: bool) -> ModelRequest {
        let mut asked = match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Gemini => gemini::read(body),
        };
        asked.protocol = self;
        if self == Self::Gemini {
            model.clone_into(&mut asked.model);
            asked.stream = stream;
        } else {
            asked.model = text_of(&body["model"]);
            if asked.model.is_empty() {
                model.clone_into(&mut asked.model);
            }
            asked.stream = body["stream"] == true;
        }
        asked
    }

    /// The whole answer.
    pub(crate) fn write_answer(self, answer: &ModelAnswer) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer),
            Self::Responses => responses::whole(answer, "completed"),
            Self::Chat => chat::whole(answer),
            Self::Gemini => gemini::whole(answer),
        }
    }

    /// The answer piece by piece.
    pub(crate) fn stream_answer(self, answer: &ModelAnswer, body: &Value) -> Vec<ServerSentEvent> {
        match self {
            Self::Anthropic => anthropic::frames(answer),
            Self::Responses => responses::frames(answer),
            Self::Chat => chat::frames(answer, body["stream_options"]["include_usage"] == true),
            Self::Gemini => gemini::frames(answer),
        }
    }
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerSentEvent {
    /// Its name, where the protocol names its events.
    pub(crate) event: Option<String>,
    /// Its data.
    pub(crate) data: String,
    /// Whether it brings a part of a text, with more to come.
    pub(crate) partial: bool,
}

impl ServerSentEvent {
    /// An event whose name is the `type` of its data.
    fn typed(data: &Value) -> Self {
        let name = data["type"].as_str();
        Self {
            event: name.map(str::to_owned),
            data: data.to_string(),
            partial: name.is_some_and(|name| name.ends_with("delta") && name != "message_delta"),
        }
    }

    /// An event without a name.
    fn unnamed(data: &Value) -> Self {
        Self {
            event: None,
            data: data.to_string(),
            partial: false,
        }
    }

    /// An event without a name that brings a part of a text.
    fn unnamed_partial(data: &Value) -> Self {
        Self {
            partial: true,
            ..Self::unnamed(data)
        }
    }

    /// As it goes over the wire.
    pub(crate) fn to_wire(&self) -> String {
        match &self.event {
            Some(event) => format!("event: {event}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

/// The models a `GET /models` lists.
pub(crate) fn model_list(protocol: Protocol) -> Value {
    const CREATED: u64 = 1_750_000_000;
    match protocol {
        Protocol::Anthropic => json!({
            "data": [{"type": "model", "id": "claude-scripted", "display_name": "Scripted",
                      "created_at": "2025-06-15T15:06:40Z"}],
            "has_more": false, "first_id": "claude-scripted", "last_id": "claude-scripted",
        }),
        Protocol::Responses | Protocol::Chat => json!({
            "object": "list",
            "data": [{"id": "gpt-scripted", "object": "model", "created": CREATED,
                      "owned_by": "codeteam"}],
        }),
        Protocol::Gemini => json!({
            "models": [{"name": "models/gemini-scripted", "version": "1",
                        "displayName": "Scripted", "inputTokenLimit": 1_000_000,
                        "outputTokenLimit": 65_536,
                        "supportedGenerationMethods": ["generateContent", "countTokens"]}],
        }),
    }
}

/// A string, or nothing.
fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts of a content that is a string, or a list of parts with a `text` each.
fn texts_of(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts.iter().filter_map(part_text).collect(),
        Value::Object(_) => part_text(content).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn part_text(part: &Value) -> Option<String> {
    part.as_str()
        .or_else(|| part["text"].as_str())
        .map(str::to_owned)
}

/// Returns the result of a tool as one text: its texts, or else its JSON.
fn result_text(content: &Value) -> String {
    let texts = texts_of(content);
    if texts.is_empty() && !content.is_null() {
        return content.to_string();
    }
    texts.join("\n")
}

/// The members of a list, or none.
fn as_list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
