//! When a phase may start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a phase waits for, where the workflow goes through the plan phase by phase.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum PhaseStart {
    /// The phases before it are complete.
    #[default]
    Completion,
    /// The interfaces of the phases before it are locked, while their tasks are still being built. A
    /// task that depends on one of those tasks still waits for it.
    Interfaces,
}

impl PhaseStart {
    /// Returns it as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completion => "completion",
            Self::Interfaces => "interfaces",
        }
    }

    /// Returns true if this is what a phase waits for that says nothing about it.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
