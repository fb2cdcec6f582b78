//! The configuration, merged from codeteam's defaults, the user, the project, the environment and
//! the command line, in this order. `layers` merges it; this module interprets it.
//!
//! [`Config::load`] is the way in. It merges the layers, checks the values, and removes whatever
//! the project's files request beyond the user's own configuration unless the user has trusted it
//! (see [`access`]). So a `Config` contains only what is in effect, and code that uses it need not
//! check trust again. A run pins what it needs of the configuration when it starts.

pub mod access;
mod approval;
mod gate_config;
pub mod keys;
mod layers;
mod planned_keys;
mod redacted;
mod sandbox;
mod schema;
mod sections;
mod value_faults;
mod values;
mod workers;

pub use self::access::{AccessRequest, RequestState, TrustPolicy};
pub(crate) use self::approval::person_for_uid;
pub use self::approval::{
    ApprovalActionConfig, ApprovalLevelConfig, ApprovalsConfig, PersonConfig, RiskConfig,
};
pub(crate) use self::gate_config::GateConfig;
pub use self::layers::{ConfigLayers, ConfigOrigins};
pub use self::redacted::redact_node;
pub(crate) use self::sandbox::expand_home;
pub use self::sandbox::{CacheConfig, CacheMode, HostConfig, SandboxConfig, SetupConfig};
pub use self::schema::{SchemaKind, json_schema};
pub use self::sections::{
    AdaptiveConfig, AgentConfig, BaselinePolicy, CommandConfig, ContinuityConfig, ContinuityMode,
    GitConfig, GitMode, HonestyConfig, HonestyMode, LayoutKind, LimitsConfig, LlmConfig,
    MetricsConfig, MutantsConfig, OutputConfig, PackageConfig, ProofConfig, ProofMode,
    RedactionConfig, RepeatsConfig, TaskConfig, VerificationConfig,
};
pub use self::workers::WorkerConfig;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use codeteam_core::budget;
use codeteam_core::message::MessageFormat;
use codeteam_core::retry;
use codeteam_core::role::Role;
use codeteam_core::workflow::{
    Check, CheckKind, CodeMetric, CommitApproval, HonestyRule, MutantTrial, TestProof, TestRepeats,
};
use codeteam_workflow::language::{CompileInputs, CompiledWorkflow, FileRetry};
use codeteam_workflow::roles::quality_points;
use codeteam_workflow::yaml::{Diagnostic, FileProblems, SourceFiles, YamlNode};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::strategies::StrategyCatalog;
use crate::dialect::{McpServer, SUBMIT_SERVER};
use crate::model_api::{ModelPrice, usd_to_microusd};
use crate::notify::NotifyConfig;
use codeteam_verify::proof;

/// The default disk limit of a worktree, in megabytes.
pub(crate) const DISK_MB: u64 = 20 << 10;
/// The default token budget of a prompt.
const TOKEN_BUDGET: u64 = 50_000;
/// Keys that only the user may set, and what they decide.
const USER_ONLY_KEYS: [(&str, &str); 4] = [
    ("people", "decides who may approve changes"),
    ("groups", "decides who may approve changes"),
    ("approvals", "decides who may approve changes"),
    (
        "notify",
        "decides where messages about your runs go, and what runs on your machine",
    ),
];
/// The key for files that every role is shown.
const ALWAYS: &str = "always";

/// The reasons why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A folder has both `config.yml` and `config.yaml`.
    #[error(
        "there are two configuration files in `{}`: `config.yml` and `config.yaml`; move what both \
         say into one of them and remove the other",
        path.display()
    )]
    TwoFiles {
        /// The folder.
        path: PathBuf,
    },
    /// A file is invalid.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
}

