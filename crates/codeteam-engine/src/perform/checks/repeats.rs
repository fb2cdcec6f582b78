//! Runs the tests that a change adds or edits again: together, in another order, and alone.
//!
//! The gate has run all tests once when this begins. A new or changed test that fails in a further
//! run on the same tree is refused: nobody can rely on it. In another order and alone, a test that
//! was there before is not held against the change, because it may have depended on others ever
//! since; reviewers get a finding.

use std::time::{Duration, Instant};

use codeteam_core::checks::{CheckMeasure, CheckResult};
use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::workflow::{Check, TestRepeats};
use codeteam_verify::CheckFindings;
use codeteam_verify::proof::TestPatterns;
use codeteam_verify::repeats::{
    ChangedTestFile, TestSelection, changed_tests, differing_tests, select_tests,
};
use codeteam_verify::test_report::TestReport;

use super::{GateChecks, GateCommandResult, JudgedChange, TrackedFiles, run_gate_command};
use crate::perform::Error;

/// How often the tests are run again as they are. With the run of the gate, that makes three.
const AGAIN: usize = 2;

/// How a further run of tests ended.
enum RepeatOutcome {
    Passed,
    /// These tests failed, if the runner names any.
    Failed(Vec<String>),
    /// The run says nothing about the tests, for this reason.
    Unclear(String),
}

/// What all further runs have shown.
#[derive(Default)]
struct RepeatTally {
    found: CheckFindings,
    runs: usize,
    /// The number of runs that were left out, because the time is up.
    left_out: usize,
    unclear: Option<String>,
}

impl GateChecks<'_> {
    /// Runs the new and changed tests again, until the budget is used up.
    pub(super) fn repeat_tests(
        &self,
        check: &Check,
        repeats: &TestRepeats,
        files: &mut TrackedFiles<'_>,
    ) -> Result<CheckResult, Error> {
        let changed = changed_tests(self.look.change()?, &TestPatterns::new(&repeats.tests));
        let nothing = |why: &str| CheckResult {
            summary: format!("nothing was tried: {why}"),
            ..CheckFindings::default().into_result(check, repeats.told_only)
        };
        if changed.is_empty() {
            return Ok(nothing("the change adds and edits no tests"));
        }
        let tree = self.look.tree.as_str();
        let outcomes = &self.look.context.engine.command_outcomes;
        let passed = |command: &&String| outcomes.get(tree, command) == Some(true);
        let commands: Vec<&String> = repeats.commands.iter().filter(passed).collect();
        if commands.is_empty() {
            return Ok(nothing(
                "no run of the tests on this tree is known to have passed",
            ));
        }
        let mut tally = RepeatTally::default();
        for command in commands {
            let run = RepeatRun {
                gate: self,
                check,
                budget: Duration::from_secs(repeats.max_seconds),
                begun: Instant::now(),
                usual: self.usual_time(command),
            };
            run.repeat(command, &changed, files, &mut tally)?;
        }
        Ok(tally.into_result(check, repeats))
    }

    fn usual_time(&self, command: &str) -> Duration {
        let times = &self.look.context.engine.command_times;
        let known = times.get(self.look.tree.as_str(), command);
        known.unwrap_or_default()
    }
}

/// The repetition of the tests of one command.
struct RepeatRun<'a> {
    gate: &'a GateChecks<'a>,
    check: &'a Check,
    budget: Duration,
    begun: Instant,
    /// How long all tests take.
    usual: Duration,
}

