//! Gates: the checks that the orchestrator runs itself.

use codeteam_patterns::FilePatterns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_pattern::TextPattern;

/// One check of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The check's name in reports.
    pub name: String,
    /// The subject of the check.
    pub what: CheckKind,
    /// The check's time limit.
    pub timeout_ms: u64,
}

/// The subject of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// A shell command that must exit with 0.
    Command(String),
    /// A file that must exist.
    Exists(String),
    /// A file that must contain a text.
    Contains {
        /// The file's path.
        file: String,
        /// The text to look for.
        text: String,
    },
    /// A file that must not contain a text.
    Lacks {
        /// The file's path.
        file: String,
        /// The text to look for.
        text: String,
    },
    /// A file must have a certain form.
    Format(Box<FormatRules>),
    /// The frame's change must touch a file that matches one of these patterns.
    Changed {
        /// Glob patterns.
        paths: Vec<String>,
    },
    /// A metric of the files that the change touches must stay within a limit. A value that
    /// exceeded it before may stay, but must not grow.
    Metric {
        /// The metric.
        of: CodeMetric,
        /// The limit.
        max: u64,
    },
    /// Tests that the change adds or changes must fail without the rest of it, and pass with it.
    Proved(TestProof),
    /// Tests should notice when something on a changed line is made wrong.
    Mutants(MutantTrial),
    /// Tests that the change adds or changes must end in the same way each time.
    Repeated(TestRepeats),
    /// The change leaves the files of locked interfaces as they are.
    Interfaces,
    /// The tests must run at least this share of the changed lines, by the reports that earlier
    /// commands of the gate have left.
    Coverage {
        /// The least percentage.
        min_percent: u32,
    },
    /// The change must add or edit at least this many tests.
    #[serde(rename = "test_count")]
    TestCount {
        /// The least number.
        min: u32,
        /// Patterns of test files.
        tests: Vec<String>,
    },
    /// Nothing in the change may circumvent the checks or the task.
    Honest {
        /// The rule that is checked.
        rule: HonestyRule,
        /// Whether a violation is only reported and does not fail the check.
        told_only: bool,
    },
}

impl CheckKind {
    /// Returns the class of the check, for reports.
    pub fn class(&self) -> CheckClass {
        match self {
            Self::Command(_)
            | Self::Exists(_)
            | Self::Contains { .. }
            | Self::Lacks { .. }
            | Self::Format(_)
            | Self::Changed { .. }
            | Self::Interfaces => CheckClass::Static,
            Self::Metric { .. } | Self::Coverage { .. } | Self::TestCount { .. } => {
                CheckClass::Metric
            }
            Self::Proved(_) => CheckClass::Proof,
            Self::Mutants(_) | Self::Repeated(_) => CheckClass::Evidence,
            Self::Honest { .. } => CheckClass::Honesty,
        }
    }
}

/// The class of a check, for reports.
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
    /// What its tests are worth.
    Evidence,
}

/// The form that a file must have. Everything that is asked for must hold.
///
/// The file is a path, or a pattern: then every file of the frame's change that matches it must have
/// this form, and at least one must match. It must exist in any case, so rules that ask for nothing
/// else ask for that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FormatRules {
    /// The path of the file in the repository, or a pattern.
    pub file: String,
    /// What it must contain: texts, or regular expressions between slashes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// What it must not contain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The JSON Schema that it must match as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<JsonSchemaSource>,
    /// The number of words that it must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<WordBounds>,
    /// Whether the relative links and the anchors in it, as Markdown, must lead somewhere.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub links: bool,
}

impl FormatRules {
    /// Returns why nothing can ever have this form, or the rules cannot be read; `None` if they are
    /// sound.
    pub fn problem(&self) -> Option<String> {
        let file = self.file.as_str();
        if file.trim().is_empty() {
            return Some("it names no `file`".to_owned());
        }
        if file.starts_with('/') || file.split('/').any(|part| part == "..") {
            return Some(format!(
                "`{file}` does not lead to a file of the repository: write the path from its root, \
                 without `..`"
            ));
        }
        if let Err(error) = FilePatterns::new([file]) {
            return Some(error.to_string());
        }
        if let Some(WordBounds {
            min: Some(min),
            max: Some(max),
        }) = self.words.filter(|words| words.min > words.max)
        {
            return Some(format!("`words` asks for at least {min} and at most {max}"));
        }
        let mut patterns = self.contains.iter().chain(&self.lacks);
        patterns.find_map(|pattern| {
            let why = TextPattern::parse(pattern).err()?;
            Some(format!("`{pattern}` {why}"))
        })
    }
}

/// Where a JSON Schema is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonSchemaSource {
    /// In a file of the commit that the run started from: a worker cannot change it.
    File(String),
    /// Here.
    Inline(serde_json::Value),
}

/// The least and the most words that a file may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WordBounds {
    /// The fewest; no limit if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// The most; no limit if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// A metric of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeMetric {
    /// Lines of each file.
    FileLines,
    /// Lines of each function.
    FunctionLines,
    /// Cycles of files that import each other.
    ImportCycles,
}

/// The way to prove that tests test something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestProof {
    /// The commands that run the tests; `{files}` in one stands for the test files that changed.
    pub commands: Vec<String>,
    /// Patterns of test files.
    pub tests: Vec<String>,
    /// Whether tests that prove nothing are only reported and do not fail the check.
    pub told_only: bool,
}

/// The way to find out what the tests notice: copies of the change in which one thing is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutantTrial {
    /// The commands that run the tests.
    pub commands: Vec<String>,
    /// Patterns of test files.
    pub tests: Vec<String>,
    /// The number of mutants to try.
    pub max_count: u32,
    /// The time to spend.
    pub max_seconds: u64,
    /// The share of tried mutants that may survive; with `None` survivors are only reported.
    pub max_surviving_percent: Option<u32>,
}

/// The way to find out whether tests end in the same way each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRepeats {
    /// The commands that run the tests.
    pub commands: Vec<String>,
    /// Patterns of test files.
    pub tests: Vec<String>,
    /// The time to spend.
    pub max_seconds: u64,
    /// Whether tests that fail once are only reported and do not fail the check.
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
    /// Leaves what the checks depend on as it was: their configuration, scripts and programs.
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
    /// All rules, in the order of reports.
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

    /// Returns the rule's name in files and reports.
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
