//! Accounts that rest: a usage limit, too many requests at once, or an API that does not answer.
//!
//! None of them says anything of the work, so none uses up a retry. A usage limit and a rate limit
//! whose end is told are waited for however long they last. An outage, whose end nobody knows, is
//! waited out for as long as the run's limit of it says; then the run stops as it is, to be taken
//! up again.

use super::Decider;
use crate::budget::LimitKind;
use crate::event::Event;
use crate::failure::{FailureAction, FailureFacts};
use crate::ids::{Account, AttemptId};
use crate::park::{MAX_REST_MS, ParkReason};
use crate::retry;

impl Decider {
    /// The account rests, and the same try waits or goes to another worker.
    pub(super) fn park(
        &mut self,
        id: &AttemptId,
        facts: &FailureFacts,
        action: FailureAction,
        policy: &retry::RetryPolicy,
    ) {
        if let Some(quota) = &facts.quota {
            let (account, until) = (quota.account.clone(), quota.until(self.at));
            let why = ParkReason::Quota;
            self.emit(Event::AccountParked {
                account,
                until,
                why,
            });
            return self.requeue(id);
        }
        let Some(account) = self.account_of(id) else {
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
            // The last try is made when the time is over, not long before.
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
        if is_bounded && self.at >= gives_up && !has_other && self.run.limit.is_none() {
            self.emit(Event::LimitReached {
                what: LimitKind::Outage,
            });
        }
    }

    /// A run that stopped because an API did not answer tries it anew once somebody takes it up.
    pub(super) fn clear_outages(&mut self) {
        if self.run.limit == Some(LimitKind::Outage) {
            self.emit(Event::OutagesCleared);
        }
    }

    fn account_of(&self, id: &AttemptId) -> Option<Account> {
        let slot = self.run.frames.get(&id.frame)?.slot(id)?;
        Some(self.run.account(slot.worker.as_ref()?))
    }
}
