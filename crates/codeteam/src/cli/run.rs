//! `codeteam run`: takes a goal to verified commits.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_agent::scripted::Script;
use codeteam_core::budget;
use codeteam_core::event::{RunStarted, SandboxKind};
use codeteam_core::input::{Decision, Input};
use codeteam_core::operator::Operator;
use codeteam_engine::clock::now;
use codeteam_engine::engine::{Engine, PreparedRun, Project, RunRequest};
use codeteam_engine::model_api::usd_to_microusd;
use codeteam_engine::plan_choice::{
    self, names_plan, plan_path, refuse_missing_plan, require_accepted,
};
use codeteam_engine::session::{self, HandoverResult};
use codeteam_engine::start_notes::{StartNote, start_notes};
use codeteam_report::{describe, rebuild};

use crate::cli::baseline::{self, BaselineArg, BaselineOutcome, BaselineStart};
use crate::cli::drive::AnswerSourceArgs;
use crate::cli::talk::{AnswerSource, DriveRequest};
use crate::cli::{
    CliContext, config, decide, drive, git_preview, read_named_file, talk, trust, tui,
};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments that are fixed when a run begins and cannot be changed later.
const CHOSEN: [&str; 16] = [
    "goal",
    "plan",
    "workflow",
    "worker",
    "script",
    "cast",
    "set",
    "preview",
    "no_sandbox",
    "baseline",
    "untrusted",
    "auto",
    "judge",
    "no_judge",
    "talk",
    "no_talk",
];

/// Arguments of `run`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields are the names of the flags"
)]
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What you want. If left out, the `task` of the configuration, or else the accepted plan that
    /// is not finished.
    goal: Option<String>,
    /// A plan to carry out instead of making one.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Continue a run that a session began, with workers; unfinished work comes along. The newest
    /// run if none is named.
    #[arg(
        long = "continue",
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = CHOSEN
    )]
    go_on: Option<String>,
    /// The workflow: a built-in one, one of the project, or a file.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// The worker that plays every role.
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// The script of the scripted worker.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Let another role play one of the workflow's: `coder=quant_dev`.
    #[arg(long = "role", value_name = "ROLE=OTHER", value_parser = pair)]
    cast: Vec<(String, String)>,
    /// Set a value of the configuration for this run: `limits.max_minutes=30`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Work on at most this many tasks at the same time: `limits.max_parallel_tasks`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_parallel: Option<u32>,
    /// Show what would be committed, and ask, before the first commit.
    #[arg(long)]
    preview: bool,
    /// Run workers and gates with your own rights, not confined.
    #[arg(long)]
    no_sandbox: bool,
    /// What to do if a check fails before anything is changed.
    #[arg(long, value_enum, value_name = "POLICY")]
    baseline: Option<BaselineArg>,
    /// Leave out what the repository asks for beyond your own configuration, whatever it is trusted
    /// with (see `codeteam trust`).
    #[arg(long)]
    untrusted: bool,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    part: ParticipationArgs,
    #[command(flatten)]
    answering: AnswerSourceArgs,
    /// Show the run on a terminal screen, and decide there (see `codeteam tui`).
    #[arg(long, conflicts_with_all = ["answers", "wait"])]
    tui: bool,
}

/// The setting that `--no-sandbox` stands for: the user's explicit choice, which overrides all
/// files.
pub(crate) const NO_SANDBOX: &str = "sandbox.backend=none";

/// Which part a person takes. On a terminal, or with `--answers`: in all of it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields are the names of the flags"
)]
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ParticipationArgs {
    /// Ask nobody: the planner plans without questions, and checks and verifiers judge alone.
    #[arg(long, conflicts_with_all = ["judge", "talk"])]
    auto: bool,
    /// Judge every change yourself.
    #[arg(long, conflicts_with = "no_judge")]
    judge: bool,
    /// Let checks and verifiers judge alone.
    #[arg(long)]
    no_judge: bool,
    /// Let the planner ask, and accept the plan yourself.
    #[arg(long, conflicts_with = "no_talk")]
    talk: bool,
    /// Accept the plan as the planner makes it.
    #[arg(long)]
    no_talk: bool,
}

