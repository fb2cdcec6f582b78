//! Roles: what a worker is asked to be. The kernel knows kinds and contracts, never names.

use serde::{Deserialize, Serialize};

use crate::ids::{Account, RoleName, WorkerName};

/// What a role owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Questions, or confirmed requirements.
    Analyst,
    /// A design, with patterns, warnings and interfaces.
    Designer,
    /// A plan.
    Planner,
    /// A change, with a summary, files and proof.
    Implementer,
    /// A verdict with findings.
    Gatekeeper,
    /// A text: a prompt, a summary, a commit message, a score.
    Scribe,
}

impl Kind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Analyst => "analyst",
            Self::Designer => "designer",
            Self::Planner => "planner",
            Self::Implementer => "implementer",
            Self::Gatekeeper => "gatekeeper",
            Self::Scribe => "scribe",
        }
    }
}

/// The wire form of a kind's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contract {
    /// codeteam's own.
    #[default]
    Native,
    /// `approved, reason, issues`; `questions | confirmed_requirements`.
    TeamMcp,
}

/// A role as a run pins it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Its name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: RoleName,
    /// What it owes.
    pub kind: Kind,
    /// The wire form of its answer.
    #[serde(default, skip_serializing_if = "is_native")]
    pub contract: Contract,
    /// What carries it out; the first that is not parked is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerName>,
    /// Who the worker is asked to be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// The model, if not the worker's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Files that the worker is not shown, as patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// What one attempt may cost at most, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_microusd: Option<u64>,
}

impl Role {
    /// The account a worker's use is counted against.
    pub fn account(worker: &WorkerName) -> Account {
        Account(worker.0.clone())
    }
}

fn is_empty(name: &RoleName) -> bool {
    name.0.is_empty()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_native(contract: &Contract) -> bool {
    *contract == Contract::Native
}
