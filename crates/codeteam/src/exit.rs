//! Exit codes: part of the interface, documented in `codeteam help exit-codes` and docs.

use std::process::ExitCode;

use codeteam_engine::problem::{Problem, ProblemKind};

/// The result of a command, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done = 0,
    /// The run failed, or something went wrong.
    Failed = 1,
    /// The command line or a file is invalid.
    Usage = 2,
    /// A person must decide before the run can continue.
    Waiting = 3,
    /// A limit was reached.
    Limited = 4,
    /// The user stopped it.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&Problem> for Exit {
    fn from(problem: &Problem) -> Self {
        match problem.kind() {
            ProblemKind::User => Self::Usage,
            ProblemKind::Person => Self::Waiting,
            ProblemKind::Environment | ProblemKind::Internal => Self::Failed,
        }
    }
}

/// The text about exit codes in `--help`.
pub(crate) const HELP: &str = "Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, \
                               4 limit reached, 130 interrupted";
