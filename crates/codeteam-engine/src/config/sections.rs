//! The sections of the configuration, each a type of its own. Editors show the comments of the
//! fields.

use std::collections::BTreeMap;
use std::path::PathBuf;

use codeteam_core::role::ModelProvider;
use codeteam_core::workflow::SmallChangeLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model of roles that name none.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LlmConfig {
    /// Its provider.
    pub provider: Option<ModelProvider>,
    /// The model.
    pub model: Option<String>,
}

/// The goal of runs that are given none on the command line.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskConfig {
    /// The goal, for a team.
    pub goal: Option<String>,
    /// What one worker is asked to do; together with `goal`, it explains the goal.
    pub initial_prompt: Option<String>,
    /// The workflow that pursues `goal`, where no `workflow` is configured.
    pub goal_workflow: Option<String>,
    /// The workflow that follows `initial_prompt`, where no `workflow` is configured.
    pub prompt_workflow: Option<String>,
}

/// Settings of one role.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    /// The number of tokens above which its log is summarized.
    pub log_summarize_threshold: Option<u64>,
}

/// The repository's layout, beyond `.codeteam`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LayoutKind {
    /// `prompts/`, `config/`, `kb/`, `workspace/` and `runs/` belong to the workflow `strict`.
    Strict,
}

/// The files that codeteam writes for people.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputConfig {
    /// The folder for the files of runs, relative to the top of the repository. If left out,
    /// `.codeteam/runs`.
    pub runs_dir: Option<PathBuf>,
    /// `true`: the output of workers and checks is shown, as with `-v`.
    pub verbose: Option<bool>,
}

/// The roles that may continue the session of their last attempt.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContinuityConfig {
    /// The mode of roles that are not named.
    pub default_mode: ContinuityMode,
    /// `false` forbids it to all roles.
    pub allow_continuation: Option<bool>,
    /// The most times in a row, at most 3; then a role starts over. If left out, twice.
    pub max_continuation_turns: Option<u32>,
    /// Those that may.
    pub continuation_roles: Vec<String>,
}

/// The mode of roles that are not named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContinuityMode {
    /// Every attempt starts over, unless the role says otherwise.
    #[default]
    Fresh,
}

/// A package of the repository.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackageConfig {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// The roles that work on it.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// Workers are chosen by their earlier results.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveConfig {
    /// `true` turns it on.
    pub enabled: bool,
    /// The number of attempts needed to judge.
    pub min_samples_before_adapt: Option<u32>,
    /// The number of days after which they are judged again.
    pub adaptation_interval_days: Option<u32>,
    /// The largest deviation from the default.
    pub max_deviation_from_default: Option<f64>,
    /// Roles whose worker is fixed.
    pub locked_assignments: BTreeMap<String, String>,
}

/// The redaction of what is kept and shown.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedactionConfig {
    /// Texts that look like a secret but are not, as regular expressions.
    pub allow: Vec<String>,
}

/// The checks that codeteam runs itself.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerificationConfig {
    /// Commands that must exit with 0: what `gate: project` runs.
    pub commands: Vec<CommandConfig>,
    /// `true`: checks reuse what they have built for earlier trees of the same task. That is
    /// faster, but files that a worker's tests left there stay, too.
    pub keep_worktree: bool,
    /// Files of these patterns are tests.
    pub test_paths: Vec<String>,
    /// Limits for the files and functions that a change touches. What exceeded a limit before may
    /// stay, but must not grow.
    pub metrics: MetricsConfig,
    /// The proof that the tests of a change test something: without the rest of the change they
    /// must fail.
    pub proof: ProofConfig,
    /// Copies of a change in which one thing on a changed line is wrong (`>` for `>=`, a condition
    /// negated): the tests should notice. They are tried once all other checks have passed.
    pub mutants: MutantsConfig,
    /// Tests that a change adds or changes are run again: together, in another order and alone,
    /// where their runner can.
    pub repeats: RepeatsConfig,
    /// Files in which a command may report the lines that the tests have run, relative to the top
    /// of the repository: lcov, Cobertura XML, or the JSON of coverage.py. A file that a command
    /// has just written is compared with the changed lines, for reports and reviewers.
    pub coverage_reports: Vec<String>,
    /// The reaction if one of the commands fails before anything is changed. If left out, a person
    /// at a terminal is asked; where nobody can be asked, the run does not start.
    pub baseline: Option<BaselinePolicy>,
    /// The limits of a small change: steps that name `small_change` let those roles alone judge it.
    pub small_change: SmallChangeLimits,
    /// The tricks that a change must not use to get past the checks. Each rule fails the gate
    /// (`fail`), is only reported (`report`), or is off (`off`).
    pub honesty: HonestyConfig,
}

/// The reaction if a check fails before anything is changed.
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

/// The proof that tests test something.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProofConfig {
    /// The commands that run the tests; `{files}` stands for the test files that changed. If left
    /// out, those of `verification.commands` that look as if they ran tests, by their name
    /// (`Unit tests`) or what they run (`pytest`, `cargo test`, `npm test`, `go test`, `make check`,
    /// `sh tests/run.sh`, …).
    pub commands: Vec<String>,
    /// The treatment of new tests that prove nothing: they fail the gate (`require`, the default), are
    /// only reported (`report`), or are not looked for (`off`). They do not fail it if tests notice
    /// each mistake that is put into the changed lines (`mutants`).
    pub mode: ProofMode,
}

