//! Judges what a step demands of the tests of its change: how much of the change they run, and how many
//! there are.

use codeteam_core::checks::{ChangedCoverage, CheckResult};
use codeteam_core::workflow::Check;
use codeteam_verify::CheckFindings;
use codeteam_verify::proof::TestPatterns;
use codeteam_verify::repeats::changed_tests;

use super::GateChecks;
use crate::perform::Error;

impl GateChecks<'_> {
    /// Compares how many of the changed lines the tests have run, by the reports of the commands so far,
    /// with the least that is demanded. Without a report nothing is held against the change.
    pub(super) fn judge_coverage(&self, check: &Check, min_percent: u32) -> CheckResult {
        let known = self.results.iter().flatten();
        let known: Vec<&ChangedCoverage> = known.filter_map(|r| r.coverage.as_ref()).collect();
        let mut findings = CheckFindings::default();
        // Several reports may be about the same lines, so the best of them counts.
        let best = known
            .into_iter()
            .filter(|coverage| coverage.lines > 0)
            .max_by_key(|coverage| {
                u64::from(coverage.covered) * 10_000 / u64::from(coverage.lines)
            });
        match best {
            None => findings.notes.push(
                "no command left a report of which changed lines the tests have run \
                 (`verification.coverage_reports`)"
                    .to_owned(),
            ),
            Some(found)
                if u64::from(found.covered) * 100
                    < u64::from(found.lines) * u64::from(min_percent) =>
            {
                findings.failures.push(format!(
                    "the tests run {found}, and the workflow demands {min_percent} percent of the changed \
                     lines"
                ));
            }
            Some(_) => {}
        }
        findings.into_result(check, false)
    }

    /// Counts the tests that the change adds or edits. A test file whose tests nobody can name is not
    /// counted, and not held against the change.
    pub(super) fn count_tests(
        &self,
        check: &Check,
        min: u32,
        tests: &[String],
    ) -> Result<CheckResult, Error> {
        let changed = changed_tests(self.look.change()?, &TestPatterns::new(tests));
        let count: usize = changed.iter().map(|file| file.tests.len()).sum();
        let unnamed = changed.iter().find(|file| file.tests.is_empty());
        let mut findings = CheckFindings::default();
        if count < min as usize {
            match unnamed {
                Some(file) => findings
                    .notes
                    .push(format!("the tests in `{}` cannot be counted", file.path)),
                None => findings.failures.push(format!(
                    "the workflow demands at least {min} tests of the change, which adds or edits {count}"
                )),
            }
        }
        Ok(findings.into_result(check, false))
    }
}
