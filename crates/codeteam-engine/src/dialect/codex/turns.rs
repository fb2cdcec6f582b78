//! Counts how often Codex has asked its model, by the items of its stream: it does not say so itself.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dialect::fold_state::OPEN_MESSAGES;

/// The types of items that are no calls of tools.
const WORDS: &[&str] = &["agent_message", "reasoning", "todo_list", "plan", "error"];

/// The number of times that the model was asked.
///
/// An answer of the model consists of words and calls of tools, which arrive as items one after the
/// other. The model is asked again when the results of all of these tools are there.
#[derive(Debug, Default)]
pub(super) struct TurnCount {
    asked: u32,
    /// Whether an answer has begun whose tools have not all ended.
    is_answering: bool,
    /// The tools that are running, by the ids of their items.
    running: BTreeSet<String>,
}

impl TurnCount {
    pub(super) fn asked(&self) -> u32 {
        self.asked
    }

    /// Records that an item has begun. Returns true if it is the call of a tool.
    pub(super) fn begin_item(&mut self, item: &Value) -> bool {
        let is_call = is_call(item);
        if is_call {
            self.begin_answer();
            self.running.insert(id_of(item).to_owned());
            if self.running.len() > OPEN_MESSAGES {
                self.running.pop_first();
            }
        }
        is_call
    }

    /// Records that an item is complete. Some are reported only then.
    pub(super) fn end_item(&mut self, item: &Value) {
        if is_call(item) {
            if !self.running.remove(id_of(item)) {
                self.begin_answer();
            }
            self.is_answering = !self.running.is_empty();
        } else if item["type"] != "error" {
            // An error is a remark of the CLI itself.
            self.begin_answer();
        }
    }

    fn begin_answer(&mut self) {
        if !self.is_answering {
            self.asked = self.asked.saturating_add(1);
            self.is_answering = true;
        }
    }
}

fn is_call(item: &Value) -> bool {
    !WORDS.iter().any(|word| item["type"] == *word)
}

fn id_of(item: &Value) -> &str {
    item["id"].as_str().unwrap_or_default()
}
