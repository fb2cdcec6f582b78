//! How long this thread waits for git and for walks through folders, and what ends the waiting.
//!
//! Git calls and walks happen deep below the code that knows about aborts and time limits, so both
//! are kept per thread: whoever starts a piece of work opens a scope, and everything that this
//! thread waits for inside it obeys. Scopes nest; an inner one can only make the patience shorter.
//!
//! ```ignore
//! let _obeys = Patience::obey(&cancel);              // abort and Ctrl-C
//! let _limit = Patience::within(Duration::from_mins(1)); // collecting has a limit of its own
//! workspace.collect()?;
//! ```

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::CancelToken;

thread_local! {
    static CURRENT: RefCell<WaitLimit> = RefCell::new(WaitLimit::default());
}

/// What ends the waiting of this thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitLimit {
    cancel: Option<CancelToken>,
    until: Option<Instant>,
}

/// Why something was not waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WaitError {
    /// The run was aborted, interrupted, or has no use for it any more.
    #[error("it was cancelled")]
    Cancelled,
    /// Its time is over.
    #[error("it took too long")]
    TimedOut,
}

impl WaitError {
    /// As an error of the system, for walks, whose other errors are of that kind.
    pub(crate) fn into_io(self) -> std::io::Error {
        let kind = match self {
            Self::Cancelled => std::io::ErrorKind::Other,
            Self::TimedOut => std::io::ErrorKind::TimedOut,
        };
        std::io::Error::new(kind, self)
    }
}

/// The patience of before comes back when this is dropped.
#[must_use]
pub(crate) struct WaitLimitScope {
    before: WaitLimit,
}

impl Drop for WaitLimitScope {
    fn drop(&mut self) {
        let before = std::mem::take(&mut self.before);
        CURRENT.with(|current| *current.borrow_mut() = before);
    }
}

impl WaitLimit {
    /// What this thread goes by now.
    pub(crate) fn current() -> Self {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Lets a switch end everything that this thread waits for.
    pub(crate) fn obey(cancel: &CancelToken) -> WaitLimitScope {
        let mut next = Self::current();
        next.cancel = Some(cancel.clone());
        next.enter()
    }

    /// Gives everything that follows so much time together.
    pub(crate) fn within(limit: Duration) -> WaitLimitScope {
        let mut next = Self::current();
        next.until = earlier(next.until, Instant::now().checked_add(limit));
        next.enter()
    }

    /// Goes on with the patience of another thread.
    pub(crate) fn enter(self) -> WaitLimitScope {
        let before = CURRENT.with(|current| current.replace(self));
        WaitLimitScope { before }
    }

    /// The same, which also ends after `limit`.
    pub(crate) fn at_most(mut self, limit: Duration) -> Self {
        self.until = earlier(self.until, Instant::now().checked_add(limit));
        self
    }

    /// The same, which nobody cancels: for what must not be broken off half-way.
    pub(crate) fn without_cancel(mut self) -> Self {
        self.cancel = None;
        self
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    pub(super) fn cancel(&self) -> Option<&CancelToken> {
        self.cancel.as_ref()
    }

    /// Whether there is any reason to wait no longer.
    pub(crate) fn check(&self) -> Result<(), WaitError> {
        if self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(WaitError::Cancelled);
        }
        match self.until {
            Some(until) if Instant::now() >= until => Err(WaitError::TimedOut),
            _ => Ok(()),
        }
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_only_get_shorter() {
        let cancel = CancelToken::new();
        {
            let _obeys = WaitLimit::obey(&cancel);
            let _short = WaitLimit::within(Duration::ZERO);
            let _long = WaitLimit::within(Duration::from_mins(1));
            assert_eq!(WaitLimit::current().check(), Err(WaitError::TimedOut));
            cancel.cancel();
            assert_eq!(WaitLimit::current().check(), Err(WaitError::Cancelled));
        }
        assert_eq!(WaitLimit::current().check(), Ok(()));
    }
}
