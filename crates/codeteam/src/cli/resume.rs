//! `codeteam resume`: take a run up where it stands.

use std::collections::BTreeMap;

use codeteam_core::Run;
use codeteam_core::ids::StepId;
use codeteam_core::input::{Decision, Input};
use codeteam_core::plan::Plan;
use codeteam_core::workflow::Check;
use codeteam_engine::engine::{CurrentChecks, Engine};
use codeteam_engine::perform::now;
use codeteam_engine::{artifacts, rebuild};

use crate::cli::drive::AnswerSourceArgs;
use crate::cli::run::LimitArgs;
use crate::cli::talk::DriveRequest;
use crate::cli::{CliContext, RunName, decide, drive};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, say, tell};
use crate::problem::{Problem, in_words};
use crate::progress::Verbosity;

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
    let Some(engine) = scene.existing()? else {
        return lost(scene);
    };
    let id = engine.find(args.run.run.as_deref())?;
    let run = engine.load(&id)?;
    if args.limits.any() || args.answering.is_answered() {
        decide::outside(&engine, &run)?;
    }
    tell_left_out(scene, &engine);
    let mut inputs: Vec<Input> = args.limits.raised(scene).into_iter().collect();
    inputs.extend(edited_plan(scene, &engine, &run)?);
    inputs.extend(edited_checks(scene, &engine, &run));
    // A run that has ended may have left worktrees when codeteam died: driving it tidies up.
    let task = DriveRequest::Resume(id, inputs);
    drive::drive(scene, &engine, task, &args.answering)
}

/// Says what the repository asks for by now and the run goes on without.
fn tell_left_out(scene: &CliContext, engine: &Engine) {
    if scene.detail < Verbosity::Normal {
        return;
    }
    for request in engine.config.open_requests() {
        let note = TerminalStyle::detect().yellow("note");
        let asked = in_words(request);
        tell(&format!(
            "{note}: left out, because the repository is not trusted with it (`codeteam trust`): {asked}"
        ));
    }
}

/// A plan changed by hand becomes part of the run; one that cannot be read stops the command
/// before anything happens, and is left alone.
pub(crate) fn edited_plan(
    scene: &CliContext,
    engine: &Engine,
    run: &Run,
) -> Result<Option<Input>, Problem> {
    if run.is_terminal() {
        return Ok(None);
    }
    let plan = plan_by_hand(engine, run)?;
    Ok(plan.map(|plan| Input::PlanEdited {
        at: now(),
        by: scene.env.user.clone(),
        plan,
    }))
}

/// The plan as its file has it, if a person changed that since the run last wrote it.
pub(crate) fn plan_by_hand(engine: &Engine, run: &Run) -> Result<Option<Box<Plan>>, Problem> {
    if !artifacts::plan_was_edited(engine, run) {
        return Ok(None);
    }
    let Some(folder) = artifacts::plan_folder(engine, run) else {
        return Ok(None);
    };
    let path = folder.join("plan.yml");
    let loaded = engine.read_plan(&path)?;
    say(&format!("the plan was changed by hand: {}", path.display()));
    Ok(Some(Box::new(loaded.plan)))
}

/// Has a run's gates check what is configured now.
fn edited_checks(scene: &CliContext, engine: &Engine, run: &Run) -> Option<Input> {
    if run.is_terminal() {
        return None;
    }
    let checks = checks_by_hand(engine, run);
    (!checks.is_empty()).then(|| Input::Decided {
        at: now(),
        by: scene.env.user.clone(),
        decision: Decision::Repin { checks },
    })
}

/// The checks of gates that are configured otherwise now. Says what takes effect, and what does not.
pub(crate) fn checks_by_hand(engine: &Engine, run: &Run) -> BTreeMap<StepId, Vec<Check>> {
    let style = TerminalStyle::detect();
    let note = |text: &str| output::tell(&format!("{}: {text}", style.yellow("note")));
    if let Some(file) = engine.changed_since(run) {
        note(&format!(
            "`{}` was changed after the run began: the run keeps its roles, workflow and prompts; \
             `codeteam run` starts one with the new ones",
            file.display()
        ));
    }
    match engine.current_checks(run) {
        CurrentChecks::Same => BTreeMap::new(),
        CurrentChecks::Changed(checks) => {
            say("the checks are configured otherwise now; the run goes by them from here on");
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

/// Without a log a run cannot be resumed, but its plan can be carried on.
fn lost(scene: &CliContext) -> Result<Exit, Problem> {
    let (repo, head) = Engine::discover(&scene.folder, &scene.env)?;
    let plans = rebuild::plans(&repo, &head)?;
    let problem = Problem::user("this project has no log (`.codeteam/state.db`)");
    Err(match plans.first() {
        Some(found) => problem.hint(format!(
            "its plan is there: `codeteam run --plan {}` carries on with what is not done",
            found.path.display()
        )),
        None => problem.hint("`codeteam run \"what you want\"` starts a run"),
    })
}
