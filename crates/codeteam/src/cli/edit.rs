//! `codeteam edit`: lets a person edit the change that is to be judged, from any terminal.

use crate::cli::{CliContext, RunName, decide, talk};
use crate::exit::Exit;
use codeteam_engine::problem::Problem;

/// Arguments of `edit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// The task whose change is meant, if several wait for judgement.
    #[arg(long)]
    task: Option<String>,
    /// Work in a shell instead of your editor.
    #[arg(long)]
    shell: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_work_run(args.run.run.as_deref())?;
    let run = engine.load_run_view(&id)?;
    decide::refuse_inside_session(&engine, &run)?;
    let question = decide::find_question(&run, args.task.as_deref())?;
    match talk::edit_from_terminal(&engine, &run, question, args.shell)? {
        None => Ok(Exit::Done),
        Some(decision) => decide::post_decision(scene, &engine, &id, &decision),
    }
}
