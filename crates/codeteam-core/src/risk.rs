//! The risk of a change: the facts that were found out about it, and the level that follows.
//!
//! No model takes part. The engine reads the facts out of the change and hands them to the kernel
//! inside an input; the kernel adds what it knows itself ([`RiskProfile`]), and evaluates the
//! conditions of an approval policy on both. Whatever is not known is `None`: it never speaks for
//! a change, and always against it.

mod condition;

use serde::{Deserialize, Serialize};

pub use self::condition::{Comparison, RiskCondition, RiskCount, RiskFlag};

/// How risky a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    /// It goes on by itself.
    Low,
    /// People are notified, and may object for a while.
    Medium,
    /// A person has to approve it.
    High,
    /// Several people have to approve it.
    Critical,
}

impl RiskLevel {
    /// Returns the level as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// What was found out about a change by reading it, before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RiskFacts {
    /// The number of files it touches.
    pub files: u32,
    /// The number of lines it adds and removes; unknown if not all of it is lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// The named sets of paths that it touches, each with the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathSetMatch>,
    /// The public definitions that are gone or have another signature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaking: Vec<BreakingChange>,
    /// Source files whose public definitions could not be compared. If there are any, it is not
    /// known that nothing breaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// How much of the changed lines the tests run, in hundredths of a percent, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<u32>,
}

/// A named set of paths that a change touches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSetMatch {
    /// The name of the set, such as `auth`.
    pub set: String,
    /// The first of the files in it.
    pub files: Vec<String>,
    /// The number of its other files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A public definition that is gone or has another signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakingChange {
    /// The file it was defined in.
    pub file: String,
    /// Its signature before.
    pub before: String,
    /// Its signature now; `None` if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl BreakingChange {
    /// Describes it in one line.
    pub fn describe(&self) -> String {
        let Self {
            file,
            before,
            after,
        } = self;
        match after {
            None => format!("`{before}` is gone from `{file}`"),
            Some(after) => format!("`{before}` is now `{after}` in `{file}`"),
        }
    }
}

/// Everything that conditions may ask about a change: the facts that were read out of it, and what
/// the run knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RiskProfile {
    /// The facts that were read out of the change.
    pub facts: RiskFacts,
    /// The number of findings that are still open.
    #[serde(default)]
    pub findings: u32,
    /// The checks and roles whose objection a person has overruled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overruled: Vec<String>,
    /// Whether less was done than was asked for.
    #[serde(default)]
    pub degraded: bool,
    /// Whether the workflow publishes what is committed.
    #[serde(default)]
    pub publishes: bool,
}

impl RiskProfile {
    /// Returns true if nothing is left that a person should have decided: no objection was
    /// overruled, and nothing less was done than was asked for.
    pub(crate) fn is_clean(&self) -> bool {
        self.overruled.is_empty() && !self.degraded
    }
}

/// The answer of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionOutcome {
    /// Whether it holds; `None` if that is not known.
    pub holds: Option<bool>,
    /// What it was decided by, in words.
    pub because: String,
}
