//! Limits what the work may use up, and notices when it makes no progress.

use std::collections::BTreeSet;

use codeteam_core::failure::FailureCause;

use super::api::TokenUsage;
use super::assignment::BuiltinAssignment;
use super::{AgentOptions, TokenPrice};

/// The usage so far and its limits.
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
    pub(super) fn record_usage(&mut self, usage: TokenUsage) {
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
    pub(super) fn exhausted_limit(&self) -> Option<(FailureCause, String)> {
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

/// The number of calls without anything new after which the model is warned.
const WARN_AFTER: u32 = 4;

/// The number of such calls after which the work is ended.
const END_AFTER: u32 = 10;

/// The calls of tools so far: whether the model goes round in circles.
#[derive(Debug, Default)]
pub(super) struct RepeatDetector {
    known: BTreeSet<(String, String, String)>,
    in_a_row: u32,
}

/// The consequence of a repeated call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepeatVerdict {
    /// The call is new, so nothing follows.
    New,
    /// The model is warned that it has done this before.
    Warn(String),
    /// The work is ended.
    Stuck(String),
}

impl RepeatDetector {
    /// Records a call and its result. A call of a tool that does not exist brings nothing new, whatever
    /// its input.
    pub(super) fn record_call(
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
            END_AFTER.. => RepeatVerdict::Stuck(format!(
                "the last {END_AFTER} tool calls, the last one of `{name}`, brought nothing new: they \
                 were made before with the same results, or called tools that do not exist"
            )),
            WARN_AFTER.. => {
                let left = END_AFTER - self.in_a_row;
                RepeatVerdict::Warn(format!(
                    "\n\n(Your last {} calls brought nothing new: you have made them before and got the \
                     same results, or there is no such tool. Do something else, or call `submit` with \
                     what you have. After {left} more such calls your work is ended.)",
                    self.in_a_row
                ))
            }
            _ => RepeatVerdict::New,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_anything_new_are_told_and_then_ended() {
        let mut repeats = RepeatDetector::default();
        let mut note = |input: &str| repeats.record_call("read_file", input, "text", true);
        assert_eq!(note("a"), RepeatVerdict::New);
        for _ in 1..WARN_AFTER {
            assert_eq!(note("a"), RepeatVerdict::New);
        }
        assert!(matches!(note("a"), RepeatVerdict::Warn(_)));
        assert_eq!(note("b"), RepeatVerdict::New, "that was new");
        for _ in 1..END_AFTER {
            note("a");
        }
        assert!(matches!(note("b"), RepeatVerdict::Stuck(_)));
    }

    #[test]
    fn a_tool_that_there_is_not_is_never_new() {
        let mut repeats = RepeatDetector::default();
        for n in 1..END_AFTER {
            let told = repeats.record_call("grep", &n.to_string(), "there is no tool", false);
            assert!(!matches!(told, RepeatVerdict::Stuck(_)), "{n}");
        }
        let told = repeats.record_call("grep", "x", "there is no tool", false);
        assert!(matches!(told, RepeatVerdict::Stuck(_)));
    }
}
