//! Anthropic's Messages.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::stream::{is_error, json_or_empty, take_value};
use super::{ModelReply, ModelRequest, SamplingOptions, StopReason, TokenUsage, ToolCall, Turn};

/// The version of the API.
pub(super) const VERSION: &str = "2023-06-01";

/// The limit to use if none is configured: this API requires one.
const MAX_TOKENS: u32 = 16_384;

pub(super) fn url(base: &str) -> String {
    let base = base.strip_suffix("/v1").unwrap_or(base);
    format!("{base}/v1/messages")
}

#[derive(Serialize)]
struct AnthropicRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    system: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    messages: Vec<AnthropicMessage<'a>>,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: AnthropicContent<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnthropicContent<'a> {
    Blocks(Vec<Value>),
    Raw(&'a RawValue),
}

pub(super) fn write_request(
    model: &str,
    request: &ModelRequest<'_>,
    sampling: &SamplingOptions,
) -> Result<String, serde_json::Error> {
    let tools = request.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
    });
    serde_json::to_string(&AnthropicRequest {
        model,
        max_tokens: sampling.max_tokens.unwrap_or(MAX_TOKENS),
        temperature: sampling.temperature,
        stream: sampling.streams,
        system: json!([with_cache_control(
            json!({"type": "text", "text": request.system})
        )]),
        tools: tools.collect(),
        messages: messages(request.turns),
    })
}

/// Converts the turns to messages; turns of the same side become one.
fn messages(turns: &[Turn]) -> Vec<AnthropicMessage<'_>> {
    let mut messages: Vec<AnthropicMessage<'_>> = Vec::new();
    for turn in turns {
        let blocks = match turn {
            Turn::Reply(raw) => {
                messages.push(AnthropicMessage {
                    role: "assistant",
                    content: AnthropicContent::Raw(raw),
                });
                continue;
            }
            Turn::Prompt(text) => vec![json!({"type": "text", "text": text})],
            Turn::Results(results) => results
                .iter()
                .map(|result| {
                    json!({"type": "tool_result", "tool_use_id": result.id,
                           "content": result.text, "is_error": !result.ok})
                })
                .collect(),
        };
        match messages.last_mut().map(|message| &mut message.content) {
            Some(AnthropicContent::Blocks(open)) => open.extend(blocks),
            _ => messages.push(AnthropicMessage {
                role: "user",
                content: AnthropicContent::Blocks(blocks),
            }),
        }
    }
    // Everything up to here will be sent again.
    if let Some(AnthropicContent::Blocks(blocks)) =
        messages.last_mut().map(|last| &mut last.content)
        && let Some(last) = blocks.pop()
    {
        blocks.push(with_cache_control(last));
    }
    messages
}

fn with_cache_control(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

#[derive(Deserialize)]
struct AnthropicResponse<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: AnthropicUsage,
}

#[derive(Deserialize)]
struct AnthropicBlock<'a> {
    r#type: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnthropicUsage {
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
    #[serde(rename = "cache_read_input_tokens")]
    cached: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    to_cache: Option<u64>,
}

pub(super) fn read_reply(body: &str) -> Result<ModelReply, serde_json::Error> {
    let answer: AnthropicResponse<'_> = serde_json::from_str(body)?;
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut echoed = Vec::new();
    for raw in answer.content {
        let block: AnthropicBlock<'_> = serde_json::from_str(raw.get())?;
        match block.r#type.as_str() {
            // The API does not take what some servers that speak like it give.
            "text" if block.text.is_empty() => continue,
            "text" => text.push_str(&block.text),
            "tool_use" => calls.push(ToolCall {
                id: block.id,
                name: block.name,
                input: block.input.map_or("{}", RawValue::get).to_owned(),
            }),
            // Thoughts are sent back as they are, and are nobody else's business.
            _ => {}
        }
        echoed.push(raw);
    }
    let stop = match answer.stop_reason.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::Cut,
        Some("refusal") => StopReason::Refused(text.clone()),
        _ => StopReason::Done,
    };
    let tokens = answer.usage;
    let cached = tokens.cached.unwrap_or(0);
    let echo = if echoed.is_empty() {
        None
    } else {
        Some(to_raw_value(&echoed)?)
    };
    Ok(ModelReply {
        text,
        calls,
        stop,
        usage: TokenUsage {
            input: tokens.input + cached + tokens.to_cache.unwrap_or(0),
            output: tokens.output,
            cached,
        },
        echo,
        was_shown: false,
    })
}

/// A reply that arrives in pieces.
#[derive(Default)]
pub(super) struct AnthropicStream {
    blocks: Vec<StreamedBlock>,
    stop_reason: Value,
    usage: serde_json::Map<String, Value>,
    is_over: bool,
    /// An event that reports an error, as it came.
    error: Option<String>,
}

/// A block of content as far as it has arrived.
struct StreamedBlock {
    /// What it began with, and the texts that were added to it.
    content: Value,
    /// The input of a call, which arrives as text.
    input: String,
}

impl AnthropicStream {
    pub(super) fn add(&mut self, data: &str) -> Result<String, serde_json::Error> {
        if is_error(data) {
            self.error = Some(data.to_owned());
            return Ok(String::new());
        }
        let mut event: Value = serde_json::from_str(data)?;
        match event["type"].as_str() {
            Some("message_start") => self.add_usage(take_value(&mut event, "/message/usage")),
            Some("content_block_start") => {
                let content = take_value(&mut event, "/content_block");
                if !content.is_object() {
                    return Ok(String::new());
                }
                let text = content["text"].as_str().unwrap_or_default().to_owned();
                self.blocks.push(StreamedBlock {
                    content,
                    input: String::new(),
                });
                return Ok(text);
            }
            Some("content_block_delta") => return Ok(self.add_delta(&event["delta"])),
            Some("message_delta") => {
                self.stop_reason = take_value(&mut event, "/delta/stop_reason");
                self.add_usage(take_value(&mut event, "/usage"));
            }
            Some("message_stop") => self.is_over = true,
            _ => {}
        }
        Ok(String::new())
    }

    fn add_usage(&mut self, usage: Value) {
        if let Value::Object(usage) = usage {
            let known = usage.into_iter().filter(|(_, count)| !count.is_null());
            self.usage.extend(known);
        }
    }

    fn add_delta(&mut self, delta: &Value) -> String {
        let Some(block) = self.blocks.last_mut() else {
            return String::new();
        };
        let piece = |name: &str| delta[name].as_str();
        if let Some(text) = piece("partial_json") {
            block.input.push_str(text);
        }
        for name in ["text", "thinking", "signature"] {
            if let Some(more) = piece(name) {
                let known = block.content[name].as_str().unwrap_or_default();
                block.content[name] = format!("{known}{more}").into();
            }
        }
        piece("text").unwrap_or_default().to_owned()
    }

    pub(super) fn finish(self) -> Option<String> {
        if self.error.is_some() {
            return self.error;
        }
        if !self.is_over && self.stop_reason.is_null() {
            return None;
        }
        let blocks = self.blocks.iter().map(|block| {
            let content = &block.content;
            if content["type"] != "tool_use" {
                return content.to_string();
            }
            // The input stays as the model wrote it.
            let (id, name) = (&content["id"], &content["name"]);
            let input = json_or_empty(&block.input);
            format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#)
        });
        let blocks: Vec<String> = blocks.collect();
        Some(format!(
            r#"{{"content":[{}],"stop_reason":{},"usage":{}}}"#,
            blocks.join(","),
            self.stop_reason,
            Value::Object(self.usage),
        ))
    }
}
