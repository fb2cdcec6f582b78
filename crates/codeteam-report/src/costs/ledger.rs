//! Adds up what a run spends, event by event: by model, role, worker and task.
//!
//! A run itself knows its totals only, because that is all that its decisions need. This is for
//! people, so it is made from the log.

use std::collections::BTreeMap;

use codeteam_core::Event;
use codeteam_core::budget::Usage;
use codeteam_core::frame::SlotWork;
use codeteam_core::ids::{RoleName, TaskId, WorkerName};
use serde::Serialize;

use crate::task_frames::TaskFrames;

/// What some attempts have spent together.
///
/// A price that nobody knows is unknown and not zero: `money_microusd` is `None` as long as no
/// attempt has one, and `unpriced_attempts` says how many have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CostSum {
    /// Attempts started. One that only waited for its account or its API does not count.
    pub attempts: u64,
    /// The part of them that is under way.
    pub running_attempts: u64,
    /// Tokens read, as far as workers reported them.
    pub input_tokens: u64,
    /// The part of them that came from the service's cache.
    pub cached_input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Millionths of a US dollar, as far as known.
    pub money_microusd: Option<u64>,
    /// Attempts that ended without a price.
    pub unpriced_attempts: u64,
}

impl CostSum {
    fn add_usage(&mut self, usage: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.cached_input_tokens = self
            .cached_input_tokens
            .saturating_add(usage.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
        if let Some(money) = usage.cost_microusd {
            let known = self.money_microusd.get_or_insert(0);
            *known = known.saturating_add(money);
        }
    }
}

/// What an attempt is counted under.
#[derive(Clone, Debug)]
struct RunningAttempt {
    role: RoleName,
    worker: Option<WorkerName>,
    task: Option<TaskId>,
    used: Usage,
}

/// How an attempt ended, as far as that matters for its cost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttemptCost {
    /// Like any other.
    Counted,
    /// It was made again because an account or an API had to be waited for.
    Repeated,
}

/// The attempts of a run with their cost, from its events in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct CostLedger {
    tasks: TaskFrames,
    /// The attempts under way, by their fences.
    running: BTreeMap<u64, RunningAttempt>,
    total: CostSum,
    models: BTreeMap<Option<String>, CostSum>,
    roles: BTreeMap<RoleName, CostSum>,
    workers: BTreeMap<Option<WorkerName>, CostSum>,
    by_task: BTreeMap<Option<TaskId>, CostSum>,
}

impl CostLedger {
    /// Counts an event. Returns true if it changed anything.
    pub(crate) fn observe(&mut self, event: &Event) -> bool {
        self.tasks.observe(event);
        match event {
            Event::AttemptStarted {
                id,
                work: SlotWork::Role(role),
                worker,
                ..
            } => {
                let attempt = RunningAttempt {
                    role: role.clone(),
                    worker: worker.clone(),
                    task: self.tasks.task_of(&id.frame).cloned(),
                    used: Usage::default(),
                };
                self.running.insert(id.fence, attempt);
                true
            }
            Event::UsageMeasured { id, usage } => {
                let running = self.running.get_mut(&id.fence);
                running.map(|attempt| attempt.used = *usage).is_some()
            }
            Event::SubmissionReceived {
                id, usage, model, ..
            } => self.settle(id.fence, *usage, model.as_ref(), AttemptCost::Counted),
            Event::AttemptFailed {
                id,
                usage,
                model,
                action,
                facts,
                ..
            } => {
                let cost = if action.is_waiting() && facts.quota.is_none() {
                    AttemptCost::Repeated
                } else {
                    AttemptCost::Counted
                };
                self.settle(id.fence, *usage, model.as_ref(), cost)
            }
            Event::AttemptLost { id, usage } | Event::AttemptSpent { id, usage } => {
                self.settle(id.fence, *usage, None, AttemptCost::Counted)
            }
            _ => false,
        }
    }

    fn settle(
        &mut self,
        fence: u64,
        usage: Usage,
        model: Option<&String>,
        cost: AttemptCost,
    ) -> bool {
        let Some(attempt) = self.running.remove(&fence) else {
            return false;
        };
        let repeated = cost == AttemptCost::Repeated;
        let mut sum = CostSum {
            attempts: u64::from(!repeated),
            unpriced_attempts: u64::from(!repeated && usage.cost_microusd.is_none()),
            ..CostSum::default()
        };
        sum.add_usage(usage);
        self.add(&attempt, model, sum);
        true
    }

    fn add(&mut self, attempt: &RunningAttempt, model: Option<&String>, sum: CostSum) {
        let sums = [
            &mut self.total,
            self.models.entry(model.cloned()).or_default(),
            self.roles.entry(attempt.role.clone()).or_default(),
            self.workers.entry(attempt.worker.clone()).or_default(),
            self.by_task.entry(attempt.task.clone()).or_default(),
        ];
        for known in sums {
            known.attempts += sum.attempts;
            known.running_attempts += sum.running_attempts;
            known.unpriced_attempts += sum.unpriced_attempts;
            known.add_usage(Usage {
                input_tokens: sum.input_tokens,
                cached_input_tokens: sum.cached_input_tokens,
                output_tokens: sum.output_tokens,
                cost_microusd: sum.money_microusd,
            });
        }
    }

    /// Returns what the attempts that have ended have spent together.
    pub(crate) fn total(&self) -> CostSum {
        self.total
    }

    /// Returns the ledger with the attempts under way in its sums, as far as they have reported
    /// anything.
    pub(crate) fn with_running(&self) -> SettledCosts {
        let mut ledger = self.clone();
        for attempt in std::mem::take(&mut ledger.running).into_values() {
            let mut sum = CostSum {
                attempts: 1,
                running_attempts: 1,
                ..CostSum::default()
            };
            sum.add_usage(attempt.used);
            ledger.add(&attempt, None, sum);
        }
        SettledCosts {
            total: ledger.total,
            models: ledger.models,
            roles: ledger.roles,
            workers: ledger.workers,
            tasks: ledger.by_task,
        }
    }
}

/// The sums of a ledger. `None` is a model or a worker that nobody named, or work for no task.
pub(crate) struct SettledCosts {
    pub(crate) total: CostSum,
    pub(crate) models: BTreeMap<Option<String>, CostSum>,
    pub(crate) roles: BTreeMap<RoleName, CostSum>,
    pub(crate) workers: BTreeMap<Option<WorkerName>, CostSum>,
    pub(crate) tasks: BTreeMap<Option<TaskId>, CostSum>,
}

#[cfg(test)]
mod tests;
