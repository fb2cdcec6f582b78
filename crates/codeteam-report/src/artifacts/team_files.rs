//! Writes the files that a run of a team has besides the usual ones: `workflow_state.json`, which
//! says how far it has got, `DELIVERABLE.md`, which puts the results of its tasks together,
//! `QUALITY_REPORT.md` with their scores, and `INTERVENTIONS.md` with what a leader did about them.
//!
//! All are made from events, for people and for programs that know these names. A workflow asks for
//! them with the setting `team_files`.

mod deliverable;
mod intervention_log;
mod quality_report;
mod workflow_state;

use std::collections::BTreeMap;
use std::time::Instant;

use codeteam_core::frame::{FrameOutcome, SlotWork};
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, RoleName, TaskId};
use codeteam_core::submission::{ClaimedChange, Submission};
use codeteam_core::untrusted_text::escape_json;
use codeteam_core::{Event, Run};

use self::intervention_log::InterventionLog;
use self::quality_report::QualityReport;
use self::workflow_state::WorkflowStateFile;
use super::reports::write_if_changed;
use super::{Error, run_folder};
use crate::costs::CostLedger;
use crate::records::ProjectRecords;
use crate::task_frames::TaskFrames;

/// Writing the files takes at most one part in this many of a run's time.
const SHARE: u32 = 20;
/// The most tasks whose results are described; the others are only named.
const MOST_TASKS: usize = 200;
/// The most roles of one task whose results are described.
const MOST_ROLES: usize = 10;
/// The most bytes of a summary that are kept.
const SUMMARY_BYTES: usize = 2_000;
/// The most scores, and the most interventions, that are listed.
const LISTED: usize = 1_000;
/// The most files of a task that are named.
const MOST_FILES: usize = 100;

/// Returns true if the workflow asks for these files.
pub fn has_team_files(run: &Run) -> bool {
    let asked = run.workflow.settings.get("team_files");
    asked.copied().unwrap_or(false)
}

/// What the events of a run say about its roles and the results of its tasks.
#[derive(Default)]
pub(super) struct TeamFiles {
    tasks: TaskFrames,
    /// The roles of attempts that are under way, by their fences.
    running: BTreeMap<u64, RoleName>,
    /// How each role has last ended, in the order in which roles first did.
    roles: Vec<(RoleName, RoleProgress)>,
    /// The role that made the change of a frame.
    authors: BTreeMap<FramePath, RoleName>,
    results: BTreeMap<TaskId, Vec<RoleResult>>,
    scores: QualityReport,
    interventions: InterventionLog,
    /// The time of the last event.
    at: EpochMillis,
    is_stale: bool,
    /// The earliest moment at which the files are written again.
    next: Option<Instant>,
}

/// How a role has last ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoleProgress {
    Completed,
    Failed,
}

/// What a role has made for a task, in its own words.
struct RoleResult {
    role: RoleName,
    summary: String,
    concerns: Vec<String>,
    /// The files that were found changed.
    files: Vec<String>,
}

impl TeamFiles {
    pub(super) fn observe(&mut self, run: &Run, event: &Event) {
        if !has_team_files(run) {
            return;
        }
        self.tasks.observe(event);
        let is_scored = self.scores.observe(run, &self.tasks, event);
        let is_led = self.interventions.observe(&self.tasks, event);
        match event {
            Event::AttemptStarted {
                id,
                work: SlotWork::Role(role),
                ..
            } => {
                self.running.insert(id.fence, role.clone());
            }
            Event::SubmissionReceived {
                id,
                submission,
                change,
                ..
            } => {
                let Some(role) = self.running.remove(&id.fence) else {
                    return;
                };
                if let (Submission::Change(claimed), Some((_, change))) = (submission, change) {
                    self.record_result(id, &role, claimed, &change.files);
                }
                self.record_progress(role, RoleProgress::Completed);
            }
            Event::AttemptFailed { id, .. } => {
                if let Some(role) = self.running.remove(&id.fence) {
                    self.record_progress(role, RoleProgress::Failed);
                }
            }
            Event::AttemptLost { id, .. } | Event::AttemptSpent { id, .. } => {
                self.running.remove(&id.fence);
            }
            Event::FrameEnded { frame, outcome } => {
                // Whoever made the change has failed with the task, whoever else judged it.
                let author = self.authors.remove(frame);
                if let (Some(role), FrameOutcome::Failed(_)) = (author, outcome) {
                    self.record_progress(role, RoleProgress::Failed);
                }
            }
            Event::RunStarted(_)
            | Event::RunEnded { .. }
            | Event::RunReopened { .. }
            | Event::PlanProposed { .. }
            | Event::PlanRevised { .. }
            | Event::PhasePlanned { .. }
            | Event::Committed { .. } => {}
            _ if is_scored || is_led => {}
            _ => return,
        }
        self.is_stale = true;
    }

