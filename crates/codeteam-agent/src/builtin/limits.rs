//! What the work may use up, and whether it gets anywhere.

use std::collections::BTreeSet;

use codeteam_core::failure::FailureCause;

use super::api::TokenUsage;
use super::assignment::BuiltinAssignment;
use super::{AgentOptions, TokenPrice};

/// What was spent so far, and what may be.
#[derive(Debug)]
pub(super) struct UsageBudget {
    max_tokens: Option<u64>,
    max_cost_microusd: Option<u64>,
    price: Option<TokenPrice>,
    tokens: u64,
    /// In US dollars.
    cost: f64,
}

impl UsageBudget {
    pub(super) fn new(options: &AgentOptions, assignment: &BuiltinAssignment) -> Self {
        Self {
            max_tokens: assignment.max_tokens,
            max_cost_microusd: assignment.max_cost_microusd,
            price: options.price,
            tokens: 0,
            cost: 0.0,
        }
    }

    /// Counts a reply.
    #[expect(
        clippy::cast_precision_loss,
        reason = "nobody uses more tokens than a double counts"
    )]
    pub(super) fn add(&mut self, usage: TokenUsage) {
        self.tokens += usage.input + usage.output;
        if let Some(price) = self.price {
            let cached = usage.cached.min(usage.input);
            let fresh = usage.input - cached;
            self.cost += (fresh as f64 * price.input
                + cached as f64 * price.cached
                + usage.output as f64 * price.output)
                / 1e6;
        }
    }

    /// Why nothing more may be asked, if that is so.
    #[expect(
        clippy::cast_precision_loss,
        reason = "nobody spends more than a double counts"
    )]
    pub(super) fn exhausted(&self) -> Option<(FailureCause, String)> {
        if let Some(most) = self.max_tokens.filter(|most| self.tokens >= *most) {
            let used = self.tokens;
            let why = format!("it has used {used} tokens of the {most} that were left for it");
            return Some((FailureCause::Tokens, why));
        }
        let most = self.max_cost_microusd? as f64 / 1e6;
        (self.price.is_some() && self.cost >= most).then(|| {
            let why = format!(
                "it has spent ${:.4} of the ${most:.4} that were left for it",
                self.cost
            );
            (FailureCause::Cost, why)
        })
    }
}

/// So many calls that bring nothing new, and the model is told.
const TOLD_AFTER: u32 = 4;

/// So many, and the work is ended.
const ENDED_AFTER: u32 = 10;

/// The calls of tools so far: whether the model goes round in circles.
#[derive(Debug, Default)]
pub(super) struct RepeatDetector {
    known: BTreeSet<(String, String, String)>,
    in_a_row: u32,
}

/// What is to be done about a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepeatVerdict {
    /// Nothing.
    Made,
    /// The model is told that it has done this before.
    Told(String),
    /// The work is ended.
    Stuck(String),
}

impl RepeatDetector {
    /// Notes a call and its result. One of a tool that there is not brings nothing new, whatever its
    /// input.
    pub(super) fn note(
        &mut self,
        name: &str,
        input: &str,
        result: &str,
        exists: bool,
    ) -> RepeatVerdict {
        let input = if exists { input } else { "" };
        let call = (name.to_owned(), input.to_owned(), result.to_owned());
        let is_new = self.known.insert(call) && exists;
        self.in_a_row = if is_new { 0 } else { self.in_a_row + 1 };
        match self.in_a_row {
            ENDED_AFTER.. => RepeatVerdict::Stuck(format!(
                "the last {ENDED_AFTER} calls of tools, the last one of `{name}`, brought nothing new: \
                 they were made before with the same results, or of tools that there are not"
            )),
            TOLD_AFTER.. => {
                let left = ENDED_AFTER - self.in_a_row;
                RepeatVerdict::Told(format!(
                    "\n\n(Your last {} calls brought nothing new: you have made them before and got the \
                     same results, or there is no such tool. Do something else, or call `submit` with \
                     what you have. After {left} more of them your work is ended.)",
                    self.in_a_row
                ))
            }
            _ => RepeatVerdict::Made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_anything_new_are_told_and_then_ended() {
        let mut repeats = RepeatDetector::default();
        let mut note = |input: &str| repeats.note("read_file", input, "text", true);
        assert_eq!(note("a"), RepeatVerdict::Made);
        for _ in 1..TOLD_AFTER {
            assert_eq!(note("a"), RepeatVerdict::Made);
        }
        assert!(matches!(note("a"), RepeatVerdict::Told(_)));
        assert_eq!(note("b"), RepeatVerdict::Made, "that was new");
        for _ in 1..ENDED_AFTER {
            note("a");
        }
        assert!(matches!(note("b"), RepeatVerdict::Stuck(_)));
    }

    #[test]
    fn a_tool_that_there_is_not_is_never_new() {
        let mut repeats = RepeatDetector::default();
        for n in 1..ENDED_AFTER {
            let told = repeats.note("grep", &n.to_string(), "there is no tool", false);
            assert!(!matches!(told, RepeatVerdict::Stuck(_)), "{n}");
        }
        let told = repeats.note("grep", "x", "there is no tool", false);
        assert!(matches!(told, RepeatVerdict::Stuck(_)));
    }
}
