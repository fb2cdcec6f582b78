//! The first process inside: the command's parent, and the reaper of all.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{Command, Stdio, exit};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus,
    set_dumpable_behavior, set_parent_process_death_signal, setrlimit, wait,
};

use super::{Error, system};

/// What it ends with when the lifeline is cut. Nobody is left to read it.
const CUT: i32 = 125;

pub(super) fn run(
    processes: &OsStr,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, Error> {
    let processes = processes.to_str().and_then(|text| text.parse().ok());
    // Nothing inside can look into this process, nor take its descriptors.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(system("hide from the command"))?;
    // In case bubblewrap alone is killed, for want of memory say. Its end is
    // the orchestrator's signal to cut the lifeline, so that coming too late
    // here is no harm.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(system("hang on to bubblewrap"))?;
    // Not before: outside it would count every process of the user.
    let limit = Rlimit {
        current: processes,
        maximum: processes,
    };
    setrlimit(Resource::Nproc, limit).map_err(system("limit the processes"))?;
    if is_cut(Some(&NOW))? {
        exit(CUT);
    }
    thread::Builder::new()
        .spawn(|| {
            while let Ok(false) = is_cut(None) {}
            exit(CUT)
        })
        .map_err(system("watch the lifeline"))?;
    let child = start(program, args)?;
    reap_until(child)
}

const NOW: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Whether the orchestrator has let go, waiting for it as long as said.
fn is_cut(timeout: Option<&Timespec>) -> Result<bool, Error> {
    let lifeline = io::stdin();
    let mut watched = [PollFd::new(&lifeline, PollFlags::empty())];
    match poll(&mut watched, timeout) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(system("watch the lifeline")(error)),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the confined command is started"
)]
fn start(program: &OsStr, args: impl Iterator<Item = OsString>) -> Result<Pid, Error> {
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|source| Error::Start {
            program: program.into(),
            source,
        })?;
    Ok(Pid::from_child(&child))
}

/// Collects everything that ends inside, until the command does.
fn reap_until(child: Pid) -> Result<Infallible, Error> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => exit(code(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(system("wait for the command")(error)),
        }
    }
}

/// As a shell says it: a signal is 128 more than its number.
fn code(status: WaitStatus) -> i32 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).unwrap_or(CUT)
}