/// The merged configuration.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The version of the format.
    pub version: Option<f64>,
    /// The workflow a run follows: a name, or changes to one, or one of its own.
    #[serde(skip)]
    pub flow: Option<YamlNode>,
    /// Whether somebody has configured a workflow: the user, the project or the command line.
    #[serde(skip)]
    pub names_workflow: bool,
    /// Roles, and changes to roles.
    #[serde(skip)]
    pub roles: Option<YamlNode>,
    /// Notes on keys that are set and have no effect yet.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// The files that all of it was read from.
    #[serde(skip)]
    pub sources: SourceFiles,
    /// The repository's requests beyond what the user's own configuration allows. Requests that are
    /// not trusted are not in force, and not in any other field.
    #[serde(skip)]
    pub requests: Vec<AccessRequest>,
    /// Patterns of files in the checkout that git ignores and worktrees get a copy of.
    #[serde(skip)]
    pub included: Vec<String>,
    /// The goal of a `codeteam run` that names none.
    pub task: TaskConfig,
    /// The requests that repositories may make beyond what your own configuration allows: `ask`
    /// (you are shown them, and decide), `never`, or `{ never: [sandbox, mcp_servers] }` for some
    /// keys. Only in your own configuration.
    pub trust: TrustPolicy,
    /// The repository's layout, beyond `.codeteam`: `strict` has `prompts/`, `config/`, `kb/`,
    /// `workspace/` and `runs/`, which `codeteam init --layout strict` creates.
    pub layout: Option<LayoutKind>,
    /// The worker for roles that name none. If left out, `scripted` if there is a `script`, else
    /// the first of `claude`, `codex` and `gemini` that is installed and logged in.
    pub worker: Option<String>,
    /// The script of the scripted worker.
    pub script: Option<PathBuf>,
    /// The model of roles that name none, where the worker is Claude or codeteam's own.
    pub llm: LlmConfig,
    /// Settings of single roles.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The checks that codeteam runs itself.
    pub verification: VerificationConfig,
    /// The role that judges if the workflow's setting `security_review` is on.
    pub security_role: Option<String>,
    /// The lowest score, from 0 to 100, with which a result is good enough, if neither the workflow
    /// nor the role sets one; 70 if left out.
    pub quality_threshold: Option<f64>,
    /// The number of characters from which on the result of a task is summarised for the tasks that
    /// depend on it, if the workflow does not set one; 500 if left out.
    pub digest_from: Option<u32>,
    /// The number of workers that play a role that verifies, by the role's name.
    pub verifier_instances: BTreeMap<String, u32>,
    /// Rules for every role.
    pub rules: Vec<String>,
    /// Files that roles are shown: `always`, and by the role's name.
    pub context: BTreeMap<String, Vec<String>>,
    /// The limits of a run; without a limit where none is set.
    pub limits: LimitsConfig,
    /// Branches and commits.
    pub git: GitConfig,
    /// The files that codeteam writes for people.
    pub output: OutputConfig,
    /// The roles that may continue the session of their last attempt.
    pub continuity: ContinuityConfig,
    /// Retry policies by name; `default` is for steps that name none.
    pub policies: BTreeMap<String, FileRetry>,
    /// The packages of a repository of several.
    pub projects: Vec<PackageConfig>,
    /// Workers are chosen by their earlier results.
    pub adaptive: Option<AdaptiveConfig>,
    /// The confinement of workers and gates.
    pub sandbox: SandboxConfig,
    /// The command that makes a fresh worktree ready for work.
    pub setup: Option<SetupConfig>,
    /// Workers by name.
    pub workers: BTreeMap<String, WorkerConfig>,
    /// The price of a million tokens, by the model's name or its beginning and `*`.
    pub prices: BTreeMap<String, ModelPrice>,
    /// MCP servers that roles may name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// The redaction of what is kept and shown.
    pub redaction: RedactionConfig,
    /// The facts from which the risk of a change is computed.
    pub risk: RiskConfig,
    /// The levels of the approval policy, by name: which changes a person has to approve before
    /// they are committed. The levels of a repository are a separate policy, which applies in
    /// addition to yours.
    pub approval_gates: BTreeMap<String, ApprovalLevelConfig>,
    /// The same of the repository.
    #[serde(skip)]
    pub project_approval_gates: BTreeMap<String, ApprovalLevelConfig>,
    /// Who may do what beyond approving. Only in your own configuration.
    pub approvals: ApprovalsConfig,
    /// The people who can approve, by name. Only in your own configuration.
    pub people: BTreeMap<String, PersonConfig>,
    /// Groups of people, by name. Only in your own configuration.
    pub groups: BTreeMap<String, Vec<String>>,
    /// How you are notified when something needs you. Only in your own configuration.
    pub notify: NotifyConfig,
}

