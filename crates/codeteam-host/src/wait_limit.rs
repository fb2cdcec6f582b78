//! Limits how long a thread waits for git and for directory walks.
//!
//! Git calls and walks happen deep below the code that knows about aborts and time limits, so the
//! limit is kept per thread: whoever starts a piece of work opens a scope, and everything that this
//! thread waits for inside the scope obeys it. Scopes nest; an inner scope can shorten the time
//! that is left but never extend it.
//!
//! ```ignore
//! let _obeys = WaitLimit::obey_cancel(&cancel);              // abort and Ctrl-C
//! let _limit = WaitLimit::limit_to(Duration::from_mins(1));  // collecting has its own limit
//! workspace.collect()?;
//! ```

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;

thread_local! {
    static CURRENT: RefCell<WaitLimit> = RefCell::new(WaitLimit::default());
}

/// The conditions that end a wait of this thread: a cancellation token and a deadline, both
/// optional.
///
/// [`WaitLimit::obey_cancel`] and [`WaitLimit::limit_to`] change the limit of the current thread
/// until the [`WaitLimitScope`] they return is dropped. A new thread starts without a limit; to
/// carry one over, take [`WaitLimit::current`] in the old thread and [`WaitLimit::enter`] it in the
/// new one. Code that waits calls [`WaitLimit::check`] at regular intervals, or takes the token and
/// the deadline into its own `poll`.
#[derive(Debug, Clone, Default)]
pub struct WaitLimit {
    cancel: Option<CancelToken>,
    until: Option<Instant>,
    ignores_interruption: bool,
}

/// The reason a wait was ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The run was aborted or interrupted, or no longer needs the result.
    #[error("it was cancelled")]
    Cancelled,
    /// The deadline has passed.
    #[error("it took too long")]
    TimedOut,
}

impl WaitError {
    /// Converts this to an I/O error, for directory walks, which report only those.
    pub(crate) fn into_io(self) -> std::io::Error {
        let kind = match self {
            Self::Cancelled => std::io::ErrorKind::Other,
            Self::TimedOut => std::io::ErrorKind::TimedOut,
        };
        std::io::Error::new(kind, self)
    }
}

/// Restores the thread's previous limit when it is dropped.
#[must_use]
pub struct WaitLimitScope {
    before: WaitLimit,
}

impl Drop for WaitLimitScope {
    fn drop(&mut self) {
        let before = std::mem::take(&mut self.before);
        CURRENT.with(|current| *current.borrow_mut() = before);
    }
}

impl WaitLimit {
    /// Returns the limit of the current thread.
    pub fn current() -> Self {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Makes everything that this thread waits for end when `cancel` is cancelled.
    pub fn obey_cancel(cancel: &CancelToken) -> WaitLimitScope {
        let mut next = Self::current();
        next.cancel = Some(cancel.clone());
        next.enter()
    }

    /// Gives everything this thread does inside the scope `limit` in total. An earlier deadline
    /// stays in force.
    pub fn limit_to(limit: Duration) -> WaitLimitScope {
        let mut next = Self::current();
        next.until = earlier(next.until, Instant::now().checked_add(limit));
        next.enter()
    }

    /// Makes this the limit of the current thread, for example to carry one over from another
    /// thread.
    pub fn enter(self) -> WaitLimitScope {
        let before = CURRENT.with(|current| current.replace(self));
        WaitLimitScope { before }
    }

    /// Returns this limit with a deadline no later than `limit` from now.
    pub(crate) fn at_most(mut self, limit: Duration) -> Self {
        self.until = earlier(self.until, Instant::now().checked_add(limit));
        self
    }

    /// Returns this limit without its cancellation token, for operations that must not be
    /// interrupted half-way.
    pub(crate) fn without_cancel(mut self) -> Self {
        self.cancel = None;
        self.ignores_interruption = true;
        self
    }

    /// Returns true if what is waited for may be ended when codeteam is interrupted.
    pub(crate) fn obeys_interruption(&self) -> bool {
        !self.ignores_interruption
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until
    }

    pub(super) fn cancel(&self) -> Option<&CancelToken> {
        self.cancel.as_ref()
    }

    /// Does the same as [`check`](Self::check), with an I/O error, for whoever reads or copies files.
    pub fn check_io(&self) -> std::io::Result<()> {
        self.check().map_err(WaitError::into_io)
    }

    /// Fails if the wait was cancelled or its deadline has passed.
    pub fn check(&self) -> Result<(), WaitError> {
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
            let _obeys = WaitLimit::obey_cancel(&cancel);
            let _short = WaitLimit::limit_to(Duration::ZERO);
            let _long = WaitLimit::limit_to(Duration::from_mins(1));
            assert_eq!(WaitLimit::current().check(), Err(WaitError::TimedOut));
            cancel.cancel();
            assert_eq!(WaitLimit::current().check(), Err(WaitError::Cancelled));
        }
        assert_eq!(WaitLimit::current().check(), Ok(()));
    }
}
