//! codeteam takes a goal to verified commits with a team of AI workers.
//!
//! The binary is a thin layer over the engine. `main` parses the command line, dispatches, and
//! turns the result into an exit code; each command is one file below `cli`.

mod cli;
mod exit;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser as _;
use codeteam_host::confine;
use codeteam_host::error_chain::format_error_chain;

use self::exit::Exit;
use self::output::print_problem;

fn main() -> ExitCode {
    // This must come first: the sandbox executes this program as its shim, which must be
    // single-threaded.
    if let Some(code) = shim() {
        return code;
    }
    let args = cli::Args::parse();
    let style = output::TerminalStyle::detect();
    match cli::dispatch(args) {
        Ok(exit) => {
            tracing::info!("ends with {exit:?}");
            exit.into()
        }
        Err(problem) => {
            tracing::error!("ends with an error: {}", problem.lines().join("; "));
            print_problem(&problem, style);
            if cli::was_interrupted() {
                return Exit::Interrupted.into();
            }
            Exit::from(&problem).into()
        }
    }
}

/// Does the work of the sandbox's shim, if this process was started for that. It returns an exit
/// code only if something is wrong.
fn shim() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != codeteam_host::process::SHIM {
        return None;
    }
    let Err(error) = confine::shim::main(args);
    output::eprint_line(&format_error_chain(&error));
    Some(ExitCode::from(error.exit_code()))
}
