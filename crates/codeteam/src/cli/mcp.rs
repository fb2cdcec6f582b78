//! `codeteam mcp`: lead the session of an MCP client through a task.

use std::time::Duration;

use crate::cli::Scene;
use crate::exit::Exit;
use crate::mcp::{self, Place};
use crate::problem::Problem;

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many seconds a call waits for checks before it answers that they still run.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    wait: u64,
}

pub(crate) fn main(args: &Args, scene: Scene) -> Result<Exit, Problem> {
    let place = Place {
        folder: scene.folder,
        env: scene.env,
        codeteam: scene.codeteam,
        call: scene.calls.codeteam,
    };
    mcp::serve(place, Duration::from_secs(args.wait))
        .map_err(|e| Problem::environment("could not serve MCP").caused_by(&e))?;
    Ok(Exit::Done)
}
