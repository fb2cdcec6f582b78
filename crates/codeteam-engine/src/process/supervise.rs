//! Starts a child and stays with it until it and all it started are gone.
//!
//! The child leads its own process group. It is not reaped before its leftovers
//! were killed: as long as it is a zombie its id, which is the group's id too,
//! cannot be given to anyone else.

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
use super::streams::StreamPair;
use super::{
    CancelToken, CommandExit, CommandGuard, CommandLauncher, CommandLimits, CommandSpec, Error,
    ExitReason, LaunchSpec, OutputLine, OutputStream, SandboxProfile, mark,
};

/// How long the streams of an ended child may stay open before those who hold
/// them are killed.
const DRAIN: Duration = Duration::from_millis(100);

/// How long they may stay open after that, which only a process that hid from
/// the group and from the mark can bring about.
const ABANDON: Duration = Duration::from_millis(500);

/// What may still be read after that: more than a pipe can hold, so that a slow
/// sink loses nothing and a hidden writer does not go on for ever.
const LEFT_IN_PIPES: u64 = 4 * 1024 * 1024;

/// How long a child may take to die of `SIGKILL`.
const KILLED: Duration = Duration::from_secs(10);

/// How often a command is launched if its sandbox is killed before it is ready.
const LAUNCHES: u32 = 3;

