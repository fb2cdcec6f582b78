//! The optional planner: the model makes a plan before it does anything.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation::short_first_line;

/// The most steps of a plan that are used; the rest is dropped.
const STEPS: usize = 50;

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PlanStep {
    #[serde(default)]
    pub(super) thought: String,
    /// The name of a tool, or what to do in words.
    #[serde(default)]
    pub(super) action: String,
    /// The tool's input, if that is known already.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) input: Value,
}

#[derive(Deserialize)]
struct ModelPlan {
    steps: Vec<PlanStep>,
}

/// Returns the prompt that asks for a plan.
pub(super) fn planner_prompt<'a>(
    prompt: &str,
    tools: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut text = format!(
        "{prompt}\n\n---\n\nDo none of this yet; first make a plan. Answer with one JSON object \
         and nothing else: {{\"steps\": [{{\"thought\": \"why\", \"action\": \"the tool, or what \
         to do\", \"input\": {{}}}}]}}. Use as few steps as possible. The tools you will have:\n"
    );
    for (name, description) in tools {
        let _ = writeln!(text, "- {name}: {description}");
    }
    text
}

/// Parses the plan in a reply. If the reply is not JSON, each of its lines is a step.
pub(super) fn parse_plan(reply: &str) -> Vec<PlanStep> {
    let found = super::answer::extract_answer(reply)
        .and_then(|raw| serde_json::from_str::<ModelPlan>(raw.get()).ok())
        .map(|plan| plan.steps);
    let mut steps = found.unwrap_or_else(|| reply.lines().filter_map(parse_plan_line).collect());
    steps.truncate(STEPS);
    steps
}

fn parse_plan_line(text: &str) -> Option<PlanStep> {
    let text = text.trim().trim_start_matches(['-', '*', '#']).trim();
    (!text.is_empty()).then(|| PlanStep {
        thought: String::new(),
        action: short_first_line(text),
        input: Value::Null,
    })
}

/// Returns the executor's prompt: the assignment and the plan for it.
pub(super) fn prompt_with_plan(prompt: &str, steps: &[PlanStep]) -> String {
    let mut text = format!("{prompt}\n\n---\n\nThe plan you made for this:\n");
    for (step, number) in steps.iter().zip(1..) {
        let _ = write!(text, "{number}. {}", step.action);
        if !step.thought.is_empty() {
            let _ = write!(text, " ({})", step.thought);
        }
        if !step.input.is_null() && step.input != serde_json::json!({}) {
            let _ = write!(text, " {}", step.input);
        }
        text.push('\n');
    }
    text.push_str("Depart from it where what you find calls for something else.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_from_json_or_from_lines() {
        let json = "```json\n{\"steps\":[{\"thought\":\"see it\",\"action\":\"read_file\",\
                    \"input\":{\"path\":\"a\"}},{\"action\":\"done\"}]}\n```";
        let steps = parse_plan(json);
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].input["path"], "a");
        let text = prompt_with_plan("Do it.", &steps);
        assert!(text.contains("1. read_file (see it) {\"path\":\"a\"}\n2. done\n"));

        let steps = parse_plan("# Plan\n\n- look\n- change\n");
        let actions: Vec<_> = steps.iter().map(|step| step.action.as_str()).collect();
        assert_eq!(actions, ["Plan", "look", "change"]);
        assert!(parse_plan("").is_empty());
    }
}