impl GitConfig {
    /// Returns the effective mode, which also depends on `auto_branch`.
    pub fn effective_mode(&self) -> GitMode {
        match self.mode {
            GitMode::Branch if self.auto_branch == Some(false) => GitMode::Current,
            mode => mode,
        }
    }

    /// Returns the format of commit messages.
    pub fn message_format(&self) -> MessageFormat {
        let said = self.commit_message_format.as_deref();
        // An invalid format was refused when the configuration was read.
        said.and_then(|said| MessageFormat::parse(said).ok())
            .unwrap_or_default()
    }

    /// Returns before which commits a person is asked.
    pub fn asks_before(&self) -> CommitApproval {
        if self.auto_commit == Some(false) {
            CommitApproval::Each
        } else if self.dry_run_preview == Some(true) {
            CommitApproval::First
        } else {
            CommitApproval::Nothing
        }
    }

    /// Returns the branch of a run: `{stamp}` and `{slug}` are the parts of its id. In mode `none`,
    /// returns the reference that keeps its commits.
    pub fn branch(&self, run: &str) -> String {
        if self.effective_mode() == GitMode::None {
            return run_ref(run);
        }
        // A run's id consists of a date, a time and a short form of the goal.
        let end = run
            .match_indices('_')
            .nth(1)
            .map_or(run.len(), |(at, _)| at);
        let (stamp, slug) = (&run[..end], run[end..].trim_start_matches('_'));
        let day = stamp.split('_').next().unwrap_or(stamp);
        let pattern = match &self.branch_prefix {
            Some(prefix) => format!("{prefix}{{run}}"),
            None => self.branch_pattern.clone(),
        };
        let named = [
            ("{run}", run),
            ("{stamp}", stamp),
            ("{task_id}", stamp),
            ("{date}", day),
            ("{slug}", slug),
            ("{description}", slug),
        ];
        named
            .iter()
            .fold(pattern, |name, (part, text)| name.replace(part, text))
    }
}

/// Returns the key by which a project's file takes sets of risky paths back, if it does.
fn revoked_paths(mine: &YamlNode) -> Option<String> {
    let risk = mine.get("risk")?;
    if risk.is_null() {
        return Some("risk".to_owned());
    }
    let paths = risk.get("paths")?;
    if paths.is_null() {
        return Some("risk.paths".to_owned());
    }
    let mut sets = paths.as_map().unwrap_or_default().iter();
    let (set, _) = sets.find(|(_, patterns)| patterns.is_null())?;
    Some(format!("risk.paths.{}", set.name))
}

/// Returns the reference that keeps a run's commits where there is no branch.
pub(crate) fn run_ref(run: &str) -> String {
    format!("refs/codeteam/{run}/tip")
}

/// Returns the reference that keeps a run's commits when its branch is no longer needed.
pub fn retired_run_ref(run: &str) -> String {
    format!("refs/codeteam/{run}/merged")
}

/// Returns the reference that keeps what a run's branch had before the run was taken back.
pub fn taken_back_ref(run: &str, commit: &str) -> String {
    let short: String = commit.chars().take(12).collect();
    format!("refs/codeteam/{run}/taken-back/{short}")
}

/// Returns the reference that keeps a session's submissions where there is no branch for them.
pub(crate) fn session_ref(run: &str) -> String {
    format!("refs/codeteam/{run}/session")
}

/// Returns the reference that keeps the base of a run in a session, if it contains uncommitted
/// changes.
pub(crate) fn base_ref(run: &str) -> String {
    format!("refs/codeteam/{run}/base")
}

/// The remedy for a key of a repository that only the user may set.
const MINE: &str = "take it out, or leave all of it out with `--untrusted`; what you want \
                    yourself goes into your own `~/.config/codeteam/config.yml`";