/// Runs a command to its end and hands every line it writes to `sink`.
///
/// When this returns, nothing the command started is left, except what has both
/// left its process group and cleared its environment. A launch that is lost
/// because somebody killed the sandbox before it was ready is repeated: nothing
/// of the command has run.
pub fn run(
    launcher: &dyn CommandLauncher,
    profile: SandboxProfile,
    spec: &CommandSpec,
    limits: &CommandLimits,
    cancel: &CancelToken,
    sink: &mut dyn FnMut(OutputLine<'_>),
) -> Result<CommandExit, Error> {
    let mut tries = 1;
    loop {
        match run_once(launcher, profile, spec, limits, cancel, sink) {
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
    let mark = mark::of(&spec.env).ok_or_else(|| Error::Unmarked {
        program: program.clone(),
    })?;
    let launch = launcher.launch(spec, profile)?;
    let started = Instant::now();
    let output = if profile == SandboxProfile::Worker && launch.hold.is_some() {
        OutputChannel::Sockets
    } else {
        OutputChannel::Pipes
    };
    let (mut group, streams) =
        ProcessGroup::spawn(launch, output, mark.to_owned(), (limits.wall, cancel))?;
    let mut last_words = String::new();
    let mut sink = |line: OutputLine<'_>| {
        if line.stream == OutputStream::Stderr {
            last_words.replace_range(.., &line.text);
        }
        sink(line);
    };
    let mut streams = StreamPair::of(streams, limits);
    let phase = SupervisionPhase::Running {
        until: started.checked_add(limits.wall),
    };
    let verdict = attend(
        &mut group,
        phase,
        (limits, spec.disk.as_ref()),
        cancel,
        &mut streams,
        &mut sink,
    )
    .map_err(|failure| failure.of(program.clone(), group.leader))?;
    let wall = started.elapsed();
    let status = group.reap().map_err(|source| Error::Watch {
        program: program.clone(),
        operation: "collect the exit status",
        source,
    })?;
    let is_confined = group.hold.is_some();
    if verdict.is_none() && !group.came_about() {
        return Err(match own_status(status, is_confined) {
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
    // What ends inside, by a signal too, is told by a code of bubblewrap's.
    let lost = verdict.is_none() && is_confined && status.signal().is_some();
    let own = || own_status(status, is_confined);
    let exit = streams.account(verdict.unwrap_or_else(own), wall);
    Ok(CommandExit { lost, ..exit })
}

/// Serves the child until it has ended and its streams are closed or given up.
/// Answers with what ended it, if that was not the child itself.
fn attend(
    group: &mut ProcessGroup,
    mut phase: SupervisionPhase,
    (limits, disk): (&CommandLimits, Option<&DiskLimit>),
    cancel: &CancelToken,
    streams: &mut StreamPair,
    sink: &mut dyn FnMut(OutputLine<'_>),
) -> Result<Option<ExitReason>, SupervisionError> {
    let (woken, waker) = io::pipe().map_err(SupervisionError::on("watch the end"))?;
    let waker = Arc::new(waker);
    announce_exit(group.leader, Arc::clone(&waker))
        .map_err(SupervisionError::on("watch the end"))?;
    let watch = disk.map(|disk| DiskWatch::begin(disk, Arc::clone(&waker)));
    let watch = watch
        .transpose()
        .map_err(SupervisionError::on("watch the disk"))?;
    let is_over_disk = || watch.as_ref().is_some_and(DiskWatch::is_over);
    let _registered = cancel.wake(waker);
    let mut verdict = None;
    let mut is_idle = false;
    let mut heard = Instant::now();
    loop {
        let now = Instant::now();
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
            SupervisionPhase::Draining { .. } if is_over || streams.closed() => {
                group.kill();
                is_idle = false;
                phase = SupervisionPhase::Abandoning {
                    until: Instant::now() + ABANDON,
                    read: streams.received() + LEFT_IN_PIPES,
                };
            }
            SupervisionPhase::Abandoning { read, .. }
                if streams.closed() || (is_over && is_idle) || streams.received() > read =>
            {
                break;
            }
            _ => {
                let until = [phase.until(), stalls].into_iter().flatten().min();
                let ready = streams
                    .wait(&woken, until)
                    .map_err(SupervisionError::on("wait for the output"))?;
                streams
                    .read(ready, sink)
                    .map_err(SupervisionError::on("read the output"))?;
                is_idle = !ready.output();
                if !is_idle {
                    heard = Instant::now();
                }
                if ready.woken {
                    clear(&woken).map_err(SupervisionError::on("watch the end"))?;
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

/// What went wrong while attending; the caller knows of which program.
enum SupervisionError {
    Unkillable,
    Io(&'static str, io::Error),
}

impl SupervisionError {
    fn on(operation: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io(operation, source)
    }

    fn of(self, program: PathBuf, leader: Pid) -> Error {
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

/// Where the end of a command stands. Each phase but the last gives way to the
/// next at its time, if nothing happens before.
#[derive(Debug, Clone, Copy)]
enum SupervisionPhase {
    /// The child may go on. (No time: the limit is beyond what a clock holds.)
    Running { until: Option<Instant> },
    /// It was asked to end.
    Terminating { until: Option<Instant> },
    /// It was killed and is expected to die.
    Killed { until: Instant },
    /// It has ended; its last output is read.
    Draining { until: Instant },
    /// Its leftovers were killed; the streams are expected to close. They are
    /// given up when they are silent at that time, or had that much to say.
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

/// The child and everything it started. Dropped early (an error, a panic in the
/// sink) it takes them all down.
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
        // What cannot be given shows in how it ends.
        let ended = pidfd_open(leader, PidfdFlags::empty()).ok();
        let ended = ended.as_ref().map(OwnedFd::as_fd);
        // What was spawned may hang before it is ready; whoever cancels is not kept waiting by that.
        let given = hold.as_mut().map(|hold| {
            let (woken, waker) = io::pipe()?;
            let _registered = cancel.wake(Arc::new(waker));
            let patience = if is_unwanted() {
                Duration::ZERO
            } else {
                patience
            };
            let ends: Vec<_> = ended.into_iter().chain([woken.as_fd()]).collect();
            hold.started(patience, &ends)
        });
        group.hold = hold;
        match given {
            Some(Err(source)) if !is_unwanted() && group.came_about() => Err(Error::Watch {
                program,
                operation: "serve the network",
                source,
            }),
            _ => Ok((group, streams)),
        }
    }

    /// Signals the process group. That it is empty already is no failure.
    fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.leader, signal);
    }

    fn kill(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.cut();
        }
        self.signal(Signal::KILL);
        if self.hold.is_none() {
            mark::sweep_younger(&self.mark, self.leader);
        }
    }

    /// Whether the command was run, and not only what should have confined it.
    fn came_about(&mut self) -> bool {
        self.hold.as_mut().is_none_or(|hold| hold.was_confined())
    }

    /// Waits until the killed child is gone, but not for ever.
    fn await_death(&self) {
        let patience = Timespec::try_from(KILLED).ok();
        if let Ok(child) = pidfd_open(self.leader, PidfdFlags::empty()) {
            let _ = poll(&mut [PollFd::new(&child, PollFlags::IN)], patience.as_ref());
        }
    }

    /// Whether the child has ended. It stays a zombie.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // An error can only mean that there is no such child any more.
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
    // The system gives the same error for a missing directory.
    if !cwd.is_dir() {
        return Error::NoDirectory { program, cwd };
    }
    match source.kind() {
        io::ErrorKind::NotFound => Error::NotFound { program },
        io::ErrorKind::PermissionDenied => Error::NotExecutable { program, source },
        _ => Error::Spawn { program, source },
    }
}

/// Writes a byte to `waker` when the child has ended. The thread ends with the
/// child, which the caller does not outlive unless it cannot be killed.
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

/// Reads the wake-up bytes; what they were for is asked of their senders.
fn clear(mut woken: &PipeReader) -> io::Result<()> {
    woken.read(&mut [0; 16]).map(drop)
}

/// A sandbox tells of a signal as a shell does, by a code past 128.
fn own_status(status: ExitStatus, confined: bool) -> ExitReason {
    match (status.code(), status.signal()) {
        (Some(code @ 129..=192), _) if confined => ExitReason::Signalled(code - 128),
        (Some(code), _) => ExitReason::Exited(code),
        (None, signal) => ExitReason::Signalled(signal.unwrap_or_default()),
    }
}
