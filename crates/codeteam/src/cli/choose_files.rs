//! `codeteam choose-files`: the files that matter for an attempt, as JSON, for the `codeteam mcp` that
//! started this.

use codeteam_engine::session;

use super::CliContext;
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

/// Arguments of `choose-files`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run.
    run: String,
    /// The attempt, as JSON.
    attempt: String,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let chosen = match scene.existing()? {
        Some(engine) => session::chosen(&engine, &args.run, &args.attempt)?,
        None => None,
    };
    let chosen = chosen.ok_or_else(|| Problem::user("no such attempt is due"))?;
    output::json(&chosen)?;
    Ok(Exit::Done)
}
