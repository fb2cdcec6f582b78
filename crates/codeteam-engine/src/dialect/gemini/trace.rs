//! What the Gemini CLI's stream says about how it worked.

use codeteam_report::view::TraceStepKind;
use serde_json::Value;

use super::SUBMIT;
use crate::dialect::trace_builder::{TraceBuilder, input_text};

pub(super) fn trace_event(event: &Value, trace: &mut TraceBuilder) {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    match text("type") {
        "message" if text("role") == "assistant" => trace.add_message_part(text("content")),
        "tool_use" if text("tool_name") != SUBMIT => {
            let input = input_text(&event["parameters"]);
            trace.add_call(text("tool_id"), text("tool_name"), &input);
        }
        "tool_result" => {
            let failed = text("status") != "success";
            let error = event["error"]["message"].as_str();
            let output = error.filter(|_| failed).unwrap_or(text("output"));
            trace.add_result(text("tool_id"), output, failed);
        }
        "error" | "result" => {
            let error = event["error"]["message"].as_str();
            trace.add(
                TraceStepKind::Error,
                error.unwrap_or_else(|| text("message")),
            );
        }
        _ => {}
    }
}
