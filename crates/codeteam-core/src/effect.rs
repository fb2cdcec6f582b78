//! What the world still owes a run. Effects are plain data; performing one is the engine's.

use serde::Serialize;

use crate::budget;
use crate::frame::{Question, Tip};
use crate::ids::{Account, AttemptId, EpochMillis, RoleName, StepId, Tree, WorkerName};
use crate::workflow::DeliveryMethod;

/// Something that is due.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the fields say what they are; each variant says what is due"
)]
pub enum Effect {
    /// Carry an assignment out ([`crate::assignment::assignment`] has the rest).
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
    /// Replay a change on the tip.
    Rebase {
        id: AttemptId,
        base: Tip,
        tree: Tree,
        onto: Tip,
    },
    /// Commit a tree on top of the tip, unless a commit with this attempt's trailers is there.
    Integrate {
        id: AttemptId,
        tree: Tree,
        onto: Tip,
        message: String,
        by: String,
        /// Who accepted it over what was held against it.
        accepted_by: Option<String>,
    },
    /// Run a command on the host.
    Publish { id: AttemptId, command: String },
    /// Hand over what was committed, unless that has been done.
    Deliver {
        id: AttemptId,
        how: DeliveryMethod,
        base: Tip,
        tip: Tip,
    },
    /// Ask a person.
    Ask(Box<Question>),
    /// Wait.
    Wait {
        until: Option<EpochMillis>,
        why: WaitReason,
    },
}

/// What a run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// A failed try is repeated after a pause.
    Backoff {
        /// Which.
        id: AttemptId,
    },
    /// An account's quota.
    Quota {
        /// Whose.
        accounts: Vec<Account>,
    },
    /// An API that has too many requests at once.
    RateLimit {
        /// Whose accounts.
        accounts: Vec<Account>,
    },
    /// An API that fails, or cannot be reached.
    Outage {
        /// Whose accounts.
        accounts: Vec<Account>,
        /// When the run gives up waiting.
        gives_up: Option<EpochMillis>,
        /// What was said the last time.
        message: String,
    },
    /// A limit to be raised.
    Limit {
        /// Which.
        what: budget::LimitKind,
    },
    /// Cancelled work to tell what it spent.
    Release,
}

impl Effect {
    /// The attempt the effect is for, if it is to be performed and not only waited for.
    pub fn attempt(&self) -> Option<&AttemptId> {
        match self {
            Self::StartWorker { id, .. }
            | Self::RunGate { id, .. }
            | Self::Rebase { id, .. }
            | Self::Integrate { id, .. }
            | Self::Publish { id, .. }
            | Self::Deliver { id, .. } => Some(id),
            Self::Ask(_) | Self::Wait { .. } => None,
        }
    }
}
