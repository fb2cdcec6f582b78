//! Locked interfaces: which files nobody may change while a phase is being built on them.

use serde::{Deserialize, Serialize};

use crate::ids::{PhaseId, StepId};
use crate::plan::Interface;

/// A file that an interface is to be written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceFile {
    /// The name of the interface.
    pub name: String,
    /// The path in the repository.
    pub path: String,
    /// All of its content.
    pub content: String,
}

/// A file that an interface was written to, and that nobody may change until its phase ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedFile {
    /// The name of the interface.
    pub name: String,
    /// The path in the repository.
    pub path: String,
    /// The git object with its content.
    pub blob: String,
}

/// A locked file, with the phase that has locked it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceLock {
    /// The phase.
    pub phase: PhaseId,
    /// The file.
    #[serde(flatten)]
    pub file: LockedFile,
}

/// A change of a locked interface that a task has asked for, and that is not decided yet.
///
/// While a frame has one, its work on the task rests: the steps that the workflow names for this
/// decide about the request, write the interface and commit it. The request ends when the frame
/// returns to the step that asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedInterface {
    /// The step that asked, to which the frame returns.
    pub step: StepId,
    /// The phase that has locked the interface.
    pub phase: PhaseId,
    /// The interface as it was when the request was made.
    pub before: Interface,
    /// What its definition is to become.
    pub definition: String,
    /// Why.
    pub reason: String,
}

impl RequestedInterface {
    /// Returns the interface as it is to become.
    pub fn after(&self) -> Interface {
        Interface {
            definition: self.definition.clone(),
            ..self.before.clone()
        }
    }
}

/// A change of a locked interface that was made, and how the interface was before: a rollback puts
/// it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceRevision {
    /// The number of the event that recorded it.
    pub seq: u64,
    /// The phase that has locked the interface.
    pub phase: PhaseId,
    /// The interface before the change.
    pub before: Interface,
    /// Its file before the change; `None` if the phase had ended.
    pub file: Option<LockedFile>,
}