impl Config {
    /// Returns the workflow that is used if none is configured.
    pub fn default_workflow() -> String {
        let mut sources = SourceFiles::default();
        let node = codeteam_workflow::yaml::read(&mut sources, "", crate::built_in::config());
        let name = node
            .ok()
            .and_then(|node| node.get("workflow")?.as_text().map(str::to_owned));
        name.unwrap_or_default()
    }

    /// Loads the configuration of a project; a missing file counts as empty.
    pub fn load(origins: &ConfigOrigins) -> Result<Self, Error> {
        layers::read(origins).map(|(config, _)| config)
    }

    /// Loads the configuration, with the origin of each value.
    pub fn load_with_layers(origins: &ConfigOrigins) -> Result<(Self, ConfigLayers), Error> {
        layers::read(origins)
    }

    /// Finds values that are wrong although their form is right. `mine` is the project's own layer:
    /// some keys only the user may set, whatever they trust a repository with.
    fn validate(&self, node: &YamlNode, mine: &YamlNode) -> Result<(), Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let at = |node: &YamlNode, path: &str| {
            let mut place = node.place;
            let mut here = Some(node);
            for part in path.split('.') {
                here = here.and_then(|node| node.get(part));
                place = here.map_or(place, |node| node.place);
            }
            place
        };
        let mut refuse = |node: &YamlNode, path: &str, message: String, hint: &str| {
            let fault = Diagnostic::at(at(node, path), message);
            faults.push(if hint.is_empty() {
                fault
            } else {
                fault.with_hint(hint)
            });
        };
        let own: Result<Self, _> = {
            let mut mine = mine.clone();
            mine.take("workflow");
            mine.take("roles");
            codeteam_workflow::yaml::deserialize_node(&mine)
        };
        if let Some(message) = self.sandbox.problem() {
            refuse(node, "sandbox", format!("in `sandbox`: {message}"), "");
        }
        if mine.get("trust").is_some() {
            let message =
                "`trust` decides what repositories may ask for, so the repository cannot say it";
            refuse(mine, "trust", message.to_owned(), MINE);
        }
        if let Some(key) = revoked_paths(mine) {
            let message = format!(
                "`{key}: ~` takes out paths by which the risk of a change is judged, so the repository \
                 cannot say it"
            );
            refuse(mine, &key, message, MINE);
        }
        for (key, does) in USER_ONLY_KEYS {
            if mine.get(key).is_some() {
                let message = format!("`{key}` {does}, so the repository cannot say it");
                refuse(mine, key, message, MINE);
            }
        }
        if let Some(key) = self.trust.unknown_key() {
            let message = format!("`trust.never` names `{key}`, which no repository can ask for");
            let hint =
                "name a key such as `sandbox`, `sandbox.hosts`, `mcp_servers`, `limits` or `git`";
            refuse(node, "trust.never", message, hint);
        }
        if let Ok(own) = own {
            for (key, message, hint) in own.user_only_values() {
                refuse(mine, &key, message, hint);
            }
        }
        for (key, message, hint) in self.wrong_values() {
            refuse(node, key, message, hint);
        }
        if self.mcp_servers.contains_key(SUBMIT_SERVER) {
            let message = format!("`mcp_servers.{SUBMIT_SERVER}` is codeteam's own name");
            refuse(
                node,
                &format!("mcp_servers.{SUBMIT_SERVER}"),
                message,
                "choose another one",
            );
        }
        for (key, message) in self
            .approval_faults()
            .into_iter()
            .chain(self.notify.faults())
        {
            // The repository's own levels are not part of the merged tree.
            let steps = key.split('.');
            let is_mine = steps.clone().next() == Some("approval_gates")
                && steps
                    .take(2)
                    .try_fold(mine, |node, key| node.get(key))
                    .is_some();
            let from = if is_mine { mine } else { node };
            faults.push(Diagnostic::at(at(from, &key), message));
        }
        faults.extend(value_faults::find_faults(self, node));
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// Returns what a repository's own configuration says although only the user may: the key, what
    /// is wrong, and a remedy.
    fn user_only_values(&self) -> Vec<(String, String, &'static str)> {
        let mut faults = Vec::new();
        if !self.sandbox.allow_files.is_empty() {
            let message = "`sandbox.allow_files` lets files of the repository configure a \
                           worker's CLI, so the repository cannot say it";
            faults.push(("sandbox.allow_files".to_owned(), message.to_owned(), MINE));
        }
        let mut hosts = self.sandbox.hosts.iter().chain(&self.sandbox.registries);
        if let Some(host) = hosts.find(|host| host.private) {
            let message = format!(
                "`private` opens your own network to `{}`, so the repository cannot say it",
                host.host
            );
            faults.push(("sandbox.hosts".to_owned(), message, MINE));
        }
        let caches = self.sandbox.caches.iter().map(|c| ("caches", &c.path));
        let tools = self.sandbox.toolchains.iter().map(|t| ("toolchains", t));
        for (key, path) in caches.chain(tools).filter(|(_, path)| is_private(path)) {
            let message = format!(
                "`sandbox.{key}` shows `{}` to workers, so the repository cannot say it",
                path.display()
            );
            let hint = "take it out: no repository may ask for this, whatever you trust it \
                        with; `--untrusted` leaves it out";
            faults.push((format!("sandbox.{key}"), message, hint));
        }
        for (name, worker) in &self.workers {
            if let Some(key) = worker.user_only_key() {
                let message = format!(
                    "`workers.{name}.{key}` decides where your keys and logins go, so the \
                     repository cannot say it"
                );
                faults.push((format!("workers.{name}.{key}"), message, MINE));
            }
        }
        faults
    }

