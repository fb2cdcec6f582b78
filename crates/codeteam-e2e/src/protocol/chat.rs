//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::{ServerSentEvent, as_list, result_text, text_of, texts_of};
use crate::answer::{ModelAnswer, ToolCall, ToolInput, split_in_half};
use crate::model_request::{MessagePart, ModelRequest, OfferedTool, Speaker, ToolKind};

pub(super) fn read(body: &Value) -> ModelRequest {
    let mut asked = ModelRequest::default();
    for message in as_list(&body["messages"]) {
        read_message(&mut asked, message);
    }
    asked.tools = as_list(&body["tools"]).iter().map(read_tool).collect();
    let format = &body["response_format"];
    if format["type"] == "json_schema" {
        asked.schema = Some(format["json_schema"]["schema"].clone());
    } else if format["type"] == "json_object" {
        asked.schema = Some(json!({"type": "object"}));
    }
    asked
}

fn read_message(asked: &mut ModelRequest, message: &Value) {
    let content = &message["content"];
    match message["role"].as_str() {
        Some("system" | "developer") => {
            for text in texts_of(content) {
                asked.push_system(&text);
            }
        }
        Some("assistant") => {
            for text in texts_of(content) {
                asked.push(Speaker::Assistant, MessagePart::Text(text));
            }
            for call in as_list(&message["tool_calls"]) {
                let name = [&call["function"]["name"], &call["custom"]["name"]]
                    .into_iter()
                    .find(|name| name.is_string());
                asked.push(
                    Speaker::Assistant,
                    MessagePart::Call(name.map(text_of).unwrap_or_default()),
                );
            }
        }
        Some("tool") => asked.push(Speaker::User, MessagePart::Result(result_text(content))),
        _ => {
            for text in texts_of(content) {
                asked.push(Speaker::User, MessagePart::Text(text));
            }
        }
    }
}

fn read_tool(tool: &Value) -> OfferedTool {
    let kind = match tool["type"].as_str() {
        Some("custom") => ToolKind::Custom,
        _ => ToolKind::Function,
    };
    let inner = match kind {
        ToolKind::Custom => &tool["custom"],
        _ => &tool["function"],
    };
    OfferedTool {
        name: text_of(&inner["name"]),
        namespace: None,
        kind,
        description: text_of(&inner["description"]),
        schema: inner["parameters"].clone(),
    }
}

fn usage(answer: &ModelAnswer) -> Value {
    let usage = &answer.usage;
    let input = usage.input + usage.cached + usage.cache_write;
    json!({
        "prompt_tokens": input,
        "completion_tokens": usage.output,
        "total_tokens": input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn finish(answer: &ModelAnswer) -> &'static str {
    if answer.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    }
}

fn tool_call(answer: &ModelAnswer, index: usize, call: &ToolCall, input: &str) -> Value {
    let id = answer.call_id("call", index);
    match call.input {
        ToolInput::Text(_) => {
            json!({"id": id, "type": "custom", "custom": {"name": call.name, "input": input}})
        }
        _ => json!({"id": id, "type": "function",
                    "function": {"name": call.name, "arguments": input}}),
    }
}

pub(super) fn whole(answer: &ModelAnswer) -> Value {
    let (content, refusal) = if answer.refused {
        (None, answer.text.as_deref())
    } else {
        (answer.text.as_deref(), None)
    };
    let mut message = json!({"role": "assistant", "content": content, "refusal": refusal});
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().enumerate();
        message["tool_calls"] = calls
            .map(|(index, call)| tool_call(answer, index, call, &call.input.to_text()))
            .collect();
    }
    json!({
        "id": answer.id("chatcmpl"),
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(answer)}],
        "usage": usage(answer),
    })
}

pub(super) fn frames(answer: &ModelAnswer, with_usage: bool) -> Vec<ServerSentEvent> {
    let chunk = |choices: Value| {
        json!({"id": answer.id("chatcmpl"), "object": "chat.completion.chunk",
               "created": 1_750_000_000, "model": answer.model, "choices": choices})
    };
    let choices = |delta: Value| json!([{"index": 0, "delta": delta, "finish_reason": null}]);
    let delta = |delta: Value| ServerSentEvent::unnamed_partial(&chunk(choices(delta)));
    let mut frames = vec![ServerSentEvent::unnamed(&chunk(choices(
        json!({"role": "assistant"}),
    )))];
    let field = if answer.refused { "refusal" } else { "content" };
    for piece in answer.text.iter().flat_map(|text| split_in_half(text)) {
        frames.push(delta(json!({field: piece})));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let mut start = tool_call(answer, index, call, "");
        start["index"] = json!(index);
        frames.push(delta(json!({"tool_calls": [start]})));
        let (kind, field) = match call.input {
            ToolInput::Text(_) => ("custom", "input"),
            _ => ("function", "arguments"),
        };
        for piece in split_in_half(&call.input.to_text()) {
            let piece = json!({"index": index, kind: {field: piece}});
            frames.push(delta(json!({"tool_calls": [piece]})));
        }
    }
    frames.push(ServerSentEvent::unnamed(&chunk(
        json!([{"index": 0, "delta": {}, "finish_reason": finish(answer)}]),
    )));
    if with_usage {
        let mut last = chunk(json!([]));
        last["usage"] = usage(answer);
        frames.push(ServerSentEvent::unnamed(&last));
    }
    frames.push(ServerSentEvent {
        event: None,
        data: "[DONE]".to_owned(),
        partial: false,
    });
    frames
}
