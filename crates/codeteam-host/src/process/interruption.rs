//! Ends the short commands that run when codeteam is interrupted, with every process they started: a
//! git that waits for a filter of the user's would keep codeteam waiting, or outlive it.
//!
//! Whoever handles signals calls [`interrupt_brief_commands`] for the first one, after which a
//! command has only [`LAST`] left, and [`end_brief_commands`] before the process exits. Commands
//! that must not be interrupted half-way ([`WaitLimit::obeys_interruption`]) take no part.
//!
//! [`WaitLimit::obeys_interruption`]: super::WaitLimit::obeys_interruption

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::CancelToken;

/// How long a command may take after the interruption: the calls with which an interrupted run is
/// closed need a moment.
pub(super) const LAST: Duration = Duration::from_secs(3);

/// How long a command may take to exit between `SIGTERM` and `SIGKILL` when codeteam exits.
const GRACE: Duration = Duration::from_secs(1);

/// The interval at which commands that were told to exit are looked at.
const LOOK: Duration = Duration::from_millis(10);

static INTERRUPTION: LazyLock<CancelToken> = LazyLock::new(CancelToken::new);

/// The leaders of the process groups that may be ended.
static LEADERS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn leaders() -> MutexGuard<'static, Vec<Pid>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the token that is cancelled by the interruption.
pub(super) fn interruption() -> &'static CancelToken {
    &INTERRUPTION
}

/// Gives every short command that runs or is started from now on little time.
pub fn interrupt_brief_commands() {
    INTERRUPTION.cancel();
}

/// Ends every short command that runs, with its process group. Call it right before the process
/// exits.
pub fn end_brief_commands() {
    // As long as this is locked no command is reaped, so no id can mean another process.
    let leaders = leaders();
    for leader in leaders.iter() {
        // On SIGTERM git removes its lock files.
        let _ = kill_process_group(*leader, Signal::TERM);
    }
    let until = Instant::now() + GRACE;
    while leaders.iter().any(|leader| is_running(*leader)) && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
    for leader in leaders.iter() {
        let _ = kill_process_group(*leader, Signal::KILL);
    }
}

fn is_running(leader: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    matches!(
        waitid(WaitId::Pid(leader), options),
        Ok(None) | Err(Errno::INTR)
    )
}

/// Lists a command among those that are ended with codeteam, until this is dropped, which must
/// happen before the command is reaped.
pub(super) struct EndableCommand(Pid);

impl EndableCommand {
    pub(super) fn register(leader: Pid) -> Self {
        leaders().push(leader);
        Self(leader)
    }
}

impl Drop for EndableCommand {
    fn drop(&mut self) {
        leaders().retain(|leader| *leader != self.0);
    }
}
