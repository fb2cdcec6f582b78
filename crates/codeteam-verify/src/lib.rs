//! Judges a change by reading it: the length of functions, import cycles, whether new tests fail
//! without the change, and whether the change games the checks (weakened tests, hard-coded
//! results).
//!
//! Everything here is a pure function of the files before and after, the changed lines and the
//! task. The engine runs the commands and reads the trees, and calls this crate with what it found.
//!
//! - [`change`] defines the input of all checks, a [`ChangeSet`],
//! - [`metrics`] and [`cycles`] measure the code,
//! - [`mutants`] makes copies of a change in which something is wrong, which its tests should notice,
//! - [`proof`] plans how to prove that the tests of a change test something,
//! - [`idle_tests`] tells which new tests pass without the change,
//! - [`coverage`] reads which changed lines the tests have run,
//! - [`repeats`] finds the tests of a change, and the commands that run only these,
//! - [`failing_probe`] puts a failing test into test files, to see whether a gate notices it,
//! - [`failures`] reads the names of failed tests from the output of test runners,
//! - [`test_report`] reads what test runners report and compares it with what they reported before,
//! - [`format`](mod@format) judges the form of a file: its words, its links, what it contains,
//! - [`risk`] reads the facts about the risk of a change,
//! - [`honesty`] has the rules against gaming the checks, one per file.
//!
//! Every check returns [`CheckFindings`].

pub mod change;
pub mod coverage;
pub mod cycles;
mod expected_outputs;
pub mod failing_probe;
pub mod failures;
pub mod format;
pub mod honesty;
pub mod idle_tests;
pub mod interface;
pub mod metrics;
pub mod mutants;
pub mod proof;
pub mod repeats;
pub mod risk;
mod source;
pub mod test_report;

pub use self::change::{ChangeSet, ChangedFile, FileVersion, SourceLine};

use std::fmt::Write as _;

use codeteam_core::checks::{CheckMeasure, CheckRemark, CheckResult};
use codeteam_core::findings::ReportedFinding;
use codeteam_core::workflow::Check;

/// The largest number of measures that a result lists.
const MEASURES: usize = 50;
/// The largest number of lines in a summary.
const LINES: usize = 20;

/// What a check has found: failures, notes, and the measured values.
///
/// Every check in this crate returns this type, and [`into_result`](Self::into_result) turns it
/// into the result that the run records. The fields differ in their effect:
///
/// - A failure fails the check, unless the check is advisory. It goes back to the worker, so it
///   says where the problem is and what to do about it.
/// - A note never fails the check; it marks the result for a person.
/// - `inconclusive` says that the check could not find out everything. If nothing failed, the
///   result passes and is marked as unproved.
/// - A finding goes to the reviewers, who decide.
///
/// The default value means that the check passed and has nothing to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckFindings {
    /// The failures, one line each: where, what, and what to do about it.
    pub failures: Vec<String>,
    /// Notes for a person, one line each.
    pub notes: Vec<String>,
    /// The reason why the check is inconclusive, if it is.
    pub inconclusive: Option<String>,
    /// The measured values, one by one.
    pub measures: Vec<CheckMeasure>,
    /// The findings that a reviewer should judge.
    pub findings: Vec<ReportedFinding>,
}

impl CheckFindings {
    /// Creates findings that say only that the check is inconclusive.
    pub fn inconclusive(why: impl Into<String>) -> Self {
        Self {
            inconclusive: Some(why.into()),
            ..Self::default()
        }
    }

    /// Converts the findings into the result of a check. With `told_only` the check is advisory: it
    /// passes in any case.
    pub fn into_result(self, check: &Check, told_only: bool) -> CheckResult {
        let passed = self.failures.is_empty() || told_only;
        let remark = match (&self.inconclusive, self.failures.len() + self.notes.len()) {
            _ if !passed => None,
            (Some(_), _) => Some(CheckRemark::Unproved),
            (None, 0) => None,
            (None, _) => Some(CheckRemark::Noted),
        };
        let lines: Vec<String> = self
            .failures
            .into_iter()
            .chain(self.notes)
            .chain(self.inconclusive)
            .collect();
        CheckResult {
            name: check.name.clone(),
            class: check.what.class(),
            passed,
            summary: join_lines(&lines),
            remark,
            measures: select_measures(self.measures),
            output: None,
            coverage: None,
            exit: None,
            findings: self.findings,
            still_failing: Vec::new(),
        }
    }
}

/// Joins lines into one text of limited length.
fn join_lines(lines: &[String]) -> String {
    let mut text = lines[..lines.len().min(LINES)].join("\n");
    if lines.len() > LINES {
        let _ = write!(text, "\nand {} more", lines.len() - LINES);
    }
    text
}

/// Keeps all failed measures and some of the others, in their order.
fn select_measures(mut measures: Vec<CheckMeasure>) -> Vec<CheckMeasure> {
    let failed = measures.iter().filter(|measure| !measure.passed).count();
    let mut room = MEASURES.saturating_sub(failed);
    measures.retain(|measure| {
        let stays = !measure.passed || room > 0;
        room = room.saturating_sub(usize::from(measure.passed));
        stays
    });
    measures
}
