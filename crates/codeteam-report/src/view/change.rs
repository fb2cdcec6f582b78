//! The change of a frame, with everything that was said about it.

use std::path::PathBuf;

use codeteam_core::Run;
use codeteam_core::frame::{Frame, FrameStage};
use codeteam_core::ids::{BodyId, FramePath, StepId};
use serde::Serialize;

use super::{LoadedRun, RunView, VIEW_VERSION};
use crate::artifacts::report_path;
use crate::proposal::{CommitProposal, propose_commit};
use crate::records::ProjectRecords;
use crate::report::{JudgementHistory, VerificationReport, asked_report_with_lines};

/// A change, with its files, their line counts, and everything that was said about it: checks,
/// verdicts, findings, earlier rounds and what a person decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeView {
    /// The verification report of the change.
    #[serde(flatten)]
    pub report: VerificationReport,
    /// `VIEW_VERSION`.
    pub version: u32,
    /// The frame whose change it is.
    pub frame: FramePath,
    /// Lines added, over all files whose lines are counted.
    pub added: usize,
    /// Lines removed, over the same files.
    pub removed: usize,
    /// The body with the diff, while the change is not committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<BodyId>,
    /// The steps that reject it and that no person has overruled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected_by: Vec<StepId>,
    /// The names of the checks and roles that object to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<String>,
    /// The commit that an approval would make, if a person is asked for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<CommitProposal>,
    /// The file that its report is written to.
    #[serde(skip)]
    pub report_file: PathBuf,
}

impl ChangeView {
    /// Makes the view of the change of a frame that is under way or can be taken up again; `None`
    /// if nothing of it was judged yet.
    pub fn of_frame(
        records: ProjectRecords<'_>,
        snapshot: &LoadedRun,
        path: &FramePath,
    ) -> Option<Self> {
        Self::new(records, snapshot.as_run(), snapshot.as_frame(path)?)
    }

    /// Makes the view of a change that was judged in a run, by the name of its task, or of what is
    /// to be looked at first; `None` if nothing of it was judged.
    pub fn from_history(
        records: ProjectRecords<'_>,
        history: &JudgementHistory,
        name: Option<&str>,
    ) -> Option<Self> {
        let frame = match name {
            Some(name) => history.frame(name)?,
            None => history.default_frame()?,
        };
        Self::new(records, &history.run, frame)
    }

    fn new(records: ProjectRecords<'_>, run: &Run, frame: &Frame) -> Option<Self> {
        let report = asked_report_with_lines(records, run, frame)?;
        let lines = report.files.iter().filter_map(|file| file.lines);
        let (added, removed) = lines.fold((0, 0), |sum, lines| (sum.0 + lines.0, sum.1 + lines.1));
        let question = match &frame.stage {
            FrameStage::Asking(question) => Some(question),
            _ => None,
        };
        Some(Self {
            version: VIEW_VERSION,
            frame: frame.path.clone(),
            added,
            removed,
            diff: frame.change.as_ref().map(|change| change.diff.clone()),
            rejected_by: frame.rejecting_steps().into_iter().cloned().collect(),
            objections: frame.objector_names(),
            proposal: question.and_then(|question| propose_commit(records, run, question)),
            report_file: report_path(records, run, frame),
            report,
        })
    }
}

impl RunView {
    /// Makes the view of the run whose judgements were read.
    pub fn from_history(history: &JudgementHistory) -> Self {
        Self::new(&history.run)
    }
}
