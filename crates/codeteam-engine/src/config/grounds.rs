//! What gates go by beside their checks. A run that a session begins keeps it as it was then: the files of
//! the configuration are the session's to write.

use serde::{Deserialize, Serialize};

use super::{BaselinePolicy, Config, SandboxConfig, SetupConfig};

/// What gates go by beside their checks, which workflows carry themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateConfig {
    /// What makes a fresh worktree ready.
    pub setup: Option<SetupConfig>,
    /// How they are confined, and what they are shown.
    pub sandbox: SandboxConfig,
    /// Whether they find what was built for earlier trees.
    pub keep_worktree: bool,
    /// Files of these patterns are tests.
    pub test_paths: Vec<String>,
    /// What looks like a secret and is none.
    pub not_secret: Vec<String>,
    /// What a check means that already fails on the commit that a run starts from.
    pub baseline: Option<BaselinePolicy>,
}

impl Config {
    /// What gates go by now.
    pub(crate) fn grounds(&self) -> GateConfig {
        GateConfig {
            setup: self.setup.clone(),
            sandbox: self.sandbox.clone(),
            keep_worktree: self.verification.keep_worktree,
            test_paths: self.verification.test_paths.clone(),
            not_secret: self.redaction.allow.clone(),
            baseline: self.verification.baseline,
        }
    }
}
