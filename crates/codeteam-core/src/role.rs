//! Roles: what a worker is asked to be. The kernel knows kinds and contracts, never names.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{RoleName, WorkerName};

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

    /// Returns the kind as a word.
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

    /// Returns the tools that a role of this kind has if it names none. Workers get exactly these, by
    /// their own names for them.
    pub(crate) fn usual_tools(self) -> &'static [&'static str] {
        match self {
            Self::Implementer => &["read", "search", "list", "edit", "write", "run"],
            Self::Analyst | Self::Designer | Self::Planner | Self::Gatekeeper => {
                &["read", "search", "list", "run"]
            }
            Self::Scribe => &["read", "search", "list"],
        }
    }

    /// Returns the word with its indefinite article.
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
    /// A scribe's: `assignments` of roles to tasks.
    Assembly,
    /// A gatekeeper's: `overall_score, criteria_scores, issues, suggestions`.
    Quality,
    /// A gatekeeper's that leads: `intervention, reason` and what the intervention needs.
    Intervention,
}

impl Contract {
    /// Every contract.
    pub const ALL: [Self; 7] = [
        Self::Native,
        Self::TeamMcp,
        Self::Strict,
        Self::Supervisor,
        Self::Assembly,
        Self::Quality,
        Self::Intervention,
    ];

    /// Returns the contract's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::TeamMcp => "team_mcp",
            Self::Strict => "strict",
            Self::Supervisor => "supervisor",
            Self::Assembly => "assembly",
            Self::Quality => "quality",
            Self::Intervention => "intervention",
        }
    }

    /// Returns the kinds of roles the contract has a form for.
    pub fn supported_kinds(self) -> &'static [RoleKind] {
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
            Self::Assembly => &[RoleKind::Scribe],
            Self::Quality | Self::Intervention => &[RoleKind::Gatekeeper],
        }
    }

    /// Returns true if its gatekeepers can resolve findings by their ids.
    pub fn resolves_findings_by_id(self) -> bool {
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
    /// Returns the provider's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
            Self::Vertex => "vertex",
        }
    }
}

/// The options with which a role is carried out, besides who does it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExecutionOptions {
    /// The way the worker changes files.
    #[serde(skip_serializing_if = "is_tools")]
    pub mode: EditMode,
    /// The tools it may use; if none is named, all of the worker's own that fit its kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// The configured MCP servers whose tools it gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
    /// The maximum number of model turns in one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Whether the next attempt may continue the conversation of the last one.
    #[serde(skip_serializing_if = "is_false")]
    pub continues: bool,
    /// How often in a row a conversation may be continued, if not as often as usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_continuations: Option<u32>,
    /// Whether the worker makes a plan before it acts, if it can.
    #[serde(skip_serializing_if = "is_false")]
    pub use_planner: bool,
    /// Whether the worker uses its small model, if it has one and the role names none.
    #[serde(skip_serializing_if = "is_false")]
    pub small_model: bool,
    /// Who serves the model, if not the worker's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ModelProvider>,
    /// The directory that the paths it names are relative to, if not the project's own. Nothing
    /// else is touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The maximum number of characters of a text in its answer, where its contract has a limit.
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
    /// Files that are always included, as patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub always_include: Vec<String>,
    /// How many tokens all of it may take.
    #[serde(alias = "token_budget", skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Whether the diff of the changes so far is part of it.
    #[serde(skip_serializing_if = "is_false")]
    pub git_diff: bool,
}

/// A role as a run pins it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The role's name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: RoleName,
    /// The kind of role, which determines what it must deliver.
    pub kind: RoleKind,
    /// The wire format of its answer.
    #[serde(default, skip_serializing_if = "is_native")]
    pub contract: Contract,
    /// The workers that can carry it out; the first that is not parked is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerName>,
    /// The prompt that tells the worker who it is asked to be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// The model, if not the worker's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Patterns of files that the worker is not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The maximum cost of one attempt, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_microusd: Option<u64>,
    /// The options with which it is carried out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub means: ExecutionOptions,
    /// A description in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it is good at, for whoever chooses among roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strengths: Vec<String>,
    /// The context of the repository that it is shown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub context: RoleContext,
    /// The score that its results need to be built on, if not the workflow's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality_threshold: Option<u8>,
    /// Whether its results are scored, if that is stated; they are where the workflow does so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality_check: Option<bool>,
    /// The attitude it should take, in a word or two; empty if none is asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stance: String,
    /// Values that its prompt may refer to by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, serde_json::Value>,
    /// The template of its assignments, if not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Approximately how many tokens its work log may have before it is shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_tokens: Option<u64>,
}

impl Role {
    /// Returns the values for its prompt, overridden by those of the step.
    pub fn config_with(
        &self,
        step: &BTreeMap<String, serde_json::Value>,
    ) -> BTreeMap<String, serde_json::Value> {
        let mut config = self.config.clone();
        config.extend(step.clone());
        config
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
