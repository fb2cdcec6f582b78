//! codeteam takes a goal to verified commits with a team of AI workers.
//!
//! The binary is skins over one engine handle. `main` parses, dispatches and turns the result
//! into an exit code; each command is one file below `cli`.

mod cli;
mod exit;
mod mcp;
mod output;
mod problem;
mod progress;

use std::process::ExitCode;

use clap::Parser as _;
use codeteam_engine::confine;
use codeteam_engine::perform::with_causes;

fn main() -> ExitCode {
    // Before anything else: the sandbox starts this program in its own place, and it must be the
    // only thread then.
    if let Some(code) = shim() {
        return code;
    }
    let args = cli::Args::parse();
    let style = output::TerminalStyle::detect();
    match cli::dispatch(args) {
        Ok(exit) => exit.into(),
        Err(problem) => {
            problem.print(style);
            problem.exit().into()
        }
    }
}

/// Does the work of the sandbox's shim, if that is what this process was started for. It comes back
/// only if something is wrong.
fn shim() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != confine::SHIM {
        return None;
    }
    let Err(error) = confine::shim::main(args);
    output::say(&with_causes(&error));
    Some(ExitCode::from(error.exit_code()))
}