/// Copies of a change in which something is wrong.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MutantsConfig {
    /// How many are tried, spread over the change; with 0 none is.
    pub max_count: Option<u32>,
    /// Seconds to spend on them. If the tests take longer than this, none is tried.
    pub max_seconds: Option<u64>,
    /// The share of them that no test may notice before the gate fails, from 0 to 100. If left out,
    /// they are only reported.
    pub max_surviving_percent: Option<u32>,
}

/// Tests of a change that are run again.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RepeatsConfig {
    /// The treatment of tests that do not pass each time: they fail the gate (`require`, the
    /// default), are only reported (`report`), or are not looked for (`off`).
    pub mode: ProofMode,
    /// Seconds to spend on it. Tests for which there is no time left are skipped.
    pub max_seconds: Option<u64>,
}

/// The treatment of tests that prove nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProofMode {
    /// They fail the gate.
    #[default]
    Require,
    /// They are reported.
    Report,
    /// It is off.
    Off,
}

/// The tricks that a change must not use to get past the checks.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HonestyConfig {
    /// It touches no file that another unfinished task names, and none that the plan forbids. Other
    /// files that its own task does not name are reported to reviewers.
    pub scope: Option<HonestyMode>,
    /// Existing tests stay as they were: none gone, skipped or weakened.
    pub tests_kept: Option<HonestyMode>,
    /// The configuration, scripts and programs of the checks stay as they were.
    pub gate_kept: Option<HonestyMode>,
    /// It has no secret in it.
    pub secrets: Option<HonestyMode>,
    /// It leaves nothing unfinished.
    pub stubs: Option<HonestyMode>,
    /// It has no answer made for one test only.
    pub hard_coded: Option<HonestyMode>,
    /// It is not another task's change.
    pub own_work: Option<HonestyMode>,
    /// The author's claims about it are true.
    pub claims: Option<HonestyMode>,
}

/// The treatment of what a rule finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HonestyMode {
    /// It fails the gate.
    Fail,
    /// It is reported.
    Report,
    /// It is off.
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
    /// Cycles of files that import each other, in the whole project: the check `Import Cycles`.
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
    /// The longest time that it may take; 600 if left out.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// The limits of one run.
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
    /// Megabytes of transcripts, diffs and files that completed runs may leave in a project. When a run
    /// stops, those of the oldest are removed, as `codeteam prune --keep-mb` does. Without it, nothing
    /// is removed by itself.
    pub max_kept_mb: Option<u64>,
    /// US dollars for each task.
    pub max_task_cost_usd: Option<f64>,
    /// Tokens for each task.
    pub max_task_tokens: Option<u64>,
    /// Minutes to wait for a model API that fails or cannot be reached. Then the run stops, and can
    /// be resumed. *Built in: 60.*
    pub max_outage_minutes: Option<u64>,
    /// Tasks of a plan.
    pub max_tasks: Option<usize>,
    /// Tasks that run in parallel, instead of the `cap` of the workflow's steps; also
    /// `--max-parallel`. A step with `cap: 1` still runs its tasks one after the other.
    pub max_parallel_tasks: Option<usize>,
    /// The most times that a worker may ask its model in one attempt, for roles without `max_turns`;
    /// it replaces what the workflow says. If neither says anything, the built-in worker has 30, and
    /// the CLIs have no limit.
    pub max_turns: Option<u32>,
    /// Seconds of one attempt, if its step does not set them.
    pub step_timeout_seconds: Option<u64>,
    /// The most times that a failed attempt is retried, if its step does not set it. If left out,
    /// `policies.default` applies, also to the three waits below.
    pub step_max_retries: Option<u32>,
    /// Steps that a frame may enter, all together, if the workflow does not set it.
    pub workflow_max_steps: Option<u32>,
    /// Seconds before the second attempt.
    pub retry_base_delay_seconds: Option<f64>,
    /// The longest wait between attempts.
    pub retry_max_delay_seconds: Option<f64>,
    /// The factor by which each wait is longer than the one before.
    pub retry_exponential_base: Option<f64>,
    /// Tokens of what a role is shown, if the role does not set it.
    pub default_token_budget: Option<u64>,
    /// Tokens that no role may exceed.
    pub max_token_budget: Option<u64>,
}

/// Branches and commits.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GitConfig {
    /// The place for the work: `branch` (a branch of its own, for you to merge), `current` (your
    /// branch is moved forward to it when the run is completed) or `none` (a patch, and no branch;
    /// the commits are kept under `refs/codeteam`).
    pub mode: GitMode,
    /// The beginning of the branch's name, in place of a pattern.
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
    /// `false`: a person sees what would be committed, and confirms it, before every commit.
    pub auto_commit: Option<bool>,
    /// `true`: a person sees what would be committed, and confirms it, before the first commit of a
    /// run. The branch and the base of a run are shown before it starts, and what `merge` brings into
    /// which branch before it does; at a terminal, both are asked about.
    pub dry_run_preview: Option<bool>,
}

/// The place for the work.
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
