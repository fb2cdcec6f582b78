//! The first process inside: the parent of the command, and the reaper of all processes.

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

/// How long dead processes whose parents are gone may wait to be reaped. Nothing wakes this process
/// for them: a thread would, but with only one thread there is no moment in which a signal from
/// inside could end it.
const SWEEP: Duration = Duration::from_millis(500);

/// The exit code when the lifeline is cut. Nobody is left to read it.
const CUT: i32 = 125;

pub(super) fn run(
    processes: &OsStr,
    ports: &OsStr,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, Error> {
    let processes = processes.to_str().and_then(|text| text.parse().ok());
    supervise(
        processes,
        &ports::parse_ports(ports)?,
        command(program, args),
        &[],
    )
}

/// Starts a command and waits until it ends, the lifeline is cut, or one of the `others` is closed.
pub(super) fn supervise(
    processes: Option<u64>,
    ports: &[u16],
    command: Command,
    others: &[BorrowedFd<'_>],
) -> Result<Infallible, Error> {
    // Nothing inside can inspect this process or take its descriptors.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(system("hide from the command"))?;
    // This is for the case that bubblewrap (or the keeper of a container) alone is killed, for lack
    // of memory say. Its end makes the orchestrator cut the lifeline, so it does no harm if this
    // signal is requested too late.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(system("hang on to the parent"))?;
    // This is set only now: outside, it would count every process of the user.
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
    // The listeners come before the command, so that even its first connection finds one.
    ports::send_listeners(ports, lifeline.as_fd())?;
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

/// Returns true if one of them has an event within that time.
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

/// Reaps everything that has ended inside, and exits when the command has ended.
fn reap(child: Pid) -> Result<(), Error> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => exit(exit_code(status)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Ok(()),
            Err(error) => return Err(system("wait for the command")(error)),
        }
    }
}

/// Returns the exit code as a shell does: for a signal, 128 plus its number.
fn exit_code(status: WaitStatus) -> i32 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).unwrap_or(CUT)
}
