//! What the worker itself says to the model, beside the assignment.

use std::fmt::Write as _;

use serde_json::Value;

use super::assignment::{BuiltinAssignment, EditMode};

/// The name of the tool that hands the answer in.
pub(super) const SUBMIT: &str = "submit";

pub(super) const SUBMIT_DESCRIPTION: &str = "Hands in your answer and ends your work. Call it \
    once, when everything is done and you have seen that it is. If you cannot go on, hand in \
    `blocked` with the reason instead.";

/// What is wrong with a text that is not an answer.
pub(super) fn reminder(mode: EditMode, objection: &str) -> String {
    match mode {
        EditMode::Tools => format!(
            "That is not an answer: {objection}. If you are done, call `{SUBMIT}` with your answer \
             now; if not, go on."
        ),
        EditMode::Edits => format!(
            "That is not an answer: {objection}. Answer with exactly one JSON object and nothing \
             else, neither before nor after it."
        ),
    }
}

pub(super) const CUT: &str = "Your message was cut off because it reached the limit of tokens. \
    Say less at once, and write long files in parts.";

pub(super) const MALFORMED: &str = "Your call of a tool could not be read. Call it again with \
    valid input.";

pub(super) const NOT_CARRIED_OUT: &str = "This call was not carried out: your message was cut off \
    in it because it reached the limit of tokens. Say less at once, and write long files in parts.";

pub(super) const TOO_LATE: &str = "This call was not carried out: it was your last turn.";

pub(super) const LAST_TURN: &str = "This is your last turn: call `submit` now, with what you have. \
    If the work is not done, say so in it.";

/// Who the model is and how it works.
pub(super) fn system(assignment: &BuiltinAssignment, turns: u32) -> String {
    let mut text = assignment.instructions.system.trim().to_owned();
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    match assignment.mode {
        EditMode::Tools => tools(&mut text, assignment.writable, turns),
        EditMode::Edits => edits(&mut text, &assignment.schema()),
    }
    if let Some(example) = &assignment.example {
        let _ = write!(text, "\n\nAn answer looks like this: {example}");
    }
    text
}

fn tools(text: &mut String, writable: bool, turns: u32) {
    let files = if writable {
        "You may change files in it."
    } else {
        "It is read-only for you."
    };
    let _ = write!(
        text,
        "You work in a directory, the work tree, with tools. Paths are relative to it. {files} \
         Before you call a tool, say in a sentence what you want to know or do. Look before you \
         change, and check after it. You have {turns} turns. When you are done, call `{SUBMIT}` \
         with your answer; nothing else counts as one. Say only what you have done and seen: all \
         of it is verified."
    );
}

fn edits(text: &mut String, schema: &Value) {
    let _ = write!(
        text,
        "You have no tools. Answer with exactly one JSON object and nothing else, neither before \
         nor after it. It must fit this JSON Schema: {schema}"
    );
}

/// What is wrong with an answer.
pub(super) fn problem(problem: &str) -> String {
    format!("Your answer does not fit: {problem}. Mend it and hand it in again, all of it.")
}
