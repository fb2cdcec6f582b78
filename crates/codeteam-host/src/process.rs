//! Runs one command to its end: the only place that spawns workers and gate commands.
//!
//! The module owns the child's process group, its output, its limits and its death. It knows
//! nothing of roles, gates or dialects: it hands lines to a sink, and their meaning is decided
//! elsewhere. It never reads codeteam's own environment; the child gets exactly the one in its
//! [`CommandSpec`].
//!
//! Everything is synchronous. One call of [`run_command`] serves both streams, the child's exit and
//! the cancellation from a single `poll`, so lines reach the sink in the order they arrived, a slow
//! sink slows the child down instead of filling memory, and no thread can be left behind blocked on
//! a pipe.

mod ansi;
mod brief_command;
mod codeteam_program;
mod descriptors;
mod disk;
mod interruption;
mod launch;
mod lines;
mod log_words;
mod mark;
mod network;
mod program;
mod program_input;
mod stopped;
mod streams;
mod supervise;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::cancel::CancelToken;
pub use crate::wait_limit::{WaitError, WaitLimit, WaitLimitScope};
pub(crate) use ansi::to_plain_text;
pub(crate) use brief_command::{BriefCommand, BriefError, BriefOutput};
pub use codeteam_program::{SHIM, run_codeteam};
pub use descriptors::raise_file_limit;
pub use disk::DiskLimit;
pub use interruption::{end_brief_commands, interrupt_brief_commands};
pub(crate) use launch::CommandGuard;
pub use launch::{CommandLauncher, HostView, LaunchSpec, SandboxProfile, UnconfinedLauncher};
pub(crate) use launch::{OutputChannel, SpawnedCommand, keep_mark};
pub(crate) use log_words::LogWords;
pub use mark::unique_mark;
pub use mark::{MARK, kill_marked};
pub use network::{NetworkAccess, NetworkLedger, RefusedHost};
pub use program::{ProgramOutput, find_program, run_program};
pub use program_input::pipe_to_program;
pub(crate) use stopped::{StopScope, continue_stopped};
pub use supervise::run_command;

/// The reason a command could not be run to its end. A command that fails, is killed or runs out of
/// time is not an error: that is reported as its [`CommandExit`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program, or the interpreter its first line names, does not exist.
    #[error("`{}` was not found", program.display())]
    NotFound {
        /// The program as requested.
        program: PathBuf,
    },
    /// The program exists and may not be executed.
    #[error("`{}` may not be executed", program.display())]
    NotExecutable {
        /// The program as requested.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory to run in is missing or is not a directory.
    #[error("cannot run `{}` in `{}`: no such directory", program.display(), cwd.display())]
    NoDirectory {
        /// The program as requested.
        program: PathBuf,
        /// The directory it should have run in.
        cwd: PathBuf,
    },
    /// The program could not be started for another reason.
    #[error("could not start `{}`", program.display())]
    Spawn {
        /// The program as requested.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The environment carries no usable [`MARK`], so leftover processes could not be found again.
    #[error("`{}` was given no `{MARK}` in its environment", program.display())]
    Unmarked {
        /// The program as requested.
        program: PathBuf,
    },
    /// Something killed the sandbox before the command started, on every launch.
    #[error(
        "the sandbox of `{}` was killed {launches} times (signal {signal}) before it was ready, and \
         not by codeteam", program.display()
    )]
    Lost {
        /// The program as requested.
        program: PathBuf,
        /// The number of launches that were tried.
        launches: u32,
        /// The signal that ended the last launch.
        signal: i32,
    },
    /// The sandbox could not be set up for this command.
    #[error("could not confine `{}`: {reason}", program.display())]
    Confine {
        /// The program as requested.
        program: PathBuf,
        /// What is missing, and what to do about it.
        reason: String,
    },
    /// The child did not die within ten seconds of `SIGKILL`.
    #[error("`{}` (process {pid}) does not end, not even by SIGKILL", program.display())]
    Unkillable {
        /// The program as requested.
        program: PathBuf,
        /// The process id of the child.
        pid: i32,
    },
    /// Watching the child failed; it was killed.
    #[error("could not {operation} of `{}`", program.display())]
    Watch {
        /// The program as requested.
        program: PathBuf,
        /// The operation that failed, as a verb phrase.
        operation: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Everything needed to run one command.
///
/// A command inherits nothing from codeteam except what is listed here: [`run_command`] clears the
/// environment and starts from `env`, gives it no standard input (a worker must never wait for a
/// terminal), and a [`CommandLauncher`] shows it only the part of the host named in `view`. The
/// environment must carry a [`MARK`] that is unique to the command, because whatever still carries
/// the mark when the command ends is killed with it.
///
/// Time and output limits are not part of the specification; they are passed as [`CommandLimits`].
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// A path, or a name looked up in the `PATH` of `env`.
    pub program: OsString,
    /// The arguments, without the program.
    pub args: Vec<OsString>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The environment, in addition to the variables that the launcher sets (`PATH`, `HOME`).
    /// [`run_command`] requires [`MARK`] in it.
    pub env: Vec<(OsString, OsString)>,
    /// The part of the host that is visible if the command is confined.
    pub view: HostView,
    /// The limit of what the command may leave on the disk, if there is one.
    pub disk: Option<DiskLimit>,
    /// Whether the command is so short and harmless that a limit for all its processes together is
    /// not worth the milliseconds it takes to set up.
    pub brief: bool,
}

