//! A compiled workflow as a run pins it. [`crate::repin_check`] says whether a run can go on with
//! another one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Account, RoleName, WorkerName};
use crate::role::Role;
use crate::workflow::Workflow;

/// A workflow as a run pins it, with everything that belongs to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PinnedWorkflow {
    /// The compiled workflow.
    pub workflow: Workflow,
    /// The roles, by name.
    pub roles: BTreeMap<RoleName, Role>,
    /// Prompt templates other than the built-in ones, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, String>,
    /// Context strategies other than the built-in ones, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub strategies: BTreeMap<String, String>,
    /// Rules that every role must keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The accounts of workers, where they may differ from the workers' names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<WorkerName, Account>,
}
