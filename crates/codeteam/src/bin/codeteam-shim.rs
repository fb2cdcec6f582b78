//! What codeteam executes in place of a confined command: nothing but the sandbox's shim.
//!
//! codeteam itself can do the same, and does where this program is missing or of another build. But
//! it is large and linked to shared libraries, and the shim is executed twice for every command.

use std::process::ExitCode;

use codeteam_sandbox::shim;

fn main() -> ExitCode {
    shim::program(std::env::args_os().skip(1))
}
