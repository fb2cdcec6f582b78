//! What Claude Code's stream says about how it worked.

use codeteam_report::view::TraceStepKind;
use serde_json::Value;

use super::{STRUCTURED, SUBMIT};
use crate::dialect::trace_builder::{TraceBuilder, content_text, input_text};

pub(super) fn trace_event(event: &Value, trace: &mut TraceBuilder) {
    let parts = event["message"]["content"].as_array();
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match event["type"].as_str() {
        Some("assistant") => parts.iter().for_each(|part| trace_part(part, trace)),
        Some("user") => {
            for part in parts {
                match part["type"].as_str() {
                    Some("tool_result") => {
                        let failed = part["is_error"] == Value::Bool(true);
                        let output = content_text(&part["content"]);
                        trace.add_result(&text(&part["tool_use_id"]), &output, failed);
                    }
                    Some("text") => trace.add(TraceStepKind::Note, &text(&part["text"])),
                    _ => {}
                }
            }
        }
        Some("system") if event["subtype"] == "api_retry" => {
            let why = content_text(&event["error"]);
            trace.add(
                TraceStepKind::Error,
                &format!("the API did not answer ({why})"),
            );
        }
        Some("result") if event["is_error"] == Value::Bool(true) => {
            trace.add(TraceStepKind::Error, &text(&event["result"]));
        }
        _ => {}
    }
}

fn trace_part(part: &Value, trace: &mut TraceBuilder) {
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    match text("type") {
        "text" => trace.add(TraceStepKind::Message, text("text")),
        "thinking" => trace.add(TraceStepKind::Thought, text("thinking")),
        "tool_use" if part["name"] != SUBMIT && part["name"] != STRUCTURED => {
            trace.add_call(text("id"), text("name"), &input_text(&part["input"]));
        }
        _ => {}
    }
}
