//! The configuration that gates use in addition to their checks. A run that a session begins pins
//! it at that moment, because the session can write the configuration files.

use serde::{Deserialize, Serialize};

use super::{BaselinePolicy, Config, SandboxConfig, SetupConfig};

/// The settings that gates use in addition to their checks, which are part of the workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GateConfig {
    /// The set-up of a fresh worktree.
    pub setup: Option<SetupConfig>,
    /// The confinement of gates, and what they can see.
    pub sandbox: SandboxConfig,
    /// Whether gates keep build results of earlier trees.
    pub keep_worktree: bool,
    /// Patterns of files that are tests.
    pub test_paths: Vec<String>,
    /// Files in which commands may leave which lines the tests have run.
    pub coverage_reports: Vec<String>,
    /// Regular expressions for texts that look like secrets and are not.
    pub not_secret: Vec<String>,
    /// The treatment of checks that already fail on the commit that a run starts from.
    pub baseline: Option<BaselinePolicy>,
}

impl Config {
    /// Returns the current settings of gates.
    pub(crate) fn gate_config(&self) -> GateConfig {
        GateConfig {
            setup: self.setup.clone(),
            sandbox: self.sandbox.clone(),
            keep_worktree: self.verification.keep_worktree,
            test_paths: self.verification.test_paths.clone(),
            coverage_reports: self.verification.coverage_reports.clone(),
            not_secret: self.redaction.allow.clone(),
            baseline: self.verification.baseline,
        }
    }
}
