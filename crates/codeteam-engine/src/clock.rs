//! The clock of a run: wall-clock time that never goes backwards.
//!
//! Waits end at a time of day, which is recorded so that they survive a crash. If the clock were
//! set back by a year meanwhile, they would take a year. So the time advances at its normal pace
//! from the latest moment known to this process or to the run's log, until the wall clock has
//! caught up.

use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use codeteam_core::ids::EpochMillis;

/// The latest known moment, and when this process learned it.
static LATEST: Mutex<Option<(EpochMillis, Instant)>> = Mutex::new(None);

/// Returns the current time.
pub fn now() -> EpochMillis {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    later(&mut latest, wall(), Instant::now())
}

/// Records that something happened at this time, so that the clock is not behind it.
pub(crate) fn advance_clock(at: EpochMillis) {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    later(&mut latest, at, Instant::now());
}

fn wall() -> EpochMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    EpochMillis(since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)))
}

/// Returns the later of a clock's time and the latest known moment plus the time since.
fn later(
    latest: &mut Option<(EpochMillis, Instant)>,
    said: EpochMillis,
    at: Instant,
) -> EpochMillis {
    let passed = |since: &Instant| {
        let passed = at.saturating_duration_since(*since).as_millis();
        u64::try_from(passed).unwrap_or(u64::MAX)
    };
    let reckoned = latest
        .as_ref()
        .map(|(time, since)| time.plus(passed(since)));
    match reckoned {
        Some(reckoned) if reckoned > said => reckoned,
        _ => {
            *latest = Some((said, at));
            said
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_that_is_set_back_does_not_make_a_wait_longer() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let mut latest = None;
        assert_eq!(
            later(&mut latest, EpochMillis(10_000), start),
            EpochMillis(10_000)
        );
        assert_eq!(
            later(&mut latest, EpochMillis(11_000), after(1_000)),
            EpochMillis(11_000)
        );
        // Set back by ten seconds: it goes on from where it was.
        assert_eq!(
            later(&mut latest, EpochMillis(2_000), after(2_000)),
            EpochMillis(12_000)
        );
        assert_eq!(
            later(&mut latest, EpochMillis(4_000), after(4_000)),
            EpochMillis(14_000)
        );
        // Set forward, or caught up: the wall is right again.
        assert_eq!(
            later(&mut latest, EpochMillis(90_000), after(5_000)),
            EpochMillis(90_000)
        );
    }
}
