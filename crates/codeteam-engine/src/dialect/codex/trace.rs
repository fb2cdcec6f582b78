//! What Codex's stream says about how it worked.

use codeteam_report::view::TraceStepKind;
use serde_json::Value;

use crate::dialect::SUBMIT_SERVER;
use crate::dialect::trace_builder::{TraceBuilder, content_text, input_text};

pub(super) fn trace_event(event: &Value, trace: &mut TraceBuilder) {
    match event["type"].as_str() {
        // What is only started has no result yet, and comes again when it is completed.
        Some("item.completed") => trace_item(&event["item"], trace),
        Some("error") => trace.add(TraceStepKind::Error, &content_text(&event["message"])),
        Some("turn.failed") => {
            trace.add(
                TraceStepKind::Error,
                &content_text(&event["error"]["message"]),
            );
        }
        _ => {}
    }
}

fn trace_item(item: &Value, trace: &mut TraceBuilder) {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let failed = text("status") == "failed";
    match text("type") {
        "agent_message" => trace.add(TraceStepKind::Message, text("text")),
        "reasoning" => trace.add(TraceStepKind::Thought, text("text")),
        "command_execution" => {
            trace.add_call("", "run", text("command"));
            trace.add_result_of("run", text("aggregated_output"), failed);
        }
        "mcp_tool_call" if text("server") == SUBMIT_SERVER && text("tool") == "submit" => {}
        "mcp_tool_call" => {
            let tool = format!("{}/{}", text("server"), text("tool"));
            trace.add_call("", &tool, &input_text(&item["arguments"]));
            let output = match &item["error"] {
                Value::Null => content_text(&item["result"]["content"]),
                error => content_text(&error["message"]),
            };
            trace.add_result_of(&tool, &output, failed);
        }
        "file_change" => {
            let changes = item["changes"].as_array();
            for change in changes.into_iter().flatten() {
                let path = change["path"].as_str().unwrap_or_default();
                let kind = change["kind"].as_str().unwrap_or("change");
                trace.add(TraceStepKind::File, &format!("{kind} {path}"));
            }
            if failed {
                trace.add(TraceStepKind::Error, "its patch was refused");
            }
        }
        "web_search" => trace.add_call("", "web", text("query")),
        "error" => trace.add(TraceStepKind::Note, text("message")),
        _ => {}
    }
}
