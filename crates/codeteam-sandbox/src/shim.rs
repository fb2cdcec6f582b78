//! The program that is executed in place of a confined command.
//!
//! It has three roles:
//!
//! - **outside**, started by the orchestrator: reads its specification, opens what bubblewrap gets
//!   by file descriptor, sets limits and becomes bubblewrap, with an empty environment. This needs
//!   a separate process, because in the orchestrator every descriptor that bubblewrap inherits
//!   could leak into whatever another thread spawns at that moment;
//! - **inside**, as the first process: starts the command, reaps processes that have ended, and
//!   ends when the command does or when the lifeline is cut. The kernel then kills everything else
//!   inside. As the first process, it cannot be stopped or killed from inside;
//! - **as a guard**, for a program that is not confined: it becomes that program, which ends with
//!   the process that started it.
//!
//! For a container, the shim outside does not become the engine but waits for it, and the shim
//! inside gets from it what bubblewrap would have passed on.
//!
//! The whole process tree depends on the lifeline and not on signals to children of dead parents
//! (`PR_SET_PDEATHSIG`, `--die-with-parent`), which miss a parent that died just before they were
//! requested, and which fire when a mere thread of the parent ends.

mod contained;
mod guard;
mod inner;
mod keeper;
mod outer;
mod ports;

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Write as _, stderr};
use std::path::PathBuf;
use std::process::{ExitCode, exit};

use crate::container::options;
use crate::container::options::CONTAINED;
use crate::spec::{CHECK, GUARD, INNER, OUTER};

/// An identifier of this code, which changes with it.
pub const BUILD: &str = env!("CODETEAM_SANDBOX_BUILD");

/// The reason the shim failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments are not those that [`SandboxBackend::confine`](crate::SandboxBackend::confine)
    /// creates.
    #[error("the sandbox shim was called with unknown arguments")]
    Arguments,
    /// The separate shim program is not of the caller's build, for example because only one of the
    /// two was replaced.
    #[error("the sandbox shim is of another build of codeteam than its caller; install both anew")]
    Build,
    /// The specification could not be read.
    #[error("could not read the sandbox spec `{}`", path.display())]
    Spec {
        /// The path of the specification.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// One of the standard streams is not safe to pass on: a file or a terminal could be reopened
    /// from inside, with other rights.
    #[error("file descriptor {fd} of the sandbox shim must be {wanted}")]
    Stream {
        /// The number of the descriptor.
        fd: i32,
        /// A description of what it has to be.
        wanted: &'static str,
    },
    /// A path of the policy does not exist, or contains a symbolic link.
    #[error("could not open `{}` for the sandbox", path.display())]
    Path {
        /// The path that could not be opened.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An entry of the policy lies in a directory of the host, at a path that does not exist or
    /// contains a symbolic link.
    #[error("nothing can be mounted over `{}`", path.display())]
    Cover {
        /// The path of the entry.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A path of the policy is not absolute or contains `..`.
    #[error("`{}` is not a plain absolute path", path.display())]
    NotPlain {
        /// The invalid path.
        path: PathBuf,
    },
    /// The process could not join the cgroup that was created for it.
    #[error("could not join the cgroup `{}`", path.display())]
    Cgroup {
        /// The file that was written to.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A policy without a network lists ports.
    #[error("an executor has no network, but its policy names ports to be served")]
    PortsForExecutor,
    /// The shim could not listen on a port inside.
    #[error("could not listen on port {port} in the sandbox")]
    Port {
        /// The number of the port.
        port: u16,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A container engine cannot implement the policy.
    #[error(transparent)]
    Container(#[from] options::Error),
    /// Another step failed.
    #[error("could not {operation}")]
    System {
        /// The operation, as a verb phrase.
        operation: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A program could not be executed.
    #[error("could not start `{}`", program.display())]
    Start {
        /// The program that was to be executed.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Runs the shim; `args` are the arguments after the entry of the specification. On success it
/// becomes a new program or exits the process; an error is to be printed to standard error and has
/// an [exit code](Error::exit_code).
///
/// Call it first thing in `main`: it expects to be the only thread.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Result<Infallible, Error> {
    let mut args = args.into_iter();
    let role = args.next().ok_or(Error::Arguments)?;
    let mut next = || args.next().ok_or(Error::Arguments);
    if role == OUTER {
        let spec = PathBuf::from(next()?);
        let program = next()?;
        outer::run(&spec, &program, args)
    } else if role == INNER {
        let processes = next()?;
        let ports = next()?;
        let program = next()?;
        inner::run(&processes, &ports, &program, args)
    } else if role == GUARD {
        let parent = next()?;
        let program = next()?;
        guard::run(&parent, &program, args)
    } else if role == CONTAINED {
        contained::run()
    } else if role == CHECK {
        exit(0)
    } else {
        Err(Error::Arguments)
    }
}

/// Runs a program that is nothing but the shim. It serves only callers of the same [`BUILD`], which
/// is its first argument: another build might interpret the specification differently.
pub fn run_standalone(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let done = match args.next() {
        Some(build) if build == BUILD => main(args),
        _ => Err(Error::Build),
    };
    let Err(error) = done;
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    // The reader may be gone.
    let _ = writeln!(stderr(), "{text}");
    ExitCode::from(error.exit_code())
}

impl Error {
    /// Returns the code that a shell would use: 127 for a command that does not exist inside, 126
    /// for one that cannot be executed; 125 if it did not get that far.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Start { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => 127,
                io::ErrorKind::PermissionDenied => 126,
                _ => 125,
            },
            _ => 125,
        }
    }
}

fn system<E: Into<io::Error>>(operation: &'static str) -> impl Fn(E) -> Error {
    move |source| Error::System {
        operation,
        source: source.into(),
    }
}