    /// Remembers when the events that were observed happened.
    pub(super) fn note_time(&mut self, at: EpochMillis) {
        self.at = self.at.max(at);
        self.interventions.note_time(at);
    }

    fn record_progress(&mut self, role: RoleName, progress: RoleProgress) {
        match self.roles.iter_mut().find(|(known, _)| *known == role) {
            Some((_, known)) => *known = progress,
            None => self.roles.push((role, progress)),
        }
    }

    fn record_result(
        &mut self,
        id: &AttemptId,
        role: &RoleName,
        claimed: &ClaimedChange,
        files: &[String],
    ) {
        self.authors.insert(id.frame.clone(), role.clone());
        let Some(task) = self.tasks.task_of(&id.frame) else {
            return;
        };
        if self.results.len() >= MOST_TASKS && !self.results.contains_key(task) {
            return;
        }
        let results = self.results.entry(task.clone()).or_default();
        results.retain(|result| result.role != *role);
        if results.len() < MOST_ROLES {
            let summary = claimed.summary.trim();
            let kept = summary.floor_char_boundary(SUMMARY_BYTES);
            results.push(RoleResult {
                role: role.clone(),
                summary: summary[..kept].to_owned(),
                concerns: claimed.concerns.iter().take(MOST_ROLES).cloned().collect(),
                files: files.iter().take(MOST_FILES).cloned().collect(),
            });
        }
    }

    /// Writes the files if they lack something and were not written a moment ago.
    pub(super) fn write_if_due(
        &mut self,
        records: ProjectRecords<'_>,
        run: &Run,
        costs: &CostLedger,
    ) -> Result<(), Error> {
        if self.next.is_some_and(|next| Instant::now() < next) {
            return Ok(());
        }
        self.write(records, run, costs)
    }

    /// Writes the files if they lack something.
    pub(super) fn write(
        &mut self,
        records: ProjectRecords<'_>,
        run: &Run,
        costs: &CostLedger,
    ) -> Result<(), Error> {
        if !self.is_stale {
            return Ok(());
        }
        let begun = Instant::now();
        let folder = run_folder(records, run);
        let state = WorkflowStateFile::new(run, self, costs);
        let text = serde_json::to_string_pretty(&state).unwrap_or_default();
        let text = escape_json(format!("{text}\n"));
        write_if_changed(records, &folder.join("workflow_state.json"), &text)?;
        if run.plan.is_some() {
            let top = records.repo.top_level();
            let depth = folder.strip_prefix(top).map(|path| path.iter().count());
            let text = deliverable::render_deliverable(run, self, depth.ok());
            write_if_changed(records, &folder.join("DELIVERABLE.md"), &text)?;
        }
        let reports = [
            ("QUALITY_REPORT.md", self.scores.render(run)),
            ("INTERVENTIONS.md", self.interventions.render(run)),
        ];
        for (name, text) in reports {
            if let Some(text) = text {
                write_if_changed(records, &folder.join(name), &text)?;
            }
        }
        self.is_stale = false;
        self.next = Some(begun + begun.elapsed() * SHARE);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
