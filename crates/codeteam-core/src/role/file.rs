//! A role as a file says it. Field comments are what editors show.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Contract, EditMode, ExecutionOptions, ModelProvider, Role, RoleContext, RoleKind};
use crate::ids::{RoleName, WorkerName};
use crate::workflow::{Check, CheckKind};
use crate::yaml::{OneOrMany, ScalarOr};

/// How long a role's gate may take if nothing is said.
const GATE_TIMEOUT_SECONDS: u64 = 600;

/// A role: who a worker is asked to be, what it is shown, what it may do and what it owes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoleFile {
    /// The version of the format, which is 1.
    pub version: Option<f64>,
    /// The name, if it is to be said; it is the file's.
    pub name: Option<String>,
    /// What the role is, in a line.
    pub description: Option<String>,
    /// The role this one builds on. Its own name means the one of the layer below.
    pub extends: Option<String>,
    /// What it owes: `analyst`, `designer`, `planner`, `implementer`, `gatekeeper` or `scribe`.
    #[serde(alias = "type")]
    pub kind: Option<RoleKind>,
    /// The wire form of its answer.
    pub contract: Option<Contract>,
    /// Who the worker is asked to be. With `extends`, what it builds on comes first.
    pub prompt: Option<String>,
    /// What is added to the prompt of the role it builds on.
    pub system_prompt_additions: Option<String>,
    /// The template of its assignments, if not the built-in one.
    pub template: Option<String>,
    /// What carries it out: one worker, or several of which the next stands in for the last.
    #[serde(alias = "cli")]
    pub worker: OneOrMany<String>,
    /// The same as a list.
    pub workers: Vec<String>,
    /// The model, if not the worker's own default.
    pub model: Option<String>,
    /// Who serves the model.
    pub provider: Option<ModelProvider>,
    /// What it is shown of the repository; a list is what is included.
    pub context: Option<ScalarOr<ContextFile>>,
    /// Files of the worktree that the worker does not see, as patterns.
    pub exclude: Vec<String>,
    /// The tools it may use; all that fit its kind if none is named.
    pub allowed_tools: Vec<String>,
    /// The configured MCP servers whose tools it gets.
    pub mcp_servers: Vec<String>,
    /// Checks that run when it has submitted, besides those of the workflow.
    pub gates: Vec<RoleGate>,
    /// Values for its prompt: `{{ config.key }}`.
    pub config: BTreeMap<String, Value>,
    /// How it looks at things, in a word, for its prompt.
    pub stance: Option<String>,
    /// What it is good at, for people who choose.
    pub strengths: Vec<String>,
    /// How files are changed: with tools, or as whole files in the answer.
    pub mode: Option<EditMode>,
    /// How often the model may be asked in one attempt.
    pub max_turns: Option<u32>,
    /// Whether the next attempt may go on in the session of the last one.
    pub continues: Option<bool>,
    /// Whether a plan is made before anything is done, where the worker can.
    pub use_planner: Option<bool>,
    /// What one attempt may cost at most, in millionths of a US dollar.
    pub max_cost_microusd: Option<u64>,
    /// What one attempt may cost at most, in US dollars.
    pub max_cost_usd: Option<f64>,
}

/// What a role is shown of the repository: a mapping, or the list of what is included.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum ContextFile {
    /// Patterns.
    Include(Vec<String>),
    /// All of it.
    Full(RoleContext),
}

impl<'de> Deserialize<'de> for ContextFile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
        struct ContextFileVisitor;
        impl<'de> serde::de::Visitor<'de> for ContextFileVisitor {
            type Value = ContextFile;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a mapping, or a list of patterns")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                seq: A,
            ) -> Result<ContextFile, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(ContextFile::Include)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<ContextFile, A::Error> {
                RoleContext::deserialize(MapAccessDeserializer::new(map)).map(ContextFile::Full)
            }
        }
        deserializer.deserialize_any(ContextFileVisitor)
    }
}

/// A check that runs when a role has submitted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleGate {
    /// Its name in reports.
    pub name: String,
    /// The command, for `sh -c`.
    pub command: String,
    /// What its failure means.
    #[serde(default)]
    pub on_fail: OnGateFail,
    /// How long it may take.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// What the failure of a role's gate means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnGateFail {
    /// The work goes back, with what the gate said.
    #[default]
    Retry,
    /// The step fails.
    Block,
}

impl RoleGate {
    /// The check it is.
    pub fn check(&self) -> Check {
        Check {
            name: self.name.clone(),
            what: CheckKind::Command(self.command.clone()),
            timeout_ms: self
                .timeout_seconds
                .unwrap_or(GATE_TIMEOUT_SECONDS)
                .saturating_mul(1_000),
        }
    }
}

impl RoleFile {
    /// The role that a run pins.
    pub(super) fn role(self, name: &str, kind: RoleKind) -> Role {
        let context = match self.context {
            Some(ScalarOr::Full(ContextFile::Full(context))) => context,
            Some(ScalarOr::Full(ContextFile::Include(include))) => RoleContext {
                include,
                ..RoleContext::default()
            },
            Some(ScalarOr::Word(pattern)) => RoleContext {
                include: vec![pattern],
                ..RoleContext::default()
            },
            None => RoleContext::default(),
        };
        let workers = self.worker.0.into_iter().chain(self.workers);
        Role {
            name: RoleName(name.replace('/', "-")),
            kind,
            contract: self.contract.unwrap_or_default(),
            workers: workers.map(WorkerName).collect(),
            prompt: self.prompt.unwrap_or_default().trim_end().to_owned(),
            model: self.model,
            exclude: self.exclude,
            max_cost_microusd: self.max_cost_microusd.or(self.max_cost_usd.map(microusd)),
            means: ExecutionOptions {
                mode: self.mode.unwrap_or_default(),
                allowed_tools: self.allowed_tools,
                mcp_servers: self.mcp_servers,
                max_turns: self.max_turns,
                continues: self.continues.unwrap_or_default(),
                max_continuations: None,
                use_planner: self.use_planner.unwrap_or_default(),
                provider: self.provider,
                root: None,
                max_chars: None,
            },
            description: self.description.unwrap_or_default(),
            context,
            quality_threshold: None,
            stance: self.stance.unwrap_or_default(),
            config: self.config,
            template: self.template,
            log_tokens: None,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to what fits"
)]
fn microusd(usd: f64) -> u64 {
    (usd.max(0.0) * 1e6).round().min(9e15) as u64
}
