//! What a test runner reports about its own run, and whether that agrees with the exit code and
//! with what was reported before the change.
//!
//! There are two witnesses besides the exit code: the summary that the runner prints, which
//! codeteam reads from the output that it has captured itself, and the `JUnit` file that pytest is
//! asked to write. Both come from the tested process, so neither is proof by itself: code under test
//! can print a summary, and write a file. What they are good for is that a change which bends the
//! exit code has to forge all of them in agreement, down to the names of the tests that ran before,
//! and such code is visible to the other rules and to reviewers.

mod comparison;
mod junit;
mod output;

pub use self::comparison::check_tests_ran;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The outcome of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TestOutcome {
    /// It was not run, or not to its end.
    Skipped,
    /// It passed, or failed as its author expects.
    Passed,
    /// It failed, or could not be set up.
    Failed,
}

/// What a test runner reports about one run.
///
/// A command may run several runners, or one of them several times; the counts are sums over all
/// summaries. Names are only known for runners that list each test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    /// The runners, each once.
    pub(crate) runners: Vec<String>,
    /// The number of tests that passed.
    pub passed: u64,
    /// The number of tests that failed, or could not be set up.
    pub failed: u64,
    /// The number of tests that were not run.
    pub skipped: u64,
    /// The tests by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) names: BTreeMap<String, TestOutcome>,
}

impl TestReport {
    /// Reads what runners report, from a command's output and from the `JUnit` file that one of them
    /// has written. Returns `None` if there is neither a summary nor a file.
    pub fn read(output: &str, junit: Option<&str>) -> Option<Self> {
        let printed = output::read_output(output);
        let written = junit.and_then(junit::read_junit);
        match (printed, written) {
            (Some(mut printed), Some(written)) => {
                printed.failed = printed.failed.max(written.failed);
                // A file lists every case of a test, an output at most some of them.
                printed.names = written.names;
                Some(printed)
            }
            (printed, written) => printed.or(written),
        }
    }

    /// Returns the number of tests that were run.
    pub fn ran(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    fn add_runner(&mut self, name: &str) {
        if !self.runners.iter().any(|known| known == name) {
            self.runners.push(name.to_owned());
        }
    }

    /// Records one test. Of several with the same name, one that failed counts, then one that passed.
    fn add_test(&mut self, name: impl Into<String>, outcome: TestOutcome) {
        let known = self.names.entry(name.into()).or_insert(outcome);
        *known = (*known).max(outcome);
    }
}

/// `pytest: 1 failed, 26 passed`.
impl fmt::Display for TestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.runners.join(", "))?;
        if self.failed > 0 {
            write!(f, "{} failed, ", self.failed)?;
        }
        write!(f, "{} passed", self.passed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}
