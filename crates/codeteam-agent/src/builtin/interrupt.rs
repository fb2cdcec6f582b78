//! What happens when the worker is told to end: it ends, and with it the command
//! that it is running.

use std::io;
use std::process::Child;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The process groups of commands under way.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

static LISTENING: Once = Once::new();

/// From now on a signal that ends this process also ends its commands.
pub(super) fn listen() -> io::Result<()> {
    let mut listening = Ok(());
    LISTENING.call_once(|| listening = serve());
    listening
}

fn serve() -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            // Held to the end, so that no further command starts.
            let groups = groups();
            for group in groups.iter() {
                let _ = kill_process_group(*group, Signal::KILL);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// The group of a command that is killed if this process is told to end, until
/// this is dropped.
pub(super) struct ProcessGroupGuard(Option<Pid>);

impl ProcessGroupGuard {
    /// The group.
    pub(super) fn group(&self) -> Option<Pid> {
        self.0
    }
}

/// Starts a command that leads a process group. A signal that comes meanwhile
/// waits until the group is known: none is forgotten between the two.
pub(super) fn start<T>(
    spawn: impl FnOnce() -> io::Result<(Child, T)>,
) -> io::Result<(Child, T, ProcessGroupGuard)> {
    let mut groups = groups();
    let (child, rest) = spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    groups.extend(group);
    Ok((child, rest, ProcessGroupGuard(group)))
}

impl Drop for ProcessGroupGuard {
    fn drop(&mut self) {
        groups().retain(|group| Some(*group) != self.0);
    }
}

fn groups() -> std::sync::MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}
