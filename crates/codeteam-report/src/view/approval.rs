//! A pending approval.

use codeteam_core::Run;
use codeteam_core::approval::{
    ApprovalRequirement, IdentityProof, NoticeState, PendingApproval, TimeoutAction,
};
use codeteam_core::frame::Question;
use codeteam_core::ids::{EpochMillis, PersonName, Tree};
use codeteam_core::risk::RiskLevel;
use serde::Serialize;

/// The approval that a question is about: the risk, who has voted, and what is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalView {
    /// The level of risk.
    pub risk: RiskLevel,
    /// Why it is this level, one line each.
    pub reasons: Vec<String>,
    /// What has to be met, one line each, such as `2 of anna, ben`.
    pub requirements: Vec<String>,
    /// Which of these are not met yet.
    pub missing: Vec<String>,
    /// The votes so far; all of them are for it.
    pub votes: Vec<VoteView>,
    /// The tree that is voted on.
    pub tree: Tree,
    /// When it was asked, in milliseconds since the epoch.
    pub asked_at: EpochMillis,
    /// When it goes on unless somebody rejects it, if it does and people were notified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes_on_at: Option<EpochMillis>,
    /// Whether it would go on by itself, but nobody could be notified.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nobody_notified: bool,
    /// When the notification that reached nobody is sent again, while codeteam runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notified_again_at: Option<EpochMillis>,
    /// Who votes in whose place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegations: Vec<DelegationView>,
    /// What happens next if nobody decides, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<TimeoutView>,
}

/// A vote that was handed to somebody else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DelegationView {
    /// Whose vote it was.
    pub from: PersonName,
    /// Who has it now.
    pub to: PersonName,
}

/// What happens if an approval is not given in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimeoutView {
    /// When, in milliseconds since the epoch.
    pub at: EpochMillis,
    /// What: `remind`, `escalate` or `reject`.
    pub action: &'static str,
    /// What, in words.
    pub text: String,
}

/// A vote for a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VoteView {
    /// Who voted.
    pub person: PersonName,
    /// How they are known.
    pub known_by: IdentityProof,
    /// A remark.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl ApprovalView {
    /// Makes the view of the approval that a question is about, if it is about one.
    pub(super) fn of_question(run: &Run, question: &Question) -> Option<Self> {
        let pending = run
            .frames
            .get(&question.id.frame)?
            .approval
            .pending
            .as_deref()?;
        (pending.question == question.id).then(|| Self::new(pending))
    }

    fn new(pending: &PendingApproval) -> Self {
        let assessment = &pending.assessment;
        let requirements = pending.requirements();
        let votes = pending.votes.iter().map(|(person, vote)| VoteView {
            person: person.clone(),
            known_by: vote.proof.clone(),
            note: vote.note.clone(),
        });
        Self {
            risk: assessment.level,
            reasons: assessment.reasons.clone(),
            requirements: requirements
                .iter()
                .map(ApprovalRequirement::describe)
                .collect(),
            missing: pending
                .missing()
                .iter()
                .map(ApprovalRequirement::describe)
                .collect(),
            votes: votes.collect(),
            tree: pending.tree.clone(),
            asked_at: pending.asked,
            goes_on_at: pending.deadline(),
            nobody_notified: pending.notice == NoticeState::Undelivered
                && pending.timeout_ms().is_some(),
            notified_again_at: pending.notice_retry_at(),
            delegations: pending
                .delegations
                .iter()
                .map(|(from, to)| DelegationView {
                    from: from.clone(),
                    to: to.clone(),
                })
                .collect(),
            timeout: TimeoutView::new(pending),
        }
    }
}

/// Whether a person's vote on a change is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VoteStanding {
    /// It would count.
    Wanted,
    /// They have approved the change already; others are still needed.
    Given,
    /// It would not count: others have to decide.
    NotTheirs,
}

impl VoteStanding {
    /// Says whether the vote of a person on what a question is about is wanted; `None` if nobody
    /// votes on it.
    pub fn of_person(run: &Run, question: &Question, person: &PersonName) -> Option<Self> {
        let frame = run.frames.get(&question.id.frame)?;
        let pending = frame.approval.pending.as_deref()?;
        Some(if pending.question != question.id {
            return None;
        } else if pending.votes.contains_key(person) {
            Self::Given
        } else if pending.may_vote(person) {
            Self::Wanted
        } else {
            Self::NotTheirs
        })
    }
}

impl TimeoutView {
    fn new(pending: &PendingApproval) -> Option<Self> {
        let (position, at) = pending.next_timeout()?;
        let timeout = pending.assessment.requirements.get(position)?;
        let is_escalated = pending.timers.get(&position).is_some_and(|t| t.escalated);
        let (action, text) = match &timeout.timeout.as_ref()?.then {
            TimeoutAction::Escalate { to } if !is_escalated => {
                let names: Vec<&str> = to.iter().map(PersonName::as_str).collect();
                (
                    "escalate",
                    format!("{} may approve it too", names.join(", ")),
                )
            }
            TimeoutAction::Reject => ("reject", "it counts as rejected".to_owned()),
            TimeoutAction::Remind | TimeoutAction::Escalate { .. } => {
                ("remind", "people are reminded".to_owned())
            }
        };
        Some(Self { at, action, text })
    }
}