impl ParticipationArgs {
    /// Returns the workflow settings for the person's part; empty where nothing was chosen.
    pub(crate) fn workflow_settings(&self, present: bool) -> BTreeMap<String, bool> {
        let chosen = |yes: bool, no: bool| match (yes, no || self.auto) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => present.then_some(true),
        };
        let talk = chosen(self.talk, self.no_talk).map(|value| ("talk".to_owned(), value));
        let judge = chosen(self.judge, self.no_judge).map(|value| ("judge".to_owned(), value));
        talk.into_iter().chain(judge).collect()
    }
}

/// Describes to a person at the terminal what part they take.
fn describe_participation(started: &RunStarted) -> Option<&'static str> {
    let is = |name: &str| started.workflow.settings.get(name).copied();
    let talks = is("talk").map(|talk| talk && started.plan.is_none());
    Some(match (talks?, is("judge")?) {
        (true, true) => "you accept the plan and judge every change (`--auto`: neither)",
        (true, false) => "you accept the plan; checks and verifiers judge changes",
        (false, true) => "you judge every change (`--auto`: checks and verifiers alone)",
        (false, false) => "nobody is asked; checks and verifiers judge alone",
    })
}

/// What may be used up.
#[expect(
    clippy::struct_field_names,
    reason = "the fields are the names of the flags"
)]
#[derive(Debug, Default, clap::Args)]
pub(crate) struct LimitArgs {
    /// Stop at this many US dollars.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,
    /// Stop at this many attempts of workers.
    #[arg(long, value_name = "N")]
    max_attempts: Option<u64>,
    /// Stop after this many minutes, counted from the start of the run.
    #[arg(long, value_name = "N", value_parser = minutes)]
    max_minutes: Option<u64>,
    /// Stop at this many tokens, read and written.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Stop when worktrees and kept data take this many megabytes.
    #[arg(long, value_name = "N")]
    max_disk_mb: Option<u64>,
    /// Stop a task at this many US dollars.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_task_cost: Option<f64>,
    /// Stop a task at this many tokens.
    #[arg(long, value_name = "N")]
    max_task_tokens: Option<u64>,
    /// Wait this many minutes for a model API that does not answer.
    #[arg(long, value_name = "N", value_parser = minutes)]
    max_outage_minutes: Option<u64>,
}

pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((role, other)) if !role.is_empty() && !other.is_empty() => {
            Ok((role.to_owned(), other.to_owned()))
        }
        _ => Err("write it as `coder=quant_dev`".to_owned()),
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("not an amount of money, such as `2.50`".to_owned()),
    }
}

/// Parses minutes as milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to what fits"
)]
fn minutes(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes.is_finite() && minutes >= 0.0 => {
            Ok((minutes * 60_000.0).min(1e15) as u64)
        }
        _ => Err("not a number of minutes, such as `30`".to_owned()),
    }
}

impl LimitArgs {
    pub(crate) fn to_budget_limits(&self) -> budget::BudgetLimits {
        budget::BudgetLimits {
            money_microusd: self.max_cost.map(usd_to_microusd),
            attempts: self.max_attempts,
            wall_ms: self.max_minutes,
            tokens: self.max_tokens,
            disk_bytes: self.max_disk_mb.map(|mb| mb.saturating_mul(1 << 20)),
            task_money_microusd: self.max_task_cost.map(usd_to_microusd),
            task_tokens: self.max_task_tokens,
            outage_ms: self.max_outage_minutes,
        }
    }

    pub(crate) fn has_any(&self) -> bool {
        self.to_budget_limits() != budget::BudgetLimits::default()
    }

    /// Returns the input that raises a run's limits, if any are given.
    pub(crate) fn raise_limits_input(&self, engine: &Engine) -> Option<Input> {
        let limits = self.to_budget_limits();
        self.has_any().then(|| Input::Decided {
            at: now(),
            by: engine.own_identity().person.0,
            identity: Some(engine.own_identity()),
            decision: Decision::RaiseLimits { limits },
        })
    }
}

