//! Finds processes again by the mark in their environment.
//!
//! Workers start their tools in new sessions, so a process group does not hold everything an
//! attempt started; and after codeteam itself was killed, nothing is left that knew the group.
//! Every descendant inherits the mark unless it clears its environment on purpose (the sandbox
//! takes care of those).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

pub use codeteam_sandbox::MARK;

/// A process that is being torn down still shows its environment for a moment; this is the pause
/// before the next look.
const SETTLE: Duration = Duration::from_millis(1);

/// A process that hangs in the kernel shows its environment for ever; give up on it after this
/// time.
const GIVE_UP: Duration = Duration::from_secs(2);

/// The room for the environment of one process.
const ROOM: usize = 32 << 10;

/// Returns a mark that nothing else in this process uses. Commands that run in parallel each need
/// their own: when one ends, everything that carries its mark is killed.
pub fn unique_mark(what: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{what}/{}/{n}", std::process::id())
}

/// Kills every process of this user whose mark lies under `mark_prefix`, repeating until none is
/// left, and returns how many there were.
///
/// Marks are paths: a prefix covers itself and what follows it after a slash. `run-1` (or `run-1/`,
/// which is the same) covers `run-1` and `run-1/task-2` but not `run-10`. An empty prefix covers
/// nothing. The calling process is never killed. Without `/proc` nothing is found.
pub fn kill_marked(mark_prefix: &str) -> usize {
    kill_marked_among(mark_prefix, None)
}

/// Does the same, but only among processes younger than `oldest`, since it can have started no
/// others. A machine may have thousands of older processes, and this runs after every command.
pub(super) fn kill_marked_since(mark_prefix: &str, oldest: Pid) -> usize {
    kill_marked_among(mark_prefix, Some(oldest))
}

fn kill_marked_among(mark_prefix: &str, oldest: Option<Pid>) -> usize {
    let prefix = mark_prefix.trim_end_matches('/').as_bytes();
    if prefix.is_empty() {
        return 0;
    }
    let started = Instant::now();
    let mut killed = BTreeSet::new();
    loop {
        let found = marked_processes(prefix, oldest);
        if found.is_empty() || started.elapsed() > GIVE_UP {
            return killed.len();
        }
        for pid in found {
            kill(pid, prefix);
            killed.insert(pid.as_raw_pid());
        }
        thread::sleep(SETTLE);
    }
}

/// Returns the mark in an environment; if it is set twice, the later entry counts.
pub(super) fn mark_in(env: &[(OsString, OsString)]) -> Option<&str> {
    env.iter()
        .rfind(|(name, _)| name == OsStr::new(MARK))
        .and_then(|(_, value)| value.to_str())
        .filter(|mark| !mark.trim_end_matches('/').is_empty())
}

fn marked_processes(prefix: &[u8], oldest: Option<Pid>) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    // Process ids count up until they wrap around; after a wrap every process is checked.
    let oldest = oldest.map_or(0, Pid::as_raw_pid);
    let from = if newest_pid().is_some_and(|newest| newest >= oldest) {
        oldest
    } else {
        0
    };
    let user = rustix::process::geteuid().as_raw();
    let mut environ = Vec::new();
    let itself = rustix::process::getpid();
    entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<i32>().ok()?, entry)))
        .filter(|(pid, _)| *pid > from)
        .filter(|(_, entry)| entry.metadata().is_ok_and(|found| found.uid() == user))
        .filter_map(|(pid, _)| Pid::from_raw(pid))
        .filter(|pid| *pid != itself && carries_mark(*pid, prefix, &mut environ))
        .collect()
}

/// Returns the process id that the kernel assigned last.
fn newest_pid() -> Option<i32> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().last()?.parse().ok()
}

/// Returns true if the process carries a mark under `prefix` now. Zombies carry none. `environ` is
/// room for its environment.
fn carries_mark(pid: Pid, prefix: &[u8], environ: &mut Vec<u8>) -> bool {
    read_environ(pid, environ).is_ok()
        && environ
            .split(|byte| *byte == 0)
            .any(|entry| is_mark_under(prefix, entry))
}

/// Reads the environment of a process. The kernel does not say how long it is, and this is done for
/// many processes, so there is room for an ordinary one at once.
fn read_environ(pid: Pid, environ: &mut Vec<u8>) -> io::Result<()> {
    environ.clear();
    environ.reserve(ROOM);
    let mut file = File::open(format!("/proc/{}/environ", pid.as_raw_pid()))?;
    file.read_to_end(environ)?;
    Ok(())
}

/// Returns true if a `NAME=value` entry is a mark under the prefix.
fn is_mark_under(prefix: &[u8], entry: &[u8]) -> bool {
    entry
        .strip_prefix(OsStr::new(MARK).as_bytes())
        .and_then(|rest| rest.strip_prefix(b"="))
        .and_then(|mark| mark.strip_prefix(prefix))
        .is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

/// Kills the process if it is still the one that was found. The pidfd pins it, so the signal cannot
/// hit another process that was given the same id in between.
#[cfg(target_os = "linux")]
fn kill(pid: Pid, prefix: &[u8]) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) if carries_mark(pid, prefix, &mut Vec::new()) => {
            // It may be gone already; the next round checks again.
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
        // The kernel or the container has no pidfds.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        _ => {}
    }
}

#[cfg(not(target_os = "linux"))]
fn kill(pid: Pid, _prefix: &[u8]) {
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_at_a_boundary() {
        assert!(is_mark_under(b"run-1", b"CODETEAM_MARK=run-1"));
        assert!(is_mark_under(b"run-1", b"CODETEAM_MARK=run-1/task-2/1"));
        assert!(!is_mark_under(b"run-1", b"CODETEAM_MARK=run-10"));
        assert!(!is_mark_under(b"run-1", b"CODETEAM_MARK=other/run-1"));
        assert!(!is_mark_under(b"run-1", b"CODETEAM_MARKS=run-1"));
        assert!(!is_mark_under(b"run-1", b"XCODETEAM_MARK=run-1"));
    }

    #[test]
    fn an_empty_prefix_kills_nobody() {
        assert_eq!(kill_marked(""), 0);
        assert_eq!(kill_marked("/"), 0);
    }
}
