//! The stand-in for codeteam's own program that the sandbox uses in tests.

use std::io::{Write as _, stderr};
use std::process::ExitCode;

use codeteam_host::confine::shim;
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::process::SHIM;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|first| first != SHIM) {
        return ExitCode::from(2);
    }
    let Err(error) = shim::main(args);
    // Whoever reads it may be gone.
    let _ = writeln!(stderr(), "{}", format_error_chain(&error));
    ExitCode::from(error.exit_code())
}
