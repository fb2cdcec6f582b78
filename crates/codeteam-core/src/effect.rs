//! Effects: the work that is still to be done for a run, as plain data. The engine performs them.

use serde::Serialize;

use crate::budget;
use crate::frame::{Question, Tip};
use crate::ids::{Account, AttemptId, EpochMillis, RoleName, StepId, Tree, WorkerName};
use crate::locks::InterfaceFile;
use crate::workflow::DeliveryMethod;

/// A piece of work that is due: something to start, to ask or to wait for.
///
/// Effects are derived by [`crate::due()`] from the state of the run and never stored. As long as
/// an effect is returned, it should be in flight; when it is no longer returned, the driver cancels
/// it. An effect is identified by its [`Effect::attempt`], whose fence is unique to one launch, so
/// a driver can tell what it has started already. The driver reports the result as a
/// [`crate::Input`]: the effect's own ([`crate::Input::WorkerExited`],
/// [`crate::Input::GateFinished`], …), or [`crate::Input::EffectFailed`] if it could not be
/// performed at all.
///
/// Effects that change something outside the run must be safe to repeat after a crash. `Integrate`
/// and `Deliver` therefore look first whether it has been done already. `Publish` cannot, so a
/// person is asked when it was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the fields say what they are; each variant says what is due"
)]
pub enum Effect {
    /// Carry out an assignment ([`crate::assignment::build_assignment`] has the details).
    StartWorker {
        id: AttemptId,
        role: RoleName,
        worker: WorkerName,
        tree: Tree,
    },
    /// Run the checks of a gate step on a tree.
    RunGate {
        id: AttemptId,
        step: StepId,
        tree: Tree,
    },
    /// Rebase a change onto the tip.
    Rebase {
        id: AttemptId,
        base: Tip,
        tree: Tree,
        onto: Tip,
    },
    /// Commit a tree on top of the tip, unless a commit with this attempt's trailers exists
    /// already.
    Integrate {
        id: AttemptId,
        tree: Tree,
        onto: Tip,
        message: String,
        by: String,
        /// Who accepted the change despite objections.
        accepted_by: Option<String>,
    },
    /// Write interfaces to their files, in the tree of a base.
    WriteInterfaces {
        id: AttemptId,
        base: Tip,
        files: Vec<InterfaceFile>,
    },
    /// Run a command on the host.
    Publish { id: AttemptId, command: String },
    /// Deliver the run's commits, unless that has been done already.
    Deliver {
        id: AttemptId,
        how: DeliveryMethod,
        base: Tip,
        tip: Tip,
    },
    /// Move the run's branch back to an earlier commit, and keep what it has now under a reference of
    /// its own.
    MoveBranch { id: AttemptId, to: Tip },
    /// Read the facts about the risk of a change out of it.
    AssessRisk {
        id: AttemptId,
        base: Tip,
        tree: Tree,
    },
    /// Notify people of a pending approval. `id` is that of the question.
    Notify { id: AttemptId },
    /// Ask a person a question.
    Ask(Box<Question>),
    /// Wait for a time, or until something else happens.
    Wait {
        until: Option<EpochMillis>,
        why: WaitReason,
    },
}

/// The reason a run waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// A failed attempt is retried after a delay.
    Backoff {
        /// The attempt that will be retried.
        id: AttemptId,
    },
    /// The accounts' usage limits are reached.
    Quota {
        /// The accounts that are parked.
        accounts: Vec<Account>,
    },
    /// An API is receiving too many requests.
    RateLimit {
        /// The accounts that are parked.
        accounts: Vec<Account>,
    },
    /// An API fails or cannot be reached.
    Outage {
        /// The accounts that are parked.
        accounts: Vec<Account>,
        /// When the run gives up waiting.
        gives_up: Option<EpochMillis>,
        /// The last error message of the API.
        message: String,
    },
    /// A limit is reached and has to be raised.
    Limit {
        /// The limit that was reached.
        what: budget::LimitKind,
    },
    /// Cancelled work has not reported yet what it spent.
    Release,
    /// People may still object to a change.
    Objection {
        /// The question they were asked.
        question: AttemptId,
    },
}

impl Effect {
    /// Returns the attempt the effect is for, if it has to be performed rather than waited for.
    pub fn attempt(&self) -> Option<&AttemptId> {
        match self {
            Self::StartWorker { id, .. }
            | Self::RunGate { id, .. }
            | Self::Rebase { id, .. }
            | Self::Integrate { id, .. }
            | Self::WriteInterfaces { id, .. }
            | Self::Publish { id, .. }
            | Self::Deliver { id, .. }
            | Self::MoveBranch { id, .. }
            | Self::AssessRisk { id, .. }
            | Self::Notify { id } => Some(id),
            Self::Ask(_) | Self::Wait { .. } => None,
        }
    }
}
