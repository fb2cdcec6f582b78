//! Approval of a change by people: the policy that says when it is needed and by whom, and the
//! votes on one tree.
//!
//! Everything here is a pure function of what was pinned when the run started
//! ([`ApprovalRules`]), of the facts about the change, and of the votes. `decide::approvals` asks,
//! counts and records.
//!
//! **Invariant:** a vote counts for the tree it was given on, once for each person, and only if
//! that person may vote. Nothing here takes a name for a person: an [`Identity`] says how the
//! person is known, and whoever makes one has checked that.

mod policy;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::policy::{
    ApprovalAction, ApprovalLevel, ApprovalPolicy, ApprovalRequirement, RiskAssessment,
};
pub use self::timers::{ApprovalTimeout, ApprovalTimer, TimeoutAction, TimeoutOutcome};
use crate::ids::{AttemptId, EpochMillis, PersonName, Tree};
use crate::risk::{RiskFacts, RiskProfile};

/// How long a change waits at least after codeteam was restarted, before it goes on because nobody
/// objected.
pub const MIN_WAIT_AFTER_RESTART_MS: u64 = 10 * 60_000;

/// Who made a decision, and how they are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The person.
    pub person: PersonName,
    /// How they are known.
    pub proof: IdentityProof,
}

/// How a person is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentityProof {
    /// By the user id of the process in which they decided.
    Uid(u32),
    /// By a signature with a key that belongs to them: its fingerprint.
    Signature(String),
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.proof {
            IdentityProof::Uid(uid) => write!(f, "{} (uid {uid})", self.person),
            IdentityProof::Signature(key) => write!(f, "{} (signed, {key})", self.person),
        }
    }
}

/// A person as the configuration describes them. The kernel decides nothing by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Their user ids on this machine.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub uids: BTreeSet<u32>,
    /// The public keys that they sign with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// The approval rules of a run, pinned when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRules {
    /// The policies. All of them have to be met: the user's own, and the repository's.
    #[serde(default)]
    pub policies: Vec<ApprovalPolicy>,
    /// The people who may take a change against the policy, with a reason.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub overriders: BTreeSet<PersonName>,
    /// Whether whoever began the run counts where several people have to approve.
    #[serde(default)]
    pub allow_self: bool,
    /// The known people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub people: BTreeMap<PersonName, Person>,
    /// The named sets of paths, with their patterns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, Vec<String>>,
    /// Who began the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Identity>,
}

impl ApprovalRules {
    /// Assesses a change by all policies.
    pub fn assess(&self, profile: &RiskProfile) -> RiskAssessment {
        let began = self.began.as_ref().map(|identity| &identity.person);
        let excluded = began.filter(|_| !self.allow_self);
        RiskAssessment::new(&self.policies, profile, excluded)
    }
}

/// The state of a frame's approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameApproval {
    /// The facts about the change, and the tree they are about.
    pub facts: Option<(Tree, Box<RiskFacts>)>,
    /// The question that is open, with its votes.
    pub pending: Option<Box<PendingApproval>>,
    /// The approval that was given last.
    pub granted: Option<Box<GrantedApproval>>,
}

impl FrameApproval {
    /// Returns the facts about a tree, if they are known.
    pub fn facts_about(&self, tree: &Tree) -> Option<&RiskFacts> {
        let (about, facts) = self.facts.as_ref()?;
        (about == tree).then_some(facts)
    }

    /// Returns the approval of a tree, if it was given.
    pub(crate) fn granted_for(&self, tree: &Tree) -> Option<&GrantedApproval> {
        let granted = self.granted.as_deref()?;
        (granted.tree == *tree).then_some(granted)
    }
}

/// An approval that people are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The question.
    pub question: AttemptId,
    /// The tree that is voted on.
    pub tree: Tree,
    /// The level, what is required, and why.
    pub assessment: RiskAssessment,
    /// When it was asked.
    pub asked: EpochMillis,
    /// The votes so far.
    pub votes: BTreeMap<PersonName, ApprovalVote>,
    /// What became of the notification.
    pub notice: NoticeState,
    /// When a notification that reached nobody is sent again, while a process drives the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice_retry: Option<NoticeRetry>,
    /// How far the waiting has come, by the position of a requirement.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers: BTreeMap<usize, ApprovalTimer>,
    /// Who votes in whose place: the vote of the first person belongs to the second one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delegations: BTreeMap<PersonName, PersonName>,
}

