//! `OpenAI` Responses, as the API has it and as codex uses it.

use serde_json::{Value, json};

use super::{ServerSentEvent, as_list, result_text, text_of, texts_of};
use crate::answer::{ModelAnswer, ToolCall, ToolInput, split_in_half};
use crate::model_request::{MessagePart, ModelRequest, OfferedTool, Speaker, ToolKind};

pub(super) fn read(body: &Value) -> ModelRequest {
    let mut asked = ModelRequest::default();
    for text in texts_of(&body["instructions"]) {
        asked.push_system(&text);
    }
    if let Value::String(text) = &body["input"] {
        asked.push(Speaker::User, MessagePart::Text(text.clone()));
    }
    for item in as_list(&body["input"]) {
        read_item(&mut asked, item);
    }
    read_tools(&mut asked.tools, &body["tools"], None);
    let format = &body["text"]["format"];
    if format["type"] == "json_schema" {
        asked.schema = Some(format["schema"].clone());
    }
    asked
}

fn read_item(asked: &mut ModelRequest, item: &Value) {
    match item["type"].as_str() {
        None | Some("message") => {
            for text in texts_of(&item["content"]) {
                match item["role"].as_str() {
                    Some("assistant") => asked.push(Speaker::Assistant, MessagePart::Text(text)),
                    Some("system" | "developer") => asked.push_system(&text),
                    _ => asked.push(Speaker::User, MessagePart::Text(text)),
                }
            }
        }
        Some("additional_tools") => read_tools(&mut asked.tools, &item["tools"], None),
        Some("reasoning") => {}
        Some("tool_search_call") => {
            asked.push(
                Speaker::Assistant,
                MessagePart::Call(ModelRequest::SEARCH.to_owned()),
            );
        }
        Some("tool_search_output") => {
            read_tools(&mut asked.tools, &item["tools"], None);
            asked.push(
                Speaker::User,
                MessagePart::Result(item["tools"].to_string()),
            );
        }
        Some(kind) if kind.ends_with("_output") => {
            asked.push(
                Speaker::User,
                MessagePart::Result(result_text(&item["output"])),
            );
        }
        Some(kind) if kind.ends_with("_call") => {
            let name = item["name"].as_str().unwrap_or(kind).to_owned();
            asked.push(Speaker::Assistant, MessagePart::Call(name));
        }
        Some(_) => {}
    }
}

/// Reads tools, which are in the list itself or in namespaces; codex's `functions` does not count
/// as one.
fn read_tools(tools: &mut Vec<OfferedTool>, offered: &Value, namespace: Option<&str>) {
    for tool in as_list(offered) {
        let kind = match tool["type"].as_str() {
            Some("function") => ToolKind::Function,
            Some("custom") => ToolKind::Custom,
            Some("namespace") => {
                read_tools(tools, &tool["tools"], tool["name"].as_str());
                continue;
            }
            Some("tool_search") if tool["execution"] == "client" => ToolKind::Search,
            // The API's own tools (search, shell, …) have no name to call them by.
            _ => continue,
        };
        tools.push(OfferedTool {
            name: match kind {
                ToolKind::Search => ModelRequest::SEARCH.to_owned(),
                _ => text_of(&tool["name"]),
            },
            namespace: namespace.map(str::to_owned),
            kind,
            description: text_of(&tool["description"]),
            schema: tool["parameters"].clone(),
        });
    }
}

fn usage(answer: &ModelAnswer) -> Value {
    let usage = &answer.usage;
    let input = usage.input + usage.cached + usage.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input + usage.output,
    })
}

fn part(answer: &ModelAnswer, text: &str) -> Value {
    if answer.refused {
        json!({"type": "refusal", "refusal": text})
    } else {
        json!({"type": "output_text", "text": text, "annotations": []})
    }
}

fn message(answer: &ModelAnswer, content: &[Value], status: &str) -> Value {
    json!({"type": "message", "id": answer.id("msg"), "status": status, "role": "assistant",
           "content": content})
}

