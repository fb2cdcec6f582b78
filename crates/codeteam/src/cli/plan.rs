//! `codeteam plan`: shape a plan in a conversation with the planner; nothing is built.

use std::path::PathBuf;
use std::sync::Arc;

use codeteam_core::Run;
use codeteam_core::event::{FrameOutcome, SandboxKind};
use codeteam_core::ids::RunId;
use codeteam_core::quoted::hanging;
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::StepKind;
use codeteam_engine::Engine;
use codeteam_engine::artifacts;
use codeteam_engine::driver::StopReason;
use codeteam_engine::engine::RunRequest;
use codeteam_engine::perform::now;

use crate::cli::run::{self, LimitArgs, PlanRunOptions};
use crate::cli::talk::{self, AnswerSource, DriveRequest, TalkOptions};
use crate::cli::{CliContext, drive, trust};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, say};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// The workflow of a conversation, unless another is named.
const WORKFLOW: &str = "plan";

/// Arguments of `plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What you want; or the id of a plan, such as `feature-0021`, to go on with it. The newest
    /// plan that is not accepted if left out.
    #[arg(value_name = "GOAL|PLAN")]
    goal: Option<String>,
    /// The workflow of the conversation: a built-in one, one of the project, or a file.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// What carries out every role.
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// The script of the scripted worker.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Set a value of the configuration for this run: `limits.max_minutes=30`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run workers with your own rights, not confined.
    #[arg(long)]
    no_sandbox: bool,
    /// Leave out what the repository asks for beyond your own configuration, whatever it is trusted
    /// with (see `codeteam trust`).
    #[arg(long)]
    untrusted: bool,
    #[command(flatten)]
    limits: LimitArgs,
    /// Answer what is asked from this file: one answer a line, or blocks with a line `---` between
    /// them; `#` begins a comment. Without a terminal, standard input is read line by line.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Carry the plan out as soon as it is accepted.
    #[arg(long)]
    run: bool,
}

pub(crate) fn main(args: Args, scene: &CliContext) -> Result<Exit, Problem> {
    // What cannot be read is told before a plan is begun.
    let answers = args.answers.as_ref().filter(|path| path.as_os_str() != "-");
    let answers = answers.map(|path| AnswerSource::file(&scene.folder.join(path)));
    let answers = answers.transpose()?;
    let (engine, task) = task(&args, scene)?;
    let mut source = match answers {
        Some(answers) => answers,
        None if args.answers.is_none() && talk::is_terminal() => AnswerSource::terminal(&engine),
        None => AnswerSource::pipe(),
    };
    let interrupt = drive::options(true)?.interrupt;
    let streams = true;
    let manner = TalkOptions {
        source: &mut source,
        streams,
    };
    let (id, stop) = talk::drive(scene, &engine, task, interrupt, manner)?;
    let run = engine.load(&id)?;
    if stop != StopReason::Ended(FrameOutcome::Completed) {
        return left(scene, &engine, &run, &stop);
    }
    if args.run {
        let with = PlanRunOptions {
            worker: args.worker,
            script: args.script,
            set: args.set,
            no_sandbox: args.no_sandbox,
            untrusted: args.untrusted,
            // Who is to answer from a file answers from what is left of it.
            answers: args.answers.map(|path| (path, source)),
        };
        let path =
            plan_file(&engine, &run).ok_or_else(|| Problem::internal("the plan has no file"))?;
        return run::carry_out(scene, path, with);
    }
    if scene.json {
        output::json(&drive::value(&run))?;
    } else if scene.detail >= Verbosity::Normal {
        accepted(scene, &engine, &run);
    }
    Ok(Exit::Done)
}

