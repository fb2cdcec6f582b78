//! The cancellation token that ends a command early.
//!
//! A bare flag would have to be polled. Instead, each runner registers the writing end of its
//! wake-up pipe with the token for as long as it runs, and cancelling writes a byte to it.

use std::io::{PipeWriter, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Cancels every command that holds a clone of it.
///
/// Clones share one state. A token cannot be reset: once cancelled, it stays cancelled. A
/// [`child`](Self::child) token is cancelled with its parent, but can also be cancelled alone.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    shared: Arc<CancelState>,
    /// The state of the token this one is a child of: cancelling that one cancels this one too.
    parent: Option<Arc<CancelState>>,
}

#[derive(Debug, Default)]
struct CancelState {
    cancelled: AtomicBool,
    wakers: Mutex<Vec<Arc<PipeWriter>>>,
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a token that is cancelled with this one, but can also be cancelled without affecting
    /// it.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            shared: Arc::default(),
            parent: Some(Arc::clone(&self.shared)),
        }
    }

    /// Cancels the token and wakes every runner that is waiting.
    pub fn cancel(&self) {
        if self.shared.cancelled.swap(true, Ordering::SeqCst) {
            return;
        }
        for waker in self.shared.wakers().iter() {
            // A closed pipe belongs to a runner that has just finished.
            let _ = (&**waker).write_all(b"c");
        }
    }

    /// Returns true if this token or its parent was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.shares()
            .any(|shared| shared.cancelled.load(Ordering::SeqCst))
    }

    /// Writes a byte to `waker` on cancellation, until the registration is dropped. The caller must
    /// check [`CancelToken::is_cancelled`] after registering, since the token may have been
    /// cancelled before.
    pub(super) fn wake_on_cancel(&self, waker: Arc<PipeWriter>) -> CancelRegistration {
        for shared in self.shares() {
            shared.wakers().push(Arc::clone(&waker));
        }
        CancelRegistration {
            cancel: self.clone(),
            waker,
        }
    }

    fn shares(&self) -> impl Iterator<Item = &Arc<CancelState>> {
        [&self.shared].into_iter().chain(&self.parent)
    }
}

impl CancelState {
    fn wakers(&self) -> MutexGuard<'_, Vec<Arc<PipeWriter>>> {
        // A panic cannot leave a list of pipes half-changed.
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the runner's pipe from the token when it is dropped.
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
