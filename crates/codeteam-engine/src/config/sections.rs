//! The sections of the configuration, each a type of its own. Field comments are what editors show.

use std::collections::BTreeMap;
use std::path::PathBuf;

use codeteam_core::depth::SmallChangeLimits;
use codeteam_core::role::ModelProvider;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model of roles that name none.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LlmConfig {
    /// Who serves it.
    pub provider: Option<ModelProvider>,
    /// The model.
    pub model: Option<String>,
}

/// Settings of one role.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    /// How many tokens its log may have before it is summarized.
    pub log_summarize_threshold: Option<u64>,
}

/// How the repository is laid out, beyond `.codeteam`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LayoutKind {
    /// `prompts/`, `config/`, `kb/`, `workspace/` and `runs/` are the house of the workflow `strict`.
    Strict,
}

/// What codeteam writes for people.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputConfig {
    /// Where the stories of runs are written: a folder of the repository, from its top. If left out,
    /// `.codeteam/runs`.
    pub runs_dir: Option<PathBuf>,
    /// `true`: what workers and checks say is shown, as with `-v`.
    pub verbose: Option<bool>,
}

/// Which roles may go on in the session of their last attempt.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContinuityConfig {
    /// What holds for roles that are not named.
    pub default_mode: ContinuityMode,
    /// Whether any role may.
    pub allow_continuation: Option<bool>,
    /// How often in a row, at most 3; then a role starts anew. If left out, twice.
    pub max_continuation_turns: Option<u32>,
    /// Those that may.
    pub continuation_roles: Vec<String>,
}

/// What holds for roles that are not named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContinuityMode {
    /// Every attempt starts anew, unless the role says otherwise.
    #[default]
    Fresh,
}

/// A package of the repository.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackageConfig {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// The roles that work on it.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// Whether workers are chosen by how they did before.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveConfig {
    /// Whether at all.
    pub enabled: bool,
    /// How many attempts it takes to judge.
    pub min_samples_before_adapt: Option<u32>,
    /// How often it is judged anew.
    pub adaptation_interval_days: Option<u32>,
    /// How far from the default it may go.
    pub max_deviation_from_default: Option<f64>,
    /// Roles whose worker is fixed.
    pub locked_assignments: BTreeMap<String, String>,
}

/// What is taken out of what is kept and shown.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedactionConfig {
    /// What looks like a secret and is none, as regular expressions.
    pub allow: Vec<String>,
}

/// What is verified.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerificationConfig {
    /// Commands that must exit with 0: what `gate: project` runs.
    pub commands: Vec<CommandConfig>,
    /// Whether they find what they have built for earlier trees of the same task. Quicker, and
    /// what a worker had its tests leave there is found too.
    pub keep_worktree: bool,
    /// Files of these patterns are tests.
    pub test_paths: Vec<String>,
    /// Limits for what a change touches. What was above one before may stay, and may not grow.
    pub metrics: MetricsConfig,
    /// How it is found out whether the tests of a change prove anything: without the rest of it they
    /// must fail.
    pub proof: ProofConfig,
    /// What becomes of a run if one of the commands fails before anything is changed.
    /// If left out, a person at a terminal is asked; where nobody can be asked it does not start.
    pub baseline: Option<BaselinePolicy>,
    /// What a change may be at most to count as small: steps that name `small_change` have it judged
    /// by those roles alone.
    pub small_change: SmallChangeLimits,
    /// What a change must not do to get past the checks. Each rule fails the gate (`fail`), is told
    /// in the report and nothing more (`report`), or is not looked for (`off`).
    pub honesty: HonestyConfig,
}

/// What becomes of a run if a check fails before anything is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaselinePolicy {
    /// It does not start.
    Stop,
    /// The check fails a change only for tests that did not fail before. It must be one whose output
    /// names the tests that fail.
    NewFailures,
    /// The check must pass in the end: that is what the goal is about. It is not tried before.
    MustPass,
}

/// How it is found out whether tests prove anything.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProofConfig {
    /// The commands that run the tests; `{files}` stands for the test files that changed. If left
    /// out, those of `verification.commands` that look as if they ran tests, by their name
    /// (`Unit tests`) or what they run (`pytest`, `cargo test`, `npm test`, `go test`, `make check`,
    /// `sh tests/run.sh`, …).
    pub commands: Vec<String>,
    /// What becomes of tests that prove nothing: they fail the gate (`require`, which is meant if
    /// left out), are told (`report`), or nobody looks (`off`).
    pub mode: ProofMode,
}

/// What becomes of tests that prove nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProofMode {
    /// They fail the gate.
    #[default]
    Require,
    /// They are told.
    Report,
    /// Nobody looks.
    Off,
}

