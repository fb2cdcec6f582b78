//! Replies that arrive in pieces: the events of a stream, put together to the answer that the same
//! request would have got without one.
//!
//! Each protocol puts its own events together; what comes out is read like any other answer. So what
//! is particular about a reply is known in one place only.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::anthropic::AnthropicStream;
use super::gemini::GeminiStream;
use super::openai::OpenAiStream;
use crate::builtin::Protocol;

/// A reply of which not everything may have arrived.
pub(super) enum StreamedReply {
    Anthropic(AnthropicStream),
    Openai(OpenAiStream),
    Gemini(GeminiStream),
}

impl StreamedReply {
    pub(super) fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Anthropic => Self::Anthropic(AnthropicStream::default()),
            Protocol::Openai => Self::Openai(OpenAiStream::default()),
            Protocol::Gemini => Self::Gemini(GeminiStream::default()),
        }
    }

    /// Adds an event. Returns what the model's message has become longer by.
    pub(super) fn add(&mut self, data: &str) -> Result<String, serde_json::Error> {
        match self {
            Self::Anthropic(stream) => stream.add(data),
            Self::Openai(stream) => stream.add(data),
            Self::Gemini(stream) => stream.add(data),
        }
    }

    /// Returns the whole answer, or `None` if the stream ended before the reply did.
    pub(super) fn finish(self) -> Option<String> {
        match self {
            Self::Anthropic(stream) => stream.finish(),
            Self::Openai(stream) => stream.finish(),
            Self::Gemini(stream) => stream.finish(),
        }
    }
}

/// Returns true if an event reports an error: it takes the place of the rest of the reply.
pub(super) fn is_error(data: &str) -> bool {
    #[derive(Deserialize)]
    struct ErrorEvent {
        error: Option<serde_json::Map<String, Value>>,
    }
    let event: Result<ErrorEvent, _> = serde_json::from_str(data);
    event.is_ok_and(|event| event.error.is_some())
}

/// Takes a value out of an event, wherever it is; null if it is not there.
pub(super) fn take_value(event: &mut Value, pointer: &str) -> Value {
    event
        .pointer_mut(pointer)
        .map(Value::take)
        .unwrap_or_default()
}

/// Returns a text if it is JSON, and an empty object otherwise: the input of a call that was cut off.
pub(super) fn json_or_empty(text: &str) -> &str {
    let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_json { text } else { "{}" }
}

/// Reads the events of a stream: the data of each, until the stream ends.
pub(super) fn read_events(
    mut reader: impl BufRead,
    mut each: impl FnMut(String) -> bool,
) -> io::Result<()> {
    let mut data = String::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let is_over = reader.read_until(b'\n', &mut line)? == 0;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        if let Some(more) = text.strip_prefix("data:") {
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
        } else if text.is_empty() && !data.is_empty() && !each(std::mem::take(&mut data)) {
            return Ok(());
        }
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_what_stands_between_empty_lines() {
        let stream =
            "event: a\ndata: {\"a\":\r\ndata: 1}\n\n: a comment\n\ndata:[DONE]\r\n\r\ndata: last";
        let mut events = Vec::new();
        read_events(stream.as_bytes(), |data| {
            events.push(data);
            true
        })
        .unwrap();
        assert_eq!(events, ["{\"a\":\n1}", "[DONE]", "last"]);
    }

    /// Feeds events, and returns what was shown and the whole answer.
    fn streamed(protocol: Protocol, events: &[&str]) -> (String, Option<String>) {
        let mut reply = StreamedReply::new(protocol);
        let shown = events.iter().map(|data| reply.add(data).unwrap());
        let shown = shown.collect();
        (shown, reply.finish())
    }

    #[test]
    fn an_error_in_a_stream_is_the_answer() {
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
        for protocol in [Protocol::Anthropic, Protocol::Openai, Protocol::Gemini] {
            assert_eq!(
                streamed(protocol, &[error]),
                (String::new(), Some(error.to_owned()))
            );
            // What ends too early is no answer.
            assert_eq!(streamed(protocol, &[]), (String::new(), None));
        }
    }

    #[test]
    fn the_input_of_a_call_that_was_cut_off_is_empty() {
        assert_eq!(json_or_empty(r#"{"a":1,"a":2}"#), r#"{"a":1,"a":2}"#);
        assert_eq!(json_or_empty(r#"{"a":"#), "{}");
        assert_eq!(json_or_empty(""), "{}");
    }
}
