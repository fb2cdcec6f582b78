//! Anthropic Messages.

use serde_json::{Value, json};

use super::{ServerSentEvent, as_list, result_text, text_of, texts_of};
use crate::answer::{ModelAnswer, ToolCall, split_in_half};
use crate::model_request::{MessagePart, ModelRequest, OfferedTool, Speaker, ToolKind};

pub(super) fn read(body: &Value) -> ModelRequest {
    let mut asked = ModelRequest::default();
    for text in texts_of(&body["system"]) {
        asked.push_system(&text);
    }
    for message in as_list(&body["messages"]) {
        match message["role"].as_str() {
            Some("assistant") => read_content(&mut asked, Speaker::Assistant, &message["content"]),
            Some("system") => {
                for text in texts_of(&message["content"]) {
                    asked.push_system(&text);
                }
            }
            _ => read_content(&mut asked, Speaker::User, &message["content"]),
        }
    }
    asked.tools = as_list(&body["tools"])
        .iter()
        .map(|tool| OfferedTool {
            name: text_of(&tool["name"]),
            namespace: None,
            kind: ToolKind::Function,
            description: text_of(&tool["description"]),
            schema: tool["input_schema"].clone(),
        })
        .collect();
    asked.schema = [
        &body["output_config"]["format"]["schema"],
        &body["output_format"]["schema"],
    ]
    .into_iter()
    .find(|schema| schema.is_object())
    .cloned();
    asked
}

fn read_content(asked: &mut ModelRequest, side: Speaker, content: &Value) {
    if let Value::String(text) = content {
        asked.push(side, MessagePart::Text(text.clone()));
    }
    for block in as_list(content) {
        match block["type"].as_str() {
            Some("text") => asked.push(side, MessagePart::Text(text_of(&block["text"]))),
            Some("tool_use") => asked.push(side, MessagePart::Call(text_of(&block["name"]))),
            Some("tool_result") => {
                asked.push(side, MessagePart::Result(result_text(&block["content"])));
            }
            _ => {}
        }
    }
}

fn usage(answer: &ModelAnswer, output: u64) -> Value {
    let usage = &answer.usage;
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": output,
        "service_tier": "standard",
    })
}

fn stop_reason(answer: &ModelAnswer) -> &'static str {
    if answer.refused {
        "refusal"
    } else if answer.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    }
}

fn tool_use(answer: &ModelAnswer, index: usize, call: &ToolCall, input: &Value) -> Value {
    json!({"type": "tool_use", "id": answer.call_id("toolu", index), "name": call.name,
           "input": input})
}

fn message(answer: &ModelAnswer, content: &[Value], stop: Option<&str>, output: u64) -> Value {
    json!({
        "id": answer.id("msg"),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage(answer, output),
    })
}

pub(super) fn whole(answer: &ModelAnswer) -> Value {
    let mut content = Vec::new();
    if let Some(text) = &answer.text {
        content.push(json!({"type": "text", "text": text}));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        content.push(tool_use(answer, index, call, &call.input.to_json()));
    }
    message(
        answer,
        &content,
        Some(stop_reason(answer)),
        answer.usage.output,
    )
}

pub(super) fn frames(answer: &ModelAnswer) -> Vec<ServerSentEvent> {
    let mut events = vec![
        json!({"type": "message_start", "message": message(answer, &[], None, 1)}),
        json!({"type": "ping"}),
    ];
    let mut index = 0;
    let mut block =
        |start: Value, deltas: Vec<Value>| {
            events.push(json!({"type": "content_block_start", "index": index,
                           "content_block": start}));
            events.extend(deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
            events.push(json!({"type": "content_block_stop", "index": index}));
            index += 1;
        };
    if let Some(text) = &answer.text {
        let deltas = split_in_half(text)
            .into_iter()
            .map(|piece| json!({"type": "text_delta", "text": piece}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for (number, call) in answer.calls.iter().enumerate() {
        let input = call.input.to_text();
        let deltas = split_in_half(&input)
            .into_iter()
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        let deltas = deltas.collect();
        block(tool_use(answer, number, call, &json!({})), deltas);
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
        "usage": usage(answer, answer.usage.output),
    }));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(ServerSentEvent::typed).collect()
}
