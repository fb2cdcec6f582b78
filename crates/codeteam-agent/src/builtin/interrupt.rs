//! Ends the worker on a signal, and with it the command that it is running.

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

/// Makes a signal that ends this process also end its commands, from now on.
pub(super) fn listen_for_signals() -> io::Result<()> {
    let mut listening = Ok(());
    LISTENING.call_once(|| listening = spawn_signal_thread());
    listening
}

fn spawn_signal_thread() -> io::Result<()> {
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

/// The process group of a command that is killed if this process is told to end, until this is
/// dropped.
pub(super) struct ProcessGroupGuard(Option<Pid>);

impl ProcessGroupGuard {
    /// The group.
    pub(super) fn group(&self) -> Option<Pid> {
        self.0
    }
}

/// Starts a command that leads a process group. A signal that arrives meanwhile waits until the
/// group is known, so none is lost.
pub(super) fn spawn_group<T>(
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
