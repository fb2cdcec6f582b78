//! Compares a check that fails with how it ended on the commit that the run started from.
//!
//! Runs of workers try their checks on that commit before they start, and record what failed. A session
//! does not wait for that, and neither does a run whose checks must pass in the end: there, a check is
//! tried on the commit once it has failed a change. What a commit of the run has repaired since is
//! recorded, and counts as if it had never failed.

use std::collections::BTreeSet;

use codeteam_core::event::{CheckRemark, CheckResult};
use codeteam_core::workflow::Check;

use super::{GateChecks, GateCommandResult, JudgedChange, run};
use crate::config::BaselinePolicy;
use crate::perform::{Error, OldFailures, oid, setup};

/// A check that fails a change has failed before the run, too.
pub(super) enum BaseFailure {
    /// Only tests that did not fail then count. These failed.
    NewOnesCount(Vec<String>),
    /// It fails the change all the same; this is what to say about it.
    Noted(String),
}

impl GateChecks<'_> {
    /// How a check that fails the change ended before the run; `None` if it passed, or must pass with
    /// this change anyway.
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
        if !job.in_session {
            return Ok(None);
        }
        let policy = job.grounds(context.engine)?.baseline;
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

    /// The tests that a command fails on the commit that the run started from; `None` if it passes there.
    fn failed_on_base(&self, check: &Check, command: &str) -> Result<Option<Vec<String>>, Error> {
        let look = self.look;
        let JudgedChange { job, context, .. } = *look;
        let engine = context.engine;
        let base = &job.started_from.tree;
        if let Some(tests) = engine.base_failures.get(base.as_str(), command) {
            return Ok(Some(tests));
        }
        if engine.tried.get(base.as_str(), command) == Some(true) {
            return Ok(None);
        }
        let workspace = job.prepare_trial(engine, look.workspace, &oid(&base.0)?)?;
        setup::ready(job, &workspace, context)?;
        let ended = {
            let busy = format!("check `{}`, without the change", check.name);
            let _busy = context.busy_with(&job.id, &busy);
            run(look, &workspace, command, check.timeout_ms)?
        };
        if !job.grounds(engine)?.keep_worktree {
            workspace.remove()?;
        }
        if ended.unclear.is_some() {
            return Ok(None);
        }
        engine.tried.note(base.as_str(), command, ended.passed);
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

fn list_tests(tests: &[&String]) -> String {
    const SHOWN: usize = 10;
    let names: Vec<&str> = tests.iter().take(SHOWN).map(|name| name.as_str()).collect();
    match tests.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Judges a command that fails and has failed before: only for what did not fail then.
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
        return result(false, format!("{why}\n{}", ended.said));
    }
    let still_failing = old.iter().map(|&test| test.clone()).collect();
    if !new.is_empty() {
        let said = format!(
            "these did not fail before the run, or were repaired since: {}",
            list_tests(&new)
        );
        return CheckResult {
            still_failing,
            ..result(false, format!("{said}\n{}", ended.said))
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
