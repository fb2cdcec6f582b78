//! Starts a child and supervises it until it and everything it started are gone.
//!
//! The child leads its own process group. It is not reaped before its leftovers have been killed:
//! as long as it is a zombie, its id, which is also the group's id, cannot be given to another
//! process.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open};

use super::disk::{DiskLimit, DiskWatch};
use super::launch::{OutputChannel, SpawnedCommand};
use super::stopped::{StopScope, StopWatch};
use super::streams::StreamPair;
use super::{
    CancelToken, CommandExit, CommandGuard, CommandLauncher, CommandLimits, CommandSpec, Error,
    ExitReason, LaunchSpec, LogWords, OutputLine, OutputStream, SandboxProfile, mark,
};
use crate::error_chain::format_error_chain;

/// How long the streams of an exited child may stay open before the processes that hold them are
/// killed.
const DRAIN: Duration = Duration::from_millis(100);

/// How long the streams may stay open after that. Only a process that escaped both the group and
/// the mark can keep them open.
const ABANDON: Duration = Duration::from_millis(500);

/// How much may still be read after that: more than a pipe can hold, so that a slow sink loses
/// nothing and a hidden writer cannot go on for ever.
const LEFT_IN_PIPES: u64 = 4 * 1024 * 1024;

/// How long a child may take to die after `SIGKILL`.
const KILLED: Duration = Duration::from_secs(10);

/// The number of times a command is launched if its sandbox is killed before it is ready.
const LAUNCHES: u32 = 3;

