//! What codeteam's own program is to the sandbox, for the tests.

use std::io::{Write as _, stderr};
use std::process::ExitCode;

use codeteam_engine::confine::{SHIM, shim};
use codeteam_engine::perform::with_causes;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|first| first != SHIM) {
        return ExitCode::from(2);
    }
    let Err(error) = shim::main(args);
    // Whoever reads it may be gone.
    let _ = writeln!(stderr(), "{}", with_causes(&error));
    ExitCode::from(error.exit_code())
}
