//! Decisions that wait in the inbox of a run until a process drives it.
//!
//! While a decision waits, its author may revise it: a later decision on the same subject replaces
//! it, so that the last one is the one that takes effect.

use codeteam_core::ids::{FramePath, RunId};
use codeteam_core::input::Decision;

use super::{Engine, Error};
use serde::{Deserialize, Serialize};

/// A decision as it is stored in the inbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PostedDecision {
    /// The name of whoever made the decision, as they say.
    pub by: String,
    /// The user id of the process in which it was made, as that process says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// A signature over the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The decision itself, without secrets.
    pub decision: Decision,
}

/// Who posts a decision.
pub(crate) struct DecisionAuthor {
    /// Their name.
    pub(crate) name: String,
    /// The user id of their process; `None` for a session, which is nobody.
    pub(crate) uid: Option<u32>,
    /// Their signature.
    pub(crate) signature: Option<String>,
}

/// A decision that no driver has handled yet.
#[derive(Clone, Debug)]
pub struct KeptDecision {
    /// The number of its message in the inbox.
    pub id: i64,
    /// The name of whoever made the decision.
    pub by: String,
    /// Whether its author has signed it.
    pub is_signed: bool,
    /// The decision itself.
    pub decision: Decision,
}

impl Engine {
    /// Returns the decisions on a run that no driver has handled yet, oldest first.
    pub fn kept_decisions(&self, run: &RunId) -> Result<Vec<KeptDecision>, Error> {
        let rows = self.store.inbox(run.as_str())?;
        let kept = rows.into_iter().filter_map(|row| {
            let posted: PostedDecision = serde_json::from_str(&row.data).ok()?;
            Some(KeptDecision {
                id: row.id,
                by: posted.by,
                is_signed: posted.signature.is_some(),
                decision: posted.decision,
            })
        });
        Ok(kept.collect())
    }

    /// Posts a decision for whoever resumes the run next, in place of the waiting decisions on the
    /// same subject. Returns those that were replaced.
    pub fn keep(
        &self,
        run: &RunId,
        decision: &Decision,
        signature: Option<String>,
    ) -> Result<Vec<KeptDecision>, Error> {
        let mut replaced = self.kept_decisions(run)?;
        // Signed decisions may be of other people, and stand beside each other.
        let is_own = |kept: &KeptDecision| !kept.is_signed && signature.is_none();
        replaced.retain(|kept| is_own(kept) && replaces(decision, &kept.decision));
        let ids: Vec<i64> = replaced.iter().map(|kept| kept.id).collect();
        self.post_instead(run, decision, self.decision_author(signature), &ids)?;
        Ok(replaced)
    }
}

/// Returns true if a decision replaces an earlier one: both decide about the same frame, or the new
/// one ends the run.
fn replaces(new: &Decision, old: &Decision) -> bool {
    if matches!(new, Decision::Abort { .. }) {
        return true;
    }
    match (new, old) {
        (Decision::Rollback { .. }, Decision::Rollback { .. })
        | (Decision::RepinWorkflow { .. }, Decision::RepinWorkflow { .. }) => true,
        (Decision::Retry { .. }, Decision::Answer { .. }) => false,
        (Decision::Retry { frame: None, .. }, _) => DecisionSubject::of(old).is_some(),
        _ => {
            DecisionSubject::of(new).is_some()
                && DecisionSubject::of(new) == DecisionSubject::of(old)
        }
    }
}

/// The subject of a decision: a frame, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DecisionSubject(String);

impl DecisionSubject {
    fn of(decision: &Decision) -> Option<Self> {
        let of = |frame: &FramePath| Some(Self(frame.name().to_owned()));
        match decision {
            Decision::Answer { question, .. } => of(&question.frame),
            Decision::Accept { frame, .. } | Decision::Retry { frame, .. } => {
                frame.as_ref().and_then(of)
            }
            Decision::Skip { task } => Some(Self(task.as_str().to_owned())),
            Decision::Revise { .. }
            | Decision::Abort { .. }
            | Decision::Delegate { .. }
            | Decision::Repin { .. }
            | Decision::RepinWorkflow { .. }
            | Decision::Reassign { .. }
            | Decision::Rollback { .. }
            | Decision::RaiseLimits { .. } => None,
        }
    }
}
