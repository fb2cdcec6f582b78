//! Runs the commands of a script.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::ExitStatus;

use super::Error;
use crate::process::{self, ProcessGroup};

/// Runs a command with `sh` and hands on what it prints, both streams as one.
/// Waits until the output is closed, so what a command leaves in the background
/// has to redirect its own.
pub(super) fn run_command(
    command: &str,
    root: &Path,
    sink: &mut dyn FnMut(&str) -> Result<(), Error>,
) -> Result<ExitStatus, Error> {
    let failed = |source| Error::Action {
        action: "run",
        subject: command.to_owned(),
        source,
    };
    let (mut child, output) =
        process::spawn_shell(command, root, ProcessGroup::Shared).map_err(failed)?;
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        sink(&String::from_utf8_lossy(line.trim_ascii_end()))?;
        line.clear();
    }
    child.wait().map_err(failed)
}
