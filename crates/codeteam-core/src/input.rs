//! Everything that can make a run go on. One closed enum is every reason the kernel wakes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::budget::{BudgetLimits, Usage};
use crate::context::PackedContext;
use crate::event::{CheckResult, DeliveryOutcome, HostTraffic, RunStarted, UnsubmittedChange};
use crate::failure::{FailureCause, FailureFacts};
use crate::frame::{FrameChange, Tip};
use crate::hands::Operator;
use crate::ids::{
    Account, AttemptId, BodyId, Commit, EpochMillis, FramePath, StepId, TaskId, Tree,
};
use crate::plan::Plan;
use crate::workflow::Check;

/// Something the world tells a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the fields say what they are; each variant says what happened"
)]
pub enum Input {
    /// A run begins.
    Began(Box<RunStarted>),
    /// A new process holds the run; nothing is in flight. `lost` tells what launches of the old
    /// process are known to have spent.
    Resumed {
        at: EpochMillis,
        lost: Vec<(AttemptId, Usage)>,
    },
    /// Time has passed.
    Woke { at: EpochMillis },
    /// A worker's process has ended.
    WorkerExited {
        at: EpochMillis,
        id: AttemptId,
        report: Box<WorkerReport>,
    },
    /// A gate's checks have run on a tree.
    GateFinished {
        at: EpochMillis,
        id: AttemptId,
        tree: Tree,
        results: Vec<CheckResult>,
    },
    /// A change was replayed on the tip of the run's branch, or could not be.
    Rebased {
        at: EpochMillis,
        id: AttemptId,
        outcome: RebaseOutcome,
    },
    /// A tree was committed, or could not be.
    Integrated {
        at: EpochMillis,
        id: AttemptId,
        outcome: IntegrationOutcome,
    },
    /// A command on the host has ended.
    Published {
        at: EpochMillis,
        id: AttemptId,
        ok: bool,
        output: String,
    },
    /// What was committed was handed over, or left where it is.
    Delivered {
        at: EpochMillis,
        id: AttemptId,
        outcome: DeliveryOutcome,
    },
    /// Something that was due could not be done at all.
    EffectFailed {
        at: EpochMillis,
        id: AttemptId,
        /// What kind of trouble it is, if that is known.
        trouble: Option<FailureCause>,
        message: String,
    },
    /// A confined command has used its network, or tried to.
    NetworkUsed {
        at: EpochMillis,
        id: AttemptId,
        hosts: Vec<HostTraffic>,
    },
    /// A worker's context was put together.
    ContextPacked {
        at: EpochMillis,
        id: AttemptId,
        packed: Box<PackedContext>,
    },
    /// A worker under way has reported what it has spent so far.
    UsageMeasured {
        at: EpochMillis,
        id: AttemptId,
        usage: Usage,
    },
    /// The room the run takes on the disk was measured.
    DiskMeasured { at: EpochMillis, bytes: u64 },
    /// Another run found an account's usage limit reached.
    AccountLimited {
        at: EpochMillis,
        account: Account,
        until: EpochMillis,
    },
    /// A person, or someone in their name, decided.
    Decided {
        at: EpochMillis,
        by: String,
        decision: Decision,
    },
    /// A session passes on what a person said to it. It cannot decide what a person must decide
    /// outside of it.
    Replied {
        at: EpochMillis,
        by: String,
        question: AttemptId,
        answer: String,
    },
    /// The plan's file was changed by hand; it has been read and checked.
    PlanEdited {
        at: EpochMillis,
        by: String,
        plan: Box<Plan>,
    },
}

/// What became of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Its answer, or why there is none.
    pub end: WorkerOutcome,
    /// What it spent, as far as it told.
    #[serde(default)]
    pub usage: Usage,
    /// Everything it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<BodyId>,
    /// The tree and the change found in the worktree, for implementers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<(Tree, FrameChange)>,
    /// What it calls the session, if it can go on in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The log that it was given to shorten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<BodyId>,
    /// The files of a session's checkout that are no longer what is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<String>,
    /// What it tried to write last and could not, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_write: Option<String>,
}

/// How a worker ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerOutcome {
    /// It answered; this is its submission, not yet checked.
    Answered(String),
    /// It did not.
    Failed(FailureFacts),
}

/// What became of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RebaseOutcome {
    /// It went through.
    Clean {
        /// What it was replayed on.
        base: Tip,
        /// The new tree.
        tree: Tree,
        /// The change on the new base.
        change: FrameChange,
    },
    /// It conflicts.
    Conflict {
        /// What it was replayed on.
        base: Tip,
        /// Where.
        files: Vec<String>,
    },
}

/// What became of an integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntegrationOutcome {
    /// The tree is on the run's branch.
    Committed {
        /// The commit.
        commit: Commit,
        /// Its tree.
        tree: Tree,
        /// Its message.
        message: String,
    },
    /// The branch is not where it was expected.
    TipMoved(Tip),
}

/// What a person can decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Answers a question. The question is named, so that an answer never lands on another one.
    Answer {
        /// Which question.
        question: AttemptId,
        /// One of its answers, or any text where it asks for one.
        answer: String,
        /// What else the person says.
        #[serde(default)]
        note: String,
        /// The tree and the change that the person has made, for an answer that comes with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<(Tree, FrameChange)>>,
    },
    /// Puts another plan in place of the one there is.
    Revise {
        /// The plan.
        plan: Box<Plan>,
    },
    /// Ends the run.
    Abort {
        /// Why.
        #[serde(default)]
        reason: String,
    },
    /// Takes failed frames up again: one, or all.
    Retry {
        /// Which.
        #[serde(default)]
        frame: Option<FramePath>,
        /// What the worker should be told.
        #[serde(default)]
        note: String,
        /// The plan as its file has it, if a person changed that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Box<Plan>>,
        /// The checks of gates as they are configured now, for those that differ.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        checks: BTreeMap<StepId, Vec<Check>>,
    },
    /// Has gates check what is configured now, in place of what was configured when the run began.
    Repin {
        /// The checks of gates, for those that differ.
        checks: BTreeMap<StepId, Vec<Check>>,
    },
    /// Takes a change as it is, though checks or reviewers are against it, where no question is
    /// open.
    Accept {
        /// Whose change; may be left out if only one can be meant.
        #[serde(default)]
        frame: Option<FramePath>,
        /// What else the person says.
        #[serde(default)]
        note: String,
    },
    /// Puts the run into other hands.
    Reassign {
        /// Whose.
        to: Operator,
        /// What the session has made and not submitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<UnsubmittedChange>>,
    },
    /// Leaves a task out.
    Skip {
        /// Which.
        task: TaskId,
    },
    /// Raises limits.
    RaiseLimits {
        /// The new ones; those not given stay.
        limits: BudgetLimits,
    },
}

impl Input {
    /// When it happened.
    pub fn at(&self) -> EpochMillis {
        match self {
            Self::Began(started) => started.at,
            Self::Resumed { at, .. }
            | Self::Woke { at }
            | Self::WorkerExited { at, .. }
            | Self::GateFinished { at, .. }
            | Self::Rebased { at, .. }
            | Self::Integrated { at, .. }
            | Self::Published { at, .. }
            | Self::Delivered { at, .. }
            | Self::EffectFailed { at, .. }
            | Self::NetworkUsed { at, .. }
            | Self::ContextPacked { at, .. }
            | Self::UsageMeasured { at, .. }
            | Self::DiskMeasured { at, .. }
            | Self::AccountLimited { at, .. }
            | Self::Decided { at, .. }
            | Self::Replied { at, .. }
            | Self::PlanEdited { at, .. } => *at,
        }
    }
}
