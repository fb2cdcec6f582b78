//! Determines whether a step's verdict still applies to the change that a frame has now.

use super::{Frame, StepVerdict};
use crate::ids::StepId;
use crate::team::TaskQuality;

/// The last verdict of a step, together with its frame, so that it can be compared with the change
/// that the frame has now.
#[derive(Clone, Copy, Debug)]
pub struct JudgedStep<'a> {
    /// The step that judged.
    pub step: &'a StepId,
    /// Its verdict, on whatever tree or change that was.
    pub verdict: &'a StepVerdict,
    frame: &'a Frame,
}

impl JudgedStep<'_> {
    /// Returns true if the verdict applies to exactly what the frame has now: for checks the same
    /// tree, for reviewers the same change.
    pub fn is_current(&self) -> bool {
        if self.verdict.by_checks {
            self.verdict.tree == self.frame.tree
        } else {
            let patch = self.frame.change.as_ref().map(|change| &change.patch);
            self.verdict.patch.as_ref() == patch
        }
    }

    /// Returns true if the verdict is about the frame's current change, on any base.
    pub fn is_about_change(&self) -> bool {
        let change = self.frame.change.as_ref();
        change.is_some_and(|change| self.verdict.patch.as_ref() == Some(&change.patch))
    }

    /// Returns true if the step rejects the frame's current change.
    pub fn is_against(&self) -> bool {
        !self.verdict.approved && self.is_about_change()
    }

    /// Returns true if a person has accepted the change despite this verdict.
    pub fn is_overruled(&self) -> bool {
        self.frame.is_change_accepted() && self.frame.acceptance.overruled_steps.contains(self.step)
    }
}

impl Frame {
    /// Returns the steps that have judged, each with its last verdict.
    pub fn judged_steps(&self) -> impl Iterator<Item = JudgedStep<'_>> {
        self.verdicts.iter().map(|(step, verdict)| JudgedStep {
            step,
            verdict,
            frame: self,
        })
    }

    /// Returns a step with its last verdict, if it has given one.
    pub fn judged_step(&self, step: &StepId) -> Option<JudgedStep<'_>> {
        let (step, verdict) = self.verdicts.get_key_value(step)?;
        Some(JudgedStep {
            step,
            verdict,
            frame: self,
        })
    }

    /// Returns the score of the current change, if it was scored.
    pub(crate) fn current_quality(&self) -> Option<&TaskQuality> {
        let patch = &self.change.as_ref()?.patch;
        let quality = self.team.quality.as_ref();
        quality.filter(|quality| quality.patch.as_ref() == Some(patch))
    }

    /// Returns the round that a leader decides about: that of the change, unless the work since has
    /// failed. The rejection by which a change came to the leader has begun another one already.
    pub(crate) fn led_round(&self) -> u32 {
        match self.team.failure {
            Some(_) => self.round,
            None => self.iterations(),
        }
    }

    /// Returns why the current change has no score, if whoever had to score it gave up.
    pub(crate) fn missing_score(&self) -> Option<&str> {
        let why = self.team.unscored.as_deref();
        why.filter(|_| self.change.is_some() && self.current_quality().is_none())
    }

    /// Returns true if a person has accepted the current change, whatever the objections.
    pub fn is_change_accepted(&self) -> bool {
        let change = self.change.as_ref();
        change.is_some_and(|change| self.acceptance.patch.as_ref() == Some(&change.patch))
    }
}

#[cfg(test)]
mod tests {
    use crate::frame::{Frame, FrameChange, FrameItem, StepVerdict, Tip};
    use crate::ids::{FramePath, PatchId, StepId, Tree};

    fn judged(by_checks: bool, approved: bool) -> Frame {
        let base = Tip::default();
        let mut frame = Frame::new(FramePath::root(), None, FrameItem::Run, base);
        frame.tree = Tree::from("made");
        frame.change = Some(FrameChange {
            by: String::new(),
            patch: PatchId::from("p"),
            diff: "d".into(),
            files: Vec::new(),
            lines: None,
        });
        let verdict = StepVerdict {
            approved,
            tree: frame.tree.clone(),
            patch: Some(PatchId::from("p")),
            by_checks,
        };
        frame.verdicts.insert(StepId::from("judge"), verdict);
        frame
    }

    #[test]
    fn a_rebased_change_is_the_same_to_reviewers_and_another_to_checks() {
        let step = StepId::from("judge");
        for by_checks in [false, true] {
            let mut frame = judged(by_checks, false);
            assert!(frame.judged_step(&step).unwrap().is_current());
            frame.tree = Tree::from("rebased");
            let now = frame.judged_step(&step).unwrap();
            assert_eq!(now.is_current(), !by_checks);
            assert!(now.is_about_change() && now.is_against());
        }
    }

    #[test]
    fn a_verdict_is_overruled_for_the_change_that_was_accepted_only() {
        let mut frame = judged(false, false);
        assert_eq!(frame.rejecting_steps(), [&StepId::from("judge")]);
        frame.acceptance.patch = Some(PatchId::from("p"));
        frame
            .acceptance
            .overruled_steps
            .insert(StepId::from("judge"));
        assert!(frame.judged_steps().all(|judged| judged.is_overruled()));
        assert_eq!(frame.rejecting_steps(), [] as [&StepId; 0]);
        frame.acceptance.patch = Some(PatchId::from("another"));
        assert!(!frame.is_change_accepted());
        assert_eq!(frame.rejecting_steps().len(), 1);
    }
}
