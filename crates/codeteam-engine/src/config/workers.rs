//! The sections of the configuration about workers: `workers`, `prices`, `mcp_servers`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::dialect;
use crate::model_api::ApiProtocol;

/// A worker under a name of its own, or more about one that is known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkerConfig {
    /// Its dialect; its name if that is a dialect.
    pub dialect: Option<dialect::DialectName>,
    /// The model it asks.
    pub model: Option<String>,
    /// The model of roles with `small_model: true`, such as the one that scores results in `team`.
    /// If left out, it is `haiku` for `claude` and `gemini-2.5-flash` for `gemini`, unless another
    /// server than the provider's is asked; other workers use their `model`.
    pub small_model: Option<String>,
    /// The account whose quota it uses; its own name if left out.
    pub account: Option<String>,
    /// The API that the built-in worker speaks.
    pub protocol: Option<ApiProtocol>,
    /// The address of that API. Only in the user's own configuration: keys are sent there.
    pub base_url: Option<String>,
    /// The environment variable that contains its key. Only in the user's own.
    pub key: Option<String>,
    /// The most tokens that the built-in worker's model accepts: to stay below it, older tool
    /// results are dropped from the conversation, and long ones cut. *Built in: 150000.*
    pub context_tokens: Option<u64>,
    /// The most tokens of one answer of the built-in worker's model; the API's own limit if left
    /// out.
    pub max_tokens: Option<u32>,
    /// The sampling temperature of the built-in worker's model; what the API sets if left out.
    pub temperature: Option<f64>,
    /// The program, if it is not found by its name. Only in the user's own.
    pub program: Option<PathBuf>,
    /// The path of its login, if it is not where the CLI keeps it. Only in the user's own.
    pub login: Option<PathBuf>,
}

impl WorkerConfig {
    /// The keys that only the user may set.
    pub(super) const USER_ONLY: [&'static str; 4] = ["base_url", "key", "program", "login"];

    /// Returns the first key that only the user may set and that is set here.
    pub(super) fn user_only_key(&self) -> Option<&'static str> {
        let said = [
            self.base_url.is_some(),
            self.key.is_some(),
            self.program.is_some(),
            self.login.is_some(),
        ];
        let mut said = said.into_iter().zip(Self::USER_ONLY);
        said.find(|(is_said, _)| *is_said).map(|(_, name)| name)
    }
}
