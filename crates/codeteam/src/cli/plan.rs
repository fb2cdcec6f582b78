//! `codeteam plan`: shapes a plan in a conversation with the planner; nothing is built.

use std::path::PathBuf;
use std::sync::Arc;

use codeteam_core::event::SandboxKind;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::RunId;
use codeteam_core::untrusted_text::hang_indented;
use codeteam_engine::Engine;
use codeteam_engine::clock::now;
use codeteam_engine::driver::StopReason;
use codeteam_engine::engine::RunRequest;
use codeteam_engine::plan_choice::{has_plan_folder, refuse_missing_plan};
use codeteam_report::artifacts;
use codeteam_report::view::LoadedRun;

use crate::cli::run::{self, LimitArgs, PlanRunOptions};
use crate::cli::talk::{self, AnswerSource, DriveRequest, TalkOptions};
use crate::cli::{CliContext, drive, trust};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// The workflow of a conversation, unless another is named.
const WORKFLOW: &str = "plan";

/// Arguments of `plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What you want; or the id of a plan, such as `feature-0021`, to continue with it. The newest
    /// plan that is not accepted if left out.
    #[arg(value_name = "GOAL|PLAN")]
    goal: Option<String>,
    /// The workflow of the conversation: a built-in one, one of the project, or a file.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// The worker that plays every role.
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
    /// Read the answers to questions from this file: one answer per line, or blocks separated by
    /// lines of `---`; `#` begins a comment. Without a terminal, standard input is read line by
    /// line.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Carry the plan out as soon as it is accepted.
    #[arg(long)]
    run: bool,
}

pub(crate) fn main(args: Args, scene: &CliContext) -> Result<Exit, Problem> {
    // An unreadable file is reported before a plan is begun.
    let answers = args.answers.as_ref().filter(|path| path.as_os_str() != "-");
    let answers = answers.map(|path| AnswerSource::file(&scene.folder.join(path)));
    let answers = answers.transpose()?;
    let (engine, task) = drive_request(&args, scene)?;
    let mut source = match answers {
        Some(answers) => answers,
        None if args.answers.is_none() && talk::is_terminal() => AnswerSource::terminal(&engine),
        None => AnswerSource::pipe(),
    };
    let interrupt = drive::driver_options(true)?.interrupt;
    let streams = true;
    let manner = TalkOptions {
        source: &mut source,
        streams,
    };
    let (id, stop) = talk::drive_with_person(scene, &engine, task, interrupt, manner)?;
    let run = engine.load_run_view(&id)?;
    if stop != StopReason::Ended(FrameOutcome::Completed) {
        return report_unfinished(scene, &engine, &run, &stop, source.is_terminal());
    }
    if args.run {
        let with = PlanRunOptions {
            worker: args.worker,
            script: args.script,
            set: args.set,
            no_sandbox: args.no_sandbox,
            untrusted: args.untrusted,
            // Answers from a file continue with what is left of it.
            answers: args.answers.map(|path| (path, source)),
        };
        let path =
            plan_file(&engine, &run).ok_or_else(|| Problem::internal("the plan has no file"))?;
        return run::run_accepted_plan(scene, path, with);
    }
    if scene.json {
        output::print_json(&run.view().clone().with_driver(false))?;
    } else if scene.detail >= Verbosity::Normal {
        report_accepted(scene, &engine, &run);
    }
    Ok(Exit::Done)
}

