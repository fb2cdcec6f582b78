//! Runs codeteam's own program in another process.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The hidden subcommand that makes codeteam's program act as the sandbox shim, for installations
/// without a separate shim program next to it.
pub const SHIM: &str = "sandbox-shim";

/// Runs codeteam's own program to its end, in its own environment, and returns its output, or
/// `None` if it failed. Doing the work in another process returns the memory it needed to the
/// system; an allocator in this process would keep it.
#[expect(
    clippy::disallowed_methods,
    reason = "this module spawns; the program is codeteam's own"
)]
pub fn run_codeteam<A: AsRef<OsStr>>(
    program: &Path,
    args: impl IntoIterator<Item = A>,
    folder: &Path,
) -> io::Result<Option<Vec<u8>>> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    tracing::debug!("ran {}: {}", program.display(), output.status);
    Ok(output.status.success().then_some(output.stdout))
}