/// Runs a command to its end and hands every line it writes to `sink`.
///
/// When this returns, nothing that the command started is left, except processes that have both
/// left its process group and cleared their environment. If somebody kills the sandbox before it is
/// ready, the launch is repeated, which is safe because no part of the command has run.
///
/// A command that is cancelled, or exceeds its time, its silence or its disk limit, first gets
/// `SIGTERM`; if it has not exited after [`CommandLimits::grace`], it is killed. After its exit, what
/// is left in its streams is read, leftover processes are killed, and only then is it reaped.
///
/// `sink` runs on the calling thread. While it works, nothing is read, so a slow sink slows the
/// command down.
pub fn run_command(
    launcher: &dyn CommandLauncher,
    profile: SandboxProfile,
    spec: &CommandSpec,
    limits: &CommandLimits,
    cancel: &CancelToken,
    sink: &mut dyn FnMut(OutputLine<'_>),
) -> Result<CommandExit, Error> {
    let mut tries = 1;
    loop {
        let ran = run_once(launcher, profile, spec, limits, cancel, sink);
        if let Err(error) = &ran {
            tracing::debug!("{}", format_error_chain(error));
        }
        match ran {
            Err(Error::Lost { .. }) if tries < LAUNCHES && !cancel.is_cancelled() => {
                tries += 1;
            }
            Err(Error::Lost {
                program, signal, ..
            }) => {
                return Err(Error::Lost {
                    program,
                    launches: tries,
                    signal,
                });
            }
            ran => return ran,
        }
    }
}

fn run_once(
    launcher: &dyn CommandLauncher,
    profile: SandboxProfile,
    spec: &CommandSpec,
    limits: &CommandLimits,
    cancel: &CancelToken,
    sink: &mut dyn FnMut(OutputLine<'_>),
) -> Result<CommandExit, Error> {
    let program = PathBuf::from(&spec.program);
    let mark = mark::mark_in(&spec.env).ok_or_else(|| Error::Unmarked {
        program: program.clone(),
    })?;
    let launch = launcher.launch(spec, profile)?;
    tracing::trace!(
        "launching {} {}",
        launch.program.display(),
        LogWords(&launch.args)
    );
    let started = Instant::now();
    let output = if profile == SandboxProfile::Worker && launch.hold.is_some() {
        OutputChannel::Sockets
    } else {
        OutputChannel::Pipes
    };
    let (mut group, streams) =
        ProcessGroup::spawn(launch, output, mark.to_owned(), (limits.wall, cancel))?;
    let pid = group.leader.as_raw_pid();
    tracing::debug!(
        pid,
        ?profile,
        confined = group.hold.is_some(),
        cwd = %spec.cwd.display(),
        "started {} {}",
        program.display(),
        LogWords(&spec.args)
    );
    let mut last_words = String::new();
    let mut sink = |line: OutputLine<'_>| {
        if line.stream == OutputStream::Stderr {
            last_words.replace_range(.., &line.text);
        }
        sink(line);
    };
    let mut streams = StreamPair::new(streams, limits);
    let phase = SupervisionPhase::Running {
        until: started.checked_add(limits.wall),
    };
    let verdict = supervise(
        &mut group,
        phase,
        (limits, spec.disk.as_ref()),
        cancel,
        &mut streams,
        &mut sink,
    )
    .map_err(|failure| failure.into_error(program.clone(), group.leader))?;
    let wall = started.elapsed();
    let status = group.reap().map_err(|source| Error::Watch {
        program: program.clone(),
        operation: "collect the exit status",
        source,
    })?;
    let is_confined = group.hold.is_some();
    if verdict.is_none() && !group.was_confined() {
        return Err(match exit_reason(status, is_confined) {
            ExitReason::Signalled(signal) => Error::Lost {
                program,
                launches: 1,
                signal,
            },
            _ if last_words.is_empty() => Error::Confine {
                program,
                reason: format!("its sandbox ended ({status}) and did not say why"),
            },
            _ => Error::Confine {
                program,
                reason: last_words,
            },
        });
    }
    // Bubblewrap reports every end of the command inside, also by a signal, with an exit code. A
    // signal here therefore hit the sandbox itself.
    let lost = verdict.is_none() && is_confined && status.signal().is_some();
    let own = || exit_reason(status, is_confined);
    let exit = streams.exit_summary(verdict.unwrap_or_else(own), wall);
    tracing::debug!(
        pid,
        ms = wall.as_millis(),
        stdout_bytes = exit.stdout_bytes,
        stderr_bytes = exit.stderr_bytes,
        sandbox_killed = lost,
        "ended {}: {:?}",
        program.display(),
        exit.status
    );
    Ok(CommandExit {
        sandbox_killed: lost,
        ..exit
    })
}

/// Serves the child until it has exited and its streams are closed or abandoned. Returns what ended
/// it, or `None` if it exited by itself.
fn supervise(
    group: &mut ProcessGroup,
    mut phase: SupervisionPhase,
    (limits, disk): (&CommandLimits, Option<&DiskLimit>),
    cancel: &CancelToken,
    streams: &mut StreamPair,
    sink: &mut dyn FnMut(OutputLine<'_>),
) -> Result<Option<ExitReason>, SupervisionError> {
    let (woken, waker) = io::pipe().map_err(SupervisionError::io_error("watch the end"))?;
    let waker = Arc::new(waker);
    announce_exit(group.leader, Arc::clone(&waker))
        .map_err(SupervisionError::io_error("watch the end"))?;
    let watch = disk.map(|disk| DiskWatch::start(disk, Arc::clone(&waker)));
    let watch = watch
        .transpose()
        .map_err(SupervisionError::io_error("watch the disk"))?;
    let is_over_disk = || watch.as_ref().is_some_and(DiskWatch::is_over);
    let _registered = cancel.wake_on_cancel(waker);
    let mut verdict = None;
    let mut is_idle = false;
    let mut heard = Instant::now();
    let mut stops = StopWatch::begin(StopScope::Command);
    loop {
        let now = Instant::now();
        let look = matches!(phase, SupervisionPhase::Running { .. }).then(|| {
            stops.look(group.leader);
            stops.next
        });
        let is_over = phase.until().is_some_and(|until| now >= until);
        let stalls = match (phase, limits.silence) {
            (SupervisionPhase::Running { .. }, Some(silence)) => heard.checked_add(silence),
            _ => None,
        };
        let is_stalled = stalls.is_some_and(|until| now >= until);
        match phase {
            SupervisionPhase::Running { .. }
                if is_over || is_stalled || cancel.is_cancelled() || is_over_disk() =>
            {
                verdict = Some(if cancel.is_cancelled() {
                    ExitReason::Cancelled
                } else if is_over_disk() {
                    ExitReason::OverDisk
                } else if is_over {
                    ExitReason::TimedOut
                } else {
                    ExitReason::Stalled
                });
                group.signal(Signal::TERM);
                phase = SupervisionPhase::Terminating {
                    until: now.checked_add(limits.grace),
                };
            }
            SupervisionPhase::Terminating { .. } if is_over => {
                group.kill();
                phase = SupervisionPhase::Killed {
                    until: Instant::now() + KILLED,
                };
            }
            SupervisionPhase::Killed { .. } if is_over => return Err(SupervisionError::Unkillable),
            SupervisionPhase::Draining { .. } if is_over || streams.are_closed() => {
                group.kill();
                is_idle = false;
                phase = SupervisionPhase::Abandoning {
                    until: Instant::now() + ABANDON,
                    read: streams.received() + LEFT_IN_PIPES,
                };
            }
            SupervisionPhase::Abandoning { read, .. }
                if streams.are_closed() || (is_over && is_idle) || streams.received() > read =>
            {
                break;
            }
            _ => {
                let until = [phase.until(), stalls, look].into_iter().flatten().min();
                let ready = streams
                    .wait(&woken, until)
                    .map_err(SupervisionError::io_error("wait for the output"))?;
                streams
                    .read(ready, sink)
                    .map_err(SupervisionError::io_error("read the output"))?;
                is_idle = !ready.has_output();
                if !is_idle {
                    heard = Instant::now();
                }
                if ready.woken {
                    drain_wakeups(&woken).map_err(SupervisionError::io_error("watch the end"))?;
                }
            }
        }
        if phase.child_is_alive() && group.has_exited() {
            phase = SupervisionPhase::Draining {
                until: Instant::now() + DRAIN,
            };
        }
    }
    streams.finish(sink);
    Ok(verdict)
}

/// A failure while supervising. The caller adds the program it was about.
enum SupervisionError {
    Unkillable,
    Io(&'static str, io::Error),
}

impl SupervisionError {
    fn io_error(operation: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io(operation, source)
    }

    fn into_error(self, program: PathBuf, leader: Pid) -> Error {
        match self {
            Self::Unkillable => Error::Unkillable {
                program,
                pid: leader.as_raw_pid(),
            },
            Self::Io(operation, source) => Error::Watch {
                program,
                operation,
                source,
            },
        }
    }
}

/// The phases of a command's life. Unless something happens earlier, each phase but the last gives
/// way to the next at its deadline.
#[derive(Debug, Clone, Copy)]
enum SupervisionPhase {
    /// The child may go on. `None` means the limit is beyond what a clock can represent.
    Running { until: Option<Instant> },
    /// It was sent `SIGTERM`.
    Terminating { until: Option<Instant> },
    /// It was sent `SIGKILL` and is expected to die.
    Killed { until: Instant },
    /// It has exited; its remaining output is being read.
    Draining { until: Instant },
    /// Its leftovers were killed and the streams are expected to close. They are abandoned if they
    /// are silent at the deadline, or once `read` bytes were received in total.
    Abandoning { until: Instant, read: u64 },
}

impl SupervisionPhase {
    fn until(self) -> Option<Instant> {
        match self {
            Self::Running { until } | Self::Terminating { until } => until,
            Self::Killed { until } | Self::Draining { until } | Self::Abandoning { until, .. } => {
                Some(until)
            }
        }
    }

    fn child_is_alive(self) -> bool {
        !matches!(self, Self::Draining { .. } | Self::Abandoning { .. })
    }
}

/// The child and everything it started. If it is dropped early (an error, a panic in the sink),
/// they are all killed.
struct ProcessGroup {
    child: Child,
    leader: Pid,
    mark: String,
    hold: Option<Box<dyn CommandGuard>>,
    reaped: bool,
}

impl ProcessGroup {
    fn spawn(
        launch: LaunchSpec,
        output: OutputChannel,
        mark: String,
        (patience, cancel): (Duration, &CancelToken),
    ) -> Result<(Self, [Option<File>; 2]), Error> {
        let began = Instant::now();
        let is_unwanted = || cancel.is_cancelled() || began.elapsed() >= patience;
        let (program, cwd, spawned) = launch.spawn(output);
        let mut spawned = spawned.map_err(|source| spawn_error(program.clone(), cwd, source))?;
        let streams = spawned.streams();
        let SpawnedCommand {
            child, mut hold, ..
        } = spawned;
        let leader = Pid::from_child(&child);
        let mut group = Self {
            child,
            leader,
            mark,
            hold: None,
            reaped: false,
        };
        // Without a pidfd, an early exit of the child is not noticed here but by the supervision. A
        // sandbox that could not be served shows that in how it exits.
        let ended = pidfd_open(leader, PidfdFlags::empty()).ok();
        let ended = ended.as_ref().map(OwnedFd::as_fd);
        // The spawned process may hang before it is ready; a cancellation must not have to wait for
        // that.
        let given = hold.as_mut().map(|hold| {
            let (woken, waker) = io::pipe()?;
            let _registered = cancel.wake_on_cancel(Arc::new(waker));
            let patience = if is_unwanted() {
                Duration::ZERO
            } else {
                patience
            };
            let ends: Vec<_> = ended.into_iter().chain([woken.as_fd()]).collect();
            hold.on_spawned(patience, &ends)
        });
        group.hold = hold;
        match given {
            Some(Err(source)) if !is_unwanted() && group.was_confined() => Err(Error::Watch {
                program,
                operation: "serve the network",
                source,
            }),
            _ => Ok((group, streams)),
        }
    }

    /// Signals the process group. It is not an error if the group is empty already.
    fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.leader, signal);
    }

    fn kill(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.kill_command();
        }
        self.signal(Signal::KILL);
        if self.hold.is_none() {
            mark::kill_marked_since(&self.mark, self.leader);
        }
    }

    /// Returns true if the command itself was run, as opposed to only the sandbox around it.
    fn was_confined(&mut self) -> bool {
        self.hold.as_mut().is_none_or(|hold| hold.was_confined())
    }

    /// Waits until the killed child is gone, but not for ever.
    fn await_death(&self) {
        let patience = Timespec::try_from(KILLED).ok();
        if let Ok(child) = pidfd_open(self.leader, PidfdFlags::empty()) {
            let _ = poll(&mut [PollFd::new(&child, PollFlags::IN)], patience.as_ref());
        }
    }

    /// Returns true if the child has exited. It stays a zombie.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // An error can only mean that the child no longer exists.
        !matches!(
            rustix::process::waitid(WaitId::Pid(self.leader), options),
            Ok(None) | Err(Errno::INTR)
        )
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.reaped = true;
        self.child.wait()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            self.await_death();
            let _ = self.child.try_wait();
        }
    }
}