/// Returns what to drive: a new conversation, or one that was left.
fn drive_request(args: &Args, scene: &CliContext) -> Result<(Arc<Engine>, DriveRequest), Problem> {
    let mut set = args.set.clone();
    set.extend(args.no_sandbox.then(|| run::NO_SANDBOX.to_owned()));
    let is_there = args.answers.is_none() && talk::is_terminal();
    let decided = trust::settle_trust(scene, &set, args.untrusted, is_there)?;
    let (project, restricted) = (decided.project, decided.restricted);
    let named = args
        .goal
        .as_deref()
        .filter(|goal| has_plan_folder(&project, goal));
    if let Some(goal) = args.goal.as_ref().filter(|_| named.is_none()) {
        refuse_missing_plan(&project, goal)?;
    }
    let Some(goal) = args.goal.as_ref().filter(|_| named.is_none()) else {
        let engine = scene.open_engine(project)?;
        let run = open_run(&engine, named)?;
        if scene.detail >= Verbosity::Normal {
            eprint_line(&format!("{}: {}", run.plan, hang_indented(&run.goal, 2)));
        }
        let inputs = super::resume::plan_edit_input(&engine, &run)?;
        return Ok((
            engine,
            DriveRequest::Resume(run.id.clone(), inputs.into_iter().collect()),
        ));
    };
    let request = RunRequest {
        goal: goal.clone(),
        workflow: Some(args.workflow.as_ref().map_or_else(
            || WORKFLOW.to_owned(),
            |name| run::resolve_workflow_name(scene, name.clone()),
        )),
        worker: args.worker.clone(),
        script: args.script.as_ref().map(|path| scene.folder.join(path)),
        limits: args.limits.to_budget_limits(),
        sandbox: args.no_sandbox.then_some(SandboxKind::None),
        restricted,
        ..RunRequest::default()
    };
    let prepared = project.prepare(&request)?;
    run::check_scripts(&prepared)?;
    if scene.detail >= Verbosity::Normal {
        output::report_removed_secrets(prepared.removed_secrets());
    }
    let engine = scene.open_engine(project)?;
    let started = engine.plan_run(prepared, now())?;
    if scene.detail >= Verbosity::Normal {
        eprint_line(&format!(
            "{}: {}",
            started.plan_id,
            hang_indented(&started.goal, 2)
        ));
    }
    Ok((engine, DriveRequest::Start(Box::new(started))))
}

/// Returns the open conversation: that of a plan, or the newest.
fn open_run(engine: &Engine, plan: Option<&str>) -> Result<LoadedRun, Problem> {
    for row in engine.store.runs()? {
        let run = engine.load_run_view(&RunId(row.id))?;
        if !run.plans_only || plan.is_some_and(|plan| run.plan != plan) {
            continue;
        }
        if !run.is_ended() {
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

fn plan_file(engine: &Engine, run: &LoadedRun) -> Option<PathBuf> {
    let path = artifacts::plan_folder(engine.records(), run.as_run())?.join("plan.yml");
    path.is_file().then_some(path)
}

/// Prints the closing message of a conversation that ended with an accepted plan.
fn report_accepted(scene: &CliContext, engine: &Engine, run: &LoadedRun) {
    let (style, plan) = (TerminalStyle::detect(), &run.plan);
    eprint_line("");
    eprint_line(&format!("{} {plan}", style.green("accepted:")));
    if let Some(path) = plan_file(engine, run) {
        let path = path.strip_prefix(engine.repo.top_level()).unwrap_or(&path);
        eprint_line(&format!("  plan    {}", path.display()));
    }
    eprint_line("  nothing is coded yet");
    eprint_line(&format!("  code    {} run {plan}", scene.calls.codeteam));
}

/// Prints the closing message of a conversation that has not ended with a plan.
fn report_unfinished(
    scene: &CliContext,
    engine: &Engine,
    run: &LoadedRun,
    stop: &StopReason,
    at_terminal: bool,
) -> Result<Exit, Problem> {
    if scene.json || !matches!(stop, StopReason::Waiting(_) | StopReason::Interrupted) {
        return drive::report_stop(scene, engine, &run.id, stop);
    }
    let (style, plan) = (TerminalStyle::detect(), &run.plan);
    eprint_line("");
    eprint_line(&format!("{} {plan} waits for you", style.yellow("left:")));
    // Without a terminal, a person answers with a command and then continues.
    if let StopReason::Waiting(questions) = stop
        && !at_terminal
    {
        for question in questions {
            drive::print_question(style, run, question);
        }
    }
    eprint_line(&format!("  go on   {} plan {plan}", scene.calls.codeteam));
    Ok(match stop {
        StopReason::Waiting(_) => Exit::Waiting,
        _ => Exit::Interrupted,
    })
}
