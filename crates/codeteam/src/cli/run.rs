//! `codeteam run`: take a goal to verified commits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_agent::scripted::Script;
use codeteam_core::budget;
use codeteam_core::event::{RunStarted, SandboxKind};
use codeteam_core::hands::Operator;
use codeteam_core::input::{Decision, Input};
use codeteam_engine::config::{GitMode, microusd};
use codeteam_engine::engine::{Engine, PreparedRun, Project, RunRequest};
use codeteam_engine::perform::now;
use codeteam_engine::session::HandoverResult;
use codeteam_engine::{rebuild, session, tell, workers};

use crate::cli::baseline::{self, BaselineArg, BaselineOutcome, BaselineStart};
use crate::cli::drive::AnswerSourceArgs;
use crate::cli::talk::{AnswerSource, DriveRequest};
use crate::cli::{CliContext, config, decide, drive, talk, trust};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// What was chosen when a run began, and is not chosen again.
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
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What you want. If it is left out, the accepted plan that is not finished is gone on with.
    goal: Option<String>,
    /// A plan to carry out instead of making one.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Go on with a run that a session began, with workers; what is half made there comes along.
    #[arg(long = "continue", value_name = "RUN", conflicts_with_all = CHOSEN)]
    go_on: Option<String>,
    /// The workflow: a built-in one, one of the project, or a file.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// What carries out every role.
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
    /// Work on at most so many tasks side by side: `limits.max_parallel_tasks`.
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
}

/// `--no-sandbox` as what it is: the user's own word, over all that files say.
pub(crate) const NO_SANDBOX: &str = "sandbox.backend=none";

/// Which part a person takes. On a terminal, or with `--answers`: in all of it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields are the names of the flags"
)]
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ParticipationArgs {
    /// Nobody is asked: no questions of the planner, and checks and verifiers judge alone.
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
    /// Take the plan as the planner makes it.
    #[arg(long)]
    no_talk: bool,
}

