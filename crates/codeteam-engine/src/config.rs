//! The configuration: what codeteam, the user, the project, the environment and the command line
//! say, in this order. `layers` puts it together; this is what it means.

pub mod access;
mod grounds;
pub mod keys;
mod later;
mod layers;
mod sandbox;
mod schema;
mod sections;
mod shown;
mod unusable;
mod values;
mod workers;

pub use self::access::{AccessRequest, RequestState, TrustPolicy};
pub use self::grounds::GateConfig;
pub use self::layers::{ConfigLayers, ConfigOrigins};
pub use self::sandbox::{CacheConfig, CacheMode, HostConfig, SandboxConfig, SetupConfig, absolute};
pub use self::schema::{SchemaKind, schema};
pub use self::sections::{
    AdaptiveConfig, AgentConfig, BaselinePolicy, CommandConfig, ContinuityConfig, ContinuityMode,
    GitConfig, GitMode, HonestyConfig, HonestyMode, LayoutKind, LimitsConfig, LlmConfig,
    MetricsConfig, OutputConfig, PackageConfig, ProofConfig, ProofMode, RedactionConfig,
    VerificationConfig,
};
pub use self::shown::concealed;
pub use self::workers::{ModelPrice, WorkerConfig};

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use codeteam_core::budget;
use codeteam_core::message::MessageFormat;
use codeteam_core::retry;
use codeteam_core::role::Role;
use codeteam_core::workflow::{
    Check, CheckKind, CodeMetric, CommitApproval, CompileInputs, CompiledWorkflow, FileRetry,
    HonestyRule, TestProof,
};
use codeteam_core::yaml::{Diagnostic, FileProblems, SourceFiles, YamlNode};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::strategies::StrategyCatalog;
use crate::dialect::{McpServer, SUBMIT_SERVER};
use crate::verify::proof;

/// How many megabytes a worktree may take, if nobody says.
pub(crate) const DISK_MB: u64 = 20 << 10;
/// How many tokens a prompt may be, if nobody says.
const TOKEN_BUDGET: u64 = 50_000;
/// What the configuration calls files that every role is shown.
const ALWAYS: &str = "always";

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not valid.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
}

/// What is configured.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The version of the format.
    pub version: Option<f64>,
    /// The workflow a run follows: a name, or changes to one, or one of its own.
    #[serde(skip)]
    pub flow: Option<YamlNode>,
    /// Roles, and changes to roles.
    #[serde(skip)]
    pub roles: Option<YamlNode>,
    /// What is said and has no effect yet.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Where all of it was read.
    #[serde(skip)]
    pub sources: SourceFiles,
    /// What the repository asks for beyond what the user's own configuration allows. What is not
    /// trusted is not in force, and not in any other field.
    #[serde(skip)]
    pub requests: Vec<AccessRequest>,
    /// Patterns of files in the checkout that git ignores and worktrees have a copy of.
    #[serde(skip)]
    pub included: Vec<String>,
    /// What repositories may ask for beyond what your own configuration allows: `ask` (you are shown
    /// it, and decide), `never`, or `{ never: [sandbox, mcp_servers] }` for some keys. Only in your
    /// own configuration.
    pub trust: TrustPolicy,
    /// How the repository is laid out, beyond `.codeteam`: `strict` has `prompts/`, `config/`, `kb/`,
    /// `workspace/` and `runs/`, which `codeteam init --layout strict` makes.
    pub layout: Option<LayoutKind>,
    /// What carries out roles that name no worker. If left out, `scripted` if there is a `script`,
    /// else the first of `claude`, `codex` and `gemini` that is installed and logged in.
    pub worker: Option<String>,
    /// The script of the scripted worker.
    pub script: Option<PathBuf>,
    /// The model of roles that name none, where the worker is Claude or codeteam's own.
    pub llm: LlmConfig,
    /// Settings of single roles.
    pub agents: BTreeMap<String, AgentConfig>,
    /// What codeteam checks itself.
    pub verification: VerificationConfig,
    /// Who judges where the workflow's setting `security_review` asks for it.
    pub security_role: Option<String>,
    /// How many workers play a role that verifies, by the role's name.
    pub verifier_instances: BTreeMap<String, u32>,
    /// What is told to every role.
    pub rules: Vec<String>,
    /// Files that roles are shown: `always`, and by the role's name.
    pub context: BTreeMap<String, Vec<String>>,
    /// A folder with a static embedding model (`model.safetensors`, `tokenizer.json`), for finding files by
    /// what they mean.
    pub embeddings: Option<PathBuf>,
    /// What a run may use up; without limit where nothing is said.
    pub limits: LimitsConfig,
    /// Branches and commits.
    pub git: GitConfig,
    /// What codeteam writes for people.
    pub output: OutputConfig,
    /// Which roles may go on in the session of their last attempt.
    pub continuity: ContinuityConfig,
    /// Retry policies by name; `default` is for steps that name none.
    pub policies: BTreeMap<String, FileRetry>,
    /// The packages of a repository of several.
    pub projects: Vec<PackageConfig>,
    /// Whether workers are chosen by how they did before.
    pub adaptive: Option<AdaptiveConfig>,
    /// How workers and gates are confined.
    pub sandbox: SandboxConfig,
    /// What makes a fresh worktree ready for work.
    pub setup: Option<SetupConfig>,
    /// Workers by name.
    pub workers: BTreeMap<String, WorkerConfig>,
    /// What a million tokens cost, by the model's name or its beginning and `*`.
    pub prices: BTreeMap<String, ModelPrice>,
    /// MCP servers that roles may name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// What is taken out of what is kept and shown.
    pub redaction: RedactionConfig,
}

