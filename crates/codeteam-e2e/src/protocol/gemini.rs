//! Gemini's `generateContent`.

use serde_json::{Value, json};

use super::{ServerSentEvent, as_list, text_of};
use crate::answer::{ModelAnswer, split_in_half};
use crate::model_request::{MessagePart, ModelRequest, OfferedTool, Speaker, ToolKind};

pub(super) fn read(body: &Value) -> ModelRequest {
    let mut asked = ModelRequest::default();
    let system = either(body, "systemInstruction", "system_instruction");
    for part in as_list(&system["parts"]) {
        asked.push_system(&text_of(&part["text"]));
    }
    for content in as_list(&body["contents"]) {
        let side = match content["role"].as_str() {
            Some("model") => Speaker::Assistant,
            _ => Speaker::User,
        };
        for part in as_list(&content["parts"]) {
            read_part(&mut asked, side, part);
        }
    }
    for group in as_list(&body["tools"]) {
        let declared = either(group, "functionDeclarations", "function_declarations");
        asked.tools.extend(as_list(declared).iter().map(read_tool));
    }
    let config = either(body, "generationConfig", "generation_config");
    asked.schema = ["responseJsonSchema", "responseSchema", "response_schema"]
        .into_iter()
        .map(|key| &config[key])
        .find(|schema| schema.is_object())
        .cloned();
    asked
}

fn either<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a Value {
    match &value[camel] {
        Value::Null => &value[snake],
        found => found,
    }
}

fn read_part(asked: &mut ModelRequest, side: Speaker, part: &Value) {
    let call = either(part, "functionCall", "function_call");
    let result = either(part, "functionResponse", "function_response");
    if call.is_object() {
        asked.push(side, MessagePart::Call(text_of(&call["name"])));
    } else if result.is_object() {
        let response = &result["response"];
        let text = [&response["output"], &response["error"]]
            .into_iter()
            .find_map(Value::as_str)
            .map_or_else(|| response.to_string(), str::to_owned);
        asked.push(side, MessagePart::Result(text));
    } else if let Some(text) = part["text"].as_str() {
        asked.push(side, MessagePart::Text(text.to_owned()));
    }
}

fn read_tool(tool: &Value) -> OfferedTool {
    OfferedTool {
        name: text_of(&tool["name"]),
        namespace: None,
        kind: ToolKind::Function,
        description: text_of(&tool["description"]),
        schema: either(tool, "parametersJsonSchema", "parameters").clone(),
    }
}

fn usage(answer: &ModelAnswer) -> Value {
    let usage = &answer.usage;
    let prompt = usage.input + usage.cached + usage.cache_write;
    json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": prompt + usage.output + usage.reasoning,
    })
}

fn chunk(answer: &ModelAnswer, parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0});
    if !answer.refused {
        candidate["content"] = json!({"role": "model", "parts": parts});
    }
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    if answer.refused {
        candidate["safetyRatings"] = json!([{"category": "HARM_CATEGORY_DANGEROUS_CONTENT",
                                             "probability": "HIGH", "blocked": true}]);
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(answer),
        "modelVersion": answer.model,
        "responseId": answer.id("resp"),
    })
}

fn finish(answer: &ModelAnswer) -> &'static str {
    if answer.refused { "SAFETY" } else { "STOP" }
}

fn calls(answer: &ModelAnswer) -> Vec<Value> {
    let calls = answer.calls.iter().enumerate();
    calls
        .map(|(index, call)| {
            json!({"functionCall": {"id": answer.call_id("call", index), "name": call.name,
                                    "args": call.input.to_json()}})
        })
        .collect()
}

pub(super) fn whole(answer: &ModelAnswer) -> Value {
    let text = answer.text.iter().map(|text| json!({"text": text}));
    let parts: Vec<Value> = text.chain(calls(answer)).collect();
    chunk(answer, &parts, Some(finish(answer)))
}

pub(super) fn frames(answer: &ModelAnswer) -> Vec<ServerSentEvent> {
    let mut pieces: Vec<Vec<Value>> = Vec::new();
    if !answer.refused {
        for piece in answer.text.iter().flat_map(|text| split_in_half(text)) {
            pieces.push(vec![json!({"text": piece})]);
        }
        let calls = calls(answer);
        if !calls.is_empty() {
            pieces.push(calls);
        }
    }
    let last = pieces.pop().unwrap_or_else(|| vec![json!({"text": ""})]);
    let mut frames: Vec<ServerSentEvent> = pieces
        .iter()
        .map(|parts| ServerSentEvent::unnamed_partial(&chunk(answer, parts, None)))
        .collect();
    frames.push(ServerSentEvent::unnamed(&chunk(
        answer,
        &last,
        Some(finish(answer)),
    )));
    frames
}
