//! Counts the turns in which Codex has called tools, by the items of its stream: it does not say so
//! itself.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dialect::fold_state::OPEN_MESSAGES;

/// The types of items that are no calls of tools.
const WORDS: &[&str] = &["agent_message", "reasoning", "todo_list", "plan", "error"];

/// The number of turns in which the model has called tools.
///
/// Tools that run at the same time are of one turn. Tools that run one after the other may be of one
/// turn, too, but nothing in the stream says so: each of them counts. Words are not counted, so a
/// worker that answers after its last turn is not ended.
#[derive(Debug, Default)]
pub(super) struct TurnCount {
    begun: u32,
    /// The tools that are running, by the ids of their items.
    running: BTreeSet<String>,
}

impl TurnCount {
    /// Returns how many turns with tools have begun.
    pub(super) fn begun(&self) -> u32 {
        self.begun
    }

    /// Records that an item has begun. Returns true if it is the call of a tool.
    pub(super) fn begin_item(&mut self, item: &Value) -> bool {
        let is_call = is_call(item);
        if is_call {
            self.begin_call();
            self.running.insert(id_of(item).to_owned());
            if self.running.len() > OPEN_MESSAGES {
                self.running.pop_first();
            }
        }
        is_call
    }

    /// Records that an item is complete. Some are reported only then.
    pub(super) fn end_item(&mut self, item: &Value) {
        if is_call(item) && !self.running.remove(id_of(item)) {
            self.begin_call();
        }
    }

    fn begin_call(&mut self) {
        if self.running.is_empty() {
            self.begun = self.begun.saturating_add(1);
        }
    }
}

fn is_call(item: &Value) -> bool {
    !WORDS.iter().any(|word| item["type"] == *word)
}

fn id_of(item: &Value) -> &str {
    item["id"].as_str().unwrap_or_default()
}
