//! Holds connections on which nobody has shown the token yet.
//!
//! Anybody on this machine can open a connection and stay silent, so these connections have room of
//! their own, and little time. When the room is full, the oldest one is closed: whoever has the
//! token sends it at once, and is not kept out by those who send nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// All of them, the oldest first.
#[derive(Debug)]
pub(crate) struct PendingConnections {
    most: usize,
    waiting: Mutex<PendingQueue>,
}

#[derive(Debug, Default)]
struct PendingQueue {
    last: u64,
    all: VecDeque<(u64, oneshot::Sender<()>)>,
}

impl PendingConnections {
    /// Creates room for this many connections.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            waiting: Mutex::default(),
        }
    }

    /// One more has come. What is returned second comes true when it is admitted, and fails when it
    /// has to make way for others.
    pub(crate) fn add(&self) -> (u64, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        waiting.last += 1;
        let id = waiting.last;
        waiting.all.push_back((id, sender));
        if waiting.all.len() > self.most {
            waiting.all.pop_front();
        }
        (id, receiver)
    }

    /// One has shown the token, or left. Nothing happens the second time.
    pub(crate) fn release(&self, id: u64) {
        let mut waiting = self.lock();
        let at = waiting.all.iter().position(|(known, _)| *known == id);
        if let Some((_, sender)) = at.and_then(|at| waiting.all.remove(at)) {
            let _ = sender.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, PendingQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
