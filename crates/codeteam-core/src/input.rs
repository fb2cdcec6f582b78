//! Inputs: everything that can make a run continue. One closed enum lists every reason the kernel
//! wakes up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::approval::Identity;
use crate::budget::{BudgetLimits, Usage};
use crate::checks::CheckResult;
use crate::context::PackedContext;
use crate::event::{DeliveryOutcome, HostTraffic, RunStarted, UnsubmittedChange};
use crate::failure::{FailureCause, FailureFacts};
use crate::frame::{FrameChange, Tip};
use crate::ids::{
    Account, AttemptId, BodyId, Commit, EpochMillis, FramePath, PersonName, StepId, TaskId, Tree,
};
use crate::locks::LockedFile;
use crate::operator::Operator;
use crate::plan::Plan;
use crate::repin::PinnedWorkflow;
use crate::risk::RiskFacts;
use crate::rollback::RollbackPoint;
use crate::workflow::Check;

/// Something that happened outside the kernel and that a run has to react to.
///
/// Inputs are the only way into [`crate::decide()`]. They carry what the kernel must not obtain
/// itself: the time (`at`), hashes of trees and commits, results of processes. Those that report on
/// an effect name its attempt (`id`) with its fence. If that launch is no longer the current one,
/// because the frame moved on or another process took over, only its cost is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the fields say what they are; each variant says what happened"
)]
pub enum Input {
    /// A run begins.
    Began(Box<RunStarted>),
    /// A new process holds the run; nothing is in flight. `lost` lists what launches of the old
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
    /// A change was rebased onto the tip of the run's branch, or could not be.
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
    /// Interfaces were written to their files. `change` is the change from the frame's base to that
    /// tree, if there is one.
    InterfacesWritten {
        at: EpochMillis,
        id: AttemptId,
        tree: Tree,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<FrameChange>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<LockedFile>,
    },
    /// The commits were delivered, or left on the run's branch.
    Delivered {
        at: EpochMillis,
        id: AttemptId,
        outcome: DeliveryOutcome,
    },
    /// The run's branch was moved back. `found` is the commit that it had before, if it existed.
    BranchMoved {
        at: EpochMillis,
        id: AttemptId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Commit>,
    },
    /// An effect could not be performed at all.
    EffectFailed {
        at: EpochMillis,
        id: AttemptId,
        /// The kind of failure, if it is known.
        trouble: Option<FailureCause>,
        message: String,
    },
    /// The facts about the risk of a change were read out of it.
    RiskRead {
        at: EpochMillis,
        id: AttemptId,
        tree: Tree,
        facts: Box<RiskFacts>,
    },
    /// A notification about a pending approval was delivered by these channels, or by none.
    Notified {
        at: EpochMillis,
        id: AttemptId,
        channels: Vec<String>,
    },
    /// A confined command has used the network, or tried to.
    NetworkUsed {
        at: EpochMillis,
        id: AttemptId,
        hosts: Vec<HostTraffic>,
    },
    /// A worker's context was assembled.
    ContextPacked {
        at: EpochMillis,
        id: AttemptId,
        packed: Box<PackedContext>,
    },
    /// A running worker has reported what it has spent so far.
    UsageMeasured {
        at: EpochMillis,
        id: AttemptId,
        usage: Usage,
    },
    /// The run's disk usage was measured.
    DiskMeasured { at: EpochMillis, bytes: u64 },
    /// Another run found an account's usage limit reached.
    AccountLimited {
        at: EpochMillis,
        account: Account,
        until: EpochMillis,
    },
    /// A person, or someone on their behalf, made a decision.
    Decided {
        at: EpochMillis,
        by: String,
        /// How that person is known; `None` if codeteam does not know who it was.
        #[serde(default)]
        identity: Option<Identity>,
        decision: Decision,
    },
    /// A session passes on what a person said to it. It cannot make decisions that a person has to
    /// make outside the session.
    Replied {
        at: EpochMillis,
        by: String,
        question: AttemptId,
        answer: String,
    },
    /// The plan's file was edited by hand; it has been read and checked.
    PlanEdited {
        at: EpochMillis,
        by: String,
        plan: Box<Plan>,
    },
}