impl ParticipationArgs {
    /// What the workflow is told of it; nothing where nobody has said.
    fn settings(&self, present: bool) -> BTreeMap<String, bool> {
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

/// What a person who is there is told of their part.
fn told_part(started: &RunStarted) -> Option<&'static str> {
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
    /// Stop when worktrees and what is kept take this many megabytes.
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

fn pair(text: &str) -> Result<(String, String), String> {
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

/// Minutes as milliseconds.
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
    pub(crate) fn budget(&self) -> budget::BudgetLimits {
        budget::BudgetLimits {
            money_microusd: self.max_cost.map(microusd),
            attempts: self.max_attempts,
            wall_ms: self.max_minutes,
            tokens: self.max_tokens,
            disk_bytes: self.max_disk_mb.map(|mb| mb.saturating_mul(1 << 20)),
            task_money_microusd: self.max_task_cost.map(microusd),
            task_tokens: self.max_task_tokens,
            outage_ms: self.max_outage_minutes,
        }
    }

    pub(crate) fn any(&self) -> bool {
        self.budget() != budget::BudgetLimits::default()
    }

    /// What raises those of a run, if there are any.
    pub(crate) fn raised(&self, scene: &CliContext) -> Option<Input> {
        let limits = self.budget();
        self.any().then(|| Input::Decided {
            at: now(),
            by: scene.env.user.clone(),
            decision: Decision::RaiseLimits { limits },
        })
    }
}

pub(crate) fn main(args: Args, scene: &CliContext) -> Result<Exit, Problem> {
    if let Some(run) = &args.go_on {
        return go_on(run, &args, scene);
    }
    start(args, scene, None)
}

/// How long a session's server may take to let a run go.
const LETS_GO: Duration = Duration::from_mins(1);

/// Takes a run from a session and goes on with workers.
fn go_on(word: &str, args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let id = engine.find(Some(word))?;
    let run = engine.load(&id)?;
    if run.is_terminal() {
        return Err(Problem::user(format!("{id} has ended already")));
    }
    if args.limits.any() || args.answering.is_answered() {
        decide::outside(&engine, &run)?;
    }
    let mut inputs: Vec<Input> = args.limits.raised(scene).into_iter().collect();
    if run.hands == Operator::Session {
        let change = session::unsubmitted(&engine, &run)?.map(Box::new);
        let decision = Decision::Reassign {
            to: Operator::Workers,
            change,
        };
        let by = scene.env.user.clone();
        if session::is_driven(&engine, &id)? {
            if scene.detail >= Verbosity::Normal {
                output::say("waiting for the session's server to let it go");
            }
            match session::hand_over(&engine, &id, &decision, &by, LETS_GO)? {
                HandoverResult::LetGo => {}
                HandoverResult::Refused(why) => {
                    return Err(Problem::user(format!("{id} stays in its session: {why}")));
                }
                HandoverResult::Busy => {
                    let problem =
                        Problem::user(format!("the session's server does not let {id} go"));
                    return Err(problem.hint("end the session, then try again; nothing is lost"));
                }
            }
        } else {
            let at = now();
            inputs.push(Input::Decided { at, by, decision });
        }
    }
    drive::drive(
        scene,
        &engine,
        DriveRequest::Resume(id, inputs),
        &args.answering,
    )
}

/// Starts a run; `answers` are what is left of those that are named.
fn start(
    mut args: Args,
    scene: &CliContext,
    answers: Option<AnswerSource>,
) -> Result<Exit, Problem> {
    // Everything that can be wrong is found before anything is made.
    let mut set = args.set;
    set.extend(args.preview.then(|| "git.dry_run_preview=true".to_owned()));
    set.extend(args.no_sandbox.then(|| NO_SANDBOX.to_owned()));
    let most = args.max_parallel;
    set.extend(most.map(|most| format!("limits.max_parallel_tasks={most}")));
    let is_there = !args.part.auto && args.answering.answers.is_none() && talk::is_terminal();
    let decided = trust::settle(scene, &set, args.untrusted, is_there)?;
    let (project, restricted) = (decided.project, decided.restricted);
    if args.plan.is_none() {
        let named = args.goal.take_if(|goal| is_plan(&project, goal));
        if let Some(plan) = &named {
            must_be_accepted(&project, plan)?;
        } else if let Some(goal) = &args.goal {
            no_such_plan(goal)?;
        }
        args.plan = named.map(|plan| plan_path(&project, &plan));
    }
    let mut base = None;
    let path = match (&args.plan, &args.goal) {
        (Some(path), _) => Some(scene.folder.join(path)),
        (None, Some(_)) => None,
        // Where the goal is a file of the project, that is meant.
        (None, None) if project.config.layout.is_some() => None,
        (None, None) => Some(unfinished(scene, &project)?),
    };
    let plan = match path {
        Some(path) => {
            let loaded = project.read_plan(&path)?;
            let found = rebuild::plan(&project.repo, &project.head, &path)?;
            base = found.branch;
            Some((loaded.plan, found.statuses))
        }
        None => None,
    };
    let described = plan.as_ref().map(|(plan, _)| plan.description.clone());
    let prepared = project.prepare(&RunRequest {
        goal: args.goal.or(described).unwrap_or_default(),
        workflow: args.workflow.map(|name| workflow(scene, name)),
        worker: args.worker,
        script: args.script.map(|path| plain(&scene.folder.join(path))),
        plan,
        base: base.as_ref().map(|(_, tip)| tip.clone()),
        limits: args.limits.budget(),
        sandbox: args.no_sandbox.then_some(SandboxKind::None),
        cast: args.cast.into_iter().collect(),
        settings: args.part.settings(args.answering.is_answered()),
        hands: Operator::Workers,
        set: set.clone(),
        restricted,
    })?;
    check_scripts(&prepared)?;
    if scene.detail >= Verbosity::Normal {
        output::note_removed(prepared.removed_secrets());
    }
    let engine = scene.open(project)?;
    let policy = args.baseline.map(BaselineArg::policy);
    let BaselineStart {
        failures,
        must_pass,
        network,
    } = match baseline::examine(scene, &engine, &prepared, policy)? {
        BaselineOutcome::Start(start) => start,
        BaselineOutcome::Stopped(exit) => return Ok(exit),
    };
    let mut started = engine.plan_run(prepared, now())?;
    started.baseline = failures;
    started.must_pass = must_pass;
    started.network = network;
    warn(scene, &engine, &started)?;
    if let Some((branch, tip)) = &base
        && scene.detail >= Verbosity::Normal
    {
        let tip = tell::short(tip.as_str());
        output::tell(&format!(
            "{}: the run goes on from {tip} of branch {branch}, which has what is done",
            TerminalStyle::detect().yellow("note")
        ));
    }
    if args.answering.is_answered()
        && scene.detail >= Verbosity::Normal
        && let Some(part) = told_part(&started)
    {
        output::tell(part);
    }
    let task = DriveRequest::Start(Box::new(started));
    match answers {
        Some(answers) => drive::drive_by(scene, &engine, task, &args.answering, Some(answers)),
        None => drive::drive(scene, &engine, task, &args.answering),
    }
}

/// Carries out a plan that was just accepted.
pub(crate) fn carry_out(
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
    };
    start(args, scene, source)
}

/// What a plan is carried out with.
pub(crate) struct PlanRunOptions {
    pub(crate) worker: Option<String>,
    pub(crate) script: Option<PathBuf>,
    pub(crate) set: Vec<String>,
    pub(crate) no_sandbox: bool,
    pub(crate) untrusted: bool,
    /// The answers that were not given yet, and where they are from.
    pub(crate) answers: Option<(PathBuf, AnswerSource)>,
}

/// Whether a word names a plan of the project.
pub(crate) fn is_plan(project: &Project, word: &str) -> bool {
    codeteam_core::ids::is_plain(word) && plan_path(project, word).is_file()
}

fn plan_path(project: &Project, id: &str) -> PathBuf {
    project.folder.join("planning").join(id).join("plan.yml")
}

/// Looks whether the scripted worker has a script that makes sense.
pub(crate) fn check_scripts(prepared: &PreparedRun) -> Result<(), Problem> {
    if prepared.lacks_script() {
        // What the demo does has no place in a project of the user's.
        return Err(Problem::user("the scripted worker has no script")
            .hint("name one with `--script`, or `script` in `.codeteam/config.yml`")
            .hint("`codeteam demo` shows a run on a sample project"));
    }
    for script in prepared.scripts() {
        let text = std::fs::read_to_string(script).map_err(|e| {
            Problem::environment(format!("could not read the script `{script}`")).caused_by(&e)
        })?;
        Script::parse(&text, script).map_err(|e| {
            Problem::user(e.to_string()).hint("mend the script and try again; nothing was started")
        })?;
    }
    Ok(())
}

/// The newest plan that is accepted and not finished, by the files alone; there need be no log.
fn unfinished(scene: &CliContext, project: &Project) -> Result<PathBuf, Problem> {
    let plans = rebuild::plans(&project.repo, &project.head)?;
    let Some(found) = plans.iter().find(|found| found.is_open()) else {
        let is_draft =
            |p: &&rebuild::PlanOnDisk| p.problem.is_none() && !p.accepted && !p.is_finished();
        return match plans.iter().find(is_draft) {
            Some(draft) => Err(
                Problem::user("there is no goal, and no plan is accepted").hint(format!(
                    "`codeteam run --plan {}` carries the draft out",
                    draft.path.display()
                )),
            ),
            None => Err(nothing_to_do(&plans)),
        };
    };
    let modified = |found: &rebuild::PlanOnDisk| {
        let metadata = std::fs::metadata(&found.path);
        metadata.and_then(|metadata| metadata.modified()).ok()
    };
    let open = plans.iter().filter(|found| found.is_open());
    let newest: Vec<&str> = open
        .filter(|other| modified(other) == modified(found))
        .map(|other| other.plan.plan_id.as_str())
        .collect();
    if newest.len() > 1 {
        let names = newest.join(", ");
        return Err(
            Problem::user(format!("several plans are equally new: {names}"))
                .hint(format!("say which: `codeteam run {}`", newest[0])),
        );
    }
    if let Some(engine) = scene.existing()? {
        // What is under way is taken up, not begun a second time.
        for id in found.runs.iter().rev() {
            let row = engine.store.run(id)?;
            let open = row.is_some_and(|row| {
                !matches!(row.status.as_str(), "completed" | "failed" | "aborted")
            });
            if open {
                let plan = &found.plan.plan_id;
                return Err(
                    Problem::user(format!("{id} has not ended; it works on {plan}"))
                        .hint(format!("`codeteam resume {id}` goes on with it")),
                );
            }
        }
    }
    if scene.detail >= Verbosity::Normal {
        output::tell(&format!(
            "{}: going on with {} ({})",
            TerminalStyle::detect().yellow("note"),
            found.path.display(),
            found.counts()
        ));
    }
    Ok(found.path.clone())
}

/// Why there is nothing to carry out, and what to do.
fn nothing_to_do(plans: &[rebuild::PlanOnDisk]) -> Problem {
    let wants = "say what you want: `codeteam run \"add a --json flag\"`";
    if let Some(broken) = plans.iter().find(|found| found.problem.is_some()) {
        let path = broken.path.display();
        return Problem::user("there is no goal, and no plan that can be carried out")
            .hint(format!(
                "`codeteam run --plan {path}` says what is wrong with that plan"
            ))
            .hint(wants);
    }
    match plans.first() {
        None => Problem::user("there is no goal, and no plan to carry out")
            .hint(wants)
            .hint("or shape a plan first: `codeteam plan \"add a --json flag\"`"),
        Some(newest) => {
            let plan = &newest.plan.plan_id;
            let what = if plans.len() == 1 {
                format!("the plan {plan} is done, and there is no goal")
            } else {
                format!("all {} plans are done, and there is no goal", plans.len())
            };
            Problem::user(what)
                .hint(wants)
                .hint("`codeteam status` tells what was done; `codeteam merge` takes it over")
        }
    }
}

/// Refuses a goal that is the id of a plan which is not there: nobody wants that built.
pub(crate) fn no_such_plan(goal: &str) -> Result<(), Problem> {
    let number = goal.strip_prefix("feature-");
    let is_id = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    if number.is_some_and(is_id) {
        return Err(Problem::user(format!("there is no plan `{goal}`"))
            .hint("`codeteam status` tells which there are"));
    }
    Ok(())
}

/// Refuses a plan that nobody has accepted, or that is done. Naming its file is enough to have it
/// carried out all the same.
fn must_be_accepted(project: &Project, plan: &str) -> Result<(), Problem> {
    let path = plan_path(project, plan);
    let loaded = project.read_plan(&path)?;
    let file = path.display();
    if loaded.accepted == Some(false) {
        return Err(
            Problem::user(format!("nobody has accepted the plan `{plan}`"))
                .hint(format!("`codeteam plan {plan}` shows it and asks"))
                .hint(format!(
                    "`codeteam run --plan {file}` carries it out as it is"
                )),
        );
    }
    let found = rebuild::plan(&project.repo, &project.head, &path)?;
    if found.is_finished() {
        return Err(Problem::user(format!("the plan `{plan}` is done"))
            .hint("`codeteam plan \"what you want\"` makes another one"));
    }
    Ok(())
}

/// A path without `..` in it, if the file is there: only such ones can be shown in a sandbox.
fn plain(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A workflow's name as it is; its file as seen from where the command works.
pub(crate) fn workflow(scene: &CliContext, name: String) -> String {
    let is_file = Path::new(&name)
        .extension()
        .is_some_and(|e| e == "yml" || e == "yaml");
    if is_file {
        scene.folder.join(name).display().to_string()
    } else {
        name
    }
}

/// What a person should know before a run starts, but need not stop it.
pub(crate) fn warn(
    scene: &CliContext,
    engine: &Engine,
    started: &RunStarted,
) -> Result<(), Problem> {
    if scene.detail < Verbosity::Normal {
        return Ok(());
    }
    let style = TerminalStyle::detect();
    let from = tell::short(engine.head.commit.as_str());
    let note = |text: &str| output::tell(&format!("{}: {text}", style.yellow("note")));
    if engine.repo.is_dirty()? {
        note(&format!(
            "there are uncommitted changes; the run starts from commit {from} without them"
        ));
    }
    if started.workflow.delivery().is_some() && engine.config.git.mode() == GitMode::Current {
        match &engine.head.branch {
            Some(branch) => note(&format!(
                "at the end {branch} is moved forward, if it has not moved and nothing is uncommitted"
            )),
            None => note("at the end no branch is moved forward, because HEAD is detached"),
        }
    }
    if engine.head.branch.is_none() {
        note(&format!(
            "HEAD is detached; the run starts from commit {from}"
        ));
    }
    if engine.is_unchecked(started) {
        note(
            "no checks are configured (`verification.commands` in `.codeteam/config.yml`), so codeteam's own rules \
             and reviewers judge alone",
        );
    }
    for said in workers::uncounted(&engine.config, started) {
        note(&said);
    }
    for said in engine.warnings(started) {
        let warning = style.yellow("warning");
        output::tell(&format!("{warning}: {}", config::shorten(scene, &said)));
    }
    if started.sandbox == SandboxKind::None {
        note(&started.confinement);
    }
    Ok(())
}
