//! The texts that the built-in worker adds to the assignment.

use std::fmt::Write as _;

use serde_json::Value;

use super::assignment::{BuiltinAssignment, EditMode};

/// The name of the tool that submits the answer.
pub(super) const SUBMIT: &str = "submit";

pub(super) const SUBMIT_DESCRIPTION: &str = "Submits your answer and ends your work. Call it \
    once, when everything is done and you have checked it. If you cannot continue, submit \
    `blocked` with the reason instead.";

/// Returns the reply to a message that is not an answer.
pub(super) fn reminder_prompt(mode: EditMode, objection: &str) -> String {
    match mode {
        EditMode::Tools => format!(
            "That is not an answer: {objection}. If you are done, call `{SUBMIT}` with your answer \
             now; if not, continue."
        ),
        EditMode::Edits => format!(
            "That is not an answer: {objection}. Answer with exactly one JSON object, and nothing \
             before or after it."
        ),
    }
}

pub(super) const CUT: &str = "Your message was cut off because it reached the token limit. \
    Write less at once, and write long files in parts.";

pub(super) const MALFORMED: &str = "Your tool call could not be parsed. Call the tool again with \
    valid input.";

pub(super) const NOT_CARRIED_OUT: &str = "This call was not carried out: your message reached the \
    token limit and was cut off in it. Write less at once, and write long files in parts.";

pub(super) const TOO_LATE: &str = "This call was not carried out: it was your last turn.";

pub(super) const LAST_TURN: &str = "This is your last turn: call `submit` now, with what you have. \
    If the work is not done, say so in it.";

/// Returns the system prompt: the role's own, and how to work and answer.
pub(super) fn system_prompt(assignment: &BuiltinAssignment, turns: u32) -> String {
    let mut text = assignment.instructions.system.trim().to_owned();
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    match assignment.mode {
        EditMode::Tools => push_tools_rules(&mut text, assignment.writable, turns),
        EditMode::Edits => push_edits_rules(&mut text, &assignment.answer_schema()),
    }
    if let Some(example) = &assignment.example {
        let _ = write!(text, "\n\nAn answer looks like this: {example}");
    }
    text
}

fn push_tools_rules(text: &mut String, writable: bool, turns: u32) {
    let files = if writable {
        "You may change files in it."
    } else {
        "It is read-only for you."
    };
    let _ = write!(
        text,
        "You work with tools in a directory, the work tree. Paths are relative to it. {files} \
         Before you call a tool, say in a sentence what you want to know or do. Look at a file \
         before you change it, and check the result afterwards. You have {turns} turns. When you \
         are done, call `{SUBMIT}` with your answer; no other text counts as one. Report only what \
         you have done and seen: all of it is verified."
    );
}

fn push_edits_rules(text: &mut String, schema: &Value) {
    let _ = write!(
        text,
        "You have no tools. Answer with exactly one JSON object, and nothing before or after it. \
         It must fit this JSON Schema: {schema}"
    );
}

/// Returns the reply to an answer that is not valid.
pub(super) fn problem_prompt(problem: &str) -> String {
    format!("Your answer is not valid: {problem}. Correct it and submit all of it again.")
}
