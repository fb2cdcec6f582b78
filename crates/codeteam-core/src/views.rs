//! Two ways others look at the same run: twelve states per frame, and seven for the whole.
//!
//! Both are derived, never stored: what a frame is doing follows from its step's kind, from what
//! has been produced so far and from whether a person is asked.

use crate::event::Outcome;
use crate::frame::{Frame, QuestionKind, Stage, Work};
use crate::ids::FramePath;
use crate::role::Kind;
use crate::run::Run;
use crate::workflow::{StepKind, Writes};

/// The twelve states of a team that plans, codes and verifies with a person on the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the seed's own")]
pub enum Twelve {
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

impl Twelve {
    /// The word for it.
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

/// The twelve-state view of a frame.
pub fn twelve(run: &Run, frame: &Frame) -> Twelve {
    // Before there is a change in a frame, what is judged is the plan.
    let changed = frame.change.is_some();
    match &frame.stage {
        Stage::Ended(Outcome::Completed | Outcome::Skipped) => return Twelve::PlanComplete,
        Stage::Ended(_) => return Twelve::HaltedForError,
        Stage::Asking(question) => {
            return match question.kind {
                QuestionKind::Analyst => Twelve::PlanningDrafting,
                QuestionKind::Exhausted | QuestionKind::Interrupted => Twelve::HaltedForError,
                _ if changed => Twelve::AwaitingVerificationReview,
                _ => Twelve::PlanningAwaitingReview,
            };
        }
        Stage::Each => return Twelve::CodingAwaitingTaskSelection,
        Stage::Committing => return Twelve::Committing,
        Stage::Working => {}
    }
    let Some(step) = run.step_of(frame) else {
        return Twelve::Idle;
    };
    match &step.kind {
        StepKind::Gate { .. } => Twelve::Verifying,
        StepKind::Commit { .. } | StepKind::Publish { .. } | StepKind::Deliver { .. } => {
            Twelve::Committing
        }
        StepKind::Each { .. } => Twelve::CodingAwaitingTaskSelection,
        StepKind::Person { .. } if changed => Twelve::AwaitingVerificationReview,
        StepKind::Person { .. } => Twelve::PlanningAwaitingReview,
        StepKind::Role(role) => {
            let writes = role.writes;
            let kind = frame.slots.iter().find_map(|slot| match &slot.work {
                Work::Role(name) => run.roles.get(name).map(|r| r.kind),
                _ => None,
            });
            match kind {
                Some(Kind::Analyst | Kind::Designer | Kind::Planner) => Twelve::PlanningDrafting,
                Some(Kind::Implementer) => Twelve::CodingInProgress,
                Some(Kind::Gatekeeper) if changed => Twelve::Verifying,
                Some(Kind::Gatekeeper) => Twelve::PlanningVerifying,
                Some(Kind::Scribe) if changed && writes == Writes::Message => Twelve::Committing,
                Some(Kind::Scribe) => Twelve::CodingPrompting,
                None => Twelve::Idle,
            }
        }
    }
}

/// The twelve-state view of a run as a whole: of what became of it, if it has ended, or else of the frame
/// that holds all others.
pub fn team_state(run: &Run) -> Twelve {
    let implements = run
        .roles
        .values()
        .any(|role| role.kind == Kind::Implementer);
    match &run.outcome {
        // A plan that was only talked about is accepted, and nobody has begun with it.
        Some(Outcome::Completed | Outcome::Skipped) if run.plan.is_some() && !implements => {
            Twelve::CodingAwaitingTaskSelection
        }
        Some(Outcome::Completed | Outcome::Skipped) => Twelve::PlanComplete,
        Some(Outcome::Failed(_)) => Twelve::HaltedForError,
        Some(Outcome::Aborted(_) | Outcome::Cancelled) => Twelve::Idle,
        None => {
            let root = run.frames.get(&FramePath::root());
            root.map_or(Twelve::Idle, |frame| twelve(run, frame))
        }
    }
}

/// The seven states of a task that is led through adversarial roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the seed's own")]
pub enum Seven {
    NotStarted,
    InProgress,
    Paused,
    ReboundOffered,
    Complete,
    Escalated,
    Aborted,
}

impl Seven {
    /// The word for it.
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

/// The seven-state view of a run.
pub fn seven(run: &Run) -> Seven {
    if !run.has_started() {
        return Seven::NotStarted;
    }
    match &run.outcome {
        Some(Outcome::Completed | Outcome::Skipped) => return Seven::Complete,
        Some(Outcome::Failed(_)) => return Seven::Escalated,
        Some(Outcome::Aborted(_) | Outcome::Cancelled) => return Seven::Aborted,
        None => {}
    }
    let asked = run.frames.values().filter_map(|f| match &f.stage {
        Stage::Asking(question) => Some(question.kind),
        _ => None,
    });
    let worst = asked
        .map(|kind| match kind {
            QuestionKind::Rebound => Seven::ReboundOffered,
            QuestionKind::Exhausted | QuestionKind::Interrupted => Seven::Escalated,
            QuestionKind::Step
            | QuestionKind::Analyst
            | QuestionKind::Degraded
            | QuestionKind::Message => Seven::Paused,
        })
        .max();
    worst.unwrap_or(Seven::InProgress)
}
