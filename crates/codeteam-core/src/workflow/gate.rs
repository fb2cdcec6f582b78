//! What a gate checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing a gate checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name in reports.
    pub name: String,
    /// What it looks at.
    pub what: CheckKind,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// What a check looks at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// A shell command that must exit with 0.
    Command(String),
    /// A file that must exist.
    Exists(String),
    /// A file that must contain a text.
    Contains {
        /// The file.
        file: String,
        /// The text.
        text: String,
    },
    /// A file that must not contain a text.
    Lacks {
        /// The file.
        file: String,
        /// The text.
        text: String,
    },
    /// The frame's change touches a file that matches one of these patterns.
    Changed {
        /// The patterns.
        paths: Vec<String>,
    },
    /// Something counted in the files that the change touches stays within a limit. What was above
    /// it before may stay, and may not grow.
    Metric {
        /// What is counted.
        of: CodeMetric,
        /// The limit.
        max: u64,
    },
    /// Tests that the change adds or changes fail without the rest of it, and pass with it.
    Proved(TestProof),
    /// Nothing in the change gets round the checks or the task.
    Honest {
        /// What is looked for.
        rule: HonestyRule,
        /// Whether it is only told and does not fail.
        told_only: bool,
    },
}

impl CheckKind {
    /// What kind of check it is, for reports.
    pub fn class(&self) -> CheckClass {
        match self {
            Self::Command(_)
            | Self::Exists(_)
            | Self::Contains { .. }
            | Self::Lacks { .. }
            | Self::Changed { .. } => CheckClass::Static,
            Self::Metric { .. } => CheckClass::Metric,
            Self::Proved(_) => CheckClass::Proof,
            Self::Honest { .. } => CheckClass::Honesty,
        }
    }
}

/// What kind of check found something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckClass {
    /// A command, a file, a text.
    #[default]
    Static,
    /// A number and its limit.
    Metric,
    /// Whether tests prove anything.
    Proof,
    /// Whether the change plays fair.
    Honesty,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeMetric {
    /// Lines of each file.
    FileLines,
    /// Lines of each function.
    FunctionLines,
    /// Rings of files that import each other.
    ImportCycles,
}

/// How tests are proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestProof {
    /// The commands that run the tests; `{files}` in one stands for the test files that changed.
    pub commands: Vec<String>,
    /// Files of these patterns are tests.
    pub tests: Vec<String>,
    /// Whether tests that prove nothing are only told and do not fail.
    pub told_only: bool,
}

/// What a change must not do to get past the checks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HonestyRule {
    /// Touches only the files of its task.
    Scope,
    /// Leaves the tests that were there as they were: none gone, weakened or skipped.
    TestsKept,
    /// Leaves what the checks go by as it was: their configuration, scripts and programs.
    GateKept,
    /// Has no secret in it.
    Secrets,
    /// Has nothing that is left to be done.
    Stubs,
    /// Has no answer made for one test only.
    HardCoded,
    /// Is not another task's change.
    OwnWork,
    /// Has what its author says it has.
    Claims,
}

impl HonestyRule {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Scope,
        Self::TestsKept,
        Self::GateKept,
        Self::Secrets,
        Self::Stubs,
        Self::HardCoded,
        Self::OwnWork,
        Self::Claims,
    ];

    /// Its name in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::TestsKept => "tests_kept",
            Self::GateKept => "gate_kept",
            Self::Secrets => "secrets",
            Self::Stubs => "stubs",
            Self::HardCoded => "hard_coded",
            Self::OwnWork => "own_work",
            Self::Claims => "claims",
        }
    }
}
