//! The sandbox's shim, which codeteam executes in place of a confined command, as a program of its
//! own.
//!
//! codeteam itself can do the same, and does where this program is missing or of another build. But
//! it is large and dynamically linked, and the shim is executed twice for every command.

use std::process::ExitCode;

use codeteam_sandbox::shim;

fn main() -> ExitCode {
    shim::run_standalone(std::env::args_os().skip(1))
}
