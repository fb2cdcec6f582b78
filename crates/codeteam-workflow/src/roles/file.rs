//! The form of a role file. Editors show the field comments as help.

use std::collections::BTreeMap;

use codeteam_core::ids::{RoleName, WorkerName};
use codeteam_core::role::{
    Contract, EditMode, ExecutionOptions, ModelProvider, Role, RoleContext, RoleKind,
};
use codeteam_core::workflow::{Check, CheckKind, FormatRules, JsonSchemaSource, WordBounds};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::yaml::{OneOrMany, ScalarOr};

/// The default time limit for a role's gate.
const GATE_TIMEOUT_SECONDS: u64 = 600;

/// A role: the prompt of a worker, what it is shown, what it may do, and the kind of its answer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoleFile {
    /// The version of the format, which is 1.
    pub version: Option<f64>,
    /// The name, if it is to be stated; it must be the file's.
    pub name: Option<String>,
    /// The role, in a line.
    pub description: Option<String>,
    /// The role this one builds on. Its own name means the one of the layer below.
    pub extends: Option<String>,
    /// Its kind: `analyst`, `designer`, `planner`, `implementer`, `gatekeeper` or `scribe`.
    #[serde(alias = "type")]
    pub kind: Option<RoleKind>,
    /// The wire form of its answer.
    pub contract: Option<Contract>,
    /// The prompt: who the worker is, and how it works. With `extends`, the prompt of the role it
    /// builds on comes first.
    pub prompt: Option<String>,
    /// An addition to the prompt of the role it builds on.
    pub system_prompt_additions: Option<String>,
    /// The template of its assignments, if not the built-in one.
    pub template: Option<String>,
    /// The worker that plays it, or several, each of which replaces the one before if that fails.
    #[serde(alias = "cli")]
    pub worker: OneOrMany<String>,
    /// The same as a list.
    pub workers: Vec<String>,
    /// The model, if not the worker's own default.
    pub model: Option<String>,
    /// `true`: where the role names no `model`, its worker uses its small and cheap one, if it has
    /// one (`workers.*.small_model`).
    pub small_model: Option<bool>,
    /// The provider of the model.
    pub provider: Option<ModelProvider>,
    /// The parts of the repository it is shown; a list is what is included.
    pub context: Option<ScalarOr<ContextFile>>,
    /// Files of the worktree that the worker does not see, as patterns; `$IMPLEMENTATION_INTERNALS` is
    /// the implementation, of which the prompt then has the interface.
    pub exclude: Vec<String>,
    /// The tools it may use; all that fit its kind if none is named.
    pub allowed_tools: Vec<String>,
    /// The configured MCP servers whose tools it gets.
    pub mcp_servers: Vec<String>,
    /// Checks that run after it has submitted, in addition to those of the workflow.
    pub gates: Vec<RoleGate>,
    /// The form of the files that it has made, checked after it has submitted, before its gates and
    /// before anybody judges.
    pub validators: Vec<ValidatorFile>,
    /// Values for its prompt: `{{ config.key }}`.
    pub config: BTreeMap<String, Value>,
    /// Its attitude, in a word, for its prompt.
    pub stance: Option<String>,
    /// Its strengths, for whoever chooses among roles.
    pub strengths: Vec<String>,
    /// The way in which files are changed: with tools, or as whole files in the answer.
    pub mode: Option<EditMode>,
    /// The most times that the model may be asked in one attempt. If left out, `limits.max_turns` of
    /// the configuration or of the workflow applies.
    pub max_turns: Option<u32>,
    /// `true`: the next attempt may continue the session of the last one.
    pub continues: Option<bool>,
    /// `true`: the worker makes a plan before it does anything. The built-in worker asks its model
    /// for it separately; the others write it before they use their first tool.
    pub use_planner: Option<bool>,
    /// `false`: its results are not scored, even where the workflow scores results.
    pub enable_quality_check: Option<bool>,
    /// The score from 0 to 100 that its results need, if not the workflow's.
    pub quality_threshold: Option<f64>,
    /// The most that one attempt may cost, in millionths of a US dollar.
    pub max_cost_microusd: Option<u64>,
    /// The most that one attempt may cost, in US dollars.
    pub max_cost_usd: Option<f64>,
}

