//! Budgets: the limits, what has been spent, and what attempts under way may still spend.
//!
//! **Invariant:** spent + reserved never exceeds a limit at the moment an attempt starts. An
//! unknown price is unknown, not zero: it is counted, and shown.

use serde::{Deserialize, Serialize};

use crate::ids::EpochMillis;

/// The cost of one attempt, as far as its worker reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Tokens read.
    #[serde(skip_serializing_if = "is_zero")]
    pub input_tokens: u64,
    /// The part of them that came from the service's cache, which costs less.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// Tokens written.
    #[serde(skip_serializing_if = "is_zero")]
    pub output_tokens: u64,
    /// Millionths of a US dollar; `None` if the worker did not report it and no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
}

impl Usage {
    /// Returns the tokens read and written.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds what was spent afterwards. If only part of the cost is known, the sum is that part.
    pub fn add(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.cached_input_tokens = self
            .cached_input_tokens
            .saturating_add(more.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        if let Some(cost) = more.cost_microusd {
            let known = self.cost_microusd.get_or_insert(0);
            *known = known.saturating_add(cost);
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Limits of a run; `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetLimits {
    /// Millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money_microusd: Option<u64>,
    /// Tokens, read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Attempts of workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    /// Milliseconds from the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Bytes of worktrees and bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// Millionths of a US dollar for each task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_money_microusd: Option<u64>,
    /// Tokens for each task, read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_tokens: Option<u64>,
    /// Milliseconds to wait for a model API that does not answer; one hour if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage_ms: Option<u64>,
}

/// The default time to wait for a model API that does not answer: one hour.
pub(crate) const DEFAULT_OUTAGE_MS: u64 = 60 * 60 * 1_000;

/// The money and tokens spent on one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Millionths of a US dollar, as far as known.
    pub money_microusd: u64,
    /// Tokens read and written.
    pub tokens: u64,
}

impl Spending {
    /// Adds what an attempt has spent. Without a price, the reserved amount is used.
    pub fn add(&mut self, reserved: BudgetReservation, usage: Usage) {
        let money = usage.cost_microusd.unwrap_or(reserved.money_microusd);
        self.money_microusd = self.money_microusd.saturating_add(money);
        self.tokens = self.tokens.saturating_add(usage.tokens());
    }

    /// Returns how much money or how many tokens are left for a task, if that is limited.
    pub fn remaining(self, limits: &BudgetLimits, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Money => limits
                .task_money_microusd
                .map(|limit| limit.saturating_sub(self.money_microusd)),
            LimitKind::Tokens => limits
                .task_tokens
                .map(|limit| limit.saturating_sub(self.tokens)),
            LimitKind::Attempts | LimitKind::Time | LimitKind::Disk | LimitKind::Outage => None,
        }
    }

    /// Checks whether an attempt for the task may start alongside others that have reserved
    /// something.
    pub fn admits(
        self,
        limits: &BudgetLimits,
        held: BudgetReservation,
        wanted: BudgetReservation,
    ) -> Result<(), BudgetRefusal> {
        let sides = [
            (
                LimitKind::Money,
                limits.task_money_microusd,
                [
                    self.money_microusd,
                    wanted.money_microusd,
                    held.money_microusd,
                ],
            ),
            (
                LimitKind::Tokens,
                limits.task_tokens,
                [self.tokens, wanted.tokens, held.tokens],
            ),
        ];
        for (kind, limit, [spent, more, held]) in sides {
            let Some(limit) = limit else {
                continue;
            };
            if spent >= limit || spent.saturating_add(more) > limit {
                return Err(BudgetRefusal::Reached(kind));
            }
            if is_crowded(limit, spent, held, more) {
                return Err(BudgetRefusal::Crowded(kind));
            }
        }
        Ok(())
    }
}

/// Returns true if the reservations of others leave too little. An attempt without a reservation of
/// its own still needs something: no worker works for nothing.
fn is_crowded(limit: u64, spent: u64, held: u64, more: u64) -> bool {
    let taken = spent.saturating_add(held);
    taken.saturating_add(more) > limit || held > 0 && taken >= limit
}

/// The quantity that a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitKind {
    /// US dollars.
    Money,
    /// Tokens.
    Tokens,
    /// Attempts of workers.
    Attempts,
    /// Wall-clock time.
    Time,
    /// Disk space.
    Disk,
    /// The time to wait for a model API that does not answer. It is not a quantity that is spent:
    /// what was ended because of it continues when the run is resumed.
    Outage,
}

impl LimitKind {
    /// The limits that are used up gradually.
    const SPENT: [Self; 5] = [
        Self::Money,
        Self::Tokens,
        Self::Attempts,
        Self::Time,
        Self::Disk,
    ];
}

/// The maximum an attempt may spend, reserved from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetReservation {
    /// Millionths of a US dollar.
    pub money_microusd: u64,
    /// Tokens read and written.
    pub tokens: u64,
}

/// The spending of attempts under way so far, as far as their workers have reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlightUsage {
    /// The total.
    pub used: Spending,
    /// The part that exceeds their reservations.
    pub beyond: Spending,
}

impl InFlightUsage {
    /// Adds one attempt: what is reserved for it, and what it has used.
    pub fn add(&mut self, reserved: BudgetReservation, used: Usage) {
        let (money, tokens) = (used.cost_microusd.unwrap_or(0), used.tokens());
        let beyond = [
            money.saturating_sub(reserved.money_microusd),
            tokens.saturating_sub(reserved.tokens),
        ];
        for (sum, more) in [
            (&mut self.used.money_microusd, money),
            (&mut self.used.tokens, tokens),
            (&mut self.beyond.money_microusd, beyond[0]),
            (&mut self.beyond.tokens, beyond[1]),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// The state of a run's budget.
///
/// Every attempt of a worker passes through it in this order: [`Budget::admits`] decides whether it
/// may start, [`Budget::reserve`] holds back its maximum, and [`Budget::settle`] replaces the
/// reservation with what was really spent. Gates and other work of the orchestrator are not
/// counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The limits in force.
    pub limits: BudgetLimits,
    /// Millionths of a US dollar spent, as far as known.
    pub money_microusd: u64,
    /// Tokens spent.
    pub tokens: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Bytes on disk, as last measured.
    pub disk_bytes: u64,
    /// Attempts that ended without a price.
    pub unpriced: u64,
    /// The total reserved for attempts under way.
    pub reserved: BudgetReservation,
    /// When the run started.
    pub started: EpochMillis,
    /// Limits that have been warned about already.
    pub warned: Vec<LimitKind>,
}

/// Why an attempt may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetRefusal {
    /// The spending so far has reached the limit.
    Reached(LimitKind),
    /// It does not fit alongside what is reserved; it may when that is released.
    Crowded(LimitKind),
}

impl Budget {
    /// Checks whether an attempt with this reservation may start alongside those under way.
    pub fn admits(
        &self,
        wanted: BudgetReservation,
        under_way: InFlightUsage,
        at: EpochMillis,
    ) -> Result<(), BudgetRefusal> {
        for kind in LimitKind::SPENT {
            let Some(limit) = self.limit(kind) else {
                continue;
            };
            let spent = self.spent(kind, at);
            let (held, more) = match kind {
                LimitKind::Money => (
                    self.reserved
                        .money_microusd
                        .saturating_add(under_way.beyond.money_microusd),
                    wanted.money_microusd,
                ),
                LimitKind::Tokens => (
                    self.reserved.tokens.saturating_add(under_way.beyond.tokens),
                    wanted.tokens,
                ),
                LimitKind::Attempts => (0, 1),
                LimitKind::Time | LimitKind::Disk | LimitKind::Outage => (0, 0),
            };
            if spent >= limit || spent.saturating_add(more) > limit {
                return Err(BudgetRefusal::Reached(kind));
            }
            if is_crowded(limit, spent, held, more) {
                return Err(BudgetRefusal::Crowded(kind));
            }
        }
        Ok(())
    }

    /// Reserves what an attempt may spend, and counts the attempt.
    pub fn reserve(&mut self, wanted: BudgetReservation) {
        self.attempts += 1;
        self.reserved.money_microusd += wanted.money_microusd;
        self.reserved.tokens += wanted.tokens;
    }

    /// Replaces a reservation with what was really spent. Without a price, the reserved amount is
    /// used: the limit is a promise, so doubt counts against the run.
    pub fn settle(&mut self, reserved: BudgetReservation, usage: Usage) {
        self.reserved.money_microusd = self
            .reserved
            .money_microusd
            .saturating_sub(reserved.money_microusd);
        self.reserved.tokens = self.reserved.tokens.saturating_sub(reserved.tokens);
        self.tokens = self.tokens.saturating_add(usage.tokens());
        if usage.cost_microusd.is_none() {
            self.unpriced += 1;
        }
        self.money_microusd += usage.cost_microusd.unwrap_or(reserved.money_microusd);
    }

    /// Returns the limits that are used up to 80 % or more and have not been warned about.
    pub fn limits_to_warn_about(&self, at: EpochMillis) -> Vec<LimitKind> {
        LimitKind::SPENT
            .into_iter()
            .filter(|kind| !self.warned.contains(kind))
            .filter(|kind| {
                // A limit that is reached is reported as such, and needs no warning.
                let spent = self.spent(*kind, at);
                self.limit(*kind).is_some_and(|limit| {
                    spent.saturating_mul(5) >= limit.saturating_mul(4) && spent < limit
                })
            })
            .collect()
    }

    /// Returns the maximum cost of an attempt with this reservation, if money is limited.
    pub fn remaining_money(&self, own: BudgetReservation, under_way: InFlightUsage) -> Option<u64> {
        let held = self
            .reserved
            .money_microusd
            .saturating_sub(own.money_microusd)
            .saturating_add(under_way.beyond.money_microusd);
        Some(self.remaining(LimitKind::Money)?.saturating_sub(held))
    }

    /// Returns the maximum number of tokens for an attempt, if they are limited.
    pub fn remaining_tokens(&self, under_way: InFlightUsage) -> Option<u64> {
        Some(
            self.remaining(LimitKind::Tokens)?
                .saturating_sub(under_way.used.tokens),
        )
    }

    /// Returns how much of the run's money or tokens is left, if that is limited.
    pub fn remaining(&self, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Money => Some(
                self.limits
                    .money_microusd?
                    .saturating_sub(self.money_microusd),
            ),
            LimitKind::Tokens => Some(self.limits.tokens?.saturating_sub(self.tokens)),
            LimitKind::Attempts | LimitKind::Time | LimitKind::Disk | LimitKind::Outage => None,
        }
    }

    /// Returns the limit that attempts under way have exceeded, together with what was spent
    /// before. They then have to be ended.
    pub fn exceeded_limit(&self, under_way: InFlightUsage) -> Option<LimitKind> {
        let InFlightUsage { used, .. } = under_way;
        let is_passed =
            |kind, used| used > 0 && self.remaining(kind).is_some_and(|left| used >= left);
        if is_passed(LimitKind::Money, used.money_microusd) {
            return Some(LimitKind::Money);
        }
        is_passed(LimitKind::Tokens, used.tokens).then_some(LimitKind::Tokens)
    }

    /// Returns how long an outage is waited for.
    pub fn outage_ms(&self) -> u64 {
        self.limits.outage_ms.unwrap_or(DEFAULT_OUTAGE_MS)
    }

    /// Returns when the time limit ends the run.
    pub fn deadline(&self) -> Option<EpochMillis> {
        self.limits.wall_ms.map(|ms| self.started.plus(ms))
    }

    fn limit(&self, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Money => self.limits.money_microusd,
            LimitKind::Tokens => self.limits.tokens,
            LimitKind::Attempts => self.limits.attempts,
            LimitKind::Time => self.limits.wall_ms,
            LimitKind::Disk => self.limits.disk_bytes,
            LimitKind::Outage => None,
        }
    }

    fn spent(&self, kind: LimitKind, at: EpochMillis) -> u64 {
        match kind {
            LimitKind::Money => self.money_microusd,
            LimitKind::Tokens => self.tokens,
            LimitKind::Attempts => self.attempts,
            LimitKind::Time => at.since(self.started),
            LimitKind::Disk => self.disk_bytes,
            LimitKind::Outage => 0,
        }
    }
}

impl BudgetLimits {
    /// Returns these limits, replaced by those that `other` sets.
    #[must_use]
    pub fn overridden_by(self, other: Self) -> Self {
        Self {
            money_microusd: other.money_microusd.or(self.money_microusd),
            tokens: other.tokens.or(self.tokens),
            attempts: other.attempts.or(self.attempts),
            wall_ms: other.wall_ms.or(self.wall_ms),
            disk_bytes: other.disk_bytes.or(self.disk_bytes),
            task_money_microusd: other.task_money_microusd.or(self.task_money_microusd),
            task_tokens: other.task_tokens.or(self.task_tokens),
            outage_ms: other.outage_ms.or(self.outage_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(limit: u64) -> Budget {
        Budget {
            limits: BudgetLimits {
                money_microusd: Some(limit),
                ..BudgetLimits::default()
            },
            ..Budget::default()
        }
    }

    fn usd(n: u64) -> BudgetReservation {
        BudgetReservation {
            money_microusd: n,
            tokens: 0,
        }
    }

    fn admits(budget: &Budget, wanted: u64) -> Result<(), BudgetRefusal> {
        budget.admits(usd(wanted), InFlightUsage::default(), EpochMillis(0))
    }

    #[test]
    fn what_is_used_meanwhile_counts_against_what_is_left() {
        let mut budget = money(100);
        budget.limits.tokens = Some(1_000);
        budget.money_microusd = 20;
        let used = |cost, tokens| Usage {
            input_tokens: tokens,
            cost_microusd: Some(cost),
            ..Usage::default()
        };
        let mut under_way = InFlightUsage::default();
        assert_eq!(budget.exceeded_limit(under_way), None);
        under_way.add(usd(50), used(40, 600));
        assert_eq!(budget.exceeded_limit(under_way), None);
        assert_eq!(under_way.beyond.money_microusd, 0, "it is reserved");
        assert_eq!(budget.remaining_tokens(under_way), Some(400));
        under_way.add(usd(0), used(40, 0));
        assert_eq!(under_way.beyond.money_microusd, 40);
        assert_eq!(budget.exceeded_limit(under_way), Some(LimitKind::Money));
        let crowded = Err(BudgetRefusal::Crowded(LimitKind::Money));
        assert_eq!(budget.admits(usd(50), under_way, EpochMillis(0)), crowded);
        budget.limits.money_microusd = None;
        under_way.add(usd(0), used(0, 400));
        assert_eq!(budget.exceeded_limit(under_way), Some(LimitKind::Tokens));
    }

    #[test]
    fn nobody_starts_with_nothing_left() {
        let mut budget = money(100);
        budget.reserve(usd(100));
        let crowded = Err(BudgetRefusal::Crowded(LimitKind::Money));
        assert_eq!(admits(&budget, 0), crowded);
        assert_eq!(
            budget.remaining_money(usd(0), InFlightUsage::default()),
            Some(0)
        );
        let mut budget = money(100);
        budget.reserve(usd(60));
        assert_eq!(admits(&budget, 0), Ok(()));
        assert_eq!(admits(&budget, 40), Ok(()));
    }

    #[test]
    fn spent_and_reserved_together_stay_within_the_limit() {
        let mut budget = money(100);
        assert_eq!(admits(&budget, 60), Ok(()));
        budget.reserve(usd(60));
        assert_eq!(
            admits(&budget, 60),
            Err(BudgetRefusal::Crowded(LimitKind::Money))
        );
        budget.settle(
            usd(60),
            Usage {
                cost_microusd: Some(10),
                ..Usage::default()
            },
        );
        assert_eq!(admits(&budget, 60), Ok(()));
        assert_eq!(
            admits(&budget, 95),
            Err(BudgetRefusal::Reached(LimitKind::Money))
        );
    }

    #[test]
    fn an_unknown_price_is_not_zero() {
        let mut budget = money(100);
        budget.reserve(usd(40));
        budget.settle(usd(40), Usage::default());
        assert_eq!((budget.money_microusd, budget.unpriced), (40, 1));
    }

    #[test]
    fn it_warns_once_at_four_fifths() {
        let mut budget = money(100);
        budget.money_microusd = 79;
        assert!(budget.limits_to_warn_about(EpochMillis(0)).is_empty());
        budget.money_microusd = 80;
        assert_eq!(
            budget.limits_to_warn_about(EpochMillis(0)),
            [LimitKind::Money]
        );
        budget.warned.push(LimitKind::Money);
        assert!(budget.limits_to_warn_about(EpochMillis(0)).is_empty());
        // Two of three are no four fifths.
        let mut budget = money(3);
        budget.money_microusd = 2;
        assert!(budget.limits_to_warn_about(EpochMillis(0)).is_empty());
    }
}