/// The limits of a command's run time and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// The longest time the command may run.
    pub wall: Duration,
    /// The longest time it may write nothing, if that is limited.
    pub silence: Option<Duration>,
    /// The number of bytes kept of one line.
    pub line_bytes: usize,
    /// The number of bytes delivered of each stream.
    pub total_bytes: u64,
    /// The time the command has between `SIGTERM` and `SIGKILL`.
    pub grace: Duration,
}

/// The stream a line was written to.
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
    /// The stream it was written to.
    pub stream: OutputStream,
    /// The bytes as written, without the newline.
    pub raw: &'a [u8],
    /// The same as plain text: see `to_plain_text`.
    pub text: Cow<'a, str>,
    /// Whether the end of the line is missing.
    pub truncated: bool,
}

impl OutputLine<'_> {
    /// Returns true if the command did not write this line: it stands, once per stream, for
    /// everything past [`CommandLimits::total_bytes`].
    pub fn is_limit_marker(&self) -> bool {
        self.truncated && self.raw.is_empty() && !self.text.is_empty()
    }
}

/// The result of a command that was run to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandExit {
    /// The reason the command ended.
    pub status: ExitReason,
    /// Whether somebody else killed the sandbox, so that the exit says nothing about the command
    /// itself.
    pub sandbox_killed: bool,
    /// The number of bytes written to standard output, delivered or not.
    pub stdout_bytes: u64,
    /// The number of bytes written to standard error, delivered or not.
    pub stderr_bytes: u64,
    /// The number of bytes read but not delivered, both streams together.
    pub dropped_bytes: u64,
    /// The time from the start to the last byte.
    pub wall: Duration,
}

/// The reason a command ended. Cancellation and timeouts are recorded by the runner rather than
/// read from the exit code: some workers still report success after `SIGTERM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// It exited by itself with this code.
    Exited(i32),
    /// A signal that codeteam did not send ended it.
    Signalled(i32),
    /// It ran out of [`CommandLimits::wall`] and was killed.
    TimedOut,
    /// It wrote nothing for [`CommandLimits::silence`] and was killed.
    Stalled,
    /// It left more on the disk than [`CommandSpec::disk`] and was killed.
    OverDisk,
    /// [`CancelToken::cancel`] was called and it was killed.
    Cancelled,
}
