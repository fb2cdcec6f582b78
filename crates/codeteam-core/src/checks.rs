//! Results of the checks of a gate.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::findings::ReportedFinding;
use crate::ids::BodyId;
use crate::workflow::CheckClass;

/// The result of one check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The check's name.
    pub name: String,
    /// The class of the check.
    #[serde(default, skip_serializing_if = "is_static")]
    pub class: CheckClass,
    /// Whether it passed.
    pub passed: bool,
    /// A few lines that say why, for people and for feedback.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Something that a person should know although it does not fail the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<CheckRemark>,
    /// The tests that failed and are not held against the change, because they failed before the
    /// run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_failing: Vec<String>,
    /// Results for single files or functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<CheckMeasure>,
    /// The complete output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BodyId>,
    /// The changed lines that its tests have run, if it left a report of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<ChangedCoverage>,
    /// The exit code, if it was a command: 124 if it took too long, as shells have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What does not fail the check but is for a reviewer to judge. Each becomes a finding of the
    /// gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ReportedFinding>,
}

/// How much of the lines that a change has added or edited the tests have run, as a report says that
/// the tested process has written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedCoverage {
    /// The file of the report.
    pub report: String,
    /// The number of changed lines that were run.
    pub covered: u32,
    /// The number of changed lines that the report knows.
    pub lines: u32,
    /// The places that were not run, `src/cart.py:4-6`; not all of them if there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
}

/// `17 of 20 (coverage.xml); not run: src/cart.py:4-6`.
impl fmt::Display for ChangedCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} ({})", self.covered, self.lines, self.report)?;
        if !self.missed.is_empty() {
            write!(f, "; not run: {}", self.missed.join(", "))?;
        }
        Ok(())
    }
}

/// A remark of a check that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckRemark {
    /// It found something that is only reported.
    Noted,
    /// It could not be determined whether the tests prove anything.
    Unproved,
}

/// The result for one of the things a check examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckMeasure {
    /// The examined thing: `File Length (src/api.py)`.
    pub of: String,
    /// Whether it is as it should be.
    pub passed: bool,
    /// The measured value: `120/500 lines`.
    pub found: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_static(class: &CheckClass) -> bool {
    *class == CheckClass::Static
}
