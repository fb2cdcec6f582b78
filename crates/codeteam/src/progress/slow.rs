//! Reports slow work where no live line shows it.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use codeteam_core::ids::AttemptId;

/// Work that ends sooner is not reported.
const SOON: Duration = Duration::from_secs(5);
/// The interval between reports.
const AGAIN: Duration = Duration::from_mins(1);

/// The checks and set-ups under way.
pub(super) struct SlowWork {
    soon: Duration,
    /// Dropping a sender ends the watch of its attempt.
    watched: Mutex<BTreeMap<AttemptId, Sender<()>>>,
}

impl Default for SlowWork {
    fn default() -> Self {
        Self {
            soon: SOON,
            watched: Mutex::default(),
        }
    }
}

impl SlowWork {
    /// Starts watching: `say` is called with the elapsed seconds, if the work takes long.
    pub(super) fn begin(&self, id: &AttemptId, say: impl Fn(u64) + Send + 'static) {
        let (ended, watch) = channel::<()>();
        let began = Instant::now();
        let mut next = self.soon;
        let wait = move || {
            while watch.recv_timeout(next) == Err(RecvTimeoutError::Timeout) {
                say(began.elapsed().as_secs());
                next = AGAIN;
            }
        };
        // Without a thread nothing is reported.
        let _ = std::thread::Builder::new()
            .name("slow".to_owned())
            .spawn(wait);
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.insert(id.clone(), ended);
    }

    /// Ends the watch.
    pub(super) fn end(&self, id: &AttemptId) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use codeteam_core::ids::FramePath;

    use super::*;

    #[test]
    fn what_takes_long_is_said_until_it_ends() {
        let slow = SlowWork {
            soon: Duration::from_millis(1),
            ..SlowWork::default()
        };
        let id = AttemptId {
            frame: FramePath::root(),
            step: "verify".into(),
            generation: 1,
            slot: 0,
            attempt: 1,
            fence: 1,
        };
        let (sender, said) = channel();
        slow.begin(&id, move |seconds| {
            let _ = sender.send(seconds);
        });
        assert_eq!(said.recv(), Ok(0));
        slow.end(&id);
        assert!(said.recv().is_err(), "its watch has ended");
    }
}
