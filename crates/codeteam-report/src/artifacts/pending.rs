//! Collects facts that files need but that the state of a run no longer holds: frames as they were
//! when they ended, and verdicts on the plan. They are collected event by event, so the result is
//! the same after a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use codeteam_core::frame::Frame;
use codeteam_core::ids::{FramePath, fnv_hash};
use codeteam_core::plan::Plan;
use codeteam_core::submission::Submission;
use codeteam_core::{Event, Run};

use super::task_packs::TaskFiles;
use super::{Error, criteria, feedback, plan_folder, reports, run_folder};
use crate::records::ProjectRecords;
use crate::{describe, report};

/// The collected facts, and which of them have not been written yet.
#[derive(Default)]
pub(super) struct PendingArtifacts {
    /// Frames that have ended since files were last written, as they were at their end.
    ended: BTreeMap<FramePath, Frame>,
    /// Frames with new judgements, whose reports must be rewritten.
    judged: BTreeSet<FramePath>,
    feedback: Vec<feedback::PlanFeedbackEntry>,
    feedback_is_new: bool,
    /// The files of tasks, most of which move into packs in a long run.
    pub(super) files: TaskFiles,
    /// Hashes of the criteria of every plan the run has had. A file with one of them was not edited
    /// by a person.
    criteria: BTreeSet<u64>,
}

impl PendingArtifacts {
    pub(super) fn observe_before(&mut self, run: &Run, event: &Event) {
        if let Event::FrameEnded { frame, .. } = event
            && let Some(found) = run.frames.get(frame)
        {
            let ended = report::ended_frame(found, event);
            self.ended.insert(frame.clone(), ended);
        }
    }

    pub(super) fn observe_after(&mut self, run: &Run, event: &Event) {
        match event {
            Event::FrameOpened { frame, .. } | Event::FrameResumed { frame } => {
                self.ended.remove(frame);
            }
            Event::RunReopened { .. } => drop(self.ended.remove(&FramePath::root())),
            Event::RunStarted(started) => {
                let plan = started.plan.iter();
                self.criteria
                    .extend(plan.map(|p| fnv_hash(&criteria::render_criteria(p))));
            }
            Event::PlanProposed { plan } | Event::PlanRevised { plan, .. } => {
                self.criteria
                    .insert(fnv_hash(&criteria::render_criteria(plan)));
            }
            Event::PhasePlanned { .. }
            | Event::Intervened {
                refined: Some(_), ..
            } => {
                let plan = run.plan.iter();
                self.criteria
                    .extend(plan.map(|p| fnv_hash(&criteria::render_criteria(p))));
            }
            _ => {}
        }
        self.files.observe(event);
        if is_judgement(event)
            && let Some(frame) = describe::event_frame(event)
        {
            self.judged.insert(frame.clone());
        }
        let verdicts = self.feedback.len();
        feedback::record_verdict(&mut self.feedback, run, event);
        self.feedback_is_new |= self.feedback.len() > verdicts
            || matches!(event, Event::FindingsChanged { frame, .. } if frame.is_root());
    }

    /// Forgets that an event makes the reports of its frame new.
    pub(super) fn forget(&mut self, event: &Event) {
        if let Some(frame) = describe::event_frame(event) {
            self.ended.remove(frame);
            self.judged.remove(frame);
        }
    }

    /// Writes every file whose content has changed.
    pub(super) fn write_pending(
        &mut self,
        records: ProjectRecords<'_>,
        run: &Run,
    ) -> Result<(), Error> {
        for path in std::mem::take(&mut self.judged) {
            let now = run.frames.get(&path).or_else(|| self.ended.get(&path));
            if let Some(frame) = now.or_else(|| run.failed_frames.get(&path)) {
                reports::write_reports(records, run, frame, &mut self.files)?;
                reports::write_log(records, run, frame, &mut self.files)?;
            }
        }
        self.ended.clear();
        let shared = plan_folder(records, run).map(|folder| folder.join("FEEDBACK.md"));
        if std::mem::take(&mut self.feedback_is_new)
            && let (Some(shared), Some(text)) =
                (shared, feedback::render_feedback(run, &self.feedback))
        {
            let own = run_folder(records, run).join("FEEDBACK.md");
            reports::publish_report(records, run, &own, &shared, &text)?;
        }
        self.files.write_packs(records, run)
    }

    /// Writes a plan's criteria, unless a person has edited them.
    pub(super) fn write_criteria(
        &self,
        records: ProjectRecords<'_>,
        folder: &Path,
        plan: &Plan,
    ) -> Result<(), Error> {
        let path = folder.join("ACCEPTANCE_CRITERIA.md");
        let ours = match super::read_own_file(records, &path) {
            Ok(Some(text)) => self.criteria.contains(&fnv_hash(&text)),
            Ok(None) => true,
            Err(_) => false,
        };
        if ours {
            reports::write_if_changed(records, &path, &criteria::render_criteria(plan))?;
        }
        Ok(())
    }
}

/// Returns true if an event changes the content of a report.
fn is_judgement(event: &Event) -> bool {
    match event {
        Event::SubmissionReceived {
            vote,
            change,
            submission,
            ..
        } => {
            // A text submission counts because a scribe may have shortened the log.
            vote.is_some() || change.is_some() || matches!(submission, Submission::Text(_))
        }
        Event::GateJudged { .. }
        | Event::SlotAbstained { .. }
        | Event::FindingsChanged { .. }
        | Event::StepJudged { .. }
        | Event::QualityScored { .. }
        | Event::Intervened { .. }
        | Event::Asked { .. }
        | Event::Answered { .. }
        | Event::FrameRebased { .. }
        | Event::RebaseConflicted { .. }
        | Event::Committed { .. }
        | Event::FrameEnded { .. } => true,
        _ => false,
    }
}
