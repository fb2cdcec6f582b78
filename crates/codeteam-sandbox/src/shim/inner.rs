//! The first process inside: the command's parent, and the reaper of all.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::iter;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::{Command, Stdio, exit};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, WaitStatus,
    pidfd_open, set_dumpable_behavior, set_parent_process_death_signal, setrlimit, wait,
};

use super::{Error, ports, system};

/// How long the dead whose parents are gone may wait to be collected. Nothing
/// wakes this process for them: a thread would, but with only one thread there
/// is no moment in which a signal from inside could end it.
const SWEEP: Duration = Duration::from_millis(500);

/// What it ends with when the lifeline is cut. Nobody is left to read it.
const CUT: i32 = 125;

pub(super) fn run(
    processes: &OsStr,
    ports: &OsStr,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, Error> {
    let processes = processes.to_str().and_then(|text| text.parse().ok());
    keep(processes, &ports::read(ports)?, command(program, args), &[])
}

/// Starts a command and stays until its end, or that of the lifeline or of one
/// of the others that it also hangs on.
pub(super) fn keep(
    processes: Option<u64>,
    ports: &[u16],
    command: Command,
    others: &[BorrowedFd<'_>],
) -> Result<Infallible, Error> {
    // Nothing inside can look into this process, nor take its descriptors.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(system("hide from the command"))?;
    // In case bubblewrap (or what keeps a container) alone is killed, for want of memory say. Its end is
    // the orchestrator's signal to cut the lifeline, so that coming too late
    // here is no harm.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(system("hang on to the parent"))?;
    // Not before: outside it would count every process of the user.
    let limit = Rlimit {
        current: processes,
        maximum: processes,
    };
    setrlimit(Resource::Nproc, limit).map_err(system("limit the processes"))?;
    let lifeline = io::stdin();
    let silent = |fd| PollFd::from_borrowed_fd(fd, PollFlags::empty());
    let held = iter::once(lifeline.as_fd()).chain(others.iter().copied());
    let mut watched: Vec<_> = held.map(silent).collect();
    if wait_for(&mut watched, Duration::ZERO)? {
        exit(CUT);
    }
    // Before the command, so that even its first connection finds a listener.
    ports::hand_out(ports, lifeline.as_fd())?;
    let child = start(command)?;
    let ended = pidfd_open(child, PidfdFlags::empty()).map_err(system("watch the command"))?;
    let count = watched.len();
    watched.push(PollFd::new(&ended, PollFlags::IN));
    loop {
        wait_for(&mut watched, SWEEP)?;
        if watched[..count].iter().any(|fd| !fd.revents().is_empty()) {
            exit(CUT);
        }
        reap(child)?;
    }
}

/// Whether one of them has something to tell within that time.
fn wait_for(watched: &mut [PollFd<'_>], time: Duration) -> Result<bool, Error> {
    let time = Timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(watched, Some(&time)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(system("watch the lifeline")(error)),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the confined command")]
pub(super) fn command(program: &OsStr, args: impl IntoIterator<Item = OsString>) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    command
}

fn start(mut command: Command) -> Result<Pid, Error> {
    let child = command.spawn().map_err(|source| Error::Start {
        program: command.get_program().into(),
        source,
    })?;
    Ok(Pid::from_child(&child))
}

/// Collects everything that has ended inside, and ends with the command.
fn reap(child: Pid) -> Result<(), Error> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => exit(code(status)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Ok(()),
            Err(error) => return Err(system("wait for the command")(error)),
        }
    }
}

/// As a shell says it: a signal is 128 more than its number.
fn code(status: WaitStatus) -> i32 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).unwrap_or(CUT)
}