/// A vote for a change. A vote against it closes the question, so it is never kept here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalVote {
    /// How the person is known.
    pub proof: IdentityProof,
    /// A remark.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// What became of the notification about a pending approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeState {
    /// It has not been sent yet.
    #[default]
    Due,
    /// It has to be sent again: codeteam was restarted when the deadline was past or near.
    DueAgain,
    /// It was delivered; the change goes on at this time unless somebody objects.
    Delivered {
        /// The deadline.
        until: EpochMillis,
    },
    /// It was delivered nowhere, so the change waits for a person.
    Undelivered,
}

/// A notification that has reached nobody so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeRetry {
    /// How often it reached nobody.
    pub failed: u32,
    /// When it is sent again.
    pub at: EpochMillis,
}

impl NoticeRetry {
    /// Returns how long to wait after a notification reached nobody for the `failed`-th time: each
    /// pause is twice as long as the one before.
    pub(crate) fn pause_ms(failed: u32) -> u64 {
        const FIRST_MS: u64 = 60_000;
        const LONGEST_MS: u64 = 60 * 60_000;
        let factor = 1_u64.checked_shl(failed.saturating_sub(1));
        let factor = factor.unwrap_or(u64::MAX);
        FIRST_MS.saturating_mul(factor).min(LONGEST_MS)
    }
}

impl PendingApproval {
    /// Returns when the notification is sent again, if it has reached nobody.
    pub fn notice_retry_at(&self) -> Option<EpochMillis> {
        let retry = self.notice_retry.as_ref()?;
        (self.notice == NoticeState::Undelivered).then_some(retry.at)
    }

    /// Returns how long people have to object, if the change goes on when nobody does.
    pub fn timeout_ms(&self) -> Option<u64> {
        self.assessment.timeout_ms()
    }

    /// Returns the time at which the change goes on unless somebody objects.
    pub fn deadline(&self) -> Option<EpochMillis> {
        match self.notice {
            NoticeState::Delivered { until } if self.timeout_ms().is_some() => Some(until),
            _ => None,
        }
    }

    /// Returns true if a notification has to be delivered before the time starts to run.
    pub(crate) fn needs_notice(&self) -> bool {
        let is_due = matches!(self.notice, NoticeState::Due | NoticeState::DueAgain);
        is_due && self.timeout_ms().is_some()
    }

    /// Returns the requirements that the votes so far do not meet.
    pub fn missing(&self) -> Vec<ApprovalRequirement> {
        let mut requirements = self.requirements();
        requirements.retain(|requirement| !requirement.is_met_by(self.votes.keys()));
        requirements
    }

    /// Returns true if enough people have approved.
    pub(crate) fn has_quorum(&self) -> bool {
        self.missing().is_empty()
    }

    /// Returns true if a person's vote counts for any requirement.
    pub fn may_vote(&self, person: &PersonName) -> bool {
        let requirements = self.requirements();
        requirements
            .iter()
            .any(|requirement| requirement.may_vote(person))
    }

    /// Returns true if a person may say no: whoever may vote, and whoever has handed their vote
    /// over.
    pub(crate) fn may_reject(&self, person: &PersonName) -> bool {
        self.may_vote(person) || self.delegations.contains_key(person)
    }
}

/// An approval that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedApproval {
    /// The tree it is about.
    pub tree: Tree,
    /// The level, and why.
    pub assessment: RiskAssessment,
    /// What it rests on.
    pub basis: ApprovalBasis,
}

/// What an approval rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalBasis {
    /// The policy lets such a change go on.
    Policy,
    /// These people approved it.
    Votes(Vec<PersonName>),
    /// Nobody objected within the given time.
    NoObjection {
        /// How long people could object, in milliseconds.
        within_ms: u64,
    },
    /// A person took it against the policy.
    Override {
        /// The person.
        by: PersonName,
        /// Their reason.
        reason: String,
    },
}

impl ApprovalBasis {
    /// Returns the people whose votes it rests on.
    pub(crate) fn voters(&self) -> &[PersonName] {
        match self {
            Self::Votes(people) => people,
            Self::Policy | Self::NoObjection { .. } | Self::Override { .. } => &[],
        }
    }
}
