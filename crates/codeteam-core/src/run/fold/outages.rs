//! Model APIs that do not answer: since when, and how often they have failed.

use crate::budget::Usage;
use crate::failure::{FailureAction, FailureFacts};
use crate::ids::{Account, AttemptId, EpochMillis};
use crate::park::ApiOutage;
use crate::run::Run;

/// Notes that an API has failed; any other end of an attempt shows that it is there.
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
    let Some(account) = account_of(run, id) else {
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

/// Notes that the API of an attempt's worker answers.
pub(super) fn forget_outage(run: &mut Run, id: &AttemptId) {
    if run.outages.is_empty() {
        return;
    }
    if let Some(account) = account_of(run, id) {
        run.outages.remove(&account);
    }
}

fn account_of(run: &Run, id: &AttemptId) -> Option<Account> {
    let slot = run.frames.get(&id.frame)?.slot(id)?;
    Some(run.account(slot.worker.as_ref()?))
}

/// What an attempt has spent whose API did not answer: nothing, if it has told of no token.
pub(super) fn known_cost(mut usage: Usage) -> Usage {
    if usage.tokens() == 0 {
        usage.cost_microusd.get_or_insert(0);
    }
    usage
}
