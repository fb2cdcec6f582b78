//! Gives a text to a program of the user's: what they pass on to their clipboard.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::workers::probe;

/// Starts a program of the user's own, in their own environment, and hands it a text as its standard
/// input. Whether it was there and did well. What it starts in turn may stay: that is how clipboards
/// work.
#[expect(
    clippy::disallowed_methods,
    reason = "this module spawns; the program is the user's, by name"
)]
pub fn feed(path: &OsStr, program: &str, args: &[&str], text: &[u8]) -> io::Result<bool> {
    let Some(program) = probe::find(Path::new(program), path) else {
        return Ok(false);
    };
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let written = child.stdin.take().map(|mut input| input.write_all(text));
    let did_well = child.wait()?.success();
    match written {
        // One that ended without reading says so by how it ended.
        Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Some(Ok(())) => Ok(did_well),
        _ => Ok(false),
    }
}