impl GitConfig {
    /// Where the work goes, all in all.
    pub fn mode(&self) -> GitMode {
        match self.mode {
            GitMode::Branch if self.auto_branch == Some(false) => GitMode::Current,
            mode => mode,
        }
    }

    /// The form of commit messages.
    pub fn message(&self) -> MessageFormat {
        let said = self.commit_message_format.as_deref();
        // What is not one has been refused when it was read.
        said.and_then(|said| MessageFormat::parse(said).ok())
            .unwrap_or_default()
    }

    /// Before which commits a person is asked.
    pub fn asks_before(&self) -> CommitApproval {
        if self.auto_commit == Some(false) {
            CommitApproval::Each
        } else if self.dry_run_preview == Some(true) {
            CommitApproval::First
        } else {
            CommitApproval::Nothing
        }
    }

    /// The branch of a run: `{stamp}` and `{slug}` are the parts of its id. With no branch, the
    /// reference that keeps its commits.
    pub fn branch(&self, run: &str) -> String {
        if self.mode() == GitMode::None {
            return kept(run);
        }
        // An id is a day, a time and what the goal is in short.
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

/// The reference that keeps a run's commits where no branch does.
pub fn kept(run: &str) -> String {
    format!("refs/codeteam/{run}/tip")
}

/// The reference that keeps a run's commits when its branch is no longer needed.
pub fn retired(run: &str) -> String {
    format!("refs/codeteam/{run}/merged")
}

/// The reference that keeps what a session has submitted, where there is no branch for it.
pub fn session_ref(run: &str) -> String {
    format!("refs/codeteam/{run}/session")
}

/// The reference that keeps what a run in a session begins with, where that was not committed.
pub fn base_ref(run: &str) -> String {
    format!("refs/codeteam/{run}/base")
}

impl Config {
    /// The workflow that is used if nothing is said.
    pub fn usual_workflow() -> String {
        let mut sources = SourceFiles::default();
        let node = codeteam_core::yaml::read(&mut sources, "", crate::built_in::config());
        let name = node
            .ok()
            .and_then(|node| node.get("workflow")?.as_text().map(str::to_owned));
        name.unwrap_or_default()
    }

    /// What is configured for a project; a missing file is an empty one.
    pub fn load(origins: &ConfigOrigins) -> Result<Self, Error> {
        layers::read(origins).map(|(config, _)| config)
    }

    /// The same, with where each value was said.
    pub fn layers(origins: &ConfigOrigins) -> Result<(Self, ConfigLayers), Error> {
        layers::read(origins)
    }

    /// What is wrong though its form is right. `mine` is what the project alone says: some things
    /// only the user may, whatever they trust a repository with.
    fn checked(&self, node: &YamlNode, mine: &YamlNode) -> Result<(), Vec<Diagnostic>> {
        const MINE: &str = "put it into your own `~/.config/codeteam/config.yml`";
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
                fault.hint(hint)
            });
        };
        let own: Result<Self, _> = {
            let mut mine = mine.clone();
            mine.take("workflow");
            mine.take("roles");
            codeteam_core::yaml::typed(&mine)
        };
        if let Some(message) = self.sandbox.problem() {
            refuse(node, "sandbox", format!("in `sandbox`: {message}"), "");
        }
        if mine.get("trust").is_some() {
            let message =
                "`trust` decides what repositories may ask for, so the repository cannot say it";
            refuse(mine, "trust", message.to_owned(), MINE);
        }
        if let Some(key) = self.trust.unknown_key() {
            let message = format!("`trust.never` names `{key}`, which no repository can ask for");
            let hint =
                "name a key such as `sandbox`, `sandbox.hosts`, `mcp_servers`, `limits` or `git`";
            refuse(node, "trust.never", message, hint);
        }
        if let Ok(own) = own {
            if !own.sandbox.allow_files.is_empty() {
                let message = "`sandbox.allow_files` lets files of the repository configure a \
                               worker's CLI, so the repository cannot say it";
                refuse(mine, "sandbox.allow_files", message.to_owned(), MINE);
            }
            let mut hosts = own.sandbox.hosts.iter().chain(&own.sandbox.registries);
            if let Some(host) = hosts.find(|host| host.private) {
                let message = format!(
                    "`private` opens your own network to `{}`, so the repository cannot say it",
                    host.host
                );
                refuse(mine, "sandbox.hosts", message, MINE);
            }
            let caches = own.sandbox.caches.iter().map(|c| ("caches", &c.path));
            let tools = own.sandbox.toolchains.iter().map(|t| ("toolchains", t));
            for (key, path) in caches.chain(tools).filter(|(_, path)| is_private(path)) {
                let message = format!(
                    "`sandbox.{key}` shows `{}` to workers, so the repository cannot say it",
                    path.display()
                );
                let hint = "take it out: no repository may ask for this, whatever you trust it \
                            with";
                refuse(mine, &format!("sandbox.{key}"), message, hint);
            }
            for (name, worker) in &own.workers {
                if let Some(key) = worker.presumption() {
                    let message = format!(
                        "`workers.{name}.{key}` decides where your keys and logins go, so the \
                         repository cannot say it"
                    );
                    refuse(mine, &format!("workers.{name}.{key}"), message, MINE);
                }
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
        faults.extend(unusable::faults(self, node));
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// What a workflow is compiled with, but for the roles.
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
            tests: self.verification.test_paths.clone(),
            security_role: self.security_role.clone(),
            small_change: Some(self.verification.small_change.clone()),
            asks_before: self.git.asks_before(),
            ..CompileInputs::default()
        }
    }

