//! OpenAI's Chat Completions, and servers that speak the same protocol.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::stream::{is_error, take_value};
use super::{ModelReply, ModelRequest, SamplingOptions, StopReason, TokenUsage, ToolCall, Turn};

pub(super) fn url(base: &str) -> String {
    let after_scheme = base.split_once("://").map_or(base, |(_, rest)| rest);
    // People name local servers by host and port only.
    let version = if after_scheme.contains('/') {
        ""
    } else {
        "/v1"
    };
    format!("{base}{version}/chat/completions")
}

#[derive(Serialize)]
struct OpenAiRequest<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    messages: Vec<OpenAiMessage<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OpenAiMessage<'a> {
    Ours(Value),
    Raw(&'a RawValue),
}

pub(super) fn write_request(
    model: &str,
    request: &ModelRequest<'_>,
    sampling: &SamplingOptions,
) -> Result<String, serde_json::Error> {
    let tools = request.tools.iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.schema}})
    });
    let system = json!({"role": "system", "content": request.system});
    let mut messages = vec![OpenAiMessage::Ours(system)];
    for turn in request.turns {
        match turn {
            Turn::Prompt(text) => {
                messages.push(OpenAiMessage::Ours(
                    json!({"role": "user", "content": text}),
                ));
            }
            Turn::Reply(raw) => messages.push(OpenAiMessage::Raw(raw)),
            Turn::Results(results) => messages.extend(results.iter().map(|result| {
                OpenAiMessage::Ours(json!({"role": "tool", "tool_call_id": result.id,
                                     "content": result.text}))
            })),
        }
    }
    let limit = |is_old| {
        sampling
            .max_tokens
            .filter(|_| is_old == sampling.is_old_limit)
    };
    serde_json::to_string(&OpenAiRequest {
        model,
        max_completion_tokens: limit(false),
        max_tokens: limit(true),
        temperature: sampling.temperature,
        stream: sampling.streams,
        stream_options: sampling.streams.then(|| json!({"include_usage": true})),
        tools: tools.collect(),
        response_format: request
            .schema
            .filter(|_| sampling.takes_schema)
            .map(|schema| {
                json!({"type": "json_schema", "json_schema": {
                "name": "answer", "schema": schema, "strict": false}})
            }),
        messages,
    })
}

#[derive(Deserialize)]
struct OpenAiResponse<'a> {
    #[serde(borrow)]
    choices: [OpenAiChoice<'a>; 1],
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize)]
struct OpenAiChoice<'a> {
    #[serde(borrow)]
    message: OpenAiReplyMessage<'a>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiReplyMessage<'a> {
    #[serde(default)]
    content: Value,
    refusal: Option<String>,
    /// Sent back to servers that sent it, because they expect that.
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct OpenAiToolCall<'a> {
    #[serde(default)]
    id: String,
    #[serde(borrow)]
    function: OpenAiFunctionCall<'a>,
}

#[derive(Deserialize)]
struct OpenAiFunctionCall<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OpenAiUsage {
    #[serde(rename = "prompt_tokens")]
    prompt: u64,
    #[serde(rename = "completion_tokens")]
    completion: u64,
    #[serde(rename = "prompt_tokens_details")]
    details: Option<OpenAiPromptDetails>,
}

#[derive(Default, Deserialize)]
struct OpenAiPromptDetails {
    cached_tokens: Option<u64>,
}

/// The reply, as the API wants to see it again.
#[derive(Serialize)]
struct OpenAiEchoMessage<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Box<RawValue>>,
}

pub(super) fn read_reply(body: &str) -> Result<ModelReply, serde_json::Error> {
    let answer: OpenAiResponse<'_> = serde_json::from_str(body)?;
    let [
        OpenAiChoice {
            message,
            finish_reason,
        },
    ] = answer.choices;
    let text = text_of(&message.content);
    let mut calls = Vec::new();
    let mut echoed = Vec::new();
    for (raw, number) in message.tool_calls.iter().flatten().zip(1..) {
        let (call, again) = read_call(raw, number)?;
        calls.push(call);
        echoed.push(again);
    }
    let stop = match (finish_reason.as_deref(), &message.refusal) {
        (_, Some(refusal)) if !refusal.is_empty() => StopReason::Refused(refusal.clone()),
        (Some("content_filter"), _) => {
            StopReason::Refused("a content filter stopped it".to_owned())
        }
        (Some("length"), _) => StopReason::Cut,
        _ => StopReason::Done,
    };
    let echo = if text.is_empty() && calls.is_empty() {
        None
    } else {
        Some(to_raw_value(&OpenAiEchoMessage {
            role: "assistant",
            content: (!text.is_empty()).then_some(&text),
            reasoning_content: message.reasoning_content.filter(|raw| raw.get() != "null"),
            tool_calls: echoed,
        })?)
    };
    let tokens = answer.usage.unwrap_or_default();
    let details = tokens.details.unwrap_or_default();
    Ok(ModelReply {
        text,
        calls,
        stop,
        usage: TokenUsage {
            input: tokens.prompt,
            output: tokens.completion,
            cached: details.cached_tokens.unwrap_or(0),
        },
        echo,
        was_shown: false,
    })
}