pub(crate) fn main(args: Args, scene: &CliContext) -> Result<Exit, Problem> {
    if args.tui {
        tui::require_screen()?;
    }
    if let Some(run) = &args.go_on {
        return continue_session_run(run, &args, scene);
    }
    start_run(args, scene, None)
}

/// The time in which a session's server must release a run.
const LETS_GO: Duration = Duration::from_mins(1);

/// Takes a run over from a session and continues with workers.
fn continue_session_run(word: &str, args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(Some(word).filter(|word| !word.is_empty()))?;
    let run = engine.load_run_view(&id)?;
    if run.is_ended() {
        return Err(Problem::user(format!("{id} has ended already")));
    }
    if args.limits.has_any() || args.answering.is_answered() {
        decide::refuse_inside_session(&engine, &run)?;
    }
    let mut inputs: Vec<Input> = args
        .limits
        .raise_limits_input(&engine)
        .into_iter()
        .collect();
    if run.operator == Operator::Session {
        let change = session::unsubmitted(&engine, run.as_run())?.map(Box::new);
        let decision = Decision::Reassign {
            to: Operator::Workers,
            change,
        };
        let identity = engine.own_identity();
        let by = identity.person.0.clone();
        if session::is_driven(&engine, &id)? {
            if scene.detail >= Verbosity::Normal {
                output::eprint_line("waiting for the session's server to release it");
            }
            match session::request_handover(&engine, &id, &decision, &by, LETS_GO)? {
                HandoverResult::LetGo => {}
                HandoverResult::Refused(why) => {
                    return Err(Problem::user(format!("{id} stays in its session: {why}")));
                }
                HandoverResult::Busy => {
                    let problem =
                        Problem::user(format!("the session's server does not release {id}"));
                    return Err(problem.hint("end the session, then try again; nothing is lost"));
                }
            }
        } else {
            let at = now();
            inputs.push(Input::Decided {
                at,
                by,
                identity: Some(identity),
                decision,
            });
        }
    }
    let task = DriveRequest::Resume(id, inputs);
    if args.tui {
        return tui::drive_on_screen(scene, &engine, task);
    }
    drive::drive_run(scene, &engine, task, &args.answering)
}

/// Says that a run goes on from the branch of an earlier one.
fn report_base(scene: &CliContext, branch: &str, tip: &str) {
    if scene.detail >= Verbosity::Normal {
        let tip = describe::short_id(tip);
        output::eprint_wrapped(&format!(
            "{}: the run continues from {tip} of branch {branch}, which has the work so far",
            TerminalStyle::detect().yellow("note")
        ));
    }
}

/// Says that there is a screen, where there can be one.
fn offer_screen(scene: &CliContext) {
    let is_told = !scene.json && scene.detail >= Verbosity::Normal;
    if is_told && tui::require_screen().is_ok() {
        let offer = "on a screen: `codeteam tui` in another terminal, or `codeteam run --tui`";
        output::eprint_wrapped(offer);
    }
}

