//! How commands end that would not end by themselves, and what is left of them.

use std::fs;
use std::sync::mpsc;
use std::thread;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::*;

fn is_gone(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    // A zombie waiting for init is gone as far as anyone is concerned.
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
    test_kill_process(pid).is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn a_timeout_ends_it() {
    let limits = CommandLimits {
        wall: Duration::from_millis(50),
        ..LIMITS
    };
    let (exit, _) = go(&sh("slow", "sleep 60"), &limits, &CancelToken::new());
    assert_eq!(exit.status, ExitReason::TimedOut);
    assert!(exit.wall < PROMPT);
}

#[test]
fn one_that_says_nothing_for_too_long_is_ended() {
    let limits = CommandLimits {
        silence: Some(Duration::from_millis(1_500)),
        ..LIMITS
    };
    let stalls = "echo begun; exec sleep 60";
    let (exit, _) = go(&sh("stalls", stalls), &limits, &CancelToken::new());
    assert_eq!(exit.status, ExitReason::Stalled);
    // Longer than the silence in all, and never silent for as long.
    let goes_on = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.25; done";
    let (exit, seen) = go(&sh("goes-on", goes_on), &limits, &CancelToken::new());
    assert_eq!((exit.status, seen.len()), (ExitReason::Exited(0), 8));
}

#[test]
fn one_that_somebody_stops_goes_on() {
    let stopped = sh("stopped", "kill -STOP $$; echo on");
    let (exit, seen) = go(&stopped, &LIMITS, &CancelToken::new());
    assert_eq!((exit.status, seen.len()), (ExitReason::Exited(0), 1));
    // What a command has stopped is its own business.
    let script = "sh -c 'kill -STOP $$; echo never' & sleep 2; kill -KILL $!; echo on";
    let (exit, seen) = go(&sh("stops", script), &LIMITS, &CancelToken::new());
    assert_eq!((exit.status, seen.len()), (ExitReason::Exited(0), 1));
}

#[test]
fn a_tree_that_ignores_term_is_killed() {
    // Two levels, both deaf, and both reported before they are cancelled.
    let script = "trap '' TERM; sh -c 'echo $$; sleep 60' & echo $$; wait; sleep 60";
    let limits = CommandLimits {
        grace: Duration::from_millis(50),
        ..LIMITS
    };
    let cancel = CancelToken::new();
    let mut pids = Vec::new();
    let exit = run_command(
        &UnconfinedLauncher::default(),
        SandboxProfile::Worker,
        &sh("deaf", script),
        &limits,
        &cancel,
        &mut |line| {
            pids.push(line.text.into_owned());
            if pids.len() == 2 {
                cancel.cancel();
            }
        },
    )
    .unwrap();
    assert_eq!(exit.status, ExitReason::Cancelled);
    assert!(exit.wall >= limits.grace && exit.wall < PROMPT);
    assert!(pids.iter().all(|pid| is_gone(pid)));
}

#[test]
fn a_deaf_tree_does_not_outlive_its_time() {
    let limits = CommandLimits {
        wall: Duration::from_millis(50),
        grace: Duration::from_millis(10),
        ..LIMITS
    };
    let script = "trap '' TERM; echo $$; while :; do sleep 60; done";
    let (exit, pids) = go(&sh("deaf-late", script), &limits, &CancelToken::new());
    assert_eq!(exit.status, ExitReason::TimedOut);
    assert!(exit.wall < PROMPT);
    assert!(pids.iter().all(|pid| is_gone(pid)));
}

#[test]
fn a_cancellation_is_prompt_and_remembered() {
    let cancel = CancelToken::new();
    let (ready, is_ready) = mpsc::channel();
    let other = cancel.clone();
    let canceller = thread::spawn(move || {
        is_ready.recv().unwrap();
        other.cancel();
    });
    // It claims success after SIGTERM, as some workers do.
    let script = "trap 'exit 0' TERM; echo ready; sleep 60 & wait";
    let exit = run_command(
        &UnconfinedLauncher::default(),
        SandboxProfile::Worker,
        &sh("cancel", script),
        &LIMITS,
        &cancel,
        &mut |_| ready.send(()).unwrap(),
    )
    .unwrap();
    canceller.join().unwrap();
    assert_eq!(exit.status, ExitReason::Cancelled);
    assert!(exit.wall < PROMPT);
}

#[test]
fn what_was_cancelled_before_is_ended_at_once() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let (exit, _) = go(&sh("cancelled", "sleep 60"), &LIMITS, &cancel);
    assert_eq!(exit.status, ExitReason::Cancelled);
    assert!(exit.wall < PROMPT);
}

