//! What a run has spent, in numbers and in words.

use codeteam_core::Run;
use codeteam_core::budget::{BudgetLimits, LimitKind};
use serde::Serialize;

use crate::describe;

/// What a run has spent, and what it may spend.
///
/// An unknown price is unknown, not zero: `unpriced_attempts` counts the attempts that ended
/// without one, and `words` says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostView {
    /// Attempts started.
    pub attempts: u64,
    /// Tokens read and written, as far as workers reported them.
    pub tokens: u64,
    /// Millionths of a US dollar, as far as known.
    pub money_microusd: u64,
    /// Attempts that ended without a price.
    pub unpriced_attempts: u64,
    /// Bytes of worktrees and bodies, as last measured.
    pub disk_bytes: u64,
    /// The limits in force.
    pub limits: BudgetLimits,
    /// The limit that stopped the run, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_limit: Option<LimitKind>,
    /// The same in words.
    pub words: CostWords,
}

/// What a run has spent, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostWords {
    /// Such as `3 attempts`.
    pub attempts: String,
    /// Such as `1200 tokens`.
    pub tokens: String,
    /// Such as `$0.1200 and 2 without a known price`.
    pub money: String,
}

impl CostView {
    pub(super) fn new(run: &Run) -> Self {
        let spent = &run.budget;
        Self {
            attempts: spent.attempts,
            tokens: spent.tokens,
            money_microusd: spent.money_microusd,
            unpriced_attempts: spent.unpriced,
            disk_bytes: spent.disk_bytes,
            limits: spent.limits,
            reached_limit: run.reached_limit,
            words: CostWords {
                attempts: describe::attempt_count(spent),
                tokens: describe::tokens_spent(run),
                money: describe::money_spent(run),
            },
        }
    }
}
