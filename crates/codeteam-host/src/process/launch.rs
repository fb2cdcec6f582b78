//! The interface through which a sandbox confines commands.
//!
//! A launcher decides what is spawned in place of a command, and supplies the guard that keeps it
//! alive. It never spawns anything itself, and it never touches time or output limits.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub use codeteam_sandbox::SandboxProfile;
use codeteam_sandbox::{MountAccess, MountEntry, PathKind};

use super::{CommandSpec, Error, MARK, NetworkAccess};

/// The part of the host that a confined command can see, in addition to the system itself and the
/// toolchains.
#[derive(Debug, Clone, Default)]
pub struct HostView {
    /// The mounts, each laid over the ones before it.
    pub entries: Vec<MountEntry>,
    /// The network the command can reach. An executor never gets one.
    pub network: Option<NetworkAccess>,
}

impl HostView {
    /// Shows a path at its own place. The path may go through the user's own symbolic links; what
    /// is shown is the folder they resolve to now.
    pub fn show(&mut self, path: PathBuf, access: MountAccess) {
        let source = path.canonicalize().unwrap_or_else(|_| path.clone());
        self.entries.push(MountEntry::Bind {
            source,
            target: path,
            access,
        });
    }

    /// Repeats everything that is shown or hidden below `from` at the same place below `to`.
    pub fn show_below(&mut self, from: &Path, to: &Path) {
        let again: Vec<MountEntry> = self
            .entries
            .iter()
            .filter_map(|entry| {
                let place = to.join(entry.target().strip_prefix(from).ok()?);
                let mut entry = entry.clone();
                match &mut entry {
                    MountEntry::Bind { target, .. }
                    | MountEntry::Copy { target, .. }
                    | MountEntry::Scratch { target, .. }
                    | MountEntry::File { target, .. }
                    | MountEntry::Link { target, .. }
                    | MountEntry::Hidden { target, .. } => *target = place,
                }
                Some(entry)
            })
            .collect();
        self.entries.extend(again);
    }

    /// Hides a path inside something that is shown.
    pub fn hide(&mut self, target: PathBuf, kind: PathKind) {
        self.entries.push(MountEntry::Hidden { target, kind });
    }
}

/// Turns a command into one that runs confined.
///
/// [`run_command`](super::run_command) calls [`launch`](Self::launch) once for each start of a
/// command, spawns the [`LaunchSpec`] it gets back, and from then on talks only to the
/// `CommandGuard` in it. `Confinement` is the launcher for sandboxes; [`UnconfinedLauncher`] runs
/// commands with the user's own rights.
pub trait CommandLauncher: Send + Sync {
    /// Returns what to spawn in place of `spec`.
    fn launch(&self, spec: &CommandSpec, profile: SandboxProfile) -> Result<LaunchSpec, Error>;

    /// Is told that a command will be launched in the next moments, and may prepare for it. It
    /// returns at once.
    fn expect_launch(&self) {}

    /// Describes the confinement in one sentence, for people.
    fn describe(&self) -> &str;

    /// Returns the user, who is also the group, to whom the user's own files belong for confined
    /// git commands. `None` if that is not known.
    fn file_owner(&self) -> Option<u32> {
        None
    }
}

/// The process that is really spawned, usually the sandbox around a command.
pub struct LaunchSpec {
    /// The program to spawn.
    pub program: OsString,
    /// The arguments, without the program.
    pub args: Vec<OsString>,
    /// The whole environment, including the mark.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The standard input. A sandbox reads its lifeline here.
    pub stdin: Stdio,
    /// The guard that keeps the command alive; `None` if only its process group and its mark
    /// identify it.
    pub(crate) hold: Option<Box<dyn CommandGuard>>,
}

