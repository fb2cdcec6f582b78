//! Tracks model APIs that do not answer: since when, and how often they have failed.

use crate::budget::Usage;
use crate::failure::{FailureAction, FailureFacts};
use crate::ids::{Account, AttemptId, EpochMillis};
use crate::park::ApiOutage;
use crate::run::Run;

/// Records that an API has failed; any other end of an attempt shows that the API answers.
pub(super) fn note_outage(
    run: &mut Run,
    id: &AttemptId,
    at: EpochMillis,
    action: FailureAction,
    facts: &FailureFacts,
) {
    if !action.is_waiting() || facts.quota.is_some() {
        return forget_outage(run, id);
    }
    let Some(account) = attempt_account(run, id) else {
        return;
    };
    let outage = run.outages.entry(account).or_insert_with(|| ApiOutage {
        since: at,
        failures: 0,
        message: String::new(),
    });
    outage.failures = outage.failures.saturating_add(1);
    outage.message.clone_from(&facts.message);
}

/// Records that the API of an attempt's worker answers.
pub(super) fn forget_outage(run: &mut Run, id: &AttemptId) {
    if run.outages.is_empty() {
        return;
    }
    if let Some(account) = attempt_account(run, id) {
        run.outages.remove(&account);
    }
}

fn attempt_account(run: &Run, id: &AttemptId) -> Option<Account> {
    let slot = run.frames.get(&id.frame)?.slot(id)?;
    Some(run.worker_account(slot.worker.as_ref()?))
}

/// Returns the usage of an attempt whose API did not answer: no cost, if it reported no tokens.
pub(super) fn known_cost(mut usage: Usage) -> Usage {
    if usage.tokens() == 0 {
        usage.cost_microusd.get_or_insert(0);
    }
    usage
}
