//! What the configuration says about workers: `workers`, `prices`, `mcp_servers`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::dialect;
use crate::workers::ApiProtocol;

/// A worker under a name of its own, or more about one that is known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkerConfig {
    /// How it is spoken to; its name if that is a dialect.
    pub dialect: Option<dialect::DialectName>,
    /// The model it asks.
    pub model: Option<String>,
    /// Whose quota it uses up; its name if it is not said.
    pub account: Option<String>,
    /// Which API the built-in worker speaks.
    pub protocol: Option<ApiProtocol>,
    /// Where that API is. Only in the user's own configuration: keys are sent there.
    pub base_url: Option<String>,
    /// The variable of the user's environment that has its key. Only in the user's own.
    pub key: Option<String>,
    /// How many tokens the built-in worker's model takes in: older results of tools are taken out of
    /// the conversation, and long ones cut, to stay below it. *Built in: 150000.*
    pub context_tokens: Option<u64>,
    /// How many tokens the built-in worker's model may write in one answer; what the API sets if left
    /// out.
    pub max_tokens: Option<u32>,
    /// The sampling temperature of the built-in worker's model; what the API sets if left out.
    pub temperature: Option<f64>,
    /// The program, if it is not found by its name. Only in the user's own.
    pub program: Option<PathBuf>,
    /// Where its login is, if not where the CLI keeps it. Only in the user's own.
    pub login: Option<PathBuf>,
}

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read and still known to the service; as much as `input` if it is not said.
    #[serde(default)]
    pub cached_input: Option<f64>,
}

impl WorkerConfig {
    /// What of it only the user may say, if the repository says it.
    pub(super) fn presumption(&self) -> Option<&'static str> {
        let said = [
            (self.base_url.is_some(), "base_url"),
            (self.key.is_some(), "key"),
            (self.program.is_some(), "program"),
            (self.login.is_some(), "login"),
        ];
        said.into_iter().find(|(is, _)| *is).map(|(_, name)| name)
    }
}
