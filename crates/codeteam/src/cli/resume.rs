//! `codeteam resume`: continues a run where it stopped.

use std::collections::BTreeMap;

use codeteam_core::ids::StepId;
use codeteam_core::input::{Decision, Input};
use codeteam_core::plan::Plan;
use codeteam_core::workflow::Check;
use codeteam_engine::clock::now;
use codeteam_engine::engine::{CurrentChecks, Engine};
use codeteam_report::view::LoadedRun;
use codeteam_report::{artifacts, rebuild};

use crate::cli::drive::AnswerSourceArgs;
use crate::cli::run::LimitArgs;
use crate::cli::talk::DriveRequest;
use crate::cli::{CliContext, RunName, decide, drive};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, eprint_wrapped};
use crate::progress::Verbosity;
use codeteam_engine::problem::{Problem, describe_request};

/// Arguments of `resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    answering: AnswerSourceArgs,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing_engine()? else {
        return report_lost_log(scene);
    };
    let id = engine.find_run(args.run.run.as_deref())?;
    let run = engine.load_run_view(&id)?;
    if args.limits.has_any() || args.answering.is_answered() {
        decide::refuse_inside_session(&engine, &run)?;
    }
    print_left_out(scene, &engine);
    let mut inputs: Vec<Input> = args
        .limits
        .raise_limits_input(&engine)
        .into_iter()
        .collect();
    inputs.extend(plan_edit_input(&engine, &run)?);
    inputs.extend(changed_checks_input(&engine, &run));
    // A run that has ended may have left worktrees behind when codeteam died; driving it cleans up.
    let task = DriveRequest::Resume(id, inputs);
    drive::drive_run(scene, &engine, task, &args.answering)
}

/// Lists what the repository requests by now and the run continues without.
fn print_left_out(scene: &CliContext, engine: &Engine) {
    if scene.detail < Verbosity::Normal {
        return;
    }
    for request in engine.config.open_requests() {
        let note = TerminalStyle::detect().yellow("note");
        let asked = describe_request(request);
        eprint_wrapped(&format!(
            "{note}: left out, because the repository is not trusted with it (`codeteam trust`): {asked}"
        ));
    }
}

/// Returns the input that makes a hand-edited plan part of the run. A plan that cannot be parsed
/// stops the command before anything happens, and is left alone.
pub(crate) fn plan_edit_input(engine: &Engine, run: &LoadedRun) -> Result<Option<Input>, Problem> {
    if run.is_ended() {
        return Ok(None);
    }
    let plan = hand_edited_plan(engine, run)?;
    Ok(plan.map(|plan| Input::PlanEdited {
        at: now(),
        by: engine.own_identity().person.0,
        plan,
    }))
}

/// Returns the plan from its file, if a person has edited it since the run last wrote it.
pub(crate) fn hand_edited_plan(
    engine: &Engine,
    run: &LoadedRun,
) -> Result<Option<Box<Plan>>, Problem> {
    if !artifacts::plan_was_edited(engine.records(), run.as_run()) {
        return Ok(None);
    }
    let Some(folder) = artifacts::plan_folder(engine.records(), run.as_run()) else {
        return Ok(None);
    };
    let path = folder.join("plan.yml");
    let loaded = engine.read_plan(&path)?;
    eprint_line(&format!("the plan was changed by hand: {}", path.display()));
    Ok(Some(Box::new(loaded.plan)))
}

/// Returns the input that makes a run's gates use the currently configured checks.
fn changed_checks_input(engine: &Engine, run: &LoadedRun) -> Option<Input> {
    if run.is_ended() {
        return None;
    }
    let checks = changed_checks(engine, run);
    (!checks.is_empty()).then(|| Input::Decided {
        at: now(),
        by: engine.own_identity().person.0,
        identity: Some(engine.own_identity()),
        decision: Decision::Repin { checks },
    })
}

/// Returns the checks of gates whose configuration has changed. Reports what takes effect, and what
/// does not.
pub(crate) fn changed_checks(engine: &Engine, run: &LoadedRun) -> BTreeMap<StepId, Vec<Check>> {
    let style = TerminalStyle::detect();
    let note = |text: &str| output::eprint_wrapped(&format!("{}: {text}", style.yellow("note")));
    if let Some(file) = engine.changed_since(run.as_run()) {
        note(&format!(
            "`{}` was changed after the run began: the run keeps its roles, workflow and prompts; \
             `codeteam repin {}` shows what differs and takes it in",
            file.display(),
            run.id
        ));
    }
    match engine.current_checks(run.as_run()) {
        CurrentChecks::Same => BTreeMap::new(),
        CurrentChecks::Changed(checks) => {
            eprint_line(
                "the checks are configured differently now; the run uses them from here on",
            );
            checks
        }
        CurrentChecks::Kept(why) => {
            note(&format!(
                "the run keeps the checks that it began with: {why}"
            ));
            BTreeMap::new()
        }
    }
}

/// Reports that a run cannot be resumed without a log, although its plan can be continued.
fn report_lost_log(scene: &CliContext) -> Result<Exit, Problem> {
    let (repo, head) = Engine::discover(&scene.folder, &scene.env)?;
    let plans = rebuild::find_plans(&repo, &head)?;
    let problem = Problem::user("this project has no log (`.codeteam/state.db`)");
    Err(match plans.first() {
        Some(found) => problem.hint(format!(
            "its plan is there: `codeteam run --plan {}` carries on with what is not done",
            found.path.display()
        )),
        None => problem.hint("`codeteam run \"what you want\"` starts a run"),
    })
}
