//! A frame: where the run, a phase or a task stands in the workflow.

use codeteam_core::Run;
use codeteam_core::feedback::Feedback;
use codeteam_core::findings::Finding;
use codeteam_core::frame::{Frame, FrameItem, FrameOutcome, FrameStage, Slot, SlotState, SlotWork};
use codeteam_core::ids::{BodyId, FramePath, StepId, TaskId, WorkerName};
use codeteam_core::views::{self, TeamState};
use serde::Serialize;

/// Where the run, a phase or a task stands in the workflow, and what is held against its change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrameView {
    /// The frame.
    #[serde(rename = "frame")]
    pub path: FramePath,
    /// The step it is at.
    pub step: StepId,
    /// The twelve-state view.
    pub state: TeamState,
    /// The round it is in.
    pub round: u32,
    /// The task it is for, if it is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The parallel members of its step, with who is at work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotView>,
    /// The files of its change, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<Vec<String>>,
    /// The body with the diff of that change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<BodyId>,
    /// The steps that reject the change and that no person has overruled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected_by: Vec<StepId>,
    /// The step that should have judged the change and gave no verdict, if the frame has ended
    /// there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unjudged_by: Option<StepId>,
    /// The names of the checks and roles that object to the change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<String>,
    /// Everything that was found in it, answered or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the next worker is told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<Feedback>,
    /// How it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<FrameOutcome>,
}

/// A parallel member of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotView {
    /// What is done: the name of the role, or of the step if no role does it.
    pub who: String,
    /// The worker that does it, if it is known yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// Which attempt it is.
    pub attempt: u32,
    /// How it stands.
    #[serde(flatten)]
    pub state: SlotProgress,
}

/// How a member of a step stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "progress", rename_all = "lowercase")]
pub enum SlotProgress {
    /// It may start as soon as there is room.
    Queued,
    /// It waits until a time, in milliseconds since the epoch.
    Paused {
        /// When it goes on.
        until: u64,
    },
    /// It is under way.
    Running,
    /// It has ended, with its vote if it gave one.
    Done {
        /// For or against.
        vote: Option<bool>,
    },
}

impl FrameView {
    pub(super) fn new(run: &Run, frame: &Frame) -> Self {
        let is_asking = matches!(frame.stage, FrameStage::Asking(_));
        let slots = frame.slots.iter().filter(|_| !is_asking);
        Self {
            path: frame.path.clone(),
            step: frame.step.clone(),
            state: views::frame_team_state(run, frame),
            round: frame.round,
            task: match &frame.item {
                FrameItem::Task(id) => Some(id.clone()),
                FrameItem::Run | FrameItem::Phase(_) => None,
            },
            slots: slots.map(slot_view).collect(),
            changed_files: frame.change.as_ref().map(|change| change.files.clone()),
            diff: frame.change.as_ref().map(|change| change.diff.clone()),
            rejected_by: frame.rejecting_steps().into_iter().cloned().collect(),
            unjudged_by: Some(frame)
                .filter(|frame| frame.is_ended())
                .and_then(|frame| run.unjudged_step(frame).cloned()),
            objections: frame.objector_names(),
            findings: frame.findings.iter().cloned().collect(),
            feedback: frame.feedback.clone(),
            ended: match &frame.stage {
                FrameStage::Ended(outcome) => Some(outcome.clone()),
                _ => None,
            },
        }
    }

    /// Returns true if it has a change.
    pub fn has_change(&self) -> bool {
        self.changed_files.is_some()
    }
}

fn slot_view(slot: &Slot) -> SlotView {
    let who = match &slot.work {
        SlotWork::Role(role) => role.0.clone(),
        _ => slot.id.step.0.clone(),
    };
    SlotView {
        who,
        worker: slot.worker.clone(),
        attempt: slot.id.attempt,
        state: match &slot.state {
            SlotState::Queued => SlotProgress::Queued,
            SlotState::Paused { until, .. } => SlotProgress::Paused { until: until.0 },
            SlotState::Running => SlotProgress::Running,
            SlotState::Done(end) => SlotProgress::Done { vote: end.vote() },
        },
    }
}
