//! The switch that ends a command early.
//!
//! A flag alone would have to be polled; each runner therefore lends the switch
//! the writing end of its wake-up pipe for as long as it runs.

use std::io::{PipeWriter, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Cancels every command it was given to. Clones are the same switch, and it
/// cannot be reset.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    shared: Arc<CancelState>,
    /// A switch that cancels this one too.
    above: Option<Arc<CancelState>>,
}

#[derive(Debug, Default)]
struct CancelState {
    cancelled: AtomicBool,
    wakers: Mutex<Vec<Arc<PipeWriter>>>,
}

impl CancelToken {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// A switch that is off as long as this one is, and can be thrown without it.
    #[must_use]
    pub fn below(&self) -> Self {
        Self {
            shared: Arc::default(),
            above: Some(Arc::clone(&self.shared)),
        }
    }

    /// Cancels, and wakes every runner that is waiting.
    pub fn cancel(&self) {
        if self.shared.cancelled.swap(true, Ordering::SeqCst) {
            return;
        }
        for waker in self.shared.wakers().iter() {
            // A closed pipe belongs to a runner that has just finished.
            let _ = (&**waker).write_all(b"c");
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.shares()
            .any(|shared| shared.cancelled.load(Ordering::SeqCst))
    }

    /// Writes a byte to `waker` on cancellation, until the registration is
    /// dropped. The caller asks [`CancelToken::is_cancelled`] after registering.
    pub(super) fn wake(&self, waker: Arc<PipeWriter>) -> CancelRegistration {
        for shared in self.shares() {
            shared.wakers().push(Arc::clone(&waker));
        }
        CancelRegistration {
            cancel: self.clone(),
            waker,
        }
    }

    fn shares(&self) -> impl Iterator<Item = &Arc<CancelState>> {
        [&self.shared].into_iter().chain(&self.above)
    }
}

impl CancelState {
    fn wakers(&self) -> MutexGuard<'_, Vec<Arc<PipeWriter>>> {
        // A list of pipes is valid at every moment, whoever panicked.
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the runner's pipe off the list again.
pub(super) struct CancelRegistration {
    cancel: CancelToken,
    waker: Arc<PipeWriter>,
}

impl Drop for CancelRegistration {
    fn drop(&mut self) {
        for shared in self.cancel.shares() {
            shared
                .wakers()
                .retain(|other| !Arc::ptr_eq(other, &self.waker));
        }
    }
}
