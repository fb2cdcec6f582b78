//! The record of every judgement of a frame's change, and of what a person decided. It is kept for
//! reports after the frame has left the step that judged.
//!
//! What holds a change up is in `verdicts` and `findings`. Only two decisions depend on this
//! record: which tests may still fail after a commit, and whether a person has rejected the same
//! change before.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::checks::CheckResult;
use crate::feedback::Feedback;
use crate::ids::{PatchId, RoleName, StepId, Tree};

/// The maximum number of characters kept of a reason from an earlier round.
const MAX_CHARS: usize = 300;
/// The maximum number of reasons kept for one rejection.
const MAX_REASONS: usize = 10;

/// All judgements of a frame's changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameJudgements {
    /// The last votes of each gatekeeper step, one per slot.
    pub ballots: BTreeMap<StepId, Vec<GatekeeperVote>>,
    /// The last result of each gate.
    pub gates: BTreeMap<StepId, Arc<GateResult>>,
    /// Every rejection, oldest first.
    pub rejections: Vec<Arc<Rejection>>,
    /// The last decision of a person.
    pub last_decision: Option<ChangeDecision>,
    /// The round in which the frame's change was made.
    pub change_round: u32,
}

/// The vote of one gatekeeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatekeeperVote {
    /// The role that voted.
    pub role: RoleName,
    /// The slot of the step it voted in.
    pub slot: u32,
    /// The visit of the step it voted in.
    pub generation: u32,
    /// The round it judged.
    pub round: u32,
    /// For or against; `None` if it gave up.
    pub vote: Option<bool>,
    /// The reason it gave.
    pub reason: String,
    /// The tree it judged.
    pub tree: Tree,
    /// The change it judged; `None` before there was one.
    pub patch: Option<PatchId>,
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    /// The round it judged.
    pub round: u32,
    /// Whether the gate passed.
    pub passed: bool,
    /// The result of each check.
    pub results: Vec<CheckResult>,
    /// The tree it judged.
    pub tree: Tree,
    /// The change it judged; `None` before there was one.
    pub patch: Option<PatchId>,
}

/// A change that was sent back, or that a person replaced with their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The round that ended with it.
    pub round: u32,
    /// The step that rejected the change.
    pub step: StepId,
    /// The person who rejected it, if it was a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reasons, one line each.
    pub why: Vec<String>,
    /// Whether the change was not sent back; instead, the person edited it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// The rejected change.
    pub patch: Option<PatchId>,
}

/// A person's decision on a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeDecision {
    /// The step at which it was made.
    pub step: StepId,
    /// The answer that was given.
    pub answer: String,
    /// A remark by the person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Who decided.
    pub by: String,
    /// Whether it sent the change back.
    pub rejects: bool,
    /// Whether it came with a change of the person's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
    /// The names of the checks and roles that objected to the change at the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<String>,
    /// The change; `None` before there was one.
    pub patch: Option<PatchId>,
}

impl FrameJudgements {
    /// Returns true if no vote, gate result or rejection has been recorded.
    pub fn is_empty(&self) -> bool {
        self.ballots.is_empty() && self.gates.is_empty() && self.rejections.is_empty()
    }

    /// Returns the names of the checks and roles that object to a change. `approved` tells which
    /// steps have approved it as a whole: single votes against it do not count there.
    pub fn objector_names(
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
            // A role objects if it has no majority for the change. If every role has one and the
            // step still did not approve, it requires all votes, and a single one against is
            // enough.
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

    /// Records a vote and drops those of an earlier visit of the step.
    pub(crate) fn record_vote(&mut self, step: &StepId, ballot: GatekeeperVote) {
        let ballots = self.ballots.entry(step.clone()).or_default();
        ballots.retain(|b| b.generation == ballot.generation && b.slot != ballot.slot);
        ballots.push(ballot);
        ballots.sort_by_key(|b| b.slot);
    }

    /// Records the result of a gate.
    pub(crate) fn record_gate(&mut self, step: &StepId, run: GateResult) {
        self.gates.insert(step.clone(), Arc::new(run));
    }

    /// Records a step's rejection.
    pub(crate) fn record_rejection(
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
            why: why.map(|f| bounded_line(&f.text)).collect(),
            edited: false,
            patch,
        }));
    }

    /// Records a person's decision.
    pub(crate) fn record_decision(&mut self, round: u32, decided: ChangeDecision) {
        if decided.rejects || decided.edits {
            self.rejections.push(Arc::new(Rejection {
                round,
                step: decided.step.clone(),
                by: Some(decided.by.clone()),
                why: Some(bounded_line(&decided.note))
                    .filter(|w| !w.is_empty())
                    .into_iter()
                    .collect(),
                edited: !decided.rejects,
                patch: decided.patch.clone(),
            }));
        }
        self.last_decision = Some(decided);
    }
}

/// Returns the first non-empty line of a text, cut to [`MAX_CHARS`] characters.
fn bounded_line(text: &str) -> String {
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
            record.record_vote(&step, ballot("a", slot, 1, Some(false)));
        }
        let slots: Vec<u32> = record.ballots[&step].iter().map(|b| b.slot).collect();
        assert_eq!(slots, [0, 1]);
        record.record_vote(&step, ballot("a", 1, 2, Some(true)));
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
            record.record_vote(&step, ballot(role, slot, 1, vote));
        }
        let patch = PatchId::from("p");
        assert_eq!(record.objector_names(Some(&patch), |_| false), ["b"]);
        assert_eq!(record.objector_names(Some(&patch), |_| true), [""; 0]);
        assert_eq!(record.objector_names(None, |_| false), [""; 0]);
        record.record_vote(&step, ballot("b", 3, 1, Some(true)));
        assert_eq!(record.objector_names(Some(&patch), |_| false), ["a"]);
    }
}