/// Starts a run. `answers` is what is left of a source of answers that is already open.
fn start_run(
    mut args: Args,
    scene: &CliContext,
    answers: Option<AnswerSource>,
) -> Result<Exit, Problem> {
    // Check everything that can be wrong before anything is created.
    let mut set = args.set;
    set.extend(args.preview.then(|| "git.dry_run_preview=true".to_owned()));
    set.extend(args.no_sandbox.then(|| NO_SANDBOX.to_owned()));
    let most = args.max_parallel;
    set.extend(most.map(|most| format!("limits.max_parallel_tasks={most}")));
    let is_there = !args.part.auto && args.answering.answers.is_none() && talk::is_terminal();
    let decided = trust::settle_trust(scene, &set, args.untrusted, is_there)?;
    let (project, restricted) = (decided.project, decided.restricted);
    if args.plan.is_none() {
        let named = args.goal.take_if(|goal| names_plan(&project, goal));
        if let Some(plan) = &named {
            require_accepted(&project, plan)?;
        } else if let Some(goal) = &args.goal {
            refuse_missing_plan(&project, goal)?;
        }
        args.plan = named.map(|plan| plan_path(&project, &plan));
    }
    if args.plan.is_none() && args.goal.is_none() {
        take_configured_task(scene, &project, &mut args.goal, &mut args.workflow);
    }
    let mut base = None;
    let path = match (&args.plan, &args.goal) {
        (Some(path), _) => Some(scene.folder.join(path)),
        (None, Some(_)) => None,
        // In a project with a layout, the goal is a file of the project.
        (None, None) if project.config.layout.is_some() => None,
        (None, None) => Some(choose_unfinished_plan(scene, &project)?),
    };
    let plan = match path {
        Some(path) => {
            let loaded = project.read_plan(&path)?;
            let found = rebuild::read_plan(&project.repo, &project.head, &path)?;
            base = found.branch;
            Some((loaded.plan, found.statuses))
        }
        None => None,
    };
    let described = plan.as_ref().map(|(plan, _)| plan.description.clone());
    let prepared = project.prepare(&RunRequest {
        goal: args.goal.or(described).unwrap_or_default(),
        workflow: args.workflow.map(|name| resolve_workflow_name(scene, name)),
        worker: args.worker,
        script: args
            .script
            .map(|path| canonical_path(&scene.folder.join(path))),
        plan,
        base: base.as_ref().map(|(_, tip)| tip.clone()),
        limits: args.limits.to_budget_limits(),
        sandbox: args.no_sandbox.then_some(SandboxKind::None),
        role_replacements: args.cast.into_iter().collect(),
        settings: args.part.workflow_settings(args.answering.is_answered()),
        hands: Operator::Workers,
        set: set.clone(),
        restricted,
    })?;
    check_scripts(&prepared)?;
    if scene.detail >= Verbosity::Normal {
        output::report_removed_secrets(prepared.removed_secrets());
    }
    let engine = scene.open_engine(project)?;
    let policy = args.baseline.map(BaselineArg::policy);
    let BaselineStart {
        failures,
        must_pass,
        network,
    } = match baseline::check_baseline(scene, &engine, &prepared, policy)? {
        BaselineOutcome::Start(start) => start,
        BaselineOutcome::Stopped(exit) => return Ok(exit),
    };
    let mut started = engine.plan_run(prepared, now())?;
    started.baseline = failures;
    started.must_pass = must_pass;
    started.network = network;
    print_warnings(scene, &engine, &started)?;
    if let Some((branch, tip)) = &base {
        report_base(scene, branch, tip.as_str());
    }
    if args.answering.is_answered()
        && scene.detail >= Verbosity::Normal
        && let Some(part) = describe_participation(&started)
    {
        output::eprint_wrapped(part);
    }
    let from = base.as_ref().map(|(branch, _)| branch.as_str());
    if !git_preview::confirm_start(&engine, &started, from, is_there)? {
        output::eprint_line("nothing was started");
        return Ok(Exit::Done);
    }
    let task = DriveRequest::Start(Box::new(started));
    if args.tui {
        return tui::drive_on_screen(scene, &engine, task);
    }
    if args.answering.answers.is_none() {
        offer_screen(scene);
    }
    match answers {
        Some(answers) => {
            drive::drive_with_source(scene, &engine, task, &args.answering, Some(answers))
        }
        None => drive::drive_run(scene, &engine, task, &args.answering),
    }
}

/// Takes the goal from the configuration if it states one, and the workflow that goes with it unless
/// one was named.
fn take_configured_task(
    scene: &CliContext,
    project: &Project,
    goal: &mut Option<String>,
    workflow: &mut Option<String>,
) {
    let Some(task) = project.configured_task() else {
        return;
    };
    if scene.detail >= Verbosity::Normal {
        let by = match (&*workflow, &task.workflow) {
            (None, Some(name)) => format!("; the workflow is `{name}`"),
            _ => String::new(),
        };
        let text = format!("the goal is `{}` of the configuration{by}", task.key);
        let note = TerminalStyle::detect().yellow("note");
        output::eprint_wrapped(&format!("{note}: {text}"));
    }
    if workflow.is_none() {
        workflow.clone_from(&task.workflow);
    }
    *goal = Some(task.goal);
}

