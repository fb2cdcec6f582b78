//! Says what takes long, where no line on a terminal shows it all the time.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use codeteam_core::ids::AttemptId;

/// What ends sooner is not worth a line.
const SOON: Duration = Duration::from_secs(5);
/// How often it is said again.
const AGAIN: Duration = Duration::from_mins(1);

/// The checks and set-ups that are under way.
pub(super) struct SlowWork {
    soon: Duration,
    /// What ends the watch of each when it is dropped.
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
    /// Something begins: `say` is called with how long it takes so far, if it takes long.
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
        // Without a thread nothing is said of it.
        let _ = std::thread::Builder::new()
            .name("slow".to_owned())
            .spawn(wait);
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.insert(id.clone(), ended);
    }

    /// It has ended.
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
