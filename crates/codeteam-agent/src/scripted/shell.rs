//! Runs the commands of a script: the only place of this crate that spawns.

use std::io::{self, BufRead as _, BufReader, PipeReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::Error;

/// Runs a command with `sh` and hands on what it prints, both streams as one.
/// Waits until the output is closed, so what a command leaves in the background
/// has to redirect its own.
pub(super) fn run(
    command: &str,
    root: &Path,
    sink: &mut dyn FnMut(&str) -> Result<(), Error>,
) -> Result<ExitStatus, Error> {
    let failed = |source| Error::Action {
        action: "run",
        subject: command.to_owned(),
        source,
    };
    let (mut child, output) = spawn(command, root).map_err(failed)?;
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        sink(&String::from_utf8_lossy(line.trim_ascii_end()))?;
        line.clear();
    }
    child.wait().map_err(failed)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place of this crate that spawns; the worker's confinement holds its children"
)]
fn spawn(command: &str, root: &Path) -> io::Result<(Child, PipeReader)> {
    let (output, stdout) = io::pipe()?;
    let stderr = stdout.try_clone()?;
    // The `Command` holds the writing ends and must go before the output is
    // read: as long as it stays, the output does not end.
    let child = Command::new("sh")
        .args(["-c", command])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()?;
    Ok((child, output))
}
