//! Collects what a worker said and did, for people who want to see how it got to its answer.

use std::collections::{BTreeMap, VecDeque};

use codeteam_report::view::{TraceStep, TraceStepKind};
use serde_json::Value;

use super::fold_state::drop_first;

/// The most bytes of one text that are collected before it is cut for showing.
const COLLECTED_BYTES: usize = 1 << 20;

/// The most steps of an attempt that are kept: the first and the last of them.
const FIRST_STEPS: usize = 100;
const LAST_STEPS: usize = 900;

/// The most calls without a result whose tools are remembered.
const OPEN_CALLS: usize = 10_000;

/// The steps of a worker, as its dialect finds them in the lines of its output.
///
/// A worker may say anything, as much as it likes and for as long as it likes, so a text is cut at
/// `text_bytes`, and of many steps those in the middle are dropped.
#[derive(Debug)]
pub struct TraceBuilder {
    first: Vec<TraceStep>,
    last: VecDeque<TraceStep>,
    left_out: usize,
    text_bytes: usize,
    /// A message that arrives in pieces.
    message: String,
    /// The tools of calls that have no result yet, by the ids of the calls.
    calls: BTreeMap<String, String>,
    /// Whether a plan may come: the worker was asked for one, and has not used a tool yet.
    expects_plan: bool,
}

impl TraceBuilder {
    /// Makes an empty trace whose texts have at most this many bytes.
    pub(crate) fn new(text_bytes: usize) -> Self {
        Self {
            first: Vec::new(),
            last: VecDeque::new(),
            left_out: 0,
            text_bytes,
            message: String::new(),
            calls: BTreeMap::new(),
            expects_plan: false,
        }
    }

    /// Takes the first message that begins as a plan does for the worker's plan, if it comes before
    /// the first call of a tool.
    pub(crate) fn expect_plan(&mut self) {
        self.expects_plan = true;
    }

    /// Adds a text, unless it is empty.
    pub(crate) fn add(&mut self, kind: TraceStepKind, text: &str) {
        self.add_step(kind, "", text, false);
    }

    /// Adds a piece of a message: it goes on until something else is added.
    pub(super) fn add_message_part(&mut self, text: &str) {
        if self.message.len() < COLLECTED_BYTES {
            self.message.push_str(text);
        }
    }

    /// Adds a call of a tool.
    pub(super) fn add_call(&mut self, id: &str, tool: &str, input: &str) {
        if !id.is_empty() {
            self.calls.insert(id.to_owned(), tool.to_owned());
            drop_first(&mut self.calls, OPEN_CALLS);
        }
        self.finish_message();
        self.push(TraceStepKind::Call, tool, input, false);
    }

    /// Adds the result of a call that has an id. Calls that were not added have no result either.
    pub(super) fn add_result(&mut self, id: &str, output: &str, failed: bool) {
        if let Some(tool) = self.calls.remove(id) {
            self.add_result_of(&tool, output, failed);
        }
    }

    /// Adds the result of a tool.
    pub(super) fn add_result_of(&mut self, tool: &str, output: &str, failed: bool) {
        self.finish_message();
        self.push(TraceStepKind::Result, tool, output, failed);
    }

    /// Returns the steps, and the number of those that are left out.
    pub(crate) fn finish(mut self) -> (Vec<TraceStep>, usize) {
        self.finish_message();
        self.first.extend(self.last);
        (self.first, self.left_out)
    }

    fn add_step(&mut self, kind: TraceStepKind, tool: &str, text: &str, failed: bool) {
        self.finish_message();
        if !text.trim().is_empty() {
            self.push(kind, tool, text, failed);
        }
    }

    fn finish_message(&mut self) {
        let message = std::mem::take(&mut self.message);
        if !message.trim().is_empty() {
            self.push(TraceStepKind::Message, "", &message, false);
        }
    }

    fn push(&mut self, kind: TraceStepKind, tool: &str, text: &str, failed: bool) {
        let is_plan = self.expects_plan && kind == TraceStepKind::Message && begins_as_plan(text);
        if is_plan || matches!(kind, TraceStepKind::Call | TraceStepKind::File) {
            self.expects_plan = false;
        }
        let kind = if is_plan { TraceStepKind::Plan } else { kind };
        let mut step = TraceStep::new(kind, tool, text.trim_end(), self.text_bytes);
        step.failed = failed;
        if self.first.len() < FIRST_STEPS {
            self.first.push(step);
            return;
        }
        self.last.push_back(step);
        if self.last.len() > LAST_STEPS {
            self.last.pop_front();
            self.left_out += 1;
        }
    }
}

/// Returns true if a message begins with the line that announces a plan, with or without markup.
fn begins_as_plan(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let words = line.trim_matches(|c: char| !c.is_alphanumeric());
    words.eq_ignore_ascii_case("plan")
}

/// Returns the input of a tool as text: the only argument as it is, several as JSON.
pub(super) fn input_text(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.len() == 1 => match fields.values().next() {
            Some(Value::String(text)) => text.clone(),
            _ => input.to_string(),
        },
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the text of what a tool returned: a text, or the texts of its parts.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part["text"].as_str() {
                Some(text) => text.to_owned(),
                None => format!("({})", part["type"].as_str().unwrap_or("something")),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_many_steps_and_the_end_of_long_texts_are_left_out() {
        let mut trace = TraceBuilder::new(4);
        for number in 0..2_000 {
            trace.add(TraceStepKind::Message, &format!("{number:04} äöü"));
        }
        let (steps, left_out) = trace.finish();
        assert_eq!((steps.len(), left_out), (1_000, 1_000));
        assert_eq!((&*steps[0].text, steps[0].cut_bytes), ("0000", 7));
        assert_eq!(steps[99].text, "0099");
        assert_eq!(steps[100].text, "1100");
        assert_eq!(steps[999].text, "1999");
    }

    #[test]
    fn the_message_before_the_first_call_is_the_plan_that_was_asked_for() {
        let kinds = |expects: bool, messages: &[&str]| {
            let mut trace = TraceBuilder::new(100);
            if expects {
                trace.expect_plan();
            }
            for (at, message) in messages.iter().enumerate() {
                trace.add(TraceStepKind::Message, message);
                trace.add_call(&at.to_string(), "read", "a.txt");
            }
            let (steps, _) = trace.finish();
            let kinds = steps.iter().map(|step| step.kind.as_str());
            kinds.collect::<Vec<_>>().join(" ")
        };
        let plan = "**Plan:**\n1. Look, to see what there is: read a.txt";
        assert_eq!(kinds(true, &[plan, plan]), "plan call message call");
        assert_eq!(kinds(true, &["## Plan\n1. Look"]), "plan call");
        assert_eq!(
            kinds(true, &["I look first.", plan]),
            "message call message call"
        );
        assert_eq!(kinds(false, &[plan]), "message call");
    }

    #[test]
    fn pieces_of_a_message_are_one_step() {
        let mut trace = TraceBuilder::new(100);
        trace.add_message_part("I look ");
        trace.add_message_part("around.");
        trace.add_call("1", "read", "a.txt");
        trace.add_result("1", "text", false);
        trace.add_result("unknown", "nothing asked for this", false);
        trace.add_message_part("Done.");
        let (steps, _) = trace.finish();
        let told: Vec<String> = steps
            .iter()
            .map(|step| format!("{} {} {}", step.kind.as_str(), step.tool, step.text))
            .collect();
        assert_eq!(
            told,
            [
                "message  I look around.",
                "call read a.txt",
                "result read text",
                "message  Done."
            ]
        );
    }
}
