//! Runs an unconfined program that must not outlive its parent: git, which can wait for ever for a
//! file that is a pipe.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, exit};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use super::{Error, system};

/// The exit code if the parent is already gone.
const GONE: i32 = 125;

/// Becomes the program, which receives a signal to end when the thread that started it does. The
/// setting survives the change of programs.
#[expect(
    clippy::disallowed_methods,
    reason = "no process is spawned: this one becomes the program"
)]
pub(super) fn run(
    parent: &OsStr,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, Error> {
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(system("hang on to the parent"))?;
    // The parent may have ended before the setting was made.
    let now = getppid().map(Pid::as_raw_pid);
    if now.map(|pid| pid.to_string()).as_deref() != parent.to_str() {
        exit(GONE);
    }
    let source = Command::new(program).args(args).exec();
    Err(Error::Start {
        program: program.into(),
        source,
    })
}
