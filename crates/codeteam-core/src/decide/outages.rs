//! Parks accounts: because of a usage limit, too many requests at once, or an API that does not
//! answer.
//!
//! None of these says anything about the work, so none uses up a retry. A usage limit, or a rate
//! limit with a known end, is waited for however long it lasts. An outage, whose end is unknown, is
//! waited for only as long as the run's outage limit allows; then the run stops in its current
//! state and can be resumed later.

use super::Decider;
use crate::budget::LimitKind;
use crate::event::Event;
use crate::failure::{FailureAction, FailureFacts};
use crate::ids::{Account, AttemptId};
use crate::park::{MAX_REST_MS, ParkReason};
use crate::retry;

impl Decider {
    /// Parks the account; the same attempt then waits or goes to another worker.
    pub(super) fn park_account(
        &mut self,
        id: &AttemptId,
        facts: &FailureFacts,
        action: FailureAction,
        policy: &retry::RetryPolicy,
    ) {
        if let Some(quota) = &facts.quota {
            let (account, until) = (quota.account.clone(), quota.rests_until(self.at));
            let why = ParkReason::Quota;
            self.emit(Event::AccountParked {
                account,
                until,
                why,
            });
            return self.requeue(id);
        }
        let Some(account) = self.attempt_account(id) else {
            return self.requeue(id);
        };
        let outage = self.run.outages.get(&account);
        let (since, failures) = outage.map_or((self.at, 1), |o| (o.since, o.failures));
        let why = match action {
            FailureAction::Park => ParkReason::RateLimit,
            _ => ParkReason::Outage,
        };
        let told = facts.retry_after_ms.filter(|ms| *ms > 0);
        let delay = policy.delay_after(failures, id).max(told.unwrap_or(0));
        let mut until = self.at.plus(delay.min(MAX_REST_MS));
        let is_bounded = why == ParkReason::Outage || told.is_none();
        let gives_up = since.plus(self.run.budget.outage_ms());
        if is_bounded && self.at < gives_up {
            // Make the last attempt when the time is up, not long before.
            until = until.min(gives_up);
        }
        self.emit(Event::AccountParked {
            account,
            until,
            why,
        });
        self.requeue(id);
        let slot = self.run.frames.get(&id.frame);
        let slot = slot.and_then(|f| f.slots.get(id.slot as usize));
        let has_other = slot.and_then(|slot| self.worker_for(slot));
        let has_other = has_other.is_some_and(|found| found.is_ok());
        if is_bounded && self.at >= gives_up && !has_other && self.run.reached_limit.is_none() {
            self.emit(Event::LimitReached {
                what: LimitKind::Outage,
            });
        }
    }

    /// Lets a run that stopped because an API did not answer try it again when somebody resumes the
    /// run.
    pub(super) fn clear_outages(&mut self) {
        if self.run.reached_limit == Some(LimitKind::Outage) {
            self.emit(Event::OutagesCleared);
        }
    }

    fn attempt_account(&self, id: &AttemptId) -> Option<Account> {
        let slot = self.run.frames.get(&id.frame)?.slot(id)?;
        Some(self.run.worker_account(slot.worker.as_ref()?))
    }
}