/// The result of a worker's process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Its answer, or why there is none.
    pub end: WorkerOutcome,
    /// Its usage, as far as it reported that.
    #[serde(default)]
    pub usage: Usage,
    /// The model that did the work, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The complete transcript of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<BodyId>,
    /// The tree and the change found in the worktree, for implementers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<(Tree, FrameChange)>,
    /// The worker's own id for the conversation, if it can be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The work log that it was given to shorten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<BodyId>,
    /// The files of a session's checkout that no longer match what is being judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<String>,
    /// The last write that failed, as the worker described it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_write: Option<String>,
}

/// The end of a worker: an answer or a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerOutcome {
    /// It answered; this is its submission, not yet validated.
    Answered(String),
    /// It failed without an answer.
    Failed(FailureFacts),
}

/// The result of a rebase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RebaseOutcome {
    /// The change applied cleanly.
    Clean {
        /// The commit it was rebased onto.
        base: Tip,
        /// The new tree.
        tree: Tree,
        /// The change relative to the new base.
        change: FrameChange,
    },
    /// The change conflicts.
    Conflict {
        /// The commit it was rebased onto.
        base: Tip,
        /// The files with conflicts.
        files: Vec<String>,
    },
}

/// The result of an integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntegrationOutcome {
    /// The tree is on the run's branch.
    Committed {
        /// The commit that was created.
        commit: Commit,
        /// The tree of that commit.
        tree: Tree,
        /// The message of that commit.
        message: String,
    },
    /// The branch is not where it was expected.
    TipMoved(Tip),
}

/// A decision that a person can make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Answers a question. The answer names its question, so that it never applies to another one.
    Answer {
        /// The question's id.
        question: AttemptId,
        /// One of the offered answers, or any text if the question offers none.
        answer: String,
        /// A remark by the person.
        #[serde(default)]
        note: String,
        /// The tree and the change that the person has made, for an answer that comes with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<(Tree, FrameChange)>>,
    },
    /// Hands the vote on a change to somebody else, or takes it back if it names the person
    /// themselves.
    Delegate {
        /// The question for approval.
        question: AttemptId,
        /// Who votes instead.
        to: PersonName,
        /// A remark by the person.
        #[serde(default)]
        note: String,
    },
    /// Replaces the current plan.
    Revise {
        /// The new plan.
        plan: Box<Plan>,
    },
    /// Ends the run.
    Abort {
        /// The person's reason; may be empty.
        #[serde(default)]
        reason: String,
    },
    /// Resumes failed frames: one, or all.
    Retry {
        /// The frame to resume; all failed ones if absent.
        #[serde(default)]
        frame: Option<FramePath>,
        /// A note for the next worker.
        #[serde(default)]
        note: String,
        /// The plan as it is in its file, if a person edited that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Box<Plan>>,
        /// The checks of gates as they are configured now, for those that differ.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        checks: BTreeMap<StepId, Vec<Check>>,
    },
    /// Makes gates use the checks that are configured now instead of those pinned when the run
    /// started.
    Repin {
        /// The checks of gates, for those that differ.
        checks: BTreeMap<StepId, Vec<Check>>,
    },
    /// Makes the run go on with another version of its workflow.
    RepinWorkflow {
        /// The workflow, with everything that belongs to it.
        pinned: Box<PinnedWorkflow>,
    },
    /// Accepts a change as it is despite objections of checks or reviewers, when no question is
    /// open.
    Accept {
        /// The frame whose change is accepted; may be absent if only one is possible.
        #[serde(default)]
        frame: Option<FramePath>,
        /// A remark by the person.
        #[serde(default)]
        note: String,
    },
    /// Hands the run over to another operator.
    Reassign {
        /// The new operator.
        to: Operator,
        /// The session's work that has not been submitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<UnsubmittedChange>>,
    },
    /// Skips a task.
    Skip {
        /// The task's id in the plan.
        task: TaskId,
    },
    /// Takes the run back to an earlier moment.
    Rollback {
        /// That moment.
        to: RollbackPoint,
        /// The commit that the run's branch had when the person decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<Commit>,
        /// The person's reason; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// Raises limits.
    RaiseLimits {
        /// The new limits; those not given stay as they are.
        limits: BudgetLimits,
    },
}

impl Input {
    /// Returns who made the decision that the input carries, if that is known.
    pub fn identity(&self) -> Option<&Identity> {
        match self {
            Self::Decided { identity, .. } => identity.as_ref(),
            _ => None,
        }
    }

    /// Returns when the input happened.
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
            | Self::InterfacesWritten { at, .. }
            | Self::Delivered { at, .. }
            | Self::BranchMoved { at, .. }
            | Self::RiskRead { at, .. }
            | Self::Notified { at, .. }
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
