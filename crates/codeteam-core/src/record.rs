//! Who said what of a frame's change, and what was decided: kept for reports after the step that
//! judged has been left.
//!
//! What holds a change up is in `verdicts` and `findings`. Only two things are decided by the record:
//! what tests may still fail after a commit, and whether a person has rejected the same change before.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::event::CheckResult;
use crate::frame::Feedback;
use crate::ids::{PatchId, RoleName, StepId, Tree};

/// As much of a text as is kept of what earlier rounds said.
const MAX_CHARS: usize = 300;
/// And so many of them for one rejection.
const MAX_REASONS: usize = 10;

/// What was said of a frame's changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameJudgements {
    /// The last votes of each step of gatekeepers, one a slot.
    pub ballots: BTreeMap<StepId, Vec<GatekeeperVote>>,
    /// What each gate found last.
    pub gates: BTreeMap<StepId, Arc<GateResult>>,
    /// Every rejection, the oldest first.
    pub rejections: Vec<Arc<Rejection>>,
    /// What a person decided last.
    pub decided: Option<ChangeDecision>,
    /// The round that the frame's change was made in.
    pub made: u32,
}

/// The vote of one gatekeeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GatekeeperVote {
    /// Which role.
    pub role: RoleName,
    /// Which of the step's slots.
    pub slot: u32,
    /// Which visit of the step.
    pub generation: u32,
    /// The round it judged.
    pub round: u32,
    /// For or against; `None` if it gave up.
    pub vote: Option<bool>,
    /// Why.
    pub reason: String,
    /// The tree it judged.
    pub tree: Tree,
    /// The change it judged; `None` before there was one.
    pub patch: Option<PatchId>,
}

/// What a gate found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateResult {
    /// The round it judged.
    pub round: u32,
    /// Whether all is well.
    pub passed: bool,
    /// Check by check.
    pub results: Vec<CheckResult>,
    /// The tree it judged.
    pub tree: Tree,
    /// The change it judged; `None` before there was one.
    pub patch: Option<PatchId>,
}

/// A change that was sent back, or that a person replaced by their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The round it ended.
    pub round: u32,
    /// By which step.
    pub step: StepId,
    /// By whom, if it was a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, each in a line.
    pub why: Vec<String>,
    /// Whether nobody sent it back, but that person changed it themselves.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// The change.
    pub patch: Option<PatchId>,
}

/// A person's decision on a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeDecision {
    /// At which step.
    pub step: StepId,
    /// What was answered.
    pub answer: String,
    /// What was said besides.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// By whom.
    pub by: String,
    /// Whether it sent the change back.
    pub rejects: bool,
    /// Whether it came with a change of the person's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
    /// What spoke against the change then: checks and roles, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<String>,
    /// The change; `None` before there was one.
    pub patch: Option<PatchId>,
}

impl FrameJudgements {
    /// Whether anything was said at all.
    pub fn is_empty(&self) -> bool {
        self.ballots.is_empty() && self.gates.is_empty() && self.rejections.is_empty()
    }

