//! Passes a text to one of the user's own programs, such as their clipboard.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::find_program;

/// Starts one of the user's own programs, in their environment, and passes it a text on standard
/// input. Returns true if the program exists and exited successfully. Processes that it starts may
/// stay: that is how clipboards work.
#[expect(
    clippy::disallowed_methods,
    reason = "this module spawns; the program is the user's, by name"
)]
pub fn pipe_to_program(
    path: &OsStr,
    program: &str,
    args: &[&str],
    text: &[u8],
) -> io::Result<bool> {
    let Some(program) = find_program(Path::new(program), path) else {
        return Ok(false);
    };
    let mut child = Command::new(&program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let written = child.stdin.take().map(|mut input| input.write_all(text));
    let status = child.wait()?;
    tracing::debug!("ran {} {args:?}: {status}", program.display());
    let did_well = status.success();
    match written {
        // If it exited without reading, its exit status says why.
        Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Some(Ok(())) => Ok(did_well),
        _ => Ok(false),
    }
}