/// What a change must not do to get past the checks.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HonestyConfig {
    /// It touches no file that another unfinished task names, and none that the plan forbids. Other
    /// files that its own task does not name are told to reviewers.
    pub scope: Option<HonestyMode>,
    /// Tests that were there are as they were: none gone, skipped or weakened.
    pub tests_kept: Option<HonestyMode>,
    /// What the checks go by is as it was: their configuration, scripts and programs.
    pub gate_kept: Option<HonestyMode>,
    /// It has no secret in it.
    pub secrets: Option<HonestyMode>,
    /// It has nothing in it that is left to be done.
    pub stubs: Option<HonestyMode>,
    /// It has no answer made for one test only.
    pub hard_coded: Option<HonestyMode>,
    /// It is not another task's change.
    pub own_work: Option<HonestyMode>,
    /// It has what its author says it has.
    pub claims: Option<HonestyMode>,
}

/// What becomes of what a rule finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HonestyMode {
    /// It fails the gate.
    Fail,
    /// It is told.
    Report,
    /// Nobody looks.
    Off,
}

/// Limits for what a change touches.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsConfig {
    /// Lines of a source file that is new or changed: the check `File Length`.
    pub max_file_lines: Option<u64>,
    /// Lines of a function or method that is new or changed: the check `Method Length`. Also
    /// `max_function_lines`.
    #[serde(alias = "max_function_lines")]
    pub max_method_lines: Option<u64>,
    /// Rings of files that import each other, in the whole project: the check `Import Cycles`.
    pub max_import_cycles: Option<u64>,
}

/// A command that must exit with 0.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandConfig {
    /// Its name in reports; the command itself if it has none.
    #[serde(default)]
    pub name: String,
    /// The command, for `sh -c`.
    pub command: String,
    /// How long it may take; 600 if left out.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// What may be used up by one run.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// US dollars.
    pub max_cost_usd: Option<f64>,
    /// Tokens, read and written.
    pub max_tokens: Option<u64>,
    /// Attempts of workers.
    pub max_attempts: Option<u64>,
    /// Minutes from start to end.
    pub max_minutes: Option<u64>,
    /// Megabytes of worktrees and bodies.
    pub max_disk_mb: Option<u64>,
    /// US dollars for each task.
    pub max_task_cost_usd: Option<f64>,
    /// Tokens for each task.
    pub max_task_tokens: Option<u64>,
    /// Minutes that a model API which fails or cannot be reached is waited for before the run stops, to
    /// be resumed. *Built in: 60.*
    pub max_outage_minutes: Option<u64>,
    /// Tasks of a plan.
    pub max_tasks: Option<usize>,
    /// Tasks that are worked on side by side, in place of the `cap` of the workflow's steps; also
    /// `--max-parallel`. A step with `cap: 1` goes through its tasks one after the other all the same.
    pub max_parallel_tasks: Option<usize>,
    /// Seconds of one attempt, if its step does not say.
    pub step_timeout_seconds: Option<u64>,
    /// How often an attempt that failed is tried again, if its step does not say; as
    /// `policies.default` says if left out, like the three waits below.
    pub step_max_retries: Option<u32>,
    /// Steps that a frame may enter, all together, if the workflow does not say.
    pub workflow_max_steps: Option<u32>,
    /// Seconds before the second try.
    pub retry_base_delay_seconds: Option<f64>,
    /// No wait between tries is longer.
    pub retry_max_delay_seconds: Option<f64>,
    /// How many times longer each wait is than the one before.
    pub retry_exponential_base: Option<f64>,
    /// Tokens of what a role is shown, if it does not say.
    pub default_token_budget: Option<u64>,
    /// Tokens that no role may go above.
    pub max_token_budget: Option<u64>,
}

/// Branches and commits.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GitConfig {
    /// Where the work goes: `branch` (a branch of its own, for you to merge), `current` (your branch is
    /// moved forward to it when the run is completed) or `none` (a patch is left, and no branch; the
    /// commits are kept under `refs/codeteam`).
    pub mode: GitMode,
    /// What the branch's name begins with, in place of a pattern.
    pub branch_prefix: Option<String>,
    /// The branch's name. `{run}` is the run's id, `{stamp}` (or `{task_id}`) its time, `{date}` its
    /// day, `{slug}` (or `{description}`) the goal in short.
    pub branch_pattern: String,
    /// The form of commit messages: `conventional`, `free`, a first line such as `[{task_id}] {summary}`
    /// (also `{type}`, `{scope}`, `{description}`, `{plan_id}`, `{run}`, `{role}`), or a regular
    /// expression for it, `/^ABC-\d+ /`. A message without the form goes back to its writer. *Built in:
    /// `free`.*
    pub commit_message_format: Option<String>,
    /// `false` makes `mode: branch` be `current`.
    pub auto_branch: Option<bool>,
    /// `false`: a person sees what would be committed and says so, before every commit.
    pub auto_commit: Option<bool>,
    /// `true`: a person sees what would be committed and says so, before the first commit of a run.
    pub dry_run_preview: Option<bool>,
}

/// Where the work goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GitMode {
    /// A branch of its own.
    #[default]
    Branch,
    /// The branch you are on, at the end.
    Current,
    /// Nowhere: a patch is left.
    None,
}

impl Default for GitConfig {
    fn default() -> Self {
        Self {
            mode: GitMode::default(),
            branch_prefix: None,
            branch_pattern: "codeteam/{run}".to_owned(),
            commit_message_format: None,
            auto_branch: None,
            auto_commit: None,
            dry_run_preview: None,
        }
    }
}
