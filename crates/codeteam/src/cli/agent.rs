//! `codeteam agent`: carry out one assignment, as a worker that codeteam starts.

use std::path::PathBuf;

use codeteam_agent::scripted::{self, DEMO, Source};
use codeteam_engine::perform::with_causes;

use crate::exit::Exit;
use crate::problem::Problem;

/// Arguments of `agent`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The assignment, a JSON file.
    #[arg(long, value_name = "FILE")]
    assignment: PathBuf,
    /// The script to play; the demo's if left out.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

pub(crate) fn main(args: &Args) -> Result<Exit, Problem> {
    let source = match &args.script {
        Some(path) => Source::File(path),
        None => Source::Text {
            name: "the embedded script",
            text: DEMO,
        },
    };
    let mut out = std::io::stdout().lock();
    let code = scripted::play(source, &args.assignment, &mut out)
        // In one line: the last one a worker says is what its run tells of it.
        .map_err(|e| Problem::user(with_causes(&e)))?;
    if code == 0 {
        return Ok(Exit::Done);
    }
    // The script says how the worker ends; that is part of what it plays.
    std::process::exit(code);
}
