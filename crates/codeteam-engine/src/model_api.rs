//! The model APIs that workers use, the prices of their tokens, and the options with which a model
//! can be called.

use codeteam_sandbox::egress::ApiRoute;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::worker_clis::{self, WorkerCli};

/// The protocol of a model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApiProtocol {
    /// Anthropic's Messages.
    Anthropic,
    /// `OpenAI`'s Chat Completions, which most local servers speak too.
    Openai,
    /// Gemini's `generateContent`.
    Gemini,
}

impl ApiProtocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::Openai, Self::Gemini];

    /// Returns the protocol's name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the variable that contains its key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Openai => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    /// Returns the routes that the built-in worker uses of such an API, below the path of its
    /// address: one for answers in pieces as well, if that is another one.
    pub(crate) fn routes(self, path: &str) -> Vec<ApiRoute> {
        let path = path.trim_end_matches('/');
        let whole = match self {
            // People often give only the host and port of local servers.
            Self::Openai if path.is_empty() => "/v1/chat/completions".to_owned(),
            Self::Openai => format!("{path}/chat/completions"),
            Self::Anthropic => {
                format!("{}/v1/messages", path.strip_suffix("/v1").unwrap_or(path))
            }
            Self::Gemini if path.ends_with("/v1beta") || path.ends_with("/v1") => {
                format!("{path}/models/*:generateContent")
            }
            Self::Gemini => format!("{path}/v1beta/models/*:generateContent"),
        };
        let pieces = (self == Self::Gemini)
            .then(|| whole.replace(":generateContent", ":streamGenerateContent"));
        let paths = [Some(whole), pieces].into_iter().flatten();
        paths.map(|path| ApiRoute::new("POST", path)).collect()
    }

    /// Returns the CLI of the same provider, which has the same keys and servers.
    pub fn cli(self) -> &'static WorkerCli {
        match self {
            Self::Anthropic => &worker_clis::CLAUDE,
            Self::Openai => &worker_clis::CODEX,
            Self::Gemini => &worker_clis::GEMINI,
        }
    }
}

/// The options with which the built-in worker calls its model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SamplingOptions {
    /// The number of tokens that the model accepts.
    pub context_tokens: Option<u64>,
    /// The maximum number of tokens of one answer.
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
}

/// The price of a million tokens, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the service's cache; as much as `input` if left out.
    #[serde(default)]
    pub cached_input: Option<f64>,
}

/// Converts US dollars to millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to what fits"
)]
pub fn usd_to_microusd(usd: f64) -> u64 {
    (usd.max(0.0) * 1e6).round().min(9e15) as u64
}