    /// What the configuration says of a role that its file does not.
    pub fn furnish(&self, role: &mut Role) {
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

    /// What is told to every role of a workflow: its own rules, then those of the configuration.
    pub fn rules_of(&self, compiled: &CompiledWorkflow) -> Vec<String> {
        let mut rules: Vec<String> = Vec::new();
        for rule in compiled.rules.iter().chain(&self.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        rules
    }

    /// How many tokens a role's prompt may be.
    pub fn token_budget(&self, role: &Role, strategies: &StrategyCatalog) -> u64 {
        let default = self.limits.default_token_budget;
        let most = self.limits.max_token_budget.unwrap_or(u64::MAX);
        strategies.budget(role, default.unwrap_or(TOKEN_BUDGET), most)
    }

    /// The checks of the project's own gate: those it has named, and those of every project.
    pub fn checks(&self) -> Vec<Check> {
        let mut checks = self.own_checks();
        checks.extend(self.verification.honesty.checks());
        checks
    }

    /// The checks that the project has named. Without one of them, nothing of the project is run.
    pub fn own_checks(&self) -> Vec<Check> {
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
    /// The check that tests prove something, if there is a command that runs them.
    fn proof(&self) -> Option<Check> {
        let ProofConfig { commands, mode } = &self.proof;
        let found = || {
            let all = self.commands.iter();
            all.filter(|c| proof::runs_tests(&c.name, &c.command))
        };
        let commands: Vec<String> = if commands.is_empty() {
            found().map(|c| c.command.clone()).collect()
        } else {
            commands.clone()
        };
        if *mode == ProofMode::Off || commands.is_empty() {
            return None;
        }
        let timeout = found().filter_map(|c| c.timeout_seconds).max();
        Some(Check {
            name: "Tests Proved".to_owned(),
            what: CheckKind::Proved(TestProof {
                commands,
                tests: self.test_paths.clone(),
                told_only: *mode == ProofMode::Report,
            }),
            timeout_ms: timeout.unwrap_or(600).saturating_mul(1_000),
        })
    }
}

impl HonestyConfig {
    /// What becomes of what a rule finds.
    pub fn of(&self, rule: HonestyRule) -> HonestyMode {
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
            .map(|rule| (rule, self.of(rule)))
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
    /// The checks of the limits that are set.
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
    /// The limits of a run's budget.
    pub fn budget(&self) -> budget::BudgetLimits {
        budget::BudgetLimits {
            money_microusd: self.max_cost_usd.map(microusd),
            tokens: self.max_tokens,
            attempts: self.max_attempts,
            wall_ms: self.max_minutes.map(|m| m.saturating_mul(60_000)),
            disk_bytes: self.max_disk_mb.map(|mb| mb.saturating_mul(1 << 20)),
            task_money_microusd: self.max_task_cost_usd.map(microusd),
            task_tokens: self.max_task_tokens,
            outage_ms: self.max_outage_minutes.map(|m| m.saturating_mul(60_000)),
        }
    }
}

/// Whether a folder is one that nobody shows to strangers: a home as a whole, or what holds keys
/// and logins.
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

/// US dollars in millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to what fits"
)]
pub fn microusd(usd: f64) -> u64 {
    (usd.max(0.0) * 1e6).round().min(9e15) as u64
}

#[cfg(test)]
mod tests;
