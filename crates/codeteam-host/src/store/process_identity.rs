//! Identifies the process that holds a lease, and checks whether it still exists.
//!
//! A pid alone does not name a process: it is reused, it starts again after a reboot, and it means
//! something else in another container or on another machine. A [`ProcessIdentity`] carries what is
//! needed to tell these apart.

use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Identifies a process so that no other can be mistaken for it. A part that the operating system
/// does not reveal is empty and is then not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// The start time of the process, in the kernel's own units.
    pub started: String,
    /// The id of the machine's current boot.
    pub boot: String,
    /// The host name of the machine.
    pub host: String,
    /// The namespace in which the pid is valid (a container has its own).
    pub pid_namespace: String,
    /// A name for people, such as `codeteam run`.
    pub label: String,
}

impl ProcessIdentity {
    /// Identifies the calling process.
    pub fn this_process(label: impl Into<String>) -> Self {
        let pid = std::process::id();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Self {
            pid,
            started: read_stat(pid).map(|stat| stat.started).unwrap_or_default(),
            boot: boot.trim().into(),
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            pid_namespace: namespace.to_string_lossy().into_owned(),
            label: label.into(),
        }
    }

    /// Returns true if it is certain, seen from the process `from`, that this process no longer
    /// runs. `false` means that it is alive, or that it cannot be seen from there.
    pub fn is_gone(&self, from: &Self) -> bool {
        if self.host != from.host {
            return false;
        }
        if differ(&self.boot, &from.boot) {
            return true;
        }
        if self.pid_namespace != from.pid_namespace {
            return false;
        }
        !process_exists(self.pid)
            || read_stat(self.pid).is_some_and(|stat| {
                // A zombie has closed its files and will never write again.
                stat.is_dead || differ(&stat.started, &self.started)
            })
    }
}

fn differ(a: &str, b: &str) -> bool {
    !a.is_empty() && !b.is_empty() && a != b
}

/// Returns false only for "no such process": a signal that is refused proves that a process exists.
fn process_exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

struct ProcessStat {
    started: String,
    is_dead: bool,
}

/// Reads a process's state on Linux. Returns `None` on other systems, or if the process is hidden.
fn read_stat(pid: u32) -> Option<ProcessStat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the command in parentheses and may hold anything, so counting starts
    // after the last parenthesis: state is field 3, start time is field 22.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(ProcessStat {
        is_dead: matches!(*fields.first()?, "Z" | "X" | "x"),
        started: (*fields.get(19)?).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Larger than any pid Linux gives out.
    const NOBODY: u32 = 0x3fff_ffff;

    fn me() -> ProcessIdentity {
        ProcessIdentity::this_process("test")
    }

    #[test]
    fn this_process_is_not_gone() {
        assert!(!me().is_gone(&me()));
        assert!(cfg!(not(target_os = "linux")) || !me().started.is_empty());
    }

    #[test]
    fn a_pid_that_does_not_exist_is_gone() {
        let dead = ProcessIdentity {
            pid: NOBODY,
            ..me()
        };
        assert!(dead.is_gone(&me()));
    }

    #[test]
    fn a_reused_pid_is_told_by_its_start_time() {
        let started = "1".to_owned();
        let dead = ProcessIdentity { started, ..me() };
        assert_eq!(dead.is_gone(&me()), cfg!(target_os = "linux"));
    }

    #[test]
    fn nothing_survives_a_reboot() {
        let boot = "an earlier one".to_owned();
        let dead = ProcessIdentity { boot, ..me() };
        assert_eq!(dead.is_gone(&me()), cfg!(target_os = "linux"));
    }

    #[test]
    fn what_cannot_be_seen_is_not_called_gone() {
        let elsewhere = ProcessIdentity {
            pid: NOBODY,
            host: "elsewhere".into(),
            boot: "theirs".into(),
            ..me()
        };
        assert!(!elsewhere.is_gone(&me()));
        let contained = ProcessIdentity {
            pid: NOBODY,
            pid_namespace: "pid:[1]".into(),
            ..me()
        };
        assert!(!contained.is_gone(&me()));
    }
}
