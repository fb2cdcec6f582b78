//! What happens while an approval waits: reminders, escalation, rejection by time, and delegation
//! of a vote to somebody else.
//!
//! **Invariant:** nothing here approves anything. Escalation widens who may approve and never lowers
//! how many have to; a delegation moves one person's vote to one other person. Deadlines are
//! absolute times in the state, so a deadline that has been handled is over whatever restarts
//! follow.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{ApprovalRequirement, PendingApproval};
use crate::ids::{EpochMillis, PersonName};

/// Reminders are never further apart than this, unless the first one already is.
const LONGEST_PAUSE_MS: u64 = 24 * 60 * 60_000;

/// How long an approval may wait, and what follows then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTimeout {
    /// How long people have, in milliseconds, from the time at which they were asked.
    pub after_ms: u64,
    /// What happens then.
    pub then: TimeoutAction,
}

/// What happens when an approval was not given in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutAction {
    /// People are reminded, and again after longer and longer pauses.
    Remind,
    /// These people may approve too. From then on people are reminded.
    Escalate {
        /// The additional people.
        to: BTreeSet<PersonName>,
    },
    /// The change counts as rejected: its task fails.
    Reject,
}

/// How far the waiting of one requirement has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTimer {
    /// How often the time was over.
    pub fired: u32,
    /// When it is over next.
    pub next: EpochMillis,
    /// Whether more people may approve by now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub escalated: bool,
}

/// What was done because an approval was not given in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutOutcome {
    /// People are reminded.
    Reminded,
    /// These people may approve too.
    Escalated(BTreeSet<PersonName>),
    /// The change is rejected.
    Rejected,
}

impl ApprovalTimeout {
    /// Returns the pause after the time was over for the `fired`-th time: each is twice as long as
    /// the one before.
    pub(crate) fn pause_ms(&self, fired: u32) -> u64 {
        let longest = self.after_ms.max(LONGEST_PAUSE_MS);
        let factor = 1_u64.checked_shl(fired).unwrap_or(u64::MAX);
        self.after_ms.max(1).saturating_mul(factor).min(longest)
    }
}

impl PendingApproval {
    /// Returns what is required by now: with the people who were added when the time was over, and
    /// with whoever votes in the place of somebody else.
    pub fn requirements(&self) -> Vec<ApprovalRequirement> {
        let mut requirements = self.own_requirements();
        for approvers in requirements.iter_mut().filter_map(|r| r.approvers.as_mut()) {
            let moved = self.delegations.iter();
            let moved: Vec<_> = moved
                .filter(|(from, _)| approvers.contains(*from))
                .collect();
            for (from, to) in moved {
                approvers.remove(from);
                approvers.insert(to.clone());
            }
        }
        requirements
    }

    /// Returns what is required by now, without regard to delegations.
    fn own_requirements(&self) -> Vec<ApprovalRequirement> {
        let mut requirements = self.assessment.requirements.clone();
        for (at, requirement) in requirements.iter_mut().enumerate() {
            let escalated = self.timers.get(&at).is_some_and(|timer| timer.escalated);
            if let (true, Some(timeout), Some(approvers)) = (
                escalated,
                &mut requirement.timeout,
                &mut requirement.approvers,
            ) && let TimeoutAction::Escalate { to } = &timeout.then
            {
                approvers.extend(to.iter().cloned());
                timeout.then = TimeoutAction::Remind;
            }
        }
        requirements
    }

    /// Returns the next time at which something follows because a requirement is not met yet, and
    /// the position of that requirement.
    pub fn next_timeout(&self) -> Option<(usize, EpochMillis)> {
        let voters = || self.votes.keys();
        let requirements = self.requirements().into_iter().enumerate();
        let open = requirements.filter(|(_, requirement)| !requirement.is_met_by(voters()));
        let times = open.filter_map(|(at, requirement)| {
            let timeout = requirement.timeout?;
            let timer = self.timers.get(&at);
            let next = timer.map_or_else(|| self.asked.plus(timeout.after_ms), |t| t.next);
            Some((at, next))
        });
        times.min_by_key(|(at, next)| (*next, *at))
    }

    /// Checks that a person may hand their vote to somebody else. Returns why not.
    pub(crate) fn check_delegation(
        &self,
        from: &PersonName,
        to: &PersonName,
    ) -> Result<(), String> {
        let own = self.own_requirements();
        let now = self.requirements();
        let names = |requirement: &ApprovalRequirement| requirement.approvers.clone();
        let (mut may, mut is_open) = (false, false);
        for (own, now) in own.iter().zip(&now) {
            is_open |= own.approvers.is_none();
            if !own.may_vote(from) || !names(own).is_some_and(|names| names.contains(from)) {
                continue;
            }
            may = true;
            let is_there = names(now).is_some_and(|names| names.contains(to));
            let already = self.delegations.get(from) == Some(to);
            if is_there && !already && from != to {
                return Err(format!("{to} may approve it already, and has one vote"));
            }
            if own.excluded.as_ref() == Some(to) {
                return Err(format!("{to} began the run, and does not count here"));
            }
        }
        if !may && is_open {
            return Err("everybody who is known here may approve it".to_owned());
        }
        if !may {
            return Err(format!("{from} has no vote of their own here to hand over"));
        }
        if from != to && self.votes.contains_key(to) {
            return Err(format!("{to} has voted already"));
        }
        if self.votes.contains_key(from) {
            return Err(format!("{from} has approved this tree already"));
        }
        match self.delegations.get(from) {
            Some(now) if self.votes.contains_key(now) => {
                Err(format!("{now} has already voted in the place of {from}"))
            }
            Some(now) if now == to => Err(format!("{to} votes in the place of {from} already")),
            None if from == to => Err(format!("{from} has the vote already")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_day() {
        let hour = 60 * 60_000;
        let timeout = |after_ms| ApprovalTimeout {
            after_ms,
            then: TimeoutAction::Remind,
        };
        let pauses: Vec<u64> = (0..7).map(|n| timeout(hour).pause_ms(n) / hour).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 24, 24]);
        assert_eq!(timeout(48 * hour).pause_ms(3), 48 * hour);
        assert_eq!(timeout(hour).pause_ms(500), 24 * hour);
        assert_eq!(timeout(0).pause_ms(0), 1, "time always goes on");
    }
}
