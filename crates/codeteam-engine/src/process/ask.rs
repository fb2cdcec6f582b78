//! Has a program of the user's own do something, and hears what it says.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::plain;
use crate::workers::probe;

/// What came of it.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Whether it says that it did well.
    pub did_well: bool,
    /// What it printed, errors last.
    pub said: String,
}

/// Runs a program of the user's own to its end, in their own environment and without a terminal.
/// `None` if there is no such program.
#[expect(
    clippy::disallowed_methods,
    reason = "this module spawns; the program is the user's, by name"
)]
pub fn ask(
    path: &OsStr,
    program: &str,
    args: &[String],
    folder: &Path,
) -> io::Result<Option<ProgramOutput>> {
    let Some(program) = probe::find(Path::new(program), path) else {
        return Ok(None);
    };
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    let printed = [output.stdout, output.stderr].concat();
    // Some colour what they say though there is no terminal.
    let lines: Vec<_> = printed.split(|byte| *byte == b'\n').map(plain).collect();
    Ok(Some(ProgramOutput {
        did_well: output.status.success(),
        said: lines.join("\n").trim().to_owned(),
    }))
}
