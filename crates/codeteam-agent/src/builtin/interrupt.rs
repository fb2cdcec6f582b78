//! What happens when the worker is told to end: it ends, and with it the command
//! that it is running.

use std::io;
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
    LISTENING.call_once(|| listening = start());
    listening
}

fn start() -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            for group in groups().iter() {
                let _ = kill_process_group(*group, Signal::KILL);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// A group that is killed if this process is told to end, until this is dropped.
pub(super) struct Killed(Option<Pid>);

/// Has a process group killed if this process is told to end.
pub(super) fn kills(group: Option<Pid>) -> Killed {
    groups().extend(group);
    Killed(group)
}

impl Drop for Killed {
    fn drop(&mut self) {
        groups().retain(|group| Some(*group) != self.0);
    }
}

fn groups() -> std::sync::MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}
