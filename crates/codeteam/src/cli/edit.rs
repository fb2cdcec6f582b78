//! `codeteam edit`: change what is to be judged yourself, from any terminal.

use crate::cli::{CliContext, RunName, decide, talk};
use crate::exit::Exit;
use crate::problem::Problem;

/// Arguments of `edit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Which task's change, if several are to be judged.
    #[arg(long)]
    task: Option<String>,
    /// Work in a shell instead of your editor.
    #[arg(long)]
    shell: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let id = engine.find_work(args.run.run.as_deref())?;
    let run = engine.load(&id)?;
    decide::outside(&engine, &run)?;
    let question = decide::question(&run, args.task.as_deref())?;
    match talk::edit(&engine, &run, question, args.shell)? {
        None => Ok(Exit::Done),
        Some(decision) => decide::post(scene, &engine, &id, &decision),
    }
}
