//! Nothing survives: not the command's end, not the orchestrator's.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _};
use std::iter;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdout, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use codeteam_sandbox::{Lifeline, SandboxProfile};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::containers;
use crate::harness::{SandboxCase, TestHost, command, end, everywhere, spawn};

/// A word by which processes are found again on the host.
fn mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("survivor-{}-{number}-end", std::process::id())
}

/// The processes of the host with the mark in their command line.
fn survivors(mark: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(mark))
        .collect()
}

/// A command that hides its children in sessions of their own, deaf to signals
/// and with no stream open but standard output.
fn hydra(mark: &str) -> String {
    format!(
        "trap '' TERM HUP INT
         for i in 1 2 3; do
             setsid sh -c 'trap \"\" TERM HUP INT; (setsid sleep 1000 {mark} 2>/dev/null &
                 exec perl -e \"sleep 1000\" {mark})' &
         done
         echo ready"
    )
}

/// Whether everybody who held the other end of the pipe is gone.
fn closes(mut stdout: ChildStdout) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap();
        let mut watched = [PollFd::new(&stdout, PollFlags::IN)];
        if poll(&mut watched, Some(&timeout)).unwrap() == 0 {
            return false;
        }
        if stdout.read(&mut [0; 4096]).unwrap() == 0 {
            return true;
        }
    }
}

#[test]
fn daemons_end_with_the_command() {
    for case in everywhere() {
        let host = TestHost::new();
        let mark = mark();
        let ended = host.sh(case, &hydra(&mark));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "ready\n"));
        assert_eq!(survivors(&mark), [""; 0]);
    }
}

#[test]
fn everything_ends_with_the_lifeline() {
    for case in everywhere() {
        let host = TestHost::new();
        let mark = mark();
        let script = format!("{}; sleep 1000", hydra(&mark));
        let confined = host.confine(case, host.policy(case), "sh", &["-c", &script]);
        let (lifeline, mut child) = spawn(&confined);
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert!(!survivors(&mark).is_empty());
        drop(lifeline);
        // When bubblewrap has ended there is nobody left at all.
        child.wait().unwrap();
        assert_eq!(survivors(&mark), [""; 0]);
    }
}

#[test]
fn everything_ends_with_what_was_spawned() {
    let host = TestHost::new();
    for case in everywhere() {
        let mark = mark();
        let script = format!("{}; sleep 1000", hydra(&mark));
        let confined = host.confine(case, host.policy(case), "sh", &["-c", &script]);
        let (_lifeline, mut child) = spawn(&confined);
        let mut stdout = child.stdout.take().unwrap();
        let mut ready = [0; 6];
        stdout.read_exact(&mut ready).unwrap();
        child.kill().unwrap();
        assert!(closes(stdout));
        child.wait().unwrap();
        assert_eq!(survivors(&mark), [""; 0]);
    }
}

#[test]
fn a_command_that_comes_too_late_never_starts() {
    let host = TestHost::new();
    for case in everywhere() {
        let confined = host.confine(case, host.policy(case), "sh", &["-c", "echo x > started"]);
        let (lifeline, stdin) = Lifeline::new().unwrap();
        drop(lifeline);
        let mut child = command(&confined.program, &confined.args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(end(&mut child).code, Some(125));
        assert!(!host.tree().join("started").exists());
    }
}

/// Waits in the one way that hits a moment to the microsecond.
fn spin(until: Instant) {
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// From the spawn to well after the start: often enough to hit every phase, and
/// no longer than a test may take. Containers take their time. More of both by
/// hand: `CODETEAM_TEST_KILLS=300`.
#[expect(clippy::disallowed_methods, reason = "set by hand")]
fn moments(case: SandboxCase) -> impl Iterator<Item = Duration> {
    let given = || std::env::var("CODETEAM_TEST_KILLS").ok()?.parse().ok();
    let (count, last) = match case.backend.container_backend() {
        None => (given().unwrap_or(100), Duration::from_millis(25)),
        Some(_) => (given().unwrap_or(10), Duration::from_millis(400)),
    };
    (0..count).map(move |kill| last * kill / count)
}

/// Once under each profile or engine.
fn each() -> impl Iterator<Item = SandboxCase> {
    let is_other = |case: &SandboxCase| case.backend.bwrap_path().is_none();
    iter::once(SandboxProfile::Worker.into()).chain(everywhere().filter(is_other))
}

#[test]
fn the_orchestrators_death_leaves_nothing_whenever_it_comes() {
    let host = TestHost::new();
    let mark = mark();
    let script = format!("{}; sleep 1000", hydra(&mark));
    for (case, moment) in each().flat_map(|case| moments(case).map(move |at| (case, at))) {
        let confined = host.confine(case, host.policy(case), "sh", &["-c", &script]);
        let mut args = vec![OsString::from("orchestrate")];
        args.extend(confined.args.iter().cloned());
        let spawned = Instant::now();
        let mut orchestrator = command(&confined.program, &args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = orchestrator.stdout.take().unwrap();
        spin(spawned + moment);
        orchestrator.kill().unwrap();
        orchestrator.wait().unwrap();
        nothing_is_left(case, &host, stdout, &mark, moment);
    }
}

#[test]
fn killing_the_group_leaves_nothing_whenever_it_comes() {
    let host = TestHost::new();
    let mark = mark();
    let script = format!("{}; sleep 1000", hydra(&mark));
    for (case, moment) in each().flat_map(|case| moments(case).map(move |at| (case, at))) {
        // Without a cgroup, which slows the start down and may hide a moment.
        let backend = case.backend.clone().without_cgroups();
        let confined = host.confine_with(&backend, host.policy(case), "sh", &["-c", &script]);
        let (lifeline, stdin) = Lifeline::new().unwrap();
        let spawned = Instant::now();
        let mut child = command(&confined.program, &confined.args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let group = Pid::from_child(&child);
        spin(spawned + moment);
        kill_process_group(group, Signal::KILL).unwrap();
        drop(lifeline);
        child.wait().unwrap();
        nothing_is_left(case, &host, stdout, &mark, moment);
    }
}

#[track_caller]
fn nothing_is_left(
    case: SandboxCase,
    host: &TestHost,
    stdout: ChildStdout,
    mark: &str,
    moment: Duration,
) {
    let closed = closes(stdout);
    assert!(closed, "{case:?} {moment:?}: {:?}", survivors(mark));
    assert_eq!(survivors(mark), [""; 0], "{case:?} {moment:?}");
    if let Some(container) = case.backend.container_backend() {
        // Removing it is the last thing that happens, without anyone's help.
        let deadline = Instant::now() + Duration::from_secs(20);
        while let left = containers::of(&container.engine, host)
            && !left.is_empty()
        {
            assert!(Instant::now() < deadline, "{moment:?}: {left:?}");
        }
    }
}
