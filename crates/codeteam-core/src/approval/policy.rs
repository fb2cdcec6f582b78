//! Approval policies: levels with conditions, and what they require.
//!
//! Levels that ask for an approval (`require_…`) are tried first, the strictest of them first: one
//! of their conditions is enough, and one that is not known counts as met. Only if none of them
//! fits, the levels that let a change go on are tried, the one that asks for least first: they need
//! all of their conditions, and one that is not known counts as not met. If no level fits, a person
//! has to approve.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::timers::{ApprovalTimeout, TimeoutAction};
use crate::ids::PersonName;
use crate::risk::{RiskCondition, RiskLevel, RiskProfile};

/// What a level asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAction {
    /// Nothing: the change goes on.
    AutoApprove,
    /// People are notified; the change goes on if nobody objects.
    NotifyAndTimeout {
        /// How long people may object, in milliseconds.
        timeout_ms: u64,
    },
    /// A person approves.
    RequireApproval,
    /// Several people approve.
    RequireMultiApproval {
        /// How many.
        min_approvers: u32,
    },
}

impl ApprovalAction {
    /// Returns the level that the action stands for.
    pub(crate) fn level(self) -> RiskLevel {
        match self {
            Self::AutoApprove => RiskLevel::Low,
            Self::NotifyAndTimeout { .. } => RiskLevel::Medium,
            Self::RequireApproval => RiskLevel::High,
            Self::RequireMultiApproval { .. } => RiskLevel::Critical,
        }
    }

    /// Returns true if the action asks for an approval that time alone never gives.
    fn tightens(self) -> bool {
        self.level() >= RiskLevel::High
    }

    /// Returns the number of people who have to approve.
    pub fn min_approvers(self) -> u32 {
        match self {
            Self::AutoApprove => 0,
            Self::NotifyAndTimeout { .. } | Self::RequireApproval => 1,
            Self::RequireMultiApproval { min_approvers } => min_approvers.max(1),
        }
    }
}

/// A level of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalLevel {
    /// Its name, such as `high_risk`.
    pub name: String,
    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<RiskCondition>,
    /// What it asks for.
    pub action: ApprovalAction,
    /// Who may approve; everybody who is known, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<BTreeSet<PersonName>>,
    /// The channel by which people must have been notified, if not just any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// How long an approval may wait, and what follows then, if it may not wait for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<ApprovalTimeout>,
}

/// An approval policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalPolicy {
    levels: Vec<ApprovalLevel>,
}

impl ApprovalPolicy {
    /// Creates a policy from its levels, in any order.
    pub fn new(mut levels: Vec<ApprovalLevel>) -> Self {
        // Of two that ask for the same, the one that was named first comes first.
        levels.sort_by(|a, b| match (a.action.tightens(), b.action.tightens()) {
            (true, true) => b.action.cmp(&a.action),
            (false, false) => a.action.cmp(&b.action),
            (a, b) => b.cmp(&a),
        });
        Self { levels }
    }

    /// Returns the levels, in the order in which they are tried.
    pub fn levels(&self) -> &[ApprovalLevel] {
        &self.levels
    }

    #[cfg(test)]
    pub(super) fn levels_mut(&mut self) -> &mut [ApprovalLevel] {
        &mut self.levels
    }

    /// Returns the level that fits a change and why; `None` if none does.
    fn fitting_level(&self, profile: &RiskProfile) -> Option<(&ApprovalLevel, Vec<String>)> {
        self.levels.iter().find_map(|level| {
            let outcomes = level.conditions.iter().map(|c| c.evaluate(profile));
            let outcomes: Vec<_> = outcomes.collect();
            if level.action.tightens() {
                let met: Vec<String> = outcomes
                    .into_iter()
                    .filter(|outcome| outcome.holds != Some(false))
                    .map(|outcome| outcome.because)
                    .collect();
                return (!met.is_empty() || level.conditions.is_empty()).then_some((level, met));
            }
            let all = outcomes.iter().all(|outcome| outcome.holds == Some(true));
            all.then(|| {
                let because = outcomes.into_iter().map(|outcome| outcome.because);
                (level, because.collect())
            })
        })
    }
}

/// What one policy requires for a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequirement {
    /// The name of the level; empty if none fits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What it asks for.
    pub action: ApprovalAction,
    /// Who may approve; everybody who is known, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<BTreeSet<PersonName>>,
    /// Who does not count, because they began the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<PersonName>,
    /// The channel by which people must have been notified, if not just any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// How long an approval may wait, and what follows then, if it may not wait for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<ApprovalTimeout>,
}

impl ApprovalRequirement {
    /// Returns true if a person's vote counts.
    pub(crate) fn may_vote(&self, person: &PersonName) -> bool {
        let is_named = self
            .approvers
            .as_ref()
            .is_none_or(|names| names.contains(person));
        is_named && self.excluded.as_ref() != Some(person)
    }

