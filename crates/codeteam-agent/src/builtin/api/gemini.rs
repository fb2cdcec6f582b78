//! Gemini's `generateContent`.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::stream::is_error;
use super::{ModelReply, ModelRequest, SamplingOptions, StopReason, TokenUsage, ToolCall, Turn};

pub(super) fn url(base: &str, model: &str) -> String {
    let has_version = base.ends_with("/v1beta") || base.ends_with("/v1");
    let version = if has_version { "" } else { "/v1beta" };
    let model = model.strip_prefix("models/").unwrap_or(model);
    format!("{base}{version}/models/{model}:generateContent")
}

/// Returns the URL that answers in pieces.
pub(super) fn stream_url(url: &str) -> String {
    let base = url.strip_suffix(":generateContent").unwrap_or(url);
    format!("{base}:streamGenerateContent?alt=sse")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiRequest<'a> {
    system_instruction: Value,
    contents: Vec<GeminiContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    generation_config: GeminiGenerationConfig,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiGenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Value>,
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    role: &'static str,
    parts: GeminiParts<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum GeminiParts<'a> {
    Ours(Vec<Value>),
    Raw(&'a RawValue),
}

pub(super) fn write_request(
    request: &ModelRequest<'_>,
    sampling: &SamplingOptions,
) -> Result<String, serde_json::Error> {
    let functions: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                   "parametersJsonSchema": tool.schema})
        })
        .collect();
    let tools = if functions.is_empty() {
        Vec::new()
    } else {
        vec![json!({"functionDeclarations": functions})]
    };
    let schema = request.schema.filter(|_| sampling.takes_schema);
    let contents = request.turns.iter().map(|turn| match turn {
        Turn::Reply(raw) => GeminiContent {
            role: "model",
            parts: GeminiParts::Raw(raw),
        },
        Turn::Prompt(text) => GeminiContent {
            role: "user",
            parts: GeminiParts::Ours(vec![json!({"text": text})]),
        },
        Turn::Results(results) => GeminiContent {
            role: "user",
            parts: GeminiParts::Ours(results.iter().map(function_response).collect()),
        },
    });
    serde_json::to_string(&GeminiRequest {
        system_instruction: json!({"parts": [{"text": request.system}]}),
        contents: contents.collect(),
        tools,
        generation_config: GeminiGenerationConfig {
            max_output_tokens: sampling.max_tokens,
            temperature: sampling.temperature,
            response_mime_type: schema.map(|_| "application/json"),
            response_json_schema: schema.cloned(),
        },
    })
}

fn function_response(result: &super::super::conversation::ToolResult) -> Value {
    let key = if result.ok { "output" } else { "error" };
    let mut response = json!({"name": result.name, "response": {key: result.text}});
    if !result.id.is_empty() {
        response["id"] = result.id.as_str().into();
    }
    json!({"functionResponse": response})
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiResponse<'a> {
    #[serde(borrow, default)]
    candidates: Vec<GeminiCandidate<'a>>,
    prompt_feedback: Option<GeminiPromptFeedback>,
    #[serde(default)]
    usage_metadata: GeminiUsage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPromptFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate<'a> {
    #[serde(borrow)]
    content: Option<GeminiReplyContent<'a>>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct GeminiReplyContent<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thought: bool,
    #[serde(borrow)]
    function_call: Option<GeminiFunctionCall<'a>>,
}

#[derive(Deserialize)]
struct GeminiFunctionCall<'a> {
    #[serde(default)]
    id: String,
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GeminiUsage {
    #[serde(rename = "promptTokenCount")]
    prompt: u64,
    #[serde(rename = "candidatesTokenCount")]
    candidates: u64,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: u64,
    #[serde(rename = "cachedContentTokenCount")]
    cached: u64,
}

pub(super) fn read_reply(body: &str) -> Result<ModelReply, serde_json::Error> {
    let answer: GeminiResponse<'_> = serde_json::from_str(body)?;
    let blocked = answer.prompt_feedback.and_then(|told| told.block_reason);
    if answer.candidates.is_empty() && blocked.is_none() {
        return Err(serde::de::Error::custom("it has no `candidates`"));
    }
    let candidate = answer.candidates.into_iter().next();
    let (content, reason, message) = candidate.map_or((None, None, None), |candidate| {
        (
            candidate.content,
            candidate.finish_reason,
            candidate.finish_message,
        )
    });
    let parts = content
        .and_then(|content| content.parts)
        .unwrap_or_default();
    let mut text = String::new();
    let mut calls = Vec::new();
    for raw in &parts {
        let part: GeminiPart<'_> = serde_json::from_str(raw.get())?;
        if let Some(call) = part.function_call {
            calls.push(ToolCall {
                id: call.id,
                name: call.name,
                input: call.args.map_or("{}", RawValue::get).to_owned(),
            });
        } else if !part.thought {
            text.push_str(&part.text);
        }
    }
    let stop = match blocked {
        Some(reason) => StopReason::Refused(format!("the prompt was blocked: {reason}")),
        None => stop_reason(reason.as_deref(), message.as_deref()),
    };
    let tokens = answer.usage_metadata;
    let echo = if parts.is_empty() {
        None
    } else {
        Some(to_raw_value(&parts)?)
    };
    Ok(ModelReply {
        text,
        calls,
        stop,
        usage: TokenUsage {
            input: tokens.prompt,
            output: tokens.candidates + tokens.thoughts,
            cached: tokens.cached,
        },
        echo,
        was_shown: false,
    })
}

