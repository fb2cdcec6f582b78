//! The planner: a plan before anything is done.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::talk::brief;

/// How many steps of a plan are taken seriously.
const STEPS: usize = 50;

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PlanStep {
    /// Why.
    #[serde(default)]
    pub(super) thought: String,
    /// What: a tool, or some words.
    #[serde(default)]
    pub(super) action: String,
    /// With which input, if that is known already.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) input: Value,
}

#[derive(Deserialize)]
struct ModelPlan {
    steps: Vec<PlanStep>,
}

/// What the planner is asked.
pub(super) fn question<'a>(
    prompt: &str,
    tools: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut text = format!(
        "{prompt}\n\n---\n\nDo nothing of this yet; first make a plan. Answer with one JSON object \
         and nothing else: {{\"steps\": [{{\"thought\": \"why\", \"action\": \"the tool, or what \
         to do\", \"input\": {{}}}}]}}. Take as few steps as are needed. The tools you will have:\n"
    );
    for (name, description) in tools {
        let _ = writeln!(text, "- {name}: {description}");
    }
    text
}

/// The plan in a reply. A model that does not answer in JSON still has a plan:
/// its lines.
pub(super) fn read(reply: &str) -> Vec<PlanStep> {
    let found = super::answer::find(reply)
        .and_then(|raw| serde_json::from_str::<ModelPlan>(raw.get()).ok())
        .map(|plan| plan.steps);
    let mut steps = found.unwrap_or_else(|| reply.lines().filter_map(line).collect());
    steps.truncate(STEPS);
    steps
}

fn line(text: &str) -> Option<PlanStep> {
    let text = text.trim().trim_start_matches(['-', '*', '#']).trim();
    (!text.is_empty()).then(|| PlanStep {
        thought: String::new(),
        action: brief(text),
        input: Value::Null,
    })
}

/// What the executor is told: the assignment and the plan for it.
pub(super) fn with_plan(prompt: &str, steps: &[PlanStep]) -> String {
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
    text.push_str("Leave it where what you find asks for something else.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_from_json_or_from_lines() {
        let json = "```json\n{\"steps\":[{\"thought\":\"see it\",\"action\":\"read_file\",\
                    \"input\":{\"path\":\"a\"}},{\"action\":\"done\"}]}\n```";
        let steps = read(json);
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].input["path"], "a");
        let text = with_plan("Do it.", &steps);
        assert!(text.contains("1. read_file (see it) {\"path\":\"a\"}\n2. done\n"));

        let steps = read("# Plan\n\n- look\n- change\n");
        let actions: Vec<_> = steps.iter().map(|step| step.action.as_str()).collect();
        assert_eq!(actions, ["Plan", "look", "change"]);
        assert!(read("").is_empty());
    }
}