fn spawn_error(program: PathBuf, cwd: PathBuf, source: io::Error) -> Error {
    // The system returns the same error for a missing directory.
    if !cwd.is_dir() {
        return Error::NoDirectory { program, cwd };
    }
    match source.kind() {
        io::ErrorKind::NotFound => Error::NotFound { program },
        io::ErrorKind::PermissionDenied => Error::NotExecutable { program, source },
        _ => Error::Spawn { program, source },
    }
}

/// Writes a byte to `waker` when the child has exited. The thread ends with the child, and the
/// caller does not return before that unless the child cannot be killed.
fn announce_exit(child: Pid, waker: Arc<PipeWriter>) -> io::Result<()> {
    let wait = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(Errno::INTR) = rustix::process::waitid(WaitId::Pid(child), options) {}
        let _ = (&*waker).write_all(b"x");
    };
    thread::Builder::new()
        .name(format!("wait-{}", child.as_raw_pid()))
        .spawn(wait)
        .map(drop)
}

/// Reads and discards the wake-up bytes. The caller then checks every possible sender.
fn drain_wakeups(mut woken: &PipeReader) -> io::Result<()> {
    woken.read(&mut [0; 16]).map(drop)
}

/// Converts an exit status. A sandbox reports a signal as a shell does, with a code above 128.
fn exit_reason(status: ExitStatus, confined: bool) -> ExitReason {
    match (status.code(), status.signal()) {
        (Some(code @ 129..=192), _) if confined => ExitReason::Signalled(code - 128),
        (Some(code), _) => ExitReason::Exited(code),
        (None, signal) => ExitReason::Signalled(signal.unwrap_or_default()),
    }
}
