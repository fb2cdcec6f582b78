//! What codeteam's own workers say about how they worked.

use codeteam_report::view::TraceStepKind;
use serde_json::Value;

use crate::dialect::trace_builder::TraceBuilder;

pub(in crate::dialect) fn trace_event(event: &Value, trace: &mut TraceBuilder) {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    match text("type") {
        "text" => trace.add(TraceStepKind::Message, text("text")),
        "tool" => trace.add_call("", text("name"), text("detail")),
        "tool_result" => {
            let failed = event["ok"] == Value::Bool(false);
            trace.add_result_of(text("name"), text("detail"), failed);
        }
        "file" => trace.add(TraceStepKind::File, text("path")),
        "error" | "rate_limit" => trace.add(TraceStepKind::Error, text("message")),
        "trace" => match text("part") {
            "planner" => trace.add(TraceStepKind::Plan, &plan_text(&event["steps"])),
            "executor" => trace.add(TraceStepKind::Thought, text("thought")),
            "quality" => trace.add(TraceStepKind::Note, &quality_text(event)),
            _ => {}
        },
        _ => {}
    }
}

/// Returns the steps of a plan, one below the other.
fn plan_text(steps: &Value) -> String {
    let steps = steps.as_array().into_iter().flatten().enumerate();
    let lines = steps.map(|(at, step)| {
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let (number, action, thought) = (at + 1, text("action"), text("thought"));
        let input = match &step["input"] {
            Value::Null => String::new(),
            input => format!(" {input}"),
        };
        format!("{number}. {action}{input}: {thought}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the figures about the work as a whole in a line.
fn quality_text(event: &Value) -> String {
    let number = |name: &str| event[name].as_u64().unwrap_or_default();
    let score = match event["score"].as_u64() {
        Some(score) => format!("; its own score: {score} of 100"),
        None => String::new(),
    };
    format!(
        "{} iterations, {} tool calls, {} of them failed, {} answers sent back{score}",
        number("iterations"),
        number("tool_calls"),
        number("tool_errors"),
        number("mended")
    )
}