#[test]
fn a_daemon_that_keeps_the_pipe_neither_hangs_nor_survives() {
    // `read` returns when the daemon has written, so it exists before the exit.
    let dir = tempfile::tempdir().unwrap();
    let mut spec = sh(
        "daemon",
        "mkfifo up; setsid sh -c 'echo $$ >up; sleep 60' & read pid <up; echo $pid",
    );
    spec.cwd = dir.path().to_owned();
    let (exit, seen) = go(&spec, &LIMITS, &CancelToken::new());
    assert_eq!(exit.status, ExitReason::Exited(0));
    assert!(exit.wall < PROMPT);
    assert!(is_gone(&seen[0]));
}

#[test]
fn a_daemon_without_the_mark_does_not_hang() {
    let dir = tempfile::tempdir().unwrap();
    let script = "mkfifo up; env -u CODETEAM_MARK setsid sh -c 'echo $$ >up; exec sleep 60' & \
                  read pid <up; echo $pid";
    let mut spec = sh("hidden", script);
    spec.cwd = dir.path().to_owned();
    let (exit, seen) = go(&spec, &LIMITS, &CancelToken::new());
    assert_eq!(exit.status, ExitReason::Exited(0));
    assert!(exit.wall < PROMPT);
    // It hid well; the test cleans up after itself.
    let pid = Pid::from_raw(seen[0].parse().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn a_sweep_finds_what_codeteam_lost() {
    let (ready, is_ready) = mpsc::channel();
    let lost = thread::spawn(move || {
        run_command(
            &UnconfinedLauncher::default(),
            SandboxProfile::Worker,
            &sh("lost/1", "trap '' TERM; echo $$; sleep 60; sleep 60"),
            &LIMITS,
            &CancelToken::new(),
            &mut |line| ready.send(line.text.into_owned()).unwrap(),
        )
    });
    let pid = is_ready.recv().unwrap();
    let run_mark = this_test_run();
    assert_eq!(kill_marked(&format!("{run_mark}/los")), 0);
    assert!(kill_marked(&format!("{run_mark}/lost")) >= 1);
    assert!(is_gone(&pid));
    let exit = lost.join().unwrap().unwrap();
    assert_eq!(exit.status, ExitReason::Signalled(9));
}

#[test]
fn a_panic_in_the_sink_leaves_nothing_behind() {
    let (ready, is_ready) = mpsc::channel();
    let panicking = thread::spawn(move || {
        run_command(
            &UnconfinedLauncher::default(),
            SandboxProfile::Worker,
            &sh("panic", "trap '' TERM; echo $$; sleep 60"),
            &LIMITS,
            &CancelToken::new(),
            &mut |line| {
                ready.send(line.text.into_owned()).unwrap();
                panic!("as this test wants");
            },
        )
    });
    assert!(panicking.join().is_err());
    assert!(is_gone(&is_ready.recv().unwrap()));
}

#[test]
fn what_fills_the_disk_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = sh(
        "disk",
        "n=0; while :; do n=$((n+1)); head -c 1000000 /dev/zero > $n; [ $n -lt 9 ] || sleep 60; done",
    );
    spec.cwd = dir.path().to_owned();
    spec.disk = Some(DiskLimit {
        folders: vec![dir.path().to_owned()],
        bytes: 5_000_000,
    });
    let limits = CommandLimits {
        grace: Duration::from_millis(1),
        ..LIMITS
    };
    let (exit, _) = go(&spec, &limits, &CancelToken::new());
    assert_eq!(exit.status, ExitReason::OverDisk);
    assert!(exit.wall < PROMPT);
}

/// Stands for a sandbox that somebody kills: so often before the command starts, or while it runs.
struct KilledSandbox {
    before: std::sync::atomic::AtomicU32,
    while_it_runs: bool,
}

struct ReadinessGuard(bool);

impl CommandGuard for ReadinessGuard {
    fn on_spawned(&mut self, _: Duration, _: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<()> {
        Ok(())
    }

    fn kill_command(&mut self) {}

    fn was_confined(&mut self) -> bool {
        self.0
    }
}

impl CommandLauncher for KilledSandbox {
    fn launch(&self, spec: &CommandSpec, profile: SandboxProfile) -> Result<LaunchSpec, Error> {
        use std::sync::atomic::Ordering::SeqCst;
        let count = |left: u32| left.checked_sub(1);
        let is_killed = self.before.fetch_update(SeqCst, SeqCst, count).is_ok();
        let mut launch = UnconfinedLauncher::default().launch(spec, profile)?;
        if is_killed || self.while_it_runs {
            // What waits for its parent's word is left alone with the streams.
            launch.args = vec!["-c".into(), "sleep 1000 & kill -9 $$".into()];
        }
        launch.hold = Some(Box::new(ReadinessGuard(!is_killed)));
        Ok(launch)
    }

    fn describe(&self) -> &'static str {
        "killed"
    }
}

#[test]
fn a_sandbox_that_is_killed_before_its_time_is_launched_again() {
    let with = |before: u32, while_it_runs: bool| {
        let launcher = KilledSandbox {
            before: before.into(),
            while_it_runs,
        };
        let (spec, cancel) = (sh("killed", "echo ran"), CancelToken::new());
        let mut seen = Vec::new();
        let ran = run_command(
            &launcher,
            SandboxProfile::Executor,
            &spec,
            &LIMITS,
            &cancel,
            &mut |line| seen.push(line.text.into_owned()),
        );
        (ran, seen)
    };
    let (ran, seen) = with(2, false);
    let exit = ran.unwrap();
    assert_eq!(
        (exit.status, exit.sandbox_killed),
        (ExitReason::Exited(0), false)
    );
    assert_eq!(seen, ["ran"]);
    let error = with(u32::MAX, false).0.unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, Error::Lost { launches: 3, .. }), "{said}");
    assert!(said.contains("signal 9") && said.contains("not by codeteam"));
    let exit = with(0, true).0.unwrap();
    assert_eq!(
        (exit.status, exit.sandbox_killed),
        (ExitReason::Signalled(9), true)
    );
}