/// Parses a tool call, and returns it together with the form in which it is sent again.
fn read_call(raw: &RawValue, number: u32) -> Result<(ToolCall, Box<RawValue>), serde_json::Error> {
    let call: OpenAiToolCall<'_> = serde_json::from_str(raw.get())?;
    let input = match call.function.arguments.map(RawValue::get) {
        None | Some("null") => "{}".to_owned(),
        Some(text) if text.starts_with('"') => serde_json::from_str(text)?,
        // Some servers give the arguments as they are instead of as a text.
        Some(text) => text.to_owned(),
    };
    let input = if input.trim().is_empty() {
        "{}".to_owned()
    } else {
        input
    };
    let has_id = !call.id.is_empty();
    let id = if has_id {
        call.id
    } else {
        format!("call-{number}")
    };
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&input).is_ok();
    let again = if has_id && is_json {
        raw.to_owned()
    } else {
        // Servers that read their own arguments fail on what is not JSON.
        let arguments = if is_json { input.as_str() } else { "{}" };
        to_raw_value(&json!({"id": id, "type": "function", "function": {
            "name": call.function.name, "arguments": arguments}}))?
    };
    let name = call.function.name;
    Ok((ToolCall { id, name, input }, again))
}

/// A text, or a list of parts of which some are texts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

/// A reply that arrives in pieces.
#[derive(Default)]
pub(super) struct OpenAiStream {
    content: String,
    refusal: String,
    reasoning: Option<String>,
    calls: Vec<StreamedCall>,
    finish_reason: Value,
    usage: Value,
    is_over: bool,
    /// An event that reports an error, as it came.
    error: Option<String>,
}

/// A tool call as far as it has arrived.
struct StreamedCall {
    /// Its place among the calls, if the server says it.
    index: Value,
    /// What it began with.
    call: Value,
    name: String,
    arguments: String,
}

impl OpenAiStream {
    pub(super) fn add(&mut self, data: &str) -> Result<String, serde_json::Error> {
        if data.trim() == "[DONE]" {
            self.is_over = true;
            return Ok(String::new());
        }
        if is_error(data) {
            self.error = Some(data.to_owned());
            return Ok(String::new());
        }
        let mut event: Value = serde_json::from_str(data)?;
        let usage = take_value(&mut event, "/usage");
        if usage.is_object() {
            self.usage = usage;
        }
        let reason = take_value(&mut event, "/choices/0/finish_reason");
        if reason.is_string() {
            self.finish_reason = reason;
        }
        let mut delta = take_value(&mut event, "/choices/0/delta");
        if let Value::Array(calls) = take_value(&mut delta, "/tool_calls") {
            for call in calls {
                self.add_call(call);
            }
        }
        self.refusal
            .push_str(delta["refusal"].as_str().unwrap_or_default());
        if let Some(more) = delta["reasoning_content"].as_str() {
            self.reasoning.get_or_insert_default().push_str(more);
        }
        let text = text_of(&delta["content"]);
        self.content.push_str(&text);
        Ok(text)
    }

    /// Adds a piece of a tool call: the first one names it, the others add to its arguments.
    fn add_call(&mut self, mut piece: Value) {
        let index = take_value(&mut piece, "/index");
        let function = take_value(&mut piece, "/function");
        let id = piece["id"].as_str().unwrap_or_default();
        let is_it = |call: &&mut StreamedCall| {
            if index.is_null() {
                id.is_empty() || call.call["id"] == id
            } else {
                call.index == index
            }
        };
        let text = |name: &str| match &function[name] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            // Some servers give the arguments as they are instead of as a text.
            other => other.to_string(),
        };
        let (name, arguments) = (text("name"), text("arguments"));
        if let Some(call) = self.calls.iter_mut().rev().find(is_it) {
            call.name.push_str(&name);
            call.arguments.push_str(&arguments);
            return;
        }
        self.calls.push(StreamedCall {
            index,
            call: piece,
            name,
            arguments,
        });
    }

    pub(super) fn finish(self) -> Option<String> {
        if self.error.is_some() {
            return self.error;
        }
        if !self.is_over && self.finish_reason.is_null() {
            return None;
        }
        let calls = self.calls.into_iter().map(|call| {
            let mut whole = match call.call {
                Value::Object(fields) => fields,
                _ => serde_json::Map::new(),
            };
            whole.retain(|_, value| !value.is_null());
            let function = json!({"name": call.name, "arguments": call.arguments});
            whole.insert("function".to_owned(), function);
            Value::Object(whole)
        });
        let calls: Vec<Value> = calls.collect();
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.refusal.is_empty() {
            message["refusal"] = self.refusal.into();
        }
        if let Some(reasoning) = self.reasoning {
            message["reasoning_content"] = reasoning.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let whole = json!({
            "choices": [{"message": message, "finish_reason": self.finish_reason}],
            "usage": self.usage,
        });
        Some(whole.to_string())
    }
}