/// What to drive: a new conversation, or one that was left.
fn task(args: &Args, scene: &CliContext) -> Result<(Arc<Engine>, DriveRequest), Problem> {
    let mut set = args.set.clone();
    set.extend(args.no_sandbox.then(|| run::NO_SANDBOX.to_owned()));
    let is_there = args.answers.is_none() && talk::is_terminal();
    let decided = trust::settle(scene, &set, args.untrusted, is_there)?;
    let (project, restricted) = (decided.project, decided.restricted);
    let named = args.goal.as_deref().filter(|goal| {
        // A plan that is still being talked about has a folder, and nothing in it.
        let plain = codeteam_core::ids::is_plain(goal);
        plain && project.folder.join("planning").join(goal).is_dir()
    });
    if let Some(goal) = args.goal.as_ref().filter(|_| named.is_none()) {
        run::no_such_plan(goal)?;
    }
    let Some(goal) = args.goal.as_ref().filter(|_| named.is_none()) else {
        let engine = scene.open(project)?;
        let run = open_run(&engine, named)?;
        if scene.detail >= Verbosity::Normal {
            say(&format!("{}: {}", run.plan_id, hanging(&run.goal, 2)));
        }
        let inputs = super::resume::edited_plan(scene, &engine, &run)?;
        return Ok((
            engine,
            DriveRequest::Resume(run.id.clone(), inputs.into_iter().collect()),
        ));
    };
    let request = RunRequest {
        goal: goal.clone(),
        workflow: Some(args.workflow.as_ref().map_or_else(
            || WORKFLOW.to_owned(),
            |name| run::workflow(scene, name.clone()),
        )),
        worker: args.worker.clone(),
        script: args.script.as_ref().map(|path| scene.folder.join(path)),
        limits: args.limits.budget(),
        sandbox: args.no_sandbox.then_some(SandboxKind::None),
        restricted,
        ..RunRequest::default()
    };
    let prepared = project.prepare(&request)?;
    run::check_scripts(&prepared)?;
    if scene.detail >= Verbosity::Normal {
        output::note_removed(prepared.removed_secrets());
    }
    let engine = scene.open(project)?;
    let started = engine.plan_run(prepared, now())?;
    if scene.detail >= Verbosity::Normal {
        say(&format!(
            "{}: {}",
            started.plan_id,
            hanging(&started.goal, 2)
        ));
    }
    Ok((engine, DriveRequest::Start(Box::new(started))))
}

/// The conversation that is open: of a plan, or the newest.
fn open_run(engine: &Engine, plan: Option<&str>) -> Result<Run, Problem> {
    for row in engine.store.runs()? {
        let run = engine.load(&RunId(row.id))?;
        if !is_conversation(&run) || plan.is_some_and(|plan| plan_id(&run) != plan) {
            continue;
        }
        if !run.is_terminal() {
            return Ok(run);
        }
        if let Some(plan) = plan {
            let done = matches!(run.outcome, Some(FrameOutcome::Completed));
            let problem = if done {
                Problem::user(format!("{plan} is accepted already"))
                    .hint(format!("`codeteam run {plan}` carries it out"))
            } else {
                Problem::user(format!("the conversation about {plan} was ended"))
                    .hint(format!("`codeteam retry {}` takes it up again", run.id))
            };
            return Err(problem);
        }
    }
    Err(match plan {
        Some(plan) => Problem::user(format!("no conversation about {plan} is known")).hint(
            format!("`codeteam run {plan}` carries it out as its file says"),
        ),
        None => Problem::user("no plan is being made")
            .hint("`codeteam plan \"what you want\"` starts a conversation"),
    })
}

/// Whether a run makes a plan and carries none out.
fn is_conversation(run: &Run) -> bool {
    let mut steps = run.workflow.steps.values();
    let plans = run
        .roles
        .values()
        .any(|role| role.kind == RoleKind::Planner);
    plans && !steps.any(|step| matches!(step.kind, StepKind::Each { .. }))
}

fn plan_id(run: &Run) -> &str {
    let own = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
    own.filter(|id| !id.is_empty()).unwrap_or(&run.plan_id)
}

fn plan_file(engine: &Engine, run: &Run) -> Option<PathBuf> {
    let path = artifacts::plan_folder(engine, run)?.join("plan.yml");
    path.is_file().then_some(path)
}

/// The closing words of a conversation that has come to a plan.
fn accepted(scene: &CliContext, engine: &Engine, run: &Run) {
    let (style, plan) = (TerminalStyle::detect(), plan_id(run));
    say("");
    say(&format!("{} {plan}", style.green("accepted:")));
    if let Some(path) = plan_file(engine, run) {
        let path = path.strip_prefix(engine.repo.top_level()).unwrap_or(&path);
        say(&format!("  plan    {}", path.display()));
    }
    say("  nothing is coded yet");
    say(&format!("  code    {} run {plan}", scene.calls.codeteam));
}

/// The closing words of one that has not.
fn left(
    scene: &CliContext,
    engine: &Engine,
    run: &Run,
    stop: &StopReason,
) -> Result<Exit, Problem> {
    if scene.json || !matches!(stop, StopReason::Waiting(_) | StopReason::Interrupted) {
        return drive::closing(scene, engine, &run.id, stop);
    }
    let (style, plan) = (TerminalStyle::detect(), plan_id(run));
    say("");
    say(&format!("{} {plan} waits for you", style.yellow("left:")));
    say(&format!("  go on   {} plan {plan}", scene.calls.codeteam));
    Ok(match stop {
        StopReason::Waiting(_) => Exit::Waiting,
        _ => Exit::Interrupted,
    })
}
