//! codeteam takes a goal to verified commits with a team of AI workers.
//!
//! The binary is skins over one engine handle. `main` parses, dispatches and turns the result
//! into an exit code; each command is one file below `cli`.

mod cli;
mod exit;
mod output;
mod problem;
mod progress;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let args = cli::Args::parse();
    let style = output::Style::detect();
    match cli::dispatch(args) {
        Ok(exit) => exit.into(),
        Err(problem) => {
            problem.print(style);
            problem.exit().into()
        }
    }
}