fn stop_reason(reason: Option<&str>, message: Option<&str>) -> StopReason {
    match reason {
        Some("MAX_TOKENS") => StopReason::Cut,
        Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") => StopReason::Malformed,
        Some(
            reason @ ("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "LANGUAGE"),
        ) => {
            let told = message.map(|message| format!(": {message}"));
            StopReason::Refused(format!("{reason}{}", told.unwrap_or_default()))
        }
        _ => StopReason::Done,
    }
}

/// A reply that arrives in pieces.
#[derive(Default)]
pub(super) struct GeminiStream {
    parts: Vec<StreamedPart>,
    finish_reason: Value,
    finish_message: Value,
    feedback: Value,
    usage: Value,
    /// An event that reports an error, as it came.
    error: Option<String>,
}

/// A part of a reply. Texts that follow each other are one part.
enum StreamedPart {
    Text { text: String, thought: bool },
    Other(Box<RawValue>),
}

/// One event: a reply of its own form that holds only what is new.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiEvent<'a> {
    #[serde(borrow, default)]
    candidates: Vec<GeminiEventCandidate<'a>>,
    #[serde(default)]
    prompt_feedback: Value,
    #[serde(default)]
    usage_metadata: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiEventCandidate<'a> {
    #[serde(borrow)]
    content: Option<GeminiReplyContent<'a>>,
    #[serde(default)]
    finish_reason: Value,
    #[serde(default)]
    finish_message: Value,
}

impl GeminiStream {
    pub(super) fn add(&mut self, data: &str) -> Result<String, serde_json::Error> {
        if is_error(data) {
            self.error = Some(data.to_owned());
            return Ok(String::new());
        }
        let event: GeminiEvent<'_> = serde_json::from_str(data)?;
        for (known, new) in [
            (&mut self.feedback, event.prompt_feedback),
            (&mut self.usage, event.usage_metadata),
        ] {
            if !new.is_null() {
                *known = new;
            }
        }
        let mut shown = String::new();
        let Some(candidate) = event.candidates.into_iter().next() else {
            return Ok(shown);
        };
        for (known, new) in [
            (&mut self.finish_reason, candidate.finish_reason),
            (&mut self.finish_message, candidate.finish_message),
        ] {
            if !new.is_null() {
                *known = new;
            }
        }
        let parts = candidate.content.and_then(|content| content.parts);
        for raw in parts.into_iter().flatten() {
            shown.push_str(&self.add_part(raw)?);
        }
        Ok(shown)
    }

    /// Adds a part, and returns its text if it belongs to the message.
    fn add_part(&mut self, raw: &RawValue) -> Result<String, serde_json::Error> {
        let part: serde_json::Map<String, Value> = serde_json::from_str(raw.get())?;
        let is_thought = part.get("thought") == Some(&Value::Bool(true));
        let is_text = part.keys().all(|key| key == "text" || key == "thought");
        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
        match self.parts.last_mut() {
            Some(StreamedPart::Text {
                text: known,
                thought,
            }) if is_text && *thought == is_thought => known.push_str(text),
            _ if is_text => self.parts.push(StreamedPart::Text {
                text: text.to_owned(),
                thought: is_thought,
            }),
            _ => self.parts.push(StreamedPart::Other(raw.to_owned())),
        }
        Ok(if is_thought {
            String::new()
        } else {
            text.to_owned()
        })
    }

    pub(super) fn finish(self) -> Option<String> {
        if self.error.is_some() {
            return self.error;
        }
        if self.finish_reason.is_null() && self.feedback.is_null() {
            return None;
        }
        let parts = self.parts.iter().map(|part| match part {
            StreamedPart::Text {
                text,
                thought: true,
            } => json!({"text": text, "thought": true}).to_string(),
            StreamedPart::Text { text, .. } => json!({ "text": text }).to_string(),
            StreamedPart::Other(raw) => raw.get().to_owned(),
        });
        let parts: Vec<String> = parts.collect();
        let mut rest = serde_json::Map::new();
        for (name, value) in [
            ("promptFeedback", self.feedback),
            ("usageMetadata", self.usage),
        ] {
            if !value.is_null() {
                rest.insert(name.to_owned(), value);
            }
        }
        let rest = Value::Object(rest).to_string();
        let rest = rest.trim_start_matches('{');
        let comma = if rest == "}" { "" } else { "," };
        Some(format!(
            r#"{{"candidates":[{{"content":{{"parts":[{}]}},"finishReason":{},"finishMessage":{}}}]{comma}{rest}"#,
            parts.join(","),
            self.finish_reason,
            self.finish_message,
        ))
    }
}
