//! Connections of which nobody has shown the token yet.
//!
//! Anybody on this machine can open a connection and say nothing, so that these have room of their own,
//! and little time. When it is full, the one that has been there longest makes way: whoever has the token
//! sends it at once, and is not kept out by those who wait for nothing.

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
    /// Room for so many.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            waiting: Mutex::default(),
        }
    }

    /// One more has come. What is returned second comes true when it is admitted, and fails when it
    /// has to make way for others.
    pub(crate) fn enter(&self) -> (u64, oneshot::Receiver<()>) {
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
    pub(crate) fn admit(&self, id: u64) {
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
