//! What files tell that the state of a run no longer has: frames as they ended, verdicts on the plan.
//! Taken from events one by one, so that it is the same after a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use codeteam_core::frame::Frame;
use codeteam_core::ids::{FramePath, fnv};
use codeteam_core::plan::Plan;
use codeteam_core::submission::Submission;
use codeteam_core::{Event, Run};

use super::{Error, criteria, feedback, folder, plan_folder, reports};
use crate::engine::Engine;
use crate::{report, tell};

/// What is known, and what of it is not written yet.
#[derive(Default)]
pub(super) struct PendingArtifacts {
    /// Frames that have ended since files were last written, as they were then.
    ended: BTreeMap<FramePath, Frame>,
    /// Frames of which something new was said.
    judged: BTreeSet<FramePath>,
    feedback: Vec<feedback::PlanFeedbackEntry>,
    feedback_is_new: bool,
    /// The criteria of every plan the run has had: what a person did not write.
    criteria: BTreeSet<u64>,
}

impl PendingArtifacts {
    pub(super) fn before(&mut self, run: &Run, event: &Event) {
        if let Event::FrameEnded { frame, .. } = event
            && let Some(found) = run.frames.get(frame)
        {
            let ended = report::ended(found, event);
            self.ended.insert(frame.clone(), ended);
        }
    }

    pub(super) fn after(&mut self, run: &Run, event: &Event) {
        match event {
            Event::FrameOpened { frame, .. } | Event::FrameResumed { frame } => {
                self.ended.remove(frame);
            }
            Event::RunReopened { .. } => drop(self.ended.remove(&FramePath::root())),
            Event::RunStarted(started) => {
                let plan = started.plan.iter();
                self.criteria.extend(plan.map(|p| fnv(&criteria::text(p))));
            }
            Event::PlanProposed { plan } | Event::PlanRevised { plan, .. } => {
                self.criteria.insert(fnv(&criteria::text(plan)));
            }
            _ => {}
        }
        if is_judgement(event)
            && let Some(frame) = tell::place(event)
        {
            self.judged.insert(frame.clone());
        }
        let verdicts = self.feedback.len();
        feedback::take(&mut self.feedback, run, event);
        self.feedback_is_new |= self.feedback.len() > verdicts
            || matches!(event, Event::FindingsChanged { frame, .. } if frame.is_root());
    }

    /// Writes what is new.
    pub(super) fn write(&mut self, engine: &Engine, run: &Run) -> Result<(), Error> {
        for path in std::mem::take(&mut self.judged) {
            let now = run.frames.get(&path).or_else(|| self.ended.get(&path));
            if let Some(frame) = now.or_else(|| run.failed.get(&path)) {
                reports::write(engine, run, frame)?;
                reports::write_log(engine, run, frame)?;
            }
        }
        self.ended.clear();
        let shared = plan_folder(engine, run).map(|folder| folder.join("FEEDBACK.md"));
        if std::mem::take(&mut self.feedback_is_new)
            && let (Some(shared), Some(text)) = (shared, feedback::text(run, &self.feedback))
        {
            let own = folder(engine, run).join("FEEDBACK.md");
            reports::publish(engine, run, &own, &shared, &text)?;
        }
        Ok(())
    }

    /// Writes a plan's criteria, unless a person has changed them.
    pub(super) fn write_criteria(
        &self,
        engine: &Engine,
        folder: &Path,
        plan: &Plan,
    ) -> Result<(), Error> {
        let path = folder.join("ACCEPTANCE_CRITERIA.md");
        let ours = match super::read(engine, &path) {
            Ok(Some(text)) => self.criteria.contains(&fnv(&text)),
            Ok(None) => true,
            Err(_) => false,
        };
        if ours {
            reports::update(engine, &path, &criteria::text(plan))?;
        }
        Ok(())
    }
}

/// Whether an event changes what a report says.
fn is_judgement(event: &Event) -> bool {
    match event {
        Event::SubmissionReceived {
            vote,
            change,
            submission,
            ..
        } => {
            // A scribe may have shortened the log.
            vote.is_some() || change.is_some() || matches!(submission, Submission::Text(_))
        }
        Event::GateJudged { .. }
        | Event::SlotAbstained { .. }
        | Event::FindingsChanged { .. }
        | Event::StepJudged { .. }
        | Event::Asked { .. }
        | Event::Answered { .. }
        | Event::FrameRebased { .. }
        | Event::RebaseConflicted { .. }
        | Event::Committed { .. }
        | Event::FrameEnded { .. } => true,
        _ => false,
    }
}