impl LaunchSpec {
    /// Spawns the process in its own process group, with one stream for standard output and one for
    /// standard error.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that spawns workers, checks and confined git"
    )]
    pub(crate) fn spawn(
        self,
        output: OutputChannel,
    ) -> (PathBuf, PathBuf, io::Result<SpawnedCommand>) {
        let (program, cwd) = (PathBuf::from(self.program), self.cwd);
        let (stdout, stderr) = match (output.open_stream(), output.open_stream()) {
            (Ok(stdout), Ok(stderr)) => (stdout, stderr),
            (Err(error), _) | (_, Err(error)) => return (program, cwd, Err(error)),
        };
        let child = Command::new(&program)
            .args(self.args)
            .current_dir(&cwd)
            .env_clear()
            .envs(self.env)
            .stdin(self.stdin)
            .stdout(stdout.1)
            .stderr(stderr.1)
            .process_group(0)
            .spawn();
        let spawned = child.map(|child| SpawnedCommand {
            child,
            hold: self.hold,
            stdout: stdout.0,
            stderr: stderr.0,
        });
        (program, cwd, spawned)
    }
}

/// The kind of stream a command writes its output to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputChannel {
    /// Pipes, as programs expect.
    Pipes,
    /// Sockets, for output that is trusted to come from the command. Any other process in the
    /// sandbox could reopen a pipe through `/proc` and write to it; a socket can be written only by
    /// the command itself and by processes it passes the socket to.
    Sockets,
}

impl OutputChannel {
    /// Opens a stream and returns our end, unless the child keeps it, and the end for the command.
    fn open_stream(self) -> io::Result<(Option<File>, Stdio)> {
        if self == Self::Pipes {
            return Ok((None, Stdio::piped()));
        }
        let (ours, its) = UnixStream::pair()?;
        let (ours, its) = (OwnedFd::from(ours), OwnedFd::from(its));
        Ok((Some(ours.into()), its.into()))
    }
}

/// A spawned child with its guard, and our ends of its output streams if they are not the child's
/// own pipes.
pub(crate) struct SpawnedCommand {
    pub(crate) child: Child,
    pub(crate) hold: Option<Box<dyn CommandGuard>>,
    pub(crate) stdout: Option<File>,
    pub(crate) stderr: Option<File>,
}

impl SpawnedCommand {
    /// Takes both output streams for reading.
    pub(crate) fn streams(&mut self) -> [Option<File>; 2] {
        let stdout = self.child.stdout.take().map(OwnedFd::from).map(File::from);
        let stderr = self.child.stderr.take().map(OwnedFd::from).map(File::from);
        [stdout.or(self.stdout.take()), stderr.or(self.stderr.take())]
    }
}

/// Keeps a confined command alive. Dropping it ends the command as well.
///
/// The caller calls [`on_spawned`](Self::on_spawned) once after spawning,
/// [`kill_command`](Self::kill_command) when the command has to end or has left processes behind,
/// and [`was_confined`](Self::was_confined) after the end, to tell a failed command from a sandbox
/// that never started.
pub(crate) trait CommandGuard: Send {
    /// Called when the command was spawned: hands it what it needs from outside. Waits no longer
    /// than `patience`, and stops as soon as one of `ends` is readable, which means that the
    /// spawned process has exited or that the command was cancelled.
    fn on_spawned(&mut self, patience: Duration, ends: &[BorrowedFd<'_>]) -> io::Result<()>;

    /// Ends the command and everything it started.
    fn kill_command(&mut self);

    /// Returns true if the sandbox was set up. Otherwise no part of the command was run, and its
    /// standard error holds the sandbox's own error message. Called after the command has ended.
    fn was_confined(&mut self) -> bool;
}

/// Launches commands without any confinement.
#[derive(Debug, Clone, Default)]
pub struct UnconfinedLauncher {
    /// The default environment of a command, the user's `PATH` and `HOME`; the command's own
    /// variables take precedence.
    pub env: Vec<(OsString, OsString)>,
}

impl CommandLauncher for UnconfinedLauncher {
    fn launch(&self, spec: &CommandSpec, _profile: SandboxProfile) -> Result<LaunchSpec, Error> {
        Ok(LaunchSpec {
            program: spec.program.clone(),
            args: spec.args.clone(),
            env: self.env.iter().chain(&spec.env).cloned().collect(),
            cwd: spec.cwd.clone(),
            stdin: Stdio::null(),
            hold: None,
        })
    }

    fn describe(&self) -> &'static str {
        "not confined: workers and gates run with your own rights"
    }
}

/// Returns only the mark, which is the one variable that the process outside the sandbox keeps.
pub(crate) fn keep_mark(env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let is_mark = |(name, _): &&(OsString, OsString)| name == MARK;
    env.iter().filter(is_mark).cloned().collect()
}
