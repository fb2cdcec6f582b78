//! Loop detection: a worker that answers a rejection with a change it has already submitted is
//! going round in circles, whatever it claims.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{PatchId, StepId};

/// The changes that each step of a frame has submitted so far, with their rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedPatches {
    by_step: BTreeMap<StepId, BTreeMap<PatchId, u32>>,
}

impl SubmittedPatches {
    /// Returns the earlier round in which `step` submitted exactly this change.
    pub fn earlier_round(&self, step: &StepId, patch: &PatchId) -> Option<u32> {
        self.by_step.get(step)?.get(patch).copied()
    }

    /// Records a change that is going to be judged.
    pub fn record(&mut self, step: &StepId, patch: &PatchId, round: u32) {
        self.by_step
            .entry(step.clone())
            .or_default()
            .entry(patch.clone())
            .or_insert(round);
    }

    /// Forgets everything, because a person has said to continue.
    pub fn clear(&mut self) {
        self.by_step.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swinging_between_two_wrong_answers_is_a_loop() {
        let (step, a, b) = (StepId::from("code"), PatchId::from("a"), PatchId::from("b"));
        let mut seen = SubmittedPatches::default();
        assert_eq!(seen.earlier_round(&step, &a), None);
        seen.record(&step, &a, 1);
        assert_eq!(seen.earlier_round(&step, &b), None);
        seen.record(&step, &b, 2);
        assert_eq!(seen.earlier_round(&step, &a), Some(1));
        assert_eq!(
            seen.earlier_round(&"test".into(), &a),
            None,
            "another step may make the same change"
        );
    }
}
