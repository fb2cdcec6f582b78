//! Exit codes: part of the interface, documented in `codeteam help exit-codes` and docs.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The run failed, or something went wrong.
    Failed = 1,
    /// The command line or a file makes no sense.
    Usage = 2,
    /// A person must decide before the run can go on.
    Waiting = 3,
    /// A limit is reached.
    Limited = 4,
    /// Stopped by the user.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What `--help` says about them.
pub(crate) const HELP: &str = "Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, \
                               4 limit reached, 130 interrupted";