/// Carries out a plan that was just accepted.
pub(crate) fn run_accepted_plan(
    scene: &CliContext,
    plan: PathBuf,
    with: PlanRunOptions,
) -> Result<Exit, Problem> {
    let (answers, source) = with.answers.unzip();
    let args = Args {
        go_on: None,
        goal: None,
        plan: Some(plan),
        workflow: None,
        worker: with.worker,
        script: with.script,
        cast: Vec::new(),
        set: with.set,
        max_parallel: None,
        preview: false,
        no_sandbox: with.no_sandbox,
        baseline: None,
        untrusted: with.untrusted,
        limits: LimitArgs::default(),
        part: ParticipationArgs::default(),
        answering: AnswerSourceArgs {
            answers,
            wait: false,
        },
        tui: false,
    };
    start_run(args, scene, source)
}

/// Options for carrying out a plan.
pub(crate) struct PlanRunOptions {
    pub(crate) worker: Option<String>,
    pub(crate) script: Option<PathBuf>,
    pub(crate) set: Vec<String>,
    pub(crate) no_sandbox: bool,
    pub(crate) untrusted: bool,
    /// The answers not used yet, and the file they come from.
    pub(crate) answers: Option<(PathBuf, AnswerSource)>,
}

/// Chooses the plan to continue when neither a goal nor a plan is named, and says which one.
fn choose_unfinished_plan(scene: &CliContext, project: &Project) -> Result<PathBuf, Problem> {
    let engine = scene.existing_engine()?;
    let found = plan_choice::unfinished_plan(project, engine.as_deref())?;
    if scene.detail >= Verbosity::Normal {
        output::eprint_wrapped(&format!(
            "{}: going on with {} ({})",
            TerminalStyle::detect().yellow("note"),
            found.path.display(),
            found.describe_progress()
        ));
    }
    Ok(found.path)
}

/// Checks that the scripted worker has a valid script.
pub(crate) fn check_scripts(prepared: &PreparedRun) -> Result<(), Problem> {
    if prepared.lacks_script() {
        // The demo's script makes no sense in a user's project.
        return Err(Problem::user("the scripted worker has no script")
            .hint("name one with `--script`, or `script` in `.codeteam/config.yml`")
            .hint("`codeteam demo` shows a run on a sample project"));
    }
    for script in prepared.scripts() {
        let text = read_named_file(Path::new(script)).map_err(|e| {
            let what = format!("could not read the script `{script}`");
            match e.kind() {
                io::ErrorKind::FileTooLarge => Problem::user(what).caused_by(&e),
                _ => Problem::environment(what).caused_by(&e),
            }
        })?;
        Script::parse(&text, script).map_err(|e| {
            Problem::user(e.to_string()).hint("fix the script and try again; nothing was started")
        })?;
    }
    Ok(())
}

/// Returns a path without `..`, if the file exists: only such paths can be shown in a sandbox.
fn canonical_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns a workflow's name unchanged, or its file relative to where the command runs.
pub(crate) fn resolve_workflow_name(scene: &CliContext, name: String) -> String {
    let is_file = Path::new(&name)
        .extension()
        .is_some_and(|e| e == "yml" || e == "yaml");
    if is_file {
        scene.folder.join(name).display().to_string()
    } else {
        name
    }
}

/// Prints the notes and warnings that a person should read before a run starts.
pub(crate) fn print_warnings(
    scene: &CliContext,
    engine: &Engine,
    started: &RunStarted,
) -> Result<(), Problem> {
    if scene.detail < Verbosity::Normal {
        return Ok(());
    }
    let style = TerminalStyle::detect();
    for said in start_notes(engine, started)? {
        let (word, text) = match said {
            StartNote::Note(text) => (style.yellow("note"), text),
            StartNote::Warning(text) => {
                (style.yellow("warning"), config::shorten_paths(scene, &text))
            }
        };
        output::eprint_wrapped(&format!("{word}: {text}"));
    }
    Ok(())
}
