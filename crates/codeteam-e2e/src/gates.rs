//! Gates, at which an answer waits until the test releases it.
//!
//! A waiting connection reads from its client, which has nothing to send until it is answered: the
//! read ends when the client goes, and also when a release shuts down the reading side. So a wait
//! needs no polling and notices both.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All the gates of a server.
#[derive(Debug, Default)]
pub(crate) struct ResponseGates {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    next: u64,
    open: BTreeSet<String>,
    all_open: bool,
    waiting: BTreeMap<u64, (String, TcpStream)>,
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateOutcome {
    /// The gate was opened.
    Released,
    /// The client is gone.
    Gone,
}

impl ResponseGates {
    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits at a gate. After a release nothing more can be read from the client.
    pub(crate) fn wait_at(&self, gate: &str, stream: &TcpStream) -> GateOutcome {
        let Ok(clone) = stream.try_clone() else {
            return GateOutcome::Gone;
        };
        let number = {
            let mut state = self.state();
            if state.all_open || state.open.contains(gate) {
                return GateOutcome::Released;
            }
            state.next += 1;
            let number = state.next;
            state.waiting.insert(number, (gate.to_owned(), clone));
            number
        };
        self.changed.notify_all();
        // Whatever a client sends while it waits for an answer is of no interest.
        let mut bytes = [0; 256];
        let mut reader = stream;
        while matches!(reader.read(&mut bytes), Ok(read) if read > 0) {}
        let released = {
            let mut state = self.state();
            state.waiting.remove(&number);
            state.all_open || state.open.contains(gate)
        };
        self.changed.notify_all();
        if released {
            GateOutcome::Released
        } else {
            GateOutcome::Gone
        }
    }

    /// Opens a gate for who waits there and who comes.
    pub(crate) fn open(&self, gate: &str) {
        let mut state = self.state();
        state.open.insert(gate.to_owned());
        wake_waiting(&state, |name| name == gate);
    }

    /// Opens every gate.
    pub(crate) fn open_all(&self) {
        let mut state = self.state();
        state.all_open = true;
        wake_waiting(&state, |_| true);
    }

    /// Waits until this many answers wait at a gate; returns whether they do.
    pub(crate) fn wait_until_held(&self, gate: &str, count: usize, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        loop {
            let waiting = state.waiting.values().filter(|(name, _)| name == gate);
            if waiting.count() == count {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

fn wake_waiting(state: &GateState, fits: impl Fn(&str) -> bool) {
    for (gate, stream) in state.waiting.values() {
        if fits(gate) {
            // An error means that the client is gone, which ends the wait as well.
            let _ = stream.shutdown(Shutdown::Read);
        }
    }
}
