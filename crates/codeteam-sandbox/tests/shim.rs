//! The shim as a program of its own, and an orchestrator to be killed, for the
//! tests and the benchmark.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use codeteam_sandbox::{Lifeline, shim};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|arg| arg == "orchestrate").is_some() {
        return orchestrate(args);
    }
    shim::run_standalone(args)
}

/// Runs this program as the shim and holds its lifeline.
#[expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a part of the tests in a process of its own"
)]
fn orchestrate(args: impl Iterator<Item = OsString>) -> ExitCode {
    let (_lifeline, stdin) = Lifeline::new().unwrap();
    let own = std::env::current_exe().unwrap();
    let mut shim = Command::new(own).args(args).stdin(stdin).spawn().unwrap();
    let code = shim.wait().unwrap().code();
    ExitCode::from(code.and_then(|code| code.try_into().ok()).unwrap_or(1))
}
