//! Runs one command to its end: the only place that spawns workers and gate
//! commands.
//!
//! It owns the child's process group, its output, its limits and its death. It
//! knows nothing of roles, gates or dialects: lines go to a sink, and what they
//! mean is decided elsewhere. It never reads codeteam's own environment; the
//! child gets exactly the one in its [`CommandSpec`].
//!
//! Everything is synchronous. One call of [`run`] serves both streams, the
//! child's exit and the cancellation from a single `poll`, so lines reach the
//! sink in the order they arrived, a slow sink slows the child down instead of
//! filling memory, and no thread can be left behind blocked on a pipe.

mod ansi;
mod ask;
mod brief;
mod cancel;
mod descriptors;
mod disk;
mod feed;
mod launch;
mod lines;
mod mark;
mod network;
mod own;
mod patience;
mod streams;
mod supervise;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use ansi::plain;
pub use ask::{ProgramOutput, ask};
pub(crate) use brief::{BriefCommand, BriefError, BriefOutput};
pub use cancel::CancelToken;
pub(crate) use descriptors::allow_many as allow_many_files;
pub use disk::DiskLimit;
pub use feed::feed;
pub use launch::{
    CommandGuard, CommandLauncher, HostView, LaunchSpec, SandboxProfile, UnconfinedLauncher,
};
pub(crate) use launch::{OutputChannel, SpawnedCommand, mark_only};
pub(crate) use mark::own as own_mark;
pub use mark::{MARK, sweep};
pub use network::{NetworkAccess, NetworkLedger, RefusedHost};
pub use own::own;
pub(crate) use patience::{WaitError, WaitLimit};
pub use supervise::run;

/// Why a command could not be run to its end. A command that fails, is killed
/// or runs out of time is not an error: that is its [`CommandExit`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program, or the interpreter its first line names, does not exist.
    #[error("`{}` was not found", program.display())]
    NotFound {
        /// The program as it was asked for.
        program: PathBuf,
    },
    /// The program exists and may not be executed.
    #[error("`{}` may not be executed", program.display())]
    NotExecutable {
        /// The program as it was asked for.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory to run in is missing or is no directory.
    #[error("cannot run `{}` in `{}`: no such directory", program.display(), cwd.display())]
    NoDirectory {
        /// The program as it was asked for.
        program: PathBuf,
        /// The directory it should have run in.
        cwd: PathBuf,
    },
    /// The program could not be started for another reason.
    #[error("could not start `{}`", program.display())]
    Spawn {
        /// The program as it was asked for.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The environment carries no usable [`MARK`], so leftovers could not be
    /// found again.
    #[error("`{}` was given no `{MARK}` in its environment", program.display())]
    Unmarked {
        /// The program as it was asked for.
        program: PathBuf,
    },
    /// Something kills the sandbox before the command is started, again and again.
    #[error(
        "the sandbox of `{}` was killed {launches} times (signal {signal}) before it was ready, and \
         not by codeteam", program.display()
    )]
    Lost {
        /// The program as it was asked for.
        program: PathBuf,
        /// How often it was launched.
        launches: u32,
        /// What killed it the last time.
        signal: i32,
    },
    /// The sandbox could not be set up for this command.
    #[error("could not confine `{}`: {reason}", program.display())]
    Confine {
        /// The program as it was asked for.
        program: PathBuf,
        /// What is missing, and what to do about it.
        reason: String,
    },
    /// The child did not die of `SIGKILL` within any reasonable time.
    #[error("`{}` (process {pid}) does not end, not even by SIGKILL", program.display())]
    Unkillable {
        /// The program as it was asked for.
        program: PathBuf,
        /// Its process id.
        pid: i32,
    },
    /// Watching the child failed; it was killed.
    #[error("could not {operation} of `{}`", program.display())]
    Watch {
        /// The program as it was asked for.
        program: PathBuf,
        /// What was being done.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// A command, complete: nothing is inherited from codeteam but what is written
/// here. It reads nothing: no worker may ever wait for a terminal.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// A path, or a name looked up in the `PATH` of `env`.
    pub program: OsString,
    /// The arguments, without the program.
    pub args: Vec<OsString>,
    /// The directory to run in.
    pub cwd: PathBuf,
    /// The environment, beside what the launcher knows best (`PATH`, `HOME`). It must contain
    /// [`MARK`] to be [`run`].
    pub env: Vec<(OsString, OsString)>,
    /// What it sees of the host if it is confined.
    pub view: HostView,
    /// How much it may leave on the disk, if that is limited.
    pub disk: Option<DiskLimit>,
    /// Whether it is so short and tame that a limit for all its processes together is not worth
    /// the milliseconds it takes to set up.
    pub brief: bool,
}

/// How much a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// How long it may run.
    pub wall: Duration,
    /// How long it may say nothing, if that is limited.
    pub silence: Option<Duration>,
    /// How much of one line is kept.
    pub line_bytes: usize,
    /// How much of each stream is delivered.
    pub total_bytes: u64,
    /// How long it may take to end between `SIGTERM` and `SIGKILL`.
    pub grace: Duration,
}

/// Where a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine<'a> {
    /// Where it was written.
    pub stream: OutputStream,
    /// The bytes as written, without the newline.
    pub raw: &'a [u8],
    /// The same as a person would read it: see [`plain`].
    pub text: Cow<'a, str>,
    /// Whether something is missing at its end.
    pub truncated: bool,
}

impl OutputLine<'_> {
    /// Whether this line was not written by the command but stands, once per
    /// stream, for everything past [`CommandLimits::total_bytes`].
    pub fn is_limit_marker(&self) -> bool {
        self.truncated && self.raw.is_empty() && !self.text.is_empty()
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandExit {
    /// The way it ended.
    pub status: ExitReason,
    /// Whether somebody else killed the sandbox it ran in, so that its end says nothing of it.
    pub lost: bool,
    /// Everything it wrote to standard output, delivered or not.
    pub stdout_bytes: u64,
    /// Everything it wrote to standard error, delivered or not.
    pub stderr_bytes: u64,
    /// What was read and not delivered, both streams together.
    pub dropped_bytes: u64,
    /// How long it took, from the start to the last byte.
    pub wall: Duration,
}

/// The way a command ended. A cancellation and a timeout are recorded by the
/// runner: after `SIGTERM` some workers still report success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// It ended by itself with this code.
    Exited(i32),
    /// A signal that codeteam did not send ended it.
    Signalled(i32),
    /// It ran out of [`CommandLimits::wall`] and was killed.
    TimedOut,
    /// It said nothing for [`CommandLimits::silence`] and was killed.
    Stalled,
    /// It left more on the disk than [`CommandSpec::disk`] and was killed.
    OverDisk,
    /// [`CancelToken::cancel`] was called and it was killed.
    Cancelled,
}