fn call_item(
    answer: &ModelAnswer,
    index: usize,
    call: &ToolCall,
    input: &str,
    status: &str,
) -> Value {
    let (kind, field, prefix) = match call.input {
        ToolInput::Text(_) => ("custom_tool_call", "input", "ctc"),
        _ => ("function_call", "arguments", "fc"),
    };
    if call.name == ModelRequest::SEARCH {
        return json!({"type": "tool_search_call", "id": answer.call_id("tsc", index),
                      "call_id": answer.call_id("call", index), "execution": "client",
                      "status": status, "arguments": call.input.to_json()});
    }
    let mut item = json!({
        "type": kind,
        "id": answer.call_id(prefix, index),
        "status": status,
        "call_id": answer.call_id("call", index),
        "name": call.name,
    });
    item[field] = json!(input);
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn items(answer: &ModelAnswer) -> Vec<Value> {
    let text = answer.text.as_deref();
    let message = text.map(|text| message(answer, &[part(answer, text)], "completed"));
    let calls = answer.calls.iter().enumerate();
    let calls = calls
        .map(|(index, call)| call_item(answer, index, call, &call.input.to_text(), "completed"));
    message.into_iter().chain(calls).collect()
}

pub(super) fn whole(answer: &ModelAnswer, status: &str) -> Value {
    let done = status == "completed";
    json!({
        "id": answer.id("resp"),
        "object": "response",
        "created_at": 1_750_000_000,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": answer.model,
        "output": if done { items(answer) } else { Vec::new() },
        "parallel_tool_calls": true,
        "usage": if done { usage(answer) } else { Value::Null },
    })
}

pub(super) fn frames(answer: &ModelAnswer) -> Vec<ServerSentEvent> {
    let mut events = vec![
        json!({"type": "response.created", "response": whole(answer, "in_progress")}),
        json!({"type": "response.in_progress", "response": whole(answer, "in_progress")}),
    ];
    let mut output = 0;
    if let Some(text) = &answer.text {
        message_events(&mut events, answer, text);
        output += 1;
    }
    for (index, call) in answer.calls.iter().enumerate() {
        call_events(&mut events, answer, index, call, output + index);
    }
    events.push(json!({"type": "response.completed", "response": whole(answer, "completed")}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events.iter().map(ServerSentEvent::typed).collect()
}

fn message_events(events: &mut Vec<Value>, answer: &ModelAnswer, text: &str) {
    let id = answer.id("msg");
    let (kind, field) = if answer.refused {
        ("response.refusal", "refusal")
    } else {
        ("response.output_text", "text")
    };
    let at = |mut event: Value| {
        event["item_id"] = json!(id);
        event["output_index"] = json!(0);
        event["content_index"] = json!(0);
        event
    };
    events.push(
        json!({"type": "response.output_item.added", "output_index": 0,
                       "item": message(answer, &[], "in_progress")}),
    );
    events.push(at(
        json!({"type": "response.content_part.added", "part": part(answer, "")}),
    ));
    for piece in split_in_half(text) {
        events.push(at(json!({"type": format!("{kind}.delta"), "delta": piece})));
    }
    let mut done = at(json!({"type": format!("{kind}.done")}));
    done[field] = json!(text);
    events.push(done);
    events.push(at(
        json!({"type": "response.content_part.done", "part": part(answer, text)}),
    ));
    events.push(
        json!({"type": "response.output_item.done", "output_index": 0,
                       "item": message(answer, &[part(answer, text)], "completed")}),
    );
}

fn call_events(
    events: &mut Vec<Value>,
    answer: &ModelAnswer,
    index: usize,
    call: &ToolCall,
    output: usize,
) {
    let input = call.input.to_text();
    let (kind, field, prefix) = match call.input {
        ToolInput::Text(_) => ("response.custom_tool_call_input", "input", "ctc"),
        _ => ("response.function_call_arguments", "arguments", "fc"),
    };
    let id = answer.call_id(prefix, index);
    events.push(
        json!({"type": "response.output_item.added", "output_index": output,
                       "item": call_item(answer, index, call, "", "in_progress")}),
    );
    let done = json!({"type": "response.output_item.done", "output_index": output,
                      "item": call_item(answer, index, call, &input, "completed")});
    if call.name == ModelRequest::SEARCH {
        events.push(done);
        return;
    }
    for piece in split_in_half(&input) {
        events.push(json!({"type": format!("{kind}.delta"), "item_id": id,
                           "output_index": output, "delta": piece}));
    }
    let mut said = json!({"type": format!("{kind}.done"), "item_id": id, "output_index": output});
    said[field] = json!(input);
    events.push(said);
    events.push(done);
}