    /// Returns the inputs for compiling a workflow, except for the roles.
    pub fn surroundings(&self) -> CompileInputs {
        let limits = &self.limits;
        let usual = FileRetry {
            max_attempts: limits.step_max_retries.map(|n| n.saturating_add(1)),
            initial_delay_seconds: limits.retry_base_delay_seconds,
            max_delay_seconds: limits.retry_max_delay_seconds,
            backoff_multiplier: limits.retry_exponential_base,
            ..FileRetry::default()
        };
        let below = retry::RetryPolicy::default();
        let below = match self.policies.get("default") {
            Some(own) => own.policy(&below),
            None => below,
        };
        CompileInputs {
            checks: self.checks(),
            policies: self.policies.clone(),
            instances: self.verifier_instances.clone(),
            timeout_ms: limits.step_timeout_seconds.map(|s| s.saturating_mul(1_000)),
            retry: Some(usual.policy(&below)),
            max_steps: limits.workflow_max_steps,
            max_parallel_tasks: limits.max_parallel_tasks,
            max_turns: limits.max_turns,
            test_paths: self.verification.test_paths.clone(),
            security_role: self.security_role.clone(),
            small_change: Some(self.verification.small_change.clone()),
            asks_before: self.git.asks_before(),
            // A wrong value was refused when the configuration was read.
            digest_from: self.digest_from,
            quality_threshold: self.quality_threshold.and_then(|s| quality_points(s).ok()),
            ..CompileInputs::default()
        }
    }

    /// Applies to a role what the configuration says about it and its file does not.
    pub fn apply_role_defaults(&self, role: &mut Role) {
        let continuity = &self.continuity;
        let named = continuity.continuation_roles.iter();
        if named.into_iter().any(|name| *name == role.name.0) {
            role.means.continues = true;
        }
        let always = self.context.get(ALWAYS).into_iter().flatten();
        role.context.always_include.extend(always.cloned());
        let own = role.name.0.rsplit('/').next().unwrap_or_default();
        let own = self.context.get(&role.name.0).or(self.context.get(own));
        role.context
            .include
            .extend(own.into_iter().flatten().cloned());
        let agent = self.agents.get(&role.name.0);
        let agent = agent.or_else(|| {
            let short = role.name.0.rsplit('/').next().unwrap_or_default();
            self.agents.get(short)
        });
        role.log_tokens = agent.and_then(|agent| agent.log_summarize_threshold);
        if continuity.allow_continuation == Some(false) {
            role.means.continues = false;
        }
        if role.means.continues {
            role.means.max_continuations = continuity.max_continuation_turns;
        }
        let speaks_claude = role
            .workers
            .first()
            .is_none_or(|worker| matches!(worker.as_str(), "claude" | "builtin"));
        if speaks_claude {
            role.means.provider = role.means.provider.or(self.llm.provider);
        }
    }