    /// The checks and the roles that speak against a change, by name. `approved` says which steps
    /// have approved it all in all: there, single votes against it do not count.
    pub fn against(
        &self,
        patch: Option<&PatchId>,
        approved: impl Fn(&StepId) -> bool,
    ) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        };
        let gates = self.gates.values().filter(|g| g.patch.as_ref() == patch);
        for check in gates.flat_map(|gate| &gate.results).filter(|r| !r.passed) {
            add(&check.name);
        }
        for ballots in self.ballots.iter().filter(|(step, _)| !approved(step)) {
            let mut roles: BTreeMap<&RoleName, (usize, usize)> = BTreeMap::new();
            for ballot in ballots.1.iter().filter(|b| b.patch.as_ref() == patch) {
                let (yes, all) = roles.entry(&ballot.role).or_default();
                *yes += usize::from(ballot.vote == Some(true));
                *all += 1;
            }
            // A role is against it by its majority; a step that wants all of them, by any.
            let by_majority = roles.values().any(|(yes, all)| 2 * yes <= *all);
            for (role, (yes, all)) in roles {
                let against = if by_majority {
                    2 * yes <= all
                } else {
                    yes < all
                };
                if against {
                    add(role.as_str());
                }
            }
        }
        names
    }

    /// Takes a vote. Those of an earlier visit of the step are over then.
    pub(crate) fn vote(&mut self, step: &StepId, ballot: GatekeeperVote) {
        let ballots = self.ballots.entry(step.clone()).or_default();
        ballots.retain(|b| b.generation == ballot.generation && b.slot != ballot.slot);
        ballots.push(ballot);
        ballots.sort_by_key(|b| b.slot);
    }

    /// Takes what a gate found.
    pub(crate) fn gate(&mut self, step: &StepId, run: GateResult) {
        self.gates.insert(step.clone(), Arc::new(run));
    }

    /// Takes a step's rejection.
    pub(crate) fn rejected(
        &mut self,
        round: u32,
        step: &StepId,
        patch: Option<PatchId>,
        feedback: &[Feedback],
    ) {
        let why = feedback.iter().take(MAX_REASONS);
        self.rejections.push(Arc::new(Rejection {
            round,
            step: step.clone(),
            by: None,
            why: why.map(|f| line(&f.text)).collect(),
            edited: false,
            patch,
        }));
    }

    /// Takes a person's decision.
    pub(crate) fn decide(&mut self, round: u32, decided: ChangeDecision) {
        if decided.rejects || decided.edits {
            self.rejections.push(Arc::new(Rejection {
                round,
                step: decided.step.clone(),
                by: Some(decided.by.clone()),
                why: Some(line(&decided.note))
                    .filter(|w| !w.is_empty())
                    .into_iter()
                    .collect(),
                edited: !decided.rejects,
                patch: decided.patch.clone(),
            }));
        }
        self.decided = Some(decided);
    }
}

/// A text in one line of a sensible length.
fn line(text: &str) -> String {
    let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("");
    let first = first.trim();
    if first.chars().count() <= MAX_CHARS {
        return first.to_owned();
    }
    let kept: String = first.chars().take(MAX_CHARS - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballot(role: &str, slot: u32, generation: u32, vote: Option<bool>) -> GatekeeperVote {
        GatekeeperVote {
            role: role.into(),
            slot,
            generation,
            round: 1,
            vote,
            reason: String::new(),
            tree: Tree::default(),
            patch: Some("p".into()),
        }
    }

    #[test]
    fn votes_of_an_earlier_visit_are_over_with_the_first_of_the_next() {
        let step = StepId::from("review");
        let mut record = FrameJudgements::default();
        for slot in [1, 0] {
            record.vote(&step, ballot("a", slot, 1, Some(false)));
        }
        let slots: Vec<u32> = record.ballots[&step].iter().map(|b| b.slot).collect();
        assert_eq!(slots, [0, 1]);
        record.vote(&step, ballot("a", 1, 2, Some(true)));
        assert_eq!(record.ballots[&step].len(), 1);
    }

    #[test]
    fn who_is_against_it_is_told_by_majorities() {
        let step = StepId::from("review");
        let mut record = FrameJudgements::default();
        let votes = [
            ("a", Some(true)),
            ("a", Some(true)),
            ("a", Some(false)),
            ("b", None),
        ];
        for (slot, (role, vote)) in (0..).zip(votes) {
            record.vote(&step, ballot(role, slot, 1, vote));
        }
        let patch = PatchId::from("p");
        assert_eq!(record.against(Some(&patch), |_| false), ["b"]);
        assert_eq!(record.against(Some(&patch), |_| true), [""; 0]);
        assert_eq!(record.against(None, |_| false), [""; 0]);
        record.vote(&step, ballot("b", 3, 1, Some(true)));
        assert_eq!(record.against(Some(&patch), |_| false), ["a"]);
    }
}
