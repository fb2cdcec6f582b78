//! Retry policies: how often a failed attempt is retried, and how long to wait in between.

use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, fnv_hash};

/// A retry policy: exponential backoff with jitter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryPolicy {
    /// The total number of attempts, including the first one.
    pub max_attempts: u32,
    /// The delay before the second attempt, in milliseconds.
    pub initial_delay_ms: u64,
    /// Each delay as a percentage of the one before: 200 doubles it.
    pub backoff_percent: u64,
    /// The longest delay, in milliseconds.
    pub max_delay_ms: u64,
    /// By how many percent a delay may be shorter or longer, so that runs do not retry in step.
    pub jitter_percent: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial_delay_ms: 2_000,
            backoff_percent: 200,
            max_delay_ms: 30_000,
            jitter_percent: 10,
        }
    }
}

impl RetryPolicy {
    /// Returns the policy with a name: `default`, `aggressive` (for critical paths), `conservative`
    /// (for expensive work), `none`.
    pub fn by_name(name: &str) -> Option<Self> {
        let default = Self::default();
        Some(match name {
            "default" => default,
            "aggressive" => Self {
                max_attempts: 5,
                initial_delay_ms: 1_000,
                backoff_percent: 150,
                max_delay_ms: 60_000,
                ..default
            },
            "conservative" => Self {
                max_attempts: 2,
                initial_delay_ms: 5_000,
                backoff_percent: 300,
                max_delay_ms: 120_000,
                ..default
            },
            "none" => Self {
                max_attempts: 1,
                ..default
            },
            _ => return None,
        })
    }

    /// The names that [`RetryPolicy::by_name`] knows.
    pub const NAMES: [&'static str; 4] = ["default", "aggressive", "conservative", "none"];

    /// Returns the milliseconds to wait before `next` is tried. The jitter comes from the attempt's
    /// own id, so it is the same in every replay and different between attempts.
    pub fn delay_ms(&self, next: &AttemptId) -> u64 {
        self.delay_after(next.attempt.saturating_sub(1), next)
    }

    /// Returns the milliseconds to wait after a number of failures, before the attempt `next`.
    pub fn delay_after(&self, failures: u32, next: &AttemptId) -> u64 {
        let mut delay = self.initial_delay_ms;
        for _ in 1..failures {
            delay = delay.saturating_mul(self.backoff_percent) / 100;
            if delay >= self.max_delay_ms {
                break;
            }
        }
        let delay = delay.min(self.max_delay_ms);
        let spread = delay.saturating_mul(self.jitter_percent) / 100;
        let offset = fnv_hash(&next.without_fence()) % (2 * spread + 1);
        (delay - spread + offset).min(self.max_delay_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FramePath;

    fn attempt(n: u32) -> AttemptId {
        AttemptId {
            frame: FramePath::root(),
            step: "code".into(),
            generation: 1,
            slot: 0,
            attempt: n,
            fence: 9,
        }
    }

    #[test]
    fn waits_grow_to_the_maximum_and_stay_within_the_jitter() {
        let policy = RetryPolicy::default();
        for (n, base) in [(2, 2_000), (3, 4_000), (4, 8_000), (5, 16_000), (6, 30_000)] {
            let delay = policy.delay_ms(&attempt(n));
            assert!(delay.abs_diff(base) <= base / 10, "attempt {n}: {delay}");
        }
        assert!(policy.delay_ms(&attempt(4_000_000_000)) <= policy.max_delay_ms);
    }

    #[test]
    fn the_jitter_is_derived_not_drawn() {
        let policy = RetryPolicy::default();
        let mut relaunched = attempt(3);
        relaunched.fence = 77;
        assert_eq!(policy.delay_ms(&attempt(3)), policy.delay_ms(&relaunched));
    }
}