/// Stands for a sandbox that never gets ready, because somebody stopped it.
struct StoppedSandbox {
    waits: mpsc::Sender<()>,
}

struct NeverReady(mpsc::Sender<()>);

impl CommandGuard for NeverReady {
    fn on_spawned(
        &mut self,
        patience: Duration,
        ends: &[std::os::fd::BorrowedFd<'_>],
    ) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let ends = ends.iter().copied();
        let mut watched: Vec<_> = ends
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let _ = self.0.send(());
        poll(&mut watched, Timespec::try_from(patience).ok().as_ref())?;
        Err(io::ErrorKind::TimedOut.into())
    }

    fn kill_command(&mut self) {}

    fn was_confined(&mut self) -> bool {
        false
    }
}

impl CommandLauncher for StoppedSandbox {
    fn launch(&self, spec: &CommandSpec, profile: SandboxProfile) -> Result<LaunchSpec, Error> {
        let mut launch = UnconfinedLauncher::default().launch(spec, profile)?;
        launch.args = vec!["-c".into(), "kill -STOP $$".into()];
        launch.hold = Some(Box::new(NeverReady(self.waits.clone())));
        Ok(launch)
    }

    fn describe(&self) -> &'static str {
        "stopped"
    }
}

#[test]
fn a_sandbox_that_is_stopped_before_it_is_ready_ends_with_the_time_and_on_cancelling() {
    let ended = |wall: Duration, cancels: bool| {
        let (waits, waiting) = mpsc::channel();
        let (launcher, cancel) = (StoppedSandbox { waits }, CancelToken::new());
        let limits = CommandLimits {
            wall,
            grace: Duration::from_millis(1),
            ..LIMITS
        };
        thread::scope(|scope| {
            let switch = cancel.clone();
            scope.spawn(move || {
                if cancels && waiting.recv().is_ok() {
                    switch.cancel();
                }
            });
            let spec = sh("stopped", "echo ran");
            let worker = SandboxProfile::Worker;
            run_command(&launcher, worker, &spec, &limits, &cancel, &mut |_| {}).unwrap()
        })
    };
    let exit = ended(Duration::from_millis(50), false);
    assert_eq!(exit.status, ExitReason::TimedOut);
    assert!(exit.wall < PROMPT);
    let exit = ended(Duration::from_mins(10), true);
    assert_eq!(exit.status, ExitReason::Cancelled);
    assert!(exit.wall < PROMPT);
}
