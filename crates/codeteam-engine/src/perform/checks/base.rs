//! Compares a failing check with its result on the commit that the run started from.
//!
//! Runs of workers try their checks on that commit before they start, and record what failed. A
//! session does not wait for that, and neither does a run whose checks must pass in the end: there,
//! a check is tried on the base once a change has failed it. Failures that a commit of the run has
//! repaired since are recorded, and count as if the check had never failed.

use std::collections::BTreeSet;

use codeteam_core::checks::{CheckRemark, CheckResult};
use codeteam_core::workflow::Check;

use super::{GateChecks, GateCommandResult, JudgedChange, run_gate_command};
use crate::config::BaselinePolicy;
use crate::perform::{Error, OldFailures, oid, setup};
use codeteam_verify::test_report::TestReport;

/// The consequence of the fact that a failing check has failed before the run too.
pub(super) enum BaseFailure {
    /// Only tests that did not fail then count. These tests failed then.
    NewOnesCount(Vec<String>),
    /// The check fails the change nevertheless; this note is added to the result.
    Noted(String),
}

impl GateChecks<'_> {
    /// Finds out how a failing check ended before the run. Returns `None` if it passed, or if it
    /// must pass with this change anyway.
    pub(super) fn base_failure(
        &self,
        check: &Check,
        command: &str,
    ) -> Result<Option<BaseFailure>, Error> {
        let JudgedChange { job, context, .. } = *self.look;
        if job.old_failures == OldFailures::Count {
            return Ok(None);
        }
        let mut recorded = job.baseline.iter();
        if let Some(known) = recorded.find(|failure| failure.command == command) {
            let tests = known.tests.clone();
            return Ok((!tests.is_empty()).then_some(BaseFailure::NewOnesCount(tests)));
        }
        if job.old_failures == OldFailures::LeftToOthers {
            let tests = self.failed_on_base(check, command)?.unwrap_or_default();
            return Ok((!tests.is_empty()).then_some(BaseFailure::NewOnesCount(tests)));
        }
        if !job.in_session() {
            return Ok(None);
        }
        let policy = job.gate_config(context.engine)?.baseline;
        let Some(tests) = self.failed_on_base(check, command)? else {
            return Ok(None);
        };
        if policy == Some(BaselinePolicy::NewFailures) && !tests.is_empty() {
            return Ok(Some(BaseFailure::NewOnesCount(tests)));
        }
        let which = if tests.is_empty() {
            String::new()
        } else {
            let tests: Vec<&String> = tests.iter().collect();
            format!(" ({})", list_tests(&tests))
        };
        Ok(Some(BaseFailure::Noted(format!(
            "this check also fails on the commit that the task started from{which}, so the change may not be \
             the cause. Unless fixing it is part of the task, tell the user: with `verification.baseline: \
             new_failures` in `.codeteam/config.yml`, tasks that start after that count only new failures"
        ))))
    }

    /// Returns the tests that a command fails on the commit that the run started from, or `None` if
    /// it passes there.
    pub(super) fn failed_on_base(
        &self,
        check: &Check,
        command: &str,
    ) -> Result<Option<Vec<String>>, Error> {
        let look = self.look;
        let JudgedChange { job, context, .. } = *look;
        let engine = context.engine;
        let base = &job.started_from.tree;
        if let Some(tests) = engine.base_failures.get(base.as_str(), command) {
            return Ok(Some(tests));
        }
        if engine.command_outcomes.get(base.as_str(), command) == Some(true) {
            return Ok(None);
        }
        let workspace = job.prepare_trial(engine, look.workspace, &oid(&base.0)?)?;
        setup::set_up_workspace(job, &workspace, context)?;
        let ended = {
            let busy = format!("check `{}`, without the change", check.name);
            let _busy = context.busy_with(&job.id, &busy);
            run_gate_command(look, &workspace, command, check.timeout_ms)?
        };
        if !job.gate_config(engine)?.keep_worktree {
            workspace.release()?;
        }
        if ended.unclear.is_some() {
            return Ok(None);
        }
        ended.note(engine, base.as_str(), command);
        if ended.passed {
            return Ok(None);
        }
        let tests: Vec<String> = ended.tests.into_iter().collect();
        engine
            .base_failures
            .note(base.as_str(), command, tests.clone());
        Ok(Some(tests))
    }
}

impl GateChecks<'_> {
    /// Returns what the tests of a command reported before the change. If that is not known, the
    /// command is run on the tree before the change.
    pub(super) fn base_report(
        &self,
        check: &Check,
        command: &str,
    ) -> Result<Option<TestReport>, Error> {
        let JudgedChange { job, context, .. } = *self.look;
        let tree = &job.base.tree;
        let known = &context.engine.test_reports;
        if !known.is_known(tree.as_str(), command) {
            self.try_tree(&oid(&tree.0)?, &[command.to_owned()], check.timeout_ms)?;
        }
        Ok(known.get(tree.as_str(), command))
    }

    /// Says what is wrong with a command that ended with 0 although its own report names tests that
    /// failed. The result is true if it is only to be noted: the command tolerates failures.
    pub(super) fn find_contradiction(
        &self,
        check: &Check,
        command: &str,
        ended: &GateCommandResult,
    ) -> Result<Option<(bool, String)>, Error> {
        let Some(report) = ended.report.as_ref().filter(|report| report.failed > 0) else {
            return Ok(None);
        };
        let told = format!("`{command}` ended with exit code 0, and its own report says {report}");
        if command.contains("||") {
            return Ok(Some((true, told)));
        }
        let before = self.base_report(check, command)?;
        let engine = self.look.context.engine;
        let base = self.look.job.base.tree.as_str();
        let is_usual = engine.command_outcomes.get(base, command) == Some(true)
            && before.is_some_and(|before| before.failed >= report.failed);
        Ok(Some(if is_usual {
            (true, format!("{told}, as before the change"))
        } else {
            let what =
                "a test that failed counts, whatever the exit code: take out what changes it";
            (false, format!("{told}: {what}"))
        }))
    }
}

fn list_tests(tests: &[&String]) -> String {
    const SHOWN: usize = 10;
    let names: Vec<&str> = tests.iter().take(SHOWN).map(|name| name.as_str()).collect();
    match tests.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Judges a command that fails and has failed before by its new failures only.
pub(super) fn compare_failures(
    before: &[String],
    ended: &GateCommandResult,
    result: impl Fn(bool, String) -> CheckResult,
) -> CheckResult {
    let known: BTreeSet<&String> = before.iter().collect();
    let new: Vec<&String> = ended.tests.iter().filter(|t| !known.contains(t)).collect();
    let old: Vec<&String> = ended.tests.iter().filter(|t| known.contains(t)).collect();
    if ended.unclear.is_some() || ended.tests.is_empty() {
        let why = "it failed before the run too, but its output does not name every test that fails now (it names \
                   none, or stops at the first), so that new failures cannot be told from old ones";
        return result(false, format!("{why}\n{}", ended.summary));
    }
    let still_failing = old.iter().map(|&test| test.clone()).collect();
    if !new.is_empty() {
        let said = format!(
            "these did not fail before the run, or were repaired since: {}",
            list_tests(&new)
        );
        return CheckResult {
            still_failing,
            ..result(false, format!("{said}\n{}", ended.summary))
        };
    }
    let said = format!(
        "only what failed before the run fails: {}",
        list_tests(&old)
    );
    CheckResult {
        remark: Some(CheckRemark::Noted),
        still_failing,
        ..result(true, said)
    }
}
