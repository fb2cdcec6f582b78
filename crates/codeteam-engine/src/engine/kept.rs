//! Decisions that wait in the inbox of a run for somebody to drive it.
//!
//! As long as nobody has taken a decision, its author may think better of it: a later one on the same
//! matter takes its place, so that what was said last is what is done.

use codeteam_core::ids::{FramePath, RunId};
use codeteam_core::input::Decision;

use super::{Engine, Error};
use crate::driver::PostedDecision;

/// A decision that nobody has taken yet.
#[derive(Clone, Debug)]
pub struct KeptDecision {
    /// Its number in the inbox.
    pub id: i64,
    /// Who made it.
    pub by: String,
    /// What was decided.
    pub decision: Decision,
}

impl Engine {
    /// The decisions on a run that nobody has taken yet, the oldest first.
    pub fn kept_decisions(&self, run: &RunId) -> Result<Vec<KeptDecision>, Error> {
        let rows = self.store.inbox(run.as_str())?;
        let kept = rows.into_iter().filter_map(|row| {
            let PostedDecision { by, decision } = serde_json::from_str(&row.data).ok()?;
            let id = row.id;
            Some(KeptDecision { id, by, decision })
        });
        Ok(kept.collect())
    }

    /// Puts a decision where whoever takes the run up next will find it, in place of those on the same
    /// matter that are kept there. Returns the replaced ones.
    pub fn keep(
        &self,
        run: &RunId,
        decision: &Decision,
        by: &str,
    ) -> Result<Vec<KeptDecision>, Error> {
        let mut replaced = self.kept_decisions(run)?;
        replaced.retain(|kept| replaces(decision, &kept.decision));
        let ids: Vec<i64> = replaced.iter().map(|kept| kept.id).collect();
        self.post_instead(run, decision, by, &ids)?;
        Ok(replaced)
    }
}

/// Whether a decision takes the place of an earlier one: both say what is to become of the same frame,
/// or the new one ends the run.
fn replaces(new: &Decision, old: &Decision) -> bool {
    if matches!(new, Decision::Abort { .. }) {
        return true;
    }
    match (new, old) {
        (Decision::Retry { .. }, Decision::Answer { .. }) => false,
        (Decision::Retry { frame: None, .. }, _) => DecisionSubject::of(old).is_some(),
        _ => {
            DecisionSubject::of(new).is_some()
                && DecisionSubject::of(new) == DecisionSubject::of(old)
        }
    }
}

/// What a decision is about: a frame, by its name.
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
            | Decision::Repin { .. }
            | Decision::Reassign { .. }
            | Decision::RaiseLimits { .. } => None,
        }
    }
}
