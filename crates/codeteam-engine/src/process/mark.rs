//! Finds processes again by the mark in their environment.
//!
//! Workers put their tools into sessions of their own, so a process group does
//! not hold everything an attempt started; and after codeteam itself was killed
//! nothing is left that knew the group. The mark is inherited by every
//! descendant that does not clear its environment on purpose (those are the
//! sandbox's business).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

pub use codeteam_sandbox::MARK;

/// A process that is being torn down still shows its environment for a moment.
const SETTLE: Duration = Duration::from_millis(1);

/// One that hangs in the kernel shows it for ever.
const GIVE_UP: Duration = Duration::from_secs(2);

/// A mark that nothing else of this process has. Commands that run side by side need one each: what
/// has the mark of one that ends is ended with it.
pub(crate) fn own(what: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{what}/{}/{n}", std::process::id())
}

/// Kills every process of this user whose mark lies under `mark_prefix`, again
/// and again until none is left, and says how many there were.
///
/// Marks are paths: a prefix covers itself and what follows it after a slash.
/// `run-1` (or `run-1/`, which is the same) covers `run-1` and `run-1/task-2`
/// but not `run-10`. An empty prefix covers nothing. The calling process is
/// never killed. Without `/proc` nothing is found.
pub fn sweep(mark_prefix: &str) -> usize {
    sweep_among(mark_prefix, None)
}

/// The same among the processes that are younger than `oldest`, which is all there can be of what
/// it started. A machine may have thousands of others, and this is done after every command.
pub(super) fn sweep_younger(mark_prefix: &str, oldest: Pid) -> usize {
    sweep_among(mark_prefix, Some(oldest))
}

fn sweep_among(mark_prefix: &str, oldest: Option<Pid>) -> usize {
    let prefix = mark_prefix.trim_end_matches('/').as_bytes();
    if prefix.is_empty() {
        return 0;
    }
    let started = Instant::now();
    let mut killed = BTreeSet::new();
    loop {
        let found = marked(prefix, oldest);
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

/// The mark a command would carry: of two entries the later one counts.
pub(super) fn of(env: &[(OsString, OsString)]) -> Option<&str> {
    env.iter()
        .rfind(|(name, _)| name == OsStr::new(MARK))
        .and_then(|(_, value)| value.to_str())
        .filter(|mark| !mark.trim_end_matches('/').is_empty())
}

fn marked(prefix: &[u8], oldest: Option<Pid>) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    // Process ids count up, until they start again from below: then everyone is looked at.
    let oldest = oldest.map_or(0, Pid::as_raw_pid);
    let from = if newest_pid().is_some_and(|newest| newest >= oldest) {
        oldest
    } else {
        0
    };
    let user = rustix::process::geteuid().as_raw();
    let itself = rustix::process::getpid();
    entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<i32>().ok()?, entry)))
        .filter(|(pid, _)| *pid > from)
        .filter(|(_, entry)| entry.metadata().is_ok_and(|found| found.uid() == user))
        .filter_map(|(pid, _)| Pid::from_raw(pid))
        .filter(|pid| *pid != itself && carries(*pid, prefix))
        .collect()
}

/// The process id that was given out last.
fn newest_pid() -> Option<i32> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().last()?.parse().ok()
}

/// Whether the process carries the mark now. Zombies carry nothing.
fn carries(pid: Pid, prefix: &[u8]) -> bool {
    fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).is_ok_and(|environ| {
        environ
            .split(|byte| *byte == 0)
            .any(|entry| covers(prefix, entry))
    })
}

/// Whether one `NAME=value` entry is a mark under the prefix.
fn covers(prefix: &[u8], entry: &[u8]) -> bool {
    entry
        .strip_prefix(OsStr::new(MARK).as_bytes())
        .and_then(|rest| rest.strip_prefix(b"="))
        .and_then(|mark| mark.strip_prefix(prefix))
        .is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

/// Kills the process if it still is the one that was found. The handle pins it,
/// so a process id given to someone else in between is not hit.
#[cfg(target_os = "linux")]
fn kill(pid: Pid, prefix: &[u8]) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) if carries(pid, prefix) => {
            // It may be gone already; the next round looks again.
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
        // A kernel or a container without pidfds.
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
        assert!(covers(b"run-1", b"CODETEAM_MARK=run-1"));
        assert!(covers(b"run-1", b"CODETEAM_MARK=run-1/task-2/1"));
        assert!(!covers(b"run-1", b"CODETEAM_MARK=run-10"));
        assert!(!covers(b"run-1", b"CODETEAM_MARK=other/run-1"));
        assert!(!covers(b"run-1", b"CODETEAM_MARKS=run-1"));
        assert!(!covers(b"run-1", b"XCODETEAM_MARK=run-1"));
    }

    #[test]
    fn an_empty_prefix_kills_nobody() {
        assert_eq!(sweep(""), 0);
        assert_eq!(sweep("/"), 0);
    }
}
