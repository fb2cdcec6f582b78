//! `codeteam completions`: prints completions for a shell.

use clap::CommandFactory as _;

use crate::exit::Exit;
use crate::output;
use codeteam_engine::problem::Problem;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: clap_complete::Shell,
}

pub(crate) fn main(args: &Args) -> Result<Exit, Problem> {
    let mut text = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut super::Args::command(),
        "codeteam",
        &mut text,
    );
    output::print_text(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
