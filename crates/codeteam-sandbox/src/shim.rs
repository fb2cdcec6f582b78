//! The program that is executed in place of a confined command.
//!
//! It has three uses, single-minded in each:
//!
//! - **outside**, started by the orchestrator: reads what it was told,
//!   opens what bubblewrap is given by file descriptor, sets limits and becomes
//!   bubblewrap, with an empty environment. A process of its own, because in
//!   the orchestrator every descriptor that bubblewrap inherits could leak into
//!   whatever another thread spawns at that moment;
//! - **inside**, as the first process: starts the command, collects what has
//!   ended, and ends when the command does or when the lifeline is cut. The
//!   kernel then kills everything else inside. Being the first process, it
//!   cannot be stopped or killed from inside.
//!
//! - **as a guard**, for a program that is not confined: it becomes that program,
//!   which ends with the process that started it.
//!
//! For a container it does not become the engine but waits for it, outside, and
//! inside it is given by the shim outside what bubblewrap would have handed on.
//!
//! The whole tree hangs on the lifeline and not on signals to children of dead
//! parents (`PR_SET_PDEATHSIG`, `--die-with-parent`), which miss a parent that
//! died just before they were asked for, and which fire when a mere thread of
//! the parent ends.

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
use crate::spec::{CHECK, CONTAINED, GUARD, INNER, OUTER};

/// The name of this code, which changes with it.
pub const BUILD: &str = env!("CODETEAM_SANDBOX_BUILD");

/// Why the shim could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments are not those that [`SandboxBackend::confine`](crate::SandboxBackend::confine) gives.
    #[error("the sandbox shim was called with unknown arguments")]
    Arguments,
    /// A program that is nothing but the shim is not of the caller's build, as
    /// when only one of the two was replaced.
    #[error("the sandbox shim is of another build of codeteam than its caller; install both anew")]
    Build,
    /// The spec could not be read.
    #[error("could not read the sandbox spec `{}`", path.display())]
    Spec {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// One of the standard streams is not what is safe to hand on: a file or a
    /// terminal could be opened anew, with other rights, from inside.
    #[error("file descriptor {fd} of the sandbox shim must be {wanted}")]
    Stream {
        /// Which one.
        fd: i32,
        /// What it has to be.
        wanted: &'static str,
    },
    /// A path of the policy does not exist, or a symbolic link is in its way.
    #[error("could not open `{}` for the sandbox", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something of the policy lies in a directory of the host, at a place that
    /// does not exist or is reached through a symbolic link.
    #[error("nothing can be mounted over `{}`", path.display())]
    Cover {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A path of the policy is not absolute or has `..` in it.
    #[error("`{}` is not a plain absolute path", path.display())]
    NotPlain {
        /// The path.
        path: PathBuf,
    },
    /// The process could not join the cgroup that was made for it.
    #[error("could not join the cgroup `{}`", path.display())]
    Cgroup {
        /// The file that was written to.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A policy without a network names ports.
    #[error("an executor has no network, but its policy names ports to be served")]
    PortsForExecutor,
    /// A port could not be had inside.
    #[error("could not listen on port {port} in the sandbox")]
    Port {
        /// Which one.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The policy cannot be kept by a container engine.
    #[error(transparent)]
    Container(#[from] options::Error),
    /// Another step failed.
    #[error("could not {operation}")]
    System {
        /// What was being done.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A program could not be executed.
    #[error("could not start `{}`", program.display())]
    Start {
        /// Which one.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Does the shim's work; `args` are what follows the entry of the spec. Ends in
/// a new program or in the end of the process; an error is for standard error
/// and has an [exit code](Error::exit_code).
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

/// All that a program does which is nothing but the shim. It serves only callers
/// of the same [`BUILD`], which is its first argument: what they tell it may
/// mean something else to another one.
pub fn program(args: impl IntoIterator<Item = OsString>) -> ExitCode {
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
    // Whoever reads it may be gone.
    let _ = writeln!(stderr(), "{text}");
    ExitCode::from(error.exit_code())
}

impl Error {
    /// What a shell would say: 127 for a command that does not exist inside,
    /// 126 for one that cannot be executed; 125 if it did not come to that.
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