    /// Returns true if these people are enough.
    pub(crate) fn is_met_by<'a>(&self, people: impl Iterator<Item = &'a PersonName>) -> bool {
        let counted: BTreeSet<&PersonName> = people.filter(|p| self.may_vote(p)).collect();
        counted.len() >= self.action.min_approvers() as usize
    }

    /// Describes what has to happen, after the word `needs`.
    pub fn describe(&self) -> String {
        if let ApprovalAction::NotifyAndTimeout { timeout_ms } = self.action {
            let minutes = timeout_ms.div_ceil(60_000);
            let names = self.approvers.iter().flatten().map(PersonName::as_str);
            let before = match names.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => none,
                names => format!(", or that 1 of {names} approves it before"),
            };
            return format!(
                "that nobody rejects it within {minutes} min of the notification{before}"
            );
        }
        let count = self.action.min_approvers();
        let who = match &self.approvers {
            None => "the people who are known here".to_owned(),
            Some(names) => {
                let names: Vec<&str> = names.iter().map(PersonName::as_str).collect();
                names.join(", ")
            }
        };
        let but = self.excluded.as_ref();
        let but = but.map_or_else(String::new, |name| {
            format!(", not counting {name}, who began the run")
        });
        format!("{count} of {who}{but}{}", self.describe_timeout())
    }

    /// Describes what happens if the approval is not given in time.
    fn describe_timeout(&self) -> String {
        let Some(timeout) = &self.timeout else {
            return String::new();
        };
        let minutes = timeout.after_ms.div_ceil(60_000);
        match &timeout.then {
            TimeoutAction::Remind => format!("; people are reminded after {minutes} min"),
            TimeoutAction::Escalate { to } => {
                let names: Vec<&str> = to.iter().map(PersonName::as_str).collect();
                let names = names.join(", ");
                format!("; after {minutes} min {names} may approve it too")
            }
            TimeoutAction::Reject => format!("; after {minutes} min it counts as rejected"),
        }
    }
}

/// The risk of a change by the policies in force, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RiskAssessment {
    /// The level: that of the strictest requirement.
    pub level: RiskLevel,
    /// Why it is this level, one line each.
    pub reasons: Vec<String>,
    /// What has to be met: one requirement for each policy that lets nothing pass by itself.
    pub requirements: Vec<ApprovalRequirement>,
}

impl RiskAssessment {
    /// Assesses a change. `excluded` does not count where several people have to approve.
    pub(super) fn new(
        policies: &[ApprovalPolicy],
        profile: &RiskProfile,
        excluded: Option<&PersonName>,
    ) -> Self {
        let mut assessed: Vec<(ApprovalRequirement, Vec<String>)> = policies
            .iter()
            .map(|policy| assess_by(policy, profile, excluded))
            .collect();
        assessed.sort_by_key(|(requirement, _)| std::cmp::Reverse(requirement.action));
        let level = assessed.first().map(|(first, _)| first.action.level());
        let level = level.unwrap_or(RiskLevel::Low);
        let mut reasons = Vec::new();
        let mut requirements = Vec::new();
        for (requirement, because) in assessed {
            if requirement.action.level() == level {
                reasons.extend(
                    because
                        .into_iter()
                        .filter(|b| !reasons.contains(b))
                        .collect::<Vec<_>>(),
                );
            }
            if requirement.action != ApprovalAction::AutoApprove
                && !requirements.contains(&requirement)
            {
                requirements.push(requirement);
            }
        }
        Self {
            level,
            reasons,
            requirements,
        }
    }

    /// Returns true if the change goes on without anybody.
    pub(crate) fn goes_on_alone(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns how long people have to object, if the change goes on when nobody does. Only if all
    /// requirements are of this kind; the longest time counts.
    pub fn timeout_ms(&self) -> Option<u64> {
        let times = self
            .requirements
            .iter()
            .map(|required| match required.action {
                ApprovalAction::NotifyAndTimeout { timeout_ms } => Some(timeout_ms),
                _ => None,
            });
        let times: Option<Vec<u64>> = times.collect();
        times?.into_iter().max()
    }
}

fn assess_by(
    policy: &ApprovalPolicy,
    profile: &RiskProfile,
    excluded: Option<&PersonName>,
) -> (ApprovalRequirement, Vec<String>) {
    let Some((level, mut because)) = policy.fitting_level(profile) else {
        let requirement = ApprovalRequirement {
            name: String::new(),
            action: ApprovalAction::RequireApproval,
            approvers: None,
            excluded: None,
            channel: None,
            timeout: None,
        };
        let because = "no level of the policy fits, so a person has to approve";
        return (requirement, vec![because.to_owned()]);
    };
    let mut action = level.action;
    if matches!(action, ApprovalAction::NotifyAndTimeout { .. }) && !profile.is_clean() {
        // Time alone never takes what somebody had to overrule.
        action = ApprovalAction::RequireApproval;
        because.push(
            "objections were overruled or less was done, so time alone is not enough".to_owned(),
        );
    }
    let is_multi = matches!(action, ApprovalAction::RequireMultiApproval { .. });
    let requirement = ApprovalRequirement {
        name: level.name.clone(),
        action,
        approvers: level.approvers.clone(),
        excluded: excluded.filter(|_| is_multi).cloned(),
        channel: level.channel.clone(),
        timeout: level.timeout.clone(),
    };
    (requirement, because)
}
