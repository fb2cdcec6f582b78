//! How a command is confined: the one interface the sandbox fills in.
//!
//! A launcher says what is spawned in place of a command, and what holds it to life. It never
//! spawns, and never touches limits of time or output.

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

/// What a confined command is shown of the host, beside the system itself and the toolchains.
#[derive(Debug, Clone, Default)]
pub struct HostView {
    /// Laid over one another in this order.
    pub entries: Vec<MountEntry>,
    /// What it reaches, if it is not an executor.
    pub network: Option<NetworkAccess>,
}

impl HostView {
    /// Shows a path at its own place. The way to it may lead through links of the user's own;
    /// what it leads to now is what is shown.
    pub fn show(&mut self, path: PathBuf, access: MountAccess) {
        let source = path.canonicalize().unwrap_or_else(|_| path.clone());
        self.entries.push(MountEntry::Bind {
            source,
            target: path,
            access,
        });
    }

    /// Shows all that is shown or hidden below one path a second time, below another.
    pub fn show_again(&mut self, from: &Path, to: &Path) {
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

    /// Covers a path that is shown.
    pub fn hide(&mut self, target: PathBuf, kind: PathKind) {
        self.entries.push(MountEntry::Hidden { target, kind });
    }
}

/// Turns a command into one that runs confined.
pub trait CommandLauncher: Send + Sync {
    /// What to spawn in place of `spec`.
    fn launch(&self, spec: &CommandSpec, profile: SandboxProfile) -> Result<LaunchSpec, Error>;

    /// What a person is told about the confinement, in one sentence.
    fn describe(&self) -> &str;
}

/// What is really spawned.
pub struct LaunchSpec {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment, with the mark in it.
    pub env: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// What it reads.
    pub stdin: Stdio,
    /// What holds it to life; `None` if nothing but its process group and its mark does.
    pub hold: Option<Box<dyn CommandGuard>>,
}

impl LaunchSpec {
    /// Spawns it in a process group of its own, with two streams for what it says.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that spawns workers, checks and confined git"
    )]
    pub(crate) fn spawn(
        self,
        output: OutputChannel,
    ) -> (PathBuf, PathBuf, io::Result<SpawnedCommand>) {
        let (program, cwd) = (PathBuf::from(self.program), self.cwd);
        let (stdout, stderr) = match (output.pair(), output.pair()) {
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

/// What a command's streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputChannel {
    /// Pipes, as everybody expects them.
    Pipes,
    /// Sockets. What is said there counts, and nobody but the command itself and what it hands them
    /// to may say it: a pipe can be opened once more through `/proc` by any process beside it, a
    /// socket cannot.
    Sockets,
}

impl OutputChannel {
    /// A stream: the end to read, if it is not the child's own, and the one for the command.
    fn pair(self) -> io::Result<(Option<File>, Stdio)> {
        if self == Self::Pipes {
            return Ok((None, Stdio::piped()));
        }
        let (ours, its) = UnixStream::pair()?;
        let (ours, its) = (OwnedFd::from(ours), OwnedFd::from(its));
        Ok((Some(ours.into()), its.into()))
    }
}

/// A child, what holds it to life, and what it says if that is not in pipes of its own.
pub(crate) struct SpawnedCommand {
    pub(crate) child: Child,
    pub(crate) hold: Option<Box<dyn CommandGuard>>,
    pub(crate) stdout: Option<File>,
    pub(crate) stderr: Option<File>,
}

impl SpawnedCommand {
    /// Both streams, to be read.
    pub(crate) fn streams(&mut self) -> [Option<File>; 2] {
        let stdout = self.child.stdout.take().map(OwnedFd::from).map(File::from);
        let stderr = self.child.stderr.take().map(OwnedFd::from).map(File::from);
        [stdout.or(self.stdout.take()), stderr.or(self.stderr.take())]
    }
}

/// Holds a confined command to life. Dropping it ends the command as well.
pub trait CommandGuard: Send {
    /// The command was spawned: what it needs from outside is given to it now. That is waited for no
    /// longer than `patience`, and not once one of `ends` can be read: what was spawned has ended,
    /// or nobody wants it any more.
    fn started(&mut self, patience: Duration, ends: &[BorrowedFd<'_>]) -> io::Result<()>;

    /// Ends the command and everything it started.
    fn cut(&mut self);

    /// Whether the sandbox came about, now that the command has ended: otherwise nothing of the
    /// command was run, and what is on its standard error is the sandbox's own complaint.
    fn was_confined(&mut self) -> bool;
}

/// No confinement at all.
#[derive(Debug, Clone, Default)]
pub struct UnconfinedLauncher {
    /// What a command that does not say otherwise finds in its environment: the user's `PATH` and
    /// `HOME`.
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

/// The one variable that what is spawned outside keeps.
pub(crate) fn mark_only(env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let is_mark = |(name, _): &&(OsString, OsString)| name == MARK;
    env.iter().filter(is_mark).cloned().collect()
}
