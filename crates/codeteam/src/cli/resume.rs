//! `codeteam resume`: take a run up where it stands.

use codeteam_core::input::Input;
use codeteam_engine::engine::Engine;
use codeteam_engine::perform::now;
use codeteam_engine::{artifacts, rebuild};

use crate::cli::drive::Answering;
use crate::cli::run::Limits;
use crate::cli::talk::Task;
use crate::cli::{RunName, Scene, decide, drive};
use crate::exit::Exit;
use crate::output::{Style, say, tell};
use crate::problem::{Problem, in_words};
use crate::progress::Detail;

/// Arguments of `resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    answering: Answering,
}

pub(crate) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
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
    // A run that has ended may have left worktrees when codeteam died: driving it tidies up.
    let task = Task::Resume(id, inputs);
    drive::drive(scene, &engine, task, &args.answering)
}

/// Says what the repository asks for by now and the run goes on without.
fn tell_left_out(scene: &Scene, engine: &Engine) {
    if scene.detail < Detail::Normal {
        return;
    }
    for request in engine.config.open_requests() {
        let note = Style::detect().yellow("note");
        let asked = in_words(request);
        tell(&format!(
            "{note}: left out, because the repository is not trusted with it (`codeteam trust`): {asked}"
        ));
    }
}

/// A plan changed by hand becomes part of the run; one that cannot be read stops the command
/// before anything happens, and is left alone.
pub(crate) fn edited_plan(
    scene: &Scene,
    engine: &Engine,
    run: &codeteam_core::Run,
) -> Result<Option<Input>, Problem> {
    if run.is_terminal() || !artifacts::plan_was_edited(engine, run) {
        return Ok(None);
    }
    let Some(folder) = artifacts::plan_folder(engine, run) else {
        return Ok(None);
    };
    let path = folder.join("plan.yml");
    let loaded = engine.read_plan(&path)?;
    say(&format!("the plan was changed by hand: {}", path.display()));
    let plan = Box::new(loaded.plan);
    Ok(Some(Input::PlanEdited {
        at: now(),
        by: scene.env.user.clone(),
        plan,
    }))
}

/// Without a log a run cannot be resumed, but its plan can be carried on.
fn lost(scene: &Scene) -> Result<Exit, Problem> {
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
