//! Where a frame goes next, and when.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::StepId;

/// One thing a person can answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that an answer may do"
)]
pub struct Answer {
    /// The word.
    pub name: String,
    /// Where it leads.
    pub next: Target,
    /// Whether it sends the work back: what the person writes becomes feedback.
    pub rejects: bool,
    /// Whether counting starts anew: rounds, steps, what was seen.
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

/// Where a frame goes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Target {
    /// To a step.
    Step(StepId),
    /// The frame is done.
    Done,
    /// The frame fails.
    Fail,
}

impl Target {
    /// Whether it is this step.
    pub fn is(&self, id: &StepId) -> bool {
        matches!(self, Self::Step(step) if step == id)
    }
}

impl From<String> for Target {
    fn from(text: String) -> Self {
        match text.as_str() {
            "done" => Self::Done,
            "fail" => Self::Fail,
            _ => Self::Step(StepId(text)),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl fmt::Display for Target {
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
pub enum Condition {
    /// The run has a plan, or has none.
    Plan(Presence),
    /// A setting of the workflow is on.
    Setting(String),
    /// The frame's change touches a file that matches one of these patterns.
    Changed(Vec<String>),
    /// The run has committed something, or nothing.
    Committed(bool),
    /// The log of the frame's work is longer than its implementer may be given.
    Log(Length),
    /// The frame's change is small, by `verification.small_change`: few lines in few files, none of
    /// them risky, and every check has passed it without a remark.
    Change(Size),
    /// The frame's task does not say enough to start from: it names no files, has no acceptance or
    /// hardly a description.
    Task(Detail),
    /// The goal is not about one place: it names no file of the project, or many, or is long.
    Goal(Breadth),
    /// A person gave this answer (`step: answer`) in this frame.
    Answered(BTreeMap<StepId, String>),
    /// The other way round.
    Not(Box<Condition>),
    /// All hold.
    All(Vec<Condition>),
    /// One holds.
    Any(Vec<Condition>),
}

/// How large a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Small, and of little risk.
    Small,
}

/// How much a task says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// Not enough to start from.
    Vague,
}

/// How much a goal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Breadth {
    /// More than one place.
    Broad,
}

/// How long something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    /// Too long.
    Long,
}

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It is.
    Present,
    /// It is not.
    Missing,
    /// It is, and the run began with it.
    Given,
}