    /// Returns the rules for every role of a workflow: the workflow's own, then those of the
    /// configuration.
    pub fn rules_for_workflow(&self, compiled: &CompiledWorkflow) -> Vec<String> {
        let mut rules: Vec<String> = Vec::new();
        for rule in compiled.rules.iter().chain(&self.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        rules
    }

    /// Returns the token budget of a role's prompt.
    pub fn token_budget(&self, role: &Role, strategies: &StrategyCatalog) -> u64 {
        let default = self.limits.default_token_budget;
        let most = self.limits.max_token_budget.unwrap_or(u64::MAX);
        strategies.budget(role, default.unwrap_or(TOKEN_BUDGET), most)
    }

    /// Returns the checks of the project's gate: those it has configured, and those of every
    /// project.
    pub fn checks(&self) -> Vec<Check> {
        let mut checks = self.project_checks();
        checks.extend(self.verification.honesty.checks());
        // These take longest, and mean something only if everything else passes.
        checks.extend(self.verification.repeats());
        checks.extend(self.verification.mutants());
        checks
    }

    /// Returns the checks that the project has configured. Without any, nothing of the project is
    /// run.
    pub fn project_checks(&self) -> Vec<Check> {
        let check = |c: &CommandConfig| Check {
            name: if c.name.is_empty() {
                c.command.clone()
            } else {
                c.name.clone()
            },
            what: CheckKind::Command(c.command.clone()),
            timeout_ms: c.timeout_seconds.unwrap_or(600).saturating_mul(1_000),
        };
        let commands = self.verification.commands.iter().map(check);
        commands
            .chain(self.verification.metrics.checks())
            .chain(self.verification.proof())
            .collect()
    }
}

impl VerificationConfig {
    /// Returns the check that tests prove something, if there is a command that runs them.
    fn proof(&self) -> Option<Check> {
        let ProofConfig { commands, mode } = &self.proof;
        let commands: Vec<String> = if commands.is_empty() {
            self.test_commands()
        } else {
            commands.clone()
        };
        if *mode == ProofMode::Off || commands.is_empty() {
            return None;
        }
        Some(Check {
            name: "Tests Proved".to_owned(),
            what: CheckKind::Proved(TestProof {
                commands,
                tests: self.test_paths.clone(),
                told_only: *mode == ProofMode::Report,
            }),
            timeout_ms: self.test_timeout_ms(),
        })
    }

    /// Returns the check that tests notice mistakes, if there is a command that runs them.
    fn mutants(&self) -> Option<Check> {
        let (max_count, commands) = (self.mutants.max_count?, self.test_commands());
        let max_seconds = self.mutants.max_seconds?;
        if max_count == 0 || max_seconds == 0 || commands.is_empty() {
            return None;
        }
        Some(Check {
            name: "Mutants Noticed".to_owned(),
            what: CheckKind::Mutants(MutantTrial {
                commands,
                tests: self.test_paths.clone(),
                max_count,
                max_seconds,
                max_surviving_percent: self.mutants.max_surviving_percent,
            }),
            timeout_ms: self.test_timeout_ms(),
        })
    }

    /// Returns the check that tests end in the same way each time, if there is a command that runs
    /// them.
    fn repeats(&self) -> Option<Check> {
        let (max_seconds, commands) = (self.repeats.max_seconds?, self.test_commands());
        if self.repeats.mode == ProofMode::Off || max_seconds == 0 || commands.is_empty() {
            return None;
        }
        Some(Check {
            name: "Tests Repeated".to_owned(),
            what: CheckKind::Repeated(TestRepeats {
                commands,
                tests: self.test_paths.clone(),
                max_seconds,
                told_only: self.repeats.mode == ProofMode::Report,
            }),
            timeout_ms: self.test_timeout_ms(),
        })
    }

    /// Returns the commands that run tests.
    fn test_commands(&self) -> Vec<String> {
        let all = self.tests().map(|check| check.command.clone());
        all.collect()
    }

