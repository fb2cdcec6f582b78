//! What codeteam finds out about a change by looking at it: lengths, rings of imports, what proves
//! that tests test something, and whether the change plays fair.
//!
//! All of it is pure: files before and after, lines that came and went, the task. Running commands
//! and reading trees is [`perform`](crate::perform)'s.

pub mod change;
pub mod cycles;
pub mod failures;
pub mod honest;
pub mod metrics;
pub mod proof;
mod source;

pub use self::change::{ChangeSet, ChangedFile, FileVersion, SourceLine};

use std::fmt::Write as _;

use codeteam_core::event::{CheckMeasure, CheckRemark, CheckResult};
use codeteam_core::findings::ReportedFinding;
use codeteam_core::workflow::Check;

/// How many of the things that were looked at are told one by one.
const MEASURES: usize = 50;
/// How many lines a summary has.
const LINES: usize = 20;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckFindings {
    /// What is wrong, a line each: where, what, and what to do about it.
    pub wrong: Vec<String>,
    /// What a person should know, a line each.
    pub told: Vec<String>,
    /// Why nothing could be found out, if that is so.
    pub unproved: Option<String>,
    /// What was looked at, one by one.
    pub measures: Vec<CheckMeasure>,
    /// What is for a reviewer to judge.
    pub findings: Vec<ReportedFinding>,
}

impl CheckFindings {
    /// Nothing but that something could not be found out.
    pub fn unproved(why: impl Into<String>) -> Self {
        Self {
            unproved: Some(why.into()),
            ..Self::default()
        }
    }

    /// As the result of a check. If it is only to be told, nothing fails it.
    pub fn result(self, check: &Check, told_only: bool) -> CheckResult {
        let passed = self.wrong.is_empty() || told_only;
        let remark = match (&self.unproved, self.wrong.len() + self.told.len()) {
            _ if !passed => None,
            (Some(_), _) => Some(CheckRemark::Unproved),
            (None, 0) => None,
            (None, _) => Some(CheckRemark::Noted),
        };
        let lines: Vec<String> = self
            .wrong
            .into_iter()
            .chain(self.told)
            .chain(self.unproved)
            .collect();
        CheckResult {
            name: check.name.clone(),
            class: check.what.class(),
            passed,
            summary: listed(&lines),
            remark,
            measures: chosen(self.measures),
            output: None,
            exit: None,
            findings: self.findings,
            still_failing: Vec::new(),
        }
    }
}

/// Lines as one text, which is not too long.
fn listed(lines: &[String]) -> String {
    let mut text = lines[..lines.len().min(LINES)].join("\n");
    if lines.len() > LINES {
        let _ = write!(text, "\nand {} more", lines.len() - LINES);
    }
    text
}

/// All that did not pass, and some of the rest, in their order.
fn chosen(mut measures: Vec<CheckMeasure>) -> Vec<CheckMeasure> {
    let failed = measures.iter().filter(|measure| !measure.passed).count();
    let mut room = MEASURES.saturating_sub(failed);
    measures.retain(|measure| {
        let stays = !measure.passed || room > 0;
        room = room.saturating_sub(usize::from(measure.passed));
        stays
    });
    measures
}
