//! Roles: what a worker is asked to be. The kernel knows kinds and contracts, never names.

mod book;
mod file;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::book::unknown;
pub use self::book::{ResolvedRole, RoleCatalog, RoleSource, SourceLayer};
pub use self::file::{OnGateFail, RoleFile, RoleGate};
use crate::ids::{RoleName, WorkerName};
use crate::submission::AnswerForm;

/// What a role owes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RoleKind {
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

impl RoleKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Analyst,
        Self::Designer,
        Self::Planner,
        Self::Implementer,
        Self::Gatekeeper,
        Self::Scribe,
    ];

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

    /// The word for it in a sentence.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Analyst => "an analyst",
            Self::Designer => "a designer",
            Self::Planner => "a planner",
            Self::Implementer => "an implementer",
            Self::Gatekeeper => "a gatekeeper",
            Self::Scribe => "a scribe",
        }
    }
}

/// The wire form of a kind's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Contract {
    /// codeteam's own.
    #[default]
    Native,
    /// `approved, reason, issues`; `questions | confirmed_requirements`.
    TeamMcp,
    /// Three kinds and no tools: `plan_id, tasks`; whole files; `task_id, passed, report`.
    Strict,
    /// A `status` in capitals: phases of components; components and interfaces; files by what was
    /// done to them; issues, suggestions and security concerns.
    Supervisor,
}

impl Contract {
    /// Every contract.
    pub const ALL: [Self; 4] = [Self::Native, Self::TeamMcp, Self::Strict, Self::Supervisor];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::TeamMcp => "team_mcp",
            Self::Strict => "strict",
            Self::Supervisor => "supervisor",
        }
    }

    /// The kinds it has a form for.
    pub fn kinds(self) -> &'static [RoleKind] {
        match self {
            Self::Native => &RoleKind::ALL,
            Self::TeamMcp => &[
                RoleKind::Analyst,
                RoleKind::Designer,
                RoleKind::Implementer,
                RoleKind::Gatekeeper,
            ],
            Self::Strict => &[
                RoleKind::Planner,
                RoleKind::Implementer,
                RoleKind::Gatekeeper,
            ],
            Self::Supervisor => &[
                RoleKind::Designer,
                RoleKind::Planner,
                RoleKind::Implementer,
                RoleKind::Gatekeeper,
            ],
        }
    }

    /// Whether its gatekeepers can answer for findings by their ids.
    pub fn names_findings(self) -> bool {
        self == Self::Native
    }
}

/// How a worker changes files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EditMode {
    /// With tools of its own, in the worktree.
    #[default]
    Tools,
    /// Not at all: whole files are in its answer. It has no tools.
    Edits,
}

/// Who serves a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelProvider {
    /// Anthropic itself.
    Anthropic,
    /// Amazon Bedrock.
    Bedrock,
    /// Google Vertex AI.
    Vertex,
}

impl ModelProvider {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
            Self::Vertex => "vertex",
        }
    }
}

/// With what a role is carried out, beyond who does it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExecutionOptions {
    /// How files are changed.
    #[serde(skip_serializing_if = "is_tools")]
    pub mode: EditMode,
    /// The tools it may use; all of the worker's own that fit its kind if none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// The configured MCP servers whose tools it gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
    /// How often the model may be asked in one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Whether the next attempt may go on in the session of the last one.
    #[serde(skip_serializing_if = "is_false")]
    pub continues: bool,
    /// How often in a row a session may be gone on with, if not as often as usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_continuations: Option<u32>,
    /// Whether a plan is made before anything is done, where the worker can.
    #[serde(skip_serializing_if = "is_false")]
    pub use_planner: bool,
    /// Who serves the model, if not the worker's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ModelProvider>,
    /// The folder that the paths it names are below, if not the project's own. Nothing else is
    /// touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// How many characters a text of its answer may have, where its contract has a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
}

/// What a role is shown of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoleContext {
    /// How its files are chosen: `planner_docset`, `implementer_targeted`, `reviewer_diff`,
    /// `security_audit`, `investigator_wide`, or one of `.codeteam/strategies`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Files, as patterns or `$TARGET` and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Files that are left out, as patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Files that are there in any case, as patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub always_include: Vec<String>,
    /// How many tokens all of it may take.
    #[serde(alias = "token_budget", skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Whether what has changed so far is part of it.
    #[serde(skip_serializing_if = "is_false")]
    pub git_diff: bool,
}

/// A role as a run pins it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Its name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: RoleName,
    /// What it owes.
    pub kind: RoleKind,
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
    /// With what it is carried out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub means: ExecutionOptions,
    /// What it is, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it is shown of the repository.
    #[serde(default, skip_serializing_if = "is_default")]
    pub context: RoleContext,
    /// In hundredths, a score that no rule has ever used. Runs of earlier versions have it in their logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality_threshold: Option<u8>,
    /// The attitude it is to take, in a word or two; empty if none is asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stance: String,
    /// What its prompt may refer to, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, serde_json::Value>,
    /// The template of its assignments, if not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// About how many tokens the log of its work may have before it is shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_tokens: Option<u64>,
}

impl Role {
    /// What its prompt may refer to, with what the step says over it.
    pub fn config_with(
        &self,
        step: &BTreeMap<String, serde_json::Value>,
    ) -> BTreeMap<String, serde_json::Value> {
        let mut config = self.config.clone();
        config.extend(step.clone());
        config
    }

    /// What its answer must be.
    pub fn form(&self) -> AnswerForm {
        AnswerForm {
            kind: self.kind,
            contract: self.contract,
            mode: self.means.mode,
            asks: false,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_tools(mode: &EditMode) -> bool {
    *mode == EditMode::Tools
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_empty(name: &RoleName) -> bool {
    name.0.is_empty()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_native(contract: &Contract) -> bool {
    *contract == Contract::Native
}