    /// Returns the longest time that one of them may take.
    fn test_timeout_ms(&self) -> u64 {
        let longest = self.tests().filter_map(|check| check.timeout_seconds).max();
        longest.unwrap_or(600).saturating_mul(1_000)
    }

    fn tests(&self) -> impl Iterator<Item = &CommandConfig> {
        let all = self.commands.iter();
        all.filter(|check| proof::runs_tests(&check.name, &check.command))
    }
}

impl HonestyConfig {
    /// Returns how findings of a rule are treated.
    pub fn mode_for(&self, rule: HonestyRule) -> HonestyMode {
        let said = match rule {
            HonestyRule::Scope => self.scope,
            HonestyRule::TestsKept => self.tests_kept,
            HonestyRule::GateKept => self.gate_kept,
            HonestyRule::Secrets => self.secrets,
            HonestyRule::Stubs => self.stubs,
            HonestyRule::HardCoded => self.hard_coded,
            HonestyRule::OwnWork => self.own_work,
            HonestyRule::Claims => self.claims,
        };
        said.unwrap_or(HonestyMode::Fail)
    }

    fn checks(&self) -> impl Iterator<Item = Check> {
        let rules = HonestyRule::ALL.into_iter();
        rules
            .map(|rule| (rule, self.mode_for(rule)))
            .filter(|(_, judging)| *judging != HonestyMode::Off)
            .map(|(rule, judging)| Check {
                name: rule.as_str().to_owned(),
                what: CheckKind::Honest {
                    rule,
                    told_only: judging == HonestyMode::Report,
                },
                timeout_ms: 0,
            })
    }
}

impl MetricsConfig {
    /// Returns the checks for the limits that are set.
    fn checks(&self) -> impl Iterator<Item = Check> {
        let limits = [
            ("File Length", CodeMetric::FileLines, self.max_file_lines),
            (
                "Method Length",
                CodeMetric::FunctionLines,
                self.max_method_lines,
            ),
            (
                "Import Cycles",
                CodeMetric::ImportCycles,
                self.max_import_cycles,
            ),
        ];
        limits.into_iter().filter_map(|(name, of, max)| {
            Some(Check {
                name: name.to_owned(),
                what: CheckKind::Metric { of, max: max? },
                timeout_ms: 0,
            })
        })
    }
}

impl LimitsConfig {
    /// Returns the limits of a run's budget.
    pub fn budget(&self) -> budget::BudgetLimits {
        budget::BudgetLimits {
            money_microusd: self.max_cost_usd.map(usd_to_microusd),
            tokens: self.max_tokens,
            attempts: self.max_attempts,
            wall_ms: self.max_minutes.map(|m| m.saturating_mul(60_000)),
            disk_bytes: self.max_disk_mb.map(|mb| mb.saturating_mul(1 << 20)),
            task_money_microusd: self.max_task_cost_usd.map(usd_to_microusd),
            task_tokens: self.max_task_tokens,
            outage_ms: self.max_outage_minutes.map(|m| m.saturating_mul(60_000)),
        }
    }
}

/// Returns true if a folder must not be shown to strangers: a whole home, or a folder that contains
/// keys and logins.
fn is_private(path: &Path) -> bool {
    const KEPT: [&str; 14] = [
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".config",
        ".kube",
        ".docker",
        ".netrc",
        ".claude",
        ".codex",
        ".gemini",
        ".password-store",
        ".mozilla",
        "keyrings",
    ];
    let parts: Vec<Component<'_>> = path.components().collect();
    let kept = |part: &Component<'_>| {
        let name = part.as_os_str();
        *part == Component::ParentDir || KEPT.iter().any(|kept| name == *kept)
    };
    let is_home = match parts.as_slice() {
        [Component::Normal(first)] => *first == "~",
        [Component::RootDir] => true,
        [Component::RootDir, Component::Normal(top), rest @ ..] => {
            (*top == "root" && rest.is_empty())
                || (*top == "home" && rest.len() < 2)
                || *top == "etc"
        }
        _ => false,
    };
    is_home || parts.iter().any(kept)
}

#[cfg(test)]
mod tests;
