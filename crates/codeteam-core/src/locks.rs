//! Locked interfaces: which files nobody may change while a phase is being built on them.

use serde::{Deserialize, Serialize};

use crate::ids::PhaseId;

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
