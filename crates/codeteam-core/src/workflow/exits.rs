//! Exits of steps: where a frame goes next, and under which condition.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{RoleName, StepId};

/// An answer that a person can give at a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that an answer may do"
)]
pub struct PersonAnswer {
    /// The word a person answers with.
    pub name: String,
    /// Where the answer leads.
    pub next: ExitTarget,
    /// Whether it sends the work back: what the person writes becomes feedback.
    pub rejects: bool,
    /// Whether counting starts again: rounds, steps, submitted changes.
    pub resets: bool,
    /// Whether it comes with a change that the person has made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
    /// Whether the change is undone: work starts again from the base.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reverts: bool,
}

/// Where to go instead of back, after a number of rejections in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebound {
    /// After this many.
    #[serde(alias = "after_failures")]
    pub after: u32,
    /// To this step: a person's, as a rule.
    pub to: StepId,
}

/// The target of an exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ExitTarget {
    /// The frame moves to a step.
    Step(StepId),
    /// The frame is done.
    Done,
    /// The frame fails.
    Fail,
}

impl ExitTarget {
    /// Returns true if the target is this step.
    pub fn is_step(&self, id: &StepId) -> bool {
        matches!(self, Self::Step(step) if step == id)
    }
}

impl From<String> for ExitTarget {
    fn from(text: String) -> Self {
        match text.as_str() {
            "done" => Self::Done,
            "fail" => Self::Fail,
            _ => Self::Step(StepId(text)),
        }
    }
}

impl From<ExitTarget> for String {
    fn from(target: ExitTarget) -> Self {
        target.to_string()
    }
}

impl fmt::Display for ExitTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Step(step) => step.as_str(),
            Self::Done => "done",
            Self::Fail => "fail",
        })
    }
}

/// When a step is not left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepCondition {
    /// The run has a plan, or has none.
    Plan(PlanPresence),
    /// A setting of the workflow is on.
    Setting(String),
    /// The frame's change touches a file that matches one of these patterns.
    Changed(Vec<String>),
    /// The run has committed something, or nothing.
    Committed(bool),
    /// The log of the frame's work is longer than its implementer may be given.
    Log(LogLength),
    /// What was contributed to the frame's task takes many words (500 characters, unless
    /// `digest_from` says otherwise), and another task depends on it.
    Result(LogLength),
    /// The frame's result has a score, and the score is enough.
    Score(ScoreLevel),
    /// The frame's change is small, by `verification.small_change`: few lines in few files, none of
    /// them risky, and every check has passed it without a remark.
    Change(ChangeSize),
    /// The frame's task does not say enough to start from: it names no files, has no acceptance or
    /// hardly a description.
    Task(TaskDetail),
    /// The goal is not about one place: it names no file of the project, or many, or is long.
    Goal(GoalBreadth),
    /// Commit messages must have a form, by `git.commit_message_format`.
    Message(MessageRule),
    /// It is the turn of one of these roles, where the plan names the roles of each task.
    Assigned(Vec<RoleName>),
    /// A person gave this answer (`step: answer`) in this frame.
    Answered(BTreeMap<StepId, String>),
    /// The other way round.
    Not(Box<StepCondition>),
    /// All hold.
    All(Vec<StepCondition>),
    /// One holds.
    Any(Vec<StepCondition>),
}

/// How a result has scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScoreLevel {
    /// Its score reaches the threshold.
    Enough,
}

/// How large a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeSize {
    /// Small, and of little risk.
    Small,
}

/// How much a task says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskDetail {
    /// Not enough to start from.
    Vague,
}

/// How much a goal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GoalBreadth {
    /// More than one place.
    Broad,
}

/// What is asked of commit messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageRule {
    /// A form, which a task's title may not have.
    Formatted,
}

/// How long something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLength {
    /// Too long.
    Long,
}

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanPresence {
    /// It is.
    Present,
    /// It is not.
    Missing,
    /// It is, and the run began with it.
    Given,
    /// It is, and some task that is not done names no role.
    Unassigned,
}
