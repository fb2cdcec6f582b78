//! Lets processes go on that somebody else has stopped.
//!
//! A process that got `SIGSTOP` waits until it gets `SIGCONT`: it prints nothing, does not end, and
//! cannot be told from one that is thinking, except by its state. codeteam never stops a process,
//! so a command that stands still was stopped by accident, and goes on when it is noticed.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The interval at which a command that takes long is looked at.
const LOOK: Duration = Duration::from_millis(1_500);

/// The deepest nesting of processes that is followed: sandboxes, and what git starts.
const DEEPEST: usize = 8;

/// The processes of a command that are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopScope {
    /// All of them: git stops nothing that it starts.
    Descendants,
    /// The command itself, and the sandbox around it. A worker may stop what it has started.
    Command,
}

/// Looks from time to time whether a command was stopped.
pub(super) struct StopWatch {
    scope: StopScope,
    /// The time of the next look.
    pub(super) next: Instant,
}

impl StopWatch {
    pub(super) fn begin(scope: StopScope) -> Self {
        Self {
            scope,
            next: Instant::now() + LOOK,
        }
    }

    /// Lets the command go on if it is time to look and somebody has stopped it.
    pub(super) fn look(&mut self, leader: Pid) {
        if Instant::now() >= self.next {
            continue_stopped(leader, self.scope);
            self.next = Instant::now() + LOOK;
        }
    }
}

/// Continues the stopped processes of a command, and returns how many there were. `leader` is the
/// process that codeteam has started: the command itself, or the sandbox around it.
pub(crate) fn continue_stopped(leader: Pid, scope: StopScope) -> usize {
    let mut level = vec![leader.as_raw_pid()];
    let mut continued = 0;
    for _ in 0..DEEPEST {
        let mut below = Vec::new();
        for pid in level {
            let Some((name, state)) = name_and_state(pid) else {
                continue;
            };
            if state == 'T'
                && let Some(stopped) = Pid::from_raw(pid)
                && kill_process(stopped, Signal::CONT).is_ok()
            {
                tracing::warn!("process {pid} ({name}) was stopped by somebody and goes on now");
                continued += 1;
            }
            if scope == StopScope::Descendants || is_sandbox(&name) {
                below.extend(children(pid));
            }
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    continued
}

/// Returns true for the programs that stand around a confined command.
fn is_sandbox(name: &str) -> bool {
    name.starts_with("bwrap") || name.starts_with("codeteam") || name.ends_with("shim")
}

/// Returns the name of a process and its state, such as `T` for stopped.
fn name_and_state(pid: i32) -> Option<(String, char)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name stands in parentheses and may contain some itself.
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name.to_owned(), after.trim_start().chars().next()?))
}

/// Returns the processes that a process has started. Kernels that do not list them list none.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    let lists = threads
        .flatten()
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            let pids = list.split_whitespace().filter_map(|pid| pid.parse().ok());
            pids.collect::<Vec<i32>>()
        })
        .collect()
}