impl RepeatRun<'_> {
    fn repeat(
        &self,
        command: &str,
        changed: &[ChangedTestFile],
        files: &mut TrackedFiles<'_>,
        tally: &mut RepeatTally,
    ) -> Result<(), Error> {
        let selection = select_tests(command, changed);
        let paths: Vec<&str> = changed.iter().map(|file| file.path.as_str()).collect();
        let whom = paths.join(", ");
        let again = match &selection {
            Some(selection) => selection.together.as_str(),
            None => command,
        };
        let mut reports = Vec::new();
        for _ in 0..AGAIN {
            let Some((outcome, report)) = self.run(again, files, tally)? else {
                return Ok(());
            };
            reports.extend(report);
            match outcome {
                RepeatOutcome::Passed => {}
                RepeatOutcome::Failed(names) => {
                    let who = if names.is_empty() {
                        whom.clone()
                    } else {
                        names.join(", ")
                    };
                    tally.found.failures.push(format!(
                        "{who}: failed when run again on the same tree (`{again}`), and passed before: let the \
                         tests not depend on time, chance, or what they leave behind"
                    ));
                    return Ok(());
                }
                RepeatOutcome::Unclear(why) => {
                    tally.unclear = Some(why);
                    return Ok(());
                }
            }
        }
        let reports: Vec<&TestReport> = reports.iter().collect();
        let differing = differing_tests(&reports);
        if !differing.is_empty() {
            tally.found.notes.push(format!(
                "not the same each time, although nothing failed: {}",
                differing.join(", ")
            ));
        }
        match selection {
            Some(selection) => self.try_orders(&selection, changed, files, tally),
            None => Ok(()),
        }
    }

    /// Runs the tests in another order, and each of them alone.
    fn try_orders(
        &self,
        selection: &TestSelection,
        changed: &[ChangedTestFile],
        files: &mut TrackedFiles<'_>,
        tally: &mut RepeatTally,
    ) -> Result<(), Error> {
        if let Some(command) = &selection.reordered {
            let Some((outcome, _)) = self.run(command, files, tally)? else {
                return Ok(());
            };
            if let RepeatOutcome::Failed(names) = outcome {
                let is_new = changed.iter().any(|file| file.has_new_test(&names));
                let who = names.join(", ");
                tally.blame(&who, "in another order", command, is_new);
            }
        }
        for test in &selection.alone {
            let Some((outcome, _)) = self.run(&test.command, files, tally)? else {
                return Ok(());
            };
            if let RepeatOutcome::Failed(_) = outcome {
                tally.blame(&test.name, "alone", &test.command, test.is_new);
            }
        }
        Ok(())
    }

    /// Runs a command once more, and restores what it has changed. Returns `None` if there is no
    /// time left for it.
    fn run(
        &self,
        command: &str,
        files: &mut TrackedFiles<'_>,
        tally: &mut RepeatTally,
    ) -> Result<Option<(RepeatOutcome, Option<TestReport>)>, Error> {
        let JudgedChange {
            job,
            context,
            workspace,
            ..
        } = *self.gate.look;
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if self.begun.elapsed() + self.usual > self.budget {
            tally.left_out += 1;
            return Ok(None);
        }
        let longest = 3 * self.usual + Duration::from_secs(5);
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let timeout = longest.min(self.check.timeout_ms);
        let busy = format!("`{command}`, once more");
        let ended = {
            let _busy = context.busy_with(&job.id, &busy);
            run_gate_command(self.gate.look, workspace, command, timeout)
        };
        files.restore()?;
        let ended = ended?;
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        tally.runs += 1;
        let is_whole = self.gate.usual_time(command) > Duration::ZERO;
        let outcome = judge(command, &ended, is_whole);
        Ok(Some((outcome, ended.report)))
    }
}

/// Reads how a further run ended. A command that codeteam made itself is only believed if the
/// runner says that tests ran: it may not understand the command.
fn judge(command: &str, ended: &GateCommandResult, is_whole: bool) -> RepeatOutcome {
    if let Some(how) = &ended.unclear {
        return RepeatOutcome::Unclear(format!("`{command}` {how}"));
    }
    let failed = ended.report.as_ref().map_or(0, |report| report.failed);
    let ran = ended.report.as_ref().map_or(0, TestReport::ran);
    // This is how unittest reports that it cannot find a test.
    let is_lost = ended.tests.iter().any(|name| name.contains("_FailedTest"));
    if !is_whole && (ran == 0 || is_lost) {
        return RepeatOutcome::Unclear(format!("`{command}` ran none of the tests"));
    }
    if !is_whole && failed == 0 && !ended.passed {
        // A limit for the whole suite, such as one of coverage.
        return RepeatOutcome::Unclear(format!("`{command}` failed, and none of its tests did"));
    }
    if ended.passed && failed == 0 {
        RepeatOutcome::Passed
    } else {
        RepeatOutcome::Failed(ended.tests.iter().cloned().collect())
    }
}

impl RepeatTally {
    /// Holds a failure in another order, or alone, against new tests; others are left to reviewers.
    fn blame(&mut self, who: &str, how: &str, command: &str, is_new: bool) {
        let what = format!("{who}: fails {how} (`{command}`), and passes with all others");
        if is_new {
            let advice = "let each test set up what it needs, and clean up what it leaves";
            self.found.failures.push(format!("{what}: {advice}"));
            return;
        }
        self.found.notes.push(what.clone());
        self.found.findings.push(ReportedFinding {
            severity: Severity::Minor,
            title: format!("a changed test fails {how}: {who}"),
            detail: what,
            file: None,
            line: None,
        });
    }

    fn into_result(mut self, check: &Check, repeats: &TestRepeats) -> CheckResult {
        if repeats.told_only {
            let failures = self.found.failures.iter();
            self.found
                .findings
                .extend(failures.map(|failure| ReportedFinding {
                    severity: Severity::Minor,
                    title: "a test of the change does not pass each time".to_owned(),
                    detail: failure.clone(),
                    file: None,
                    line: None,
                }));
        }
        let is_silent = self.found.failures.is_empty() && self.found.notes.is_empty();
        if self.runs > 0 && (self.unclear.is_none() || !is_silent) {
            let runs = match self.runs {
                1 => "1 further run".to_owned(),
                n => format!("{n} further runs"),
            };
            self.found.measures.push(CheckMeasure {
                of: check.name.clone(),
                passed: self.found.failures.is_empty(),
                found: runs,
            });
        }
        let mut lines: Vec<String> = self.unclear.into_iter().collect();
        if self.left_out > 0 {
            lines.push("not all of it was tried, for lack of time".to_owned());
        }
        let mut result = self.found.into_result(check, repeats.told_only);
        if !lines.is_empty() {
            let said = [result.summary.as_str(), &lines.join("\n")].join("\n");
            said.trim().clone_into(&mut result.summary);
        }
        result
    }
}
