//! Two external views of the same run: twelve states per frame, and seven for the whole.
//!
//! Both are derived, never stored: the state of a frame follows from its step's kind, from what has
//! been produced so far and from whether a person is asked.

use serde::{Serialize, Serializer};

use crate::frame::FrameOutcome;
use crate::frame::{Frame, FrameStage, QuestionKind, SlotWork};
use crate::ids::FramePath;
use crate::role::RoleKind;
use crate::run::Run;
use crate::workflow::{ScribeOutput, StepKind};

/// The twelve states of a team that plans, codes and verifies with a person on the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the seed's own")]
pub enum TeamState {
    Idle,
    PlanningDrafting,
    PlanningAwaitingReview,
    PlanningVerifying,
    CodingAwaitingTaskSelection,
    CodingPrompting,
    CodingInProgress,
    Verifying,
    AwaitingVerificationReview,
    Committing,
    HaltedForError,
    PlanComplete,
}

impl Serialize for TeamState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl TeamState {
    /// Returns the state's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "IDLE",
            Self::PlanningDrafting => "PLANNING_DRAFTING",
            Self::PlanningAwaitingReview => "PLANNING_AWAITING_REVIEW",
            Self::PlanningVerifying => "PLANNING_VERIFYING",
            Self::CodingAwaitingTaskSelection => "CODING_AWAITING_TASK_SELECTION",
            Self::CodingPrompting => "CODING_PROMPTING",
            Self::CodingInProgress => "CODING_IN_PROGRESS",
            Self::Verifying => "VERIFYING",
            Self::AwaitingVerificationReview => "AWAITING_VERIFICATION_REVIEW",
            Self::Committing => "COMMITTING",
            Self::HaltedForError => "HALTED_FOR_ERROR",
            Self::PlanComplete => "PLAN_COMPLETE",
        }
    }
}

/// Returns true if a run makes a plan and nothing in it can carry the plan out: no role changes
/// files, no step commits, and no task is started.
pub fn plans_only(run: &Run) -> bool {
    let mut steps = run.workflow.steps.values();
    let carries_out =
        |kind: &StepKind| matches!(kind, StepKind::Each { .. } | StepKind::Commit { .. });
    let has_role = |kind| run.roles.values().any(|role| role.kind == kind);
    has_role(RoleKind::Planner)
        && !has_role(RoleKind::Implementer)
        && !steps.any(|step| carries_out(&step.kind))
}

/// Returns the twelve-state view of a frame.
pub fn frame_team_state(run: &Run, frame: &Frame) -> TeamState {
    // As long as a frame has no change, the plan is what is judged.
    let changed = frame.change.is_some();
    match &frame.stage {
        FrameStage::Ended(FrameOutcome::Completed | FrameOutcome::Skipped) => {
            return TeamState::PlanComplete;
        }
        FrameStage::Ended(_) => return TeamState::HaltedForError,
        FrameStage::Asking(question) => {
            return match question.kind {
                QuestionKind::Analyst => TeamState::PlanningDrafting,
                QuestionKind::Exhausted | QuestionKind::Interrupted => TeamState::HaltedForError,
                _ if changed => TeamState::AwaitingVerificationReview,
                _ => TeamState::PlanningAwaitingReview,
            };
        }
        FrameStage::Each => return TeamState::CodingAwaitingTaskSelection,
        FrameStage::Committing => return TeamState::Committing,
        FrameStage::Working => {}
    }
    let Some(step) = run.frame_step(frame) else {
        return TeamState::Idle;
    };
    match &step.kind {
        StepKind::Gate { .. } => TeamState::Verifying,
        StepKind::Commit { .. } | StepKind::Publish { .. } | StepKind::Deliver { .. } => {
            TeamState::Committing
        }
        StepKind::Each { .. } => TeamState::CodingAwaitingTaskSelection,
        StepKind::Lock => TeamState::PlanningDrafting,
        StepKind::Person { .. } if changed => TeamState::AwaitingVerificationReview,
        StepKind::Person { .. } => TeamState::PlanningAwaitingReview,
        StepKind::Role(role) => {
            let writes = role.writes;
            let kind = frame.slots.iter().find_map(|slot| match &slot.work {
                SlotWork::Role(name) => run.roles.get(name).map(|r| r.kind),
                _ => None,
            });
            match kind {
                Some(RoleKind::Analyst | RoleKind::Designer | RoleKind::Planner) => {
                    TeamState::PlanningDrafting
                }
                Some(RoleKind::Implementer) => TeamState::CodingInProgress,
                Some(RoleKind::Gatekeeper) if changed => TeamState::Verifying,
                Some(RoleKind::Gatekeeper) => TeamState::PlanningVerifying,
                Some(RoleKind::Scribe) if changed && writes == ScribeOutput::Message => {
                    TeamState::Committing
                }
                Some(RoleKind::Scribe) => TeamState::CodingPrompting,
                None => TeamState::Idle,
            }
        }
    }
}

/// Returns the twelve-state view of a run as a whole: its outcome if it has ended, otherwise the
/// state of the root frame.
pub fn team_state(run: &Run) -> TeamState {
    let implements = run
        .roles
        .values()
        .any(|role| role.kind == RoleKind::Implementer);
    match &run.outcome {
        // A plan that was only discussed is accepted, and nobody has started on it.
        Some(FrameOutcome::Completed | FrameOutcome::Skipped)
            if run.plan.is_some() && !implements =>
        {
            TeamState::CodingAwaitingTaskSelection
        }
        Some(FrameOutcome::Completed | FrameOutcome::Skipped) => TeamState::PlanComplete,
        Some(FrameOutcome::Failed(_)) => TeamState::HaltedForError,
        Some(FrameOutcome::Aborted(_) | FrameOutcome::Cancelled) => TeamState::Idle,
        None => {
            let root = run.frames.get(&FramePath::root());
            root.map_or(TeamState::Idle, |frame| frame_team_state(run, frame))
        }
    }
}

/// The seven states of a task that is led through adversarial roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the seed's own")]
pub enum TaskState {
    NotStarted,
    InProgress,
    Paused,
    ReboundOffered,
    Complete,
    Escalated,
    Aborted,
}

impl Serialize for TaskState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl TaskState {
    /// Returns the state's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::InProgress => "in_progress",
            Self::Paused => "paused",
            Self::ReboundOffered => "rebound_offered",
            Self::Complete => "complete",
            Self::Escalated => "escalated",
            Self::Aborted => "aborted",
        }
    }
}

/// Returns the seven-state view of a run.
pub fn task_state(run: &Run) -> TaskState {
    if !run.has_started() {
        return TaskState::NotStarted;
    }
    match &run.outcome {
        Some(FrameOutcome::Completed | FrameOutcome::Skipped) => return TaskState::Complete,
        Some(FrameOutcome::Failed(_)) => return TaskState::Escalated,
        Some(FrameOutcome::Aborted(_) | FrameOutcome::Cancelled) => return TaskState::Aborted,
        None => {}
    }
    let asked = run.frames.values().filter_map(|f| match &f.stage {
        FrameStage::Asking(question) => Some(question.kind),
        _ => None,
    });
    let worst = asked
        .map(|kind| match kind {
            QuestionKind::Rebound => TaskState::ReboundOffered,
            QuestionKind::Exhausted | QuestionKind::Interrupted => TaskState::Escalated,
            QuestionKind::Step
            | QuestionKind::Analyst
            | QuestionKind::Degraded
            | QuestionKind::Approval
            | QuestionKind::Message => TaskState::Paused,
        })
        .max();
    worst.unwrap_or(TaskState::InProgress)
}
