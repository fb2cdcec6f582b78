//! What a repository requests, and the settings of gates, as they were when a run started.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A configuration value that a repository requests beyond what the user's own configuration
/// allows, and that the user has trusted: a key of the configuration and the requested value. The
/// kernel decides nothing by it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessGrant {
    /// The key, such as `sandbox.hosts`.
    pub key: String,
    /// The value, in a canonical form.
    pub value: String,
}

/// The access requests of a repository that were in force when a run started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAccess {
    /// The requests that the user had trusted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub granted: BTreeSet<AccessGrant>,
    /// Whether the user asked for a run without any of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restricted: bool,
}

impl RunAccess {
    /// Returns true if no request was granted and the run was not restricted.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The settings of gates besides their checks, as they were when the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSettings {
    /// The relevant part of the configuration. The kernel decides nothing by it.
    #[serde(default)]
    pub config: serde_json::Value,
    /// The uncommitted files that work trees get a copy of: their paths, and hashes of their
    /// contents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub included: BTreeMap<String, String>,
}
