//! What taking a run back means, as data: the moment that a person names, and what follows from it.
//! [`crate::rollback_plan`] works it out.

use serde::{Deserialize, Serialize};

use crate::frame::Tip;
use crate::ids::{Commit, FramePath, PhaseId, StepId, TaskId};

/// The moment that a run is taken back to, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackPoint {
    /// The task, phase or event.
    pub target: RollbackTarget,
    /// Whether the moment before it is meant: the task or phase is then done again itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before: bool,
}

/// What a moment of a run is named by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackTarget {
    /// A task of the plan: when it was done.
    Task(TaskId),
    /// A phase of the plan: when all its tasks were done.
    Phase(PhaseId),
    /// An event of the log, by its number.
    Event(u64),
}

/// The consequences of taking a run back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackPlan {
    /// The moment that was named.
    pub to: RollbackPoint,
    /// The last event that still counts.
    pub moment: u64,
    /// Where the run's branch is.
    pub from: Tip,
    /// Where it goes: the commit that it had at that moment.
    pub tip: Tip,
    /// The commits of the run that are taken back, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<Commit>,
    /// The tasks that begin again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
    /// The phases that are no longer done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseId>,
    /// The phases of which some tasks stay done: they go on with their tasks, and keep their design.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_phases: Vec<ResumedPhase>,
    /// The step of the run's own frame at which it goes on.
    pub resumes_at: StepId,
}

/// A phase that goes on with its tasks after a rollback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumedPhase {
    /// The phase's frame.
    pub frame: FramePath,
    /// The step that goes through its tasks.
    pub step: StepId,
}

/// A rollback that was decided on and whose branch has not been moved yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackRequest {
    /// What it does.
    pub plan: RollbackPlan,
    /// Who decided on it.
    pub by: String,
    /// Their reason; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
