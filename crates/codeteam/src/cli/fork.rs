//! `codeteam fork`: begins a new run from a moment of another one.

use std::path::PathBuf;

use codeteam_core::operator::Operator;
use codeteam_engine::clock::now;
use codeteam_engine::engine::{ForkSource, RunRequest};
use codeteam_report::describe::short_id;

use crate::cli::baseline::{self, BaselineArg, BaselineOutcome, BaselineStart};
use crate::cli::drive::AnswerSourceArgs;
use crate::cli::run::{LimitArgs, ParticipationArgs, pair};
use crate::cli::talk::{self, DriveRequest};
use crate::cli::{CliContext, decide, drive, run, trust};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `fork`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run to begin from: its id or a part of it. The newest if left out.
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// The moment to begin from: a task or a phase that was done then, or the number of an event.
    /// Now, if left out.
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// Another workflow.
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
    /// Set a value of the configuration for the new run: `limits.max_minutes=30`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// What to do if a check fails before anything is changed.
    #[arg(long, value_enum, value_name = "POLICY")]
    baseline: Option<BaselineArg>,
    /// Leave out what the repository asks for beyond your own configuration.
    #[arg(long)]
    untrusted: bool,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    part: ParticipationArgs,
    #[command(flatten)]
    answering: AnswerSourceArgs,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.as_deref())?;
    let loaded = engine.load_run_view(&id)?;
    decide::refuse_inside_session(&engine, &loaded)?;
    let event = match &args.at {
        None => loaded.seq(),
        Some(moment) => loaded.fork_event(moment).map_err(Problem::user)?,
    };
    let source = engine.fork_source(&id, event)?.ok_or_else(|| {
        Problem::user(format!("{id} has no event {event}")).hint(format!(
            "`codeteam log {id} -v` shows its events with their numbers"
        ))
    })?;
    drop(engine);
    let mut choices = source.choices.clone();
    choices.set.extend(args.set.iter().cloned());
    let is_there = args.answering.answers.is_none() && talk::is_terminal();
    let decided = trust::settle_trust(scene, &choices.set, args.untrusted, is_there)?;
    let named = args.workflow.clone();
    let named = named.map(|name| run::resolve_workflow_name(scene, name));
    // A replaced role belongs to the workflow that it was named for.
    let mut cast = if named.is_some() {
        std::collections::BTreeMap::new()
    } else {
        choices.cast
    };
    cast.extend(args.cast.iter().cloned());
    let script = args.script.as_ref().map(|path| scene.folder.join(path));
    let prepared = decided.project.prepare(&RunRequest {
        goal: source.goal.clone(),
        workflow: named.or(choices.workflow),
        worker: args.worker.clone(),
        script: script.or(source.script.as_ref().map(PathBuf::from)),
        plan: source.plan.clone(),
        base: Some(source.base.clone()),
        limits: args.limits.to_budget_limits(),
        sandbox: None,
        role_replacements: cast,
        settings: args.part.workflow_settings(args.answering.is_answered()),
        hands: Operator::Workers,
        set: choices.set,
        restricted: decided.restricted,
    })?;
    run::check_scripts(&prepared)?;
    let engine = scene.open_engine(decided.project)?;
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
    started.forked_from = Some(Box::new(source.origin.clone()));
    run::print_warnings(scene, &engine, &started)?;
    if scene.detail >= Verbosity::Normal {
        print_origin(&source);
    }
    let task = DriveRequest::Start(Box::new(started));
    drive::drive_run(scene, &engine, task, &args.answering)
}

fn print_origin(source: &ForkSource) {
    let done = source.plan.as_ref().map_or(0, |(_, done)| done.len());
    let tasks = match &source.plan {
        None => "there was no plan yet".to_owned(),
        Some((plan, _)) => match plan.tasks.len() {
            1 => format!("{done} of 1 task is done already"),
            all => format!("{done} of {all} tasks are done already"),
        },
    };
    output::eprint_wrapped(&format!(
        "{}: forked from {} at event {}, on {}; {tasks}",
        TerminalStyle::detect().yellow("note"),
        source.origin.run,
        source.origin.event,
        short_id(source.base.as_str()),
    ));
}
