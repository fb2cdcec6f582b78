//! `codeteam choose-files`: prints the files that matter for an attempt, as JSON. The `codeteam
//! mcp` that needs them starts this process.

use codeteam_engine::session;

use super::CliContext;
use crate::exit::Exit;
use crate::output;
use codeteam_engine::problem::Problem;

/// Arguments of `choose-files`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run.
    run: String,
    /// The attempt, as JSON.
    attempt: String,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let chosen = match scene.existing_engine()? {
        Some(engine) => session::files_for_attempt(&engine, &args.run, &args.attempt)?,
        None => None,
    };
    let chosen = chosen.ok_or_else(|| Problem::user("no such attempt is due"))?;
    output::print_json(&chosen)?;
    Ok(Exit::Done)
}
