//! The only place of this crate that spawns, and what ties this process to its parent.

use std::io::{self, PipeReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The variable in which the binary finds the key of the model API. Processes spawned here do not
/// get it.
const KEY: &str = "CODETEAM_API_KEY";

/// The process group of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessGroup {
    /// The group of this process.
    Shared,
    /// A group of its own, so that it can be killed with its children.
    Own,
}

/// Runs a command with `sh`, with both of its output streams joined into the returned one.
pub(crate) fn spawn_shell(
    command: &str,
    root: &Path,
    group: ProcessGroup,
) -> io::Result<(Child, PipeReader)> {
    let (output, stdout) = io::pipe()?;
    let stderr = stdout.try_clone()?;
    // The `Command` holds the writing ends and must go before the output is
    // read: as long as it stays, the output does not end.
    let mut shell = worktree_command("sh", root);
    if group == ProcessGroup::Own {
        shell.process_group(0);
    }
    let child = shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()?;
    Ok((child, output))
}

/// A program to be started in the work tree.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of this crate that spawns; the worker's confinement holds its children"
)]
pub(crate) fn worktree_command(name: &str, root: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root).env_remove(KEY);
    command
}

/// A worker must never outlive codeteam, however codeteam ends.
#[cfg(target_os = "linux")]
pub(crate) fn die_with_parent() {
    let signal = rustix::process::Signal::KILL;
    // A kernel that refuses leaves the sweep at the next start, which is enough.
    let _ = rustix::process::set_parent_process_death_signal(Some(signal));
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn die_with_parent() {}
