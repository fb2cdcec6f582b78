//! The circuit breaker: a step that keeps failing within a window is not tried again.

use serde::{Deserialize, Serialize};

use crate::ids::EpochMillis;

/// The conditions under which a breaker opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerPolicy {
    /// This many failures ...
    pub max_failures: u32,
    /// ... within this many milliseconds open it.
    pub window_ms: u64,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self {
            max_failures: 5,
            window_ms: 300_000,
        }
    }
}

/// The maximum number of failures that are kept.
const MAX_KEPT: usize = 100;

/// The failures of one step in one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitBreaker {
    failures: Vec<EpochMillis>,
}

impl CircuitBreaker {
    /// Records a failure. [`is_open`](Self::is_open) decides which of them count; only the last
    /// ones are kept, which is more than any policy needs.
    pub fn record(&mut self, at: EpochMillis) {
        if self.failures.len() == MAX_KEPT {
            self.failures.remove(0);
        }
        self.failures.push(at);
    }

    /// Returns true if the step must not be tried again.
    pub fn is_open(&self, at: EpochMillis, policy: &BreakerPolicy) -> bool {
        let recent = self
            .failures
            .iter()
            .filter(|t| at.since(**t) < policy.window_ms)
            .count();
        recent >= policy.max_failures as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_at_the_last_allowed_failure_and_closes_with_time() {
        let policy = BreakerPolicy {
            max_failures: 3,
            window_ms: 1_000,
        };
        let mut breaker = CircuitBreaker::default();
        for at in [0, 100] {
            breaker.record(EpochMillis(at));
            assert!(!breaker.is_open(EpochMillis(at), &policy));
        }
        breaker.record(EpochMillis(200));
        assert!(breaker.is_open(EpochMillis(200), &policy));
        assert!(
            !breaker.is_open(EpochMillis(1_050), &policy),
            "the first failure has left the window"
        );
    }

    #[test]
    fn failures_spread_out_never_open_it() {
        let policy = BreakerPolicy {
            max_failures: 2,
            window_ms: 1_000,
        };
        let mut breaker = CircuitBreaker::default();
        for n in 0..1_000 {
            breaker.record(EpochMillis(n * 1_000));
            assert!(!breaker.is_open(EpochMillis(n * 1_000), &policy));
        }
        assert_eq!(breaker.failures.len(), MAX_KEPT);
    }
}