/// The parts of the repository that a role is shown: a mapping, or the list of what is included.
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
    /// The consequence of its failure.
    #[serde(default)]
    pub on_fail: OnGateFail,
    /// The longest time that it may take.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// The form that a file must have, with the consequence if it has not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ValidatorFile {
    /// Its name in reports; `form of FILE` if left out.
    pub name: Option<String>,
    /// The path of the file, which must exist; or a pattern, which at least one file of the change
    /// must match.
    pub file: String,
    /// What it must contain: texts, or regular expressions between slashes: `/^## Sources/`.
    pub contains: OneOrMany<String>,
    /// What it must not contain.
    pub lacks: OneOrMany<String>,
    /// The JSON Schema that it must match as JSON: a file of the commit that the run starts from, or
    /// the schema itself.
    #[schemars(with = "Option<Value>")]
    pub schema: Option<Value>,
    /// The words it must have.
    pub words: Option<WordBounds>,
    /// `true`: relative links and anchors in it, as Markdown, must lead somewhere.
    pub links: bool,
    /// The consequence of its failure.
    pub on_fail: OnGateFail,
}

/// The consequence of a failing gate of a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnGateFail {
    /// The work goes back, with the gate's output.
    #[default]
    Retry,
    /// The step fails.
    Block,
}

impl RoleGate {
    /// Converts the gate to a check.
    pub fn to_check(&self) -> Check {
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

impl ValidatorFile {
    /// Converts the validator to a check. The error says what is wrong with it.
    pub(crate) fn to_check(&self) -> Result<Check, String> {
        let rules = FormatRules {
            file: self.file.clone(),
            contains: self.contains.0.clone(),
            lacks: self.lacks.0.clone(),
            schema: match self.schema.clone() {
                None | Some(Value::Null) => None,
                Some(Value::String(path)) => Some(JsonSchemaSource::File(path)),
                Some(inline @ Value::Object(_)) => Some(JsonSchemaSource::Inline(inline)),
                Some(_) => return Err("`schema` is neither a path nor a JSON Schema".to_owned()),
            },
            words: self.words,
            links: self.links,
        };
        if let Some(problem) = rules.problem() {
            return Err(problem);
        }
        let name = self.name.clone();
        Ok(Check {
            name: name.unwrap_or_else(|| format!("form of {}", self.file)),
            what: CheckKind::Format(Box::new(rules)),
            timeout_ms: GATE_TIMEOUT_SECONDS * 1_000,
        })
    }
}

impl RoleFile {
    /// Converts the file to the role that a run pins.
    pub(super) fn into_role(self, name: &str, kind: RoleKind) -> Role {
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
                small_model: self.small_model.unwrap_or_default(),
                provider: self.provider,
                root: None,
                max_chars: None,
            },
            description: self.description.unwrap_or_default(),
            strengths: self.strengths,
            context,
            quality_threshold: self.quality_threshold.and_then(|s| quality_points(s).ok()),
            quality_check: self.enable_quality_check,
            stance: self.stance.unwrap_or_default(),
            config: self.config,
            template: self.template,
            log_tokens: None,
        }
    }
}

/// Returns a threshold in whole points; the error says what it has to be.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is checked to fit"
)]
pub fn quality_points(score: f64) -> Result<u8, String> {
    if (0.0..=100.0).contains(&score) && score.fract() == 0.0 {
        return Ok(score as u8);
    }
    Err(format!(
        "`quality_threshold` must be a whole number from 0 to 100, not {score}"
    ))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to what fits"
)]
fn microusd(usd: f64) -> u64 {
    (usd.max(0.0) * 1e6).round().min(9e15) as u64
}
