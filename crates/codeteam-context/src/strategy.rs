//! How a context is chosen: parts in the order of their priority, each with the files it is made of.
//!
//! A strategy is data. What its files are is said by patterns and by variables, which stand for
//! files that depend on the task: `$TARGET`, `$TARGET_IMPORTS` and the like ([`VARIABLES`]).

mod choose;
mod patterns;
mod wanted;

pub use self::choose::{
    ChosenPart, ContextRequest, ContextSelection, PartBody, PickedFile, ProjectFacts, TaskFacts,
    choose,
};
pub use self::patterns::{FilePatterns, InvalidPattern};

/// The part with the change that is to be judged, or has been made so far.
pub const DIFF: &str = "diff";
/// The part with what has changed since it was judged before.
pub const CHANGES: &str = "changes";
/// The part with the map of the repository.
pub const MAP: &str = "map";
/// The part with the names of all files.
pub const TREE: &str = "tree";
/// The part with the files that the task touches.
pub const TARGET: &str = "target";
/// The part with files that are there in any case.
pub const ALWAYS: &str = "always";
/// The part with files that the role itself names.
pub const INCLUDED: &str = "included";

/// Parts that are no files.
pub const SPECIAL: [&str; 4] = [DIFF, CHANGES, MAP, TREE];

/// How files are chosen and in which order they count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strategy {
    /// What it is called.
    pub name: String,
    /// How many tokens a prompt may be, if the role does not say.
    pub budget: Option<u64>,
    /// Its parts, the most important first.
    pub parts: Vec<StrategyPart>,
}

/// A part of a strategy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrategyPart {
    /// What it is called.
    pub name: String,
    /// The files it is made of, as patterns and variables. None for those of [`SPECIAL`].
    pub include: Vec<String>,
    /// How they are shown.
    pub form: FileForm,
    /// How many files it has at most.
    pub limit: Option<usize>,
}

/// How a file is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileForm {
    /// All of it.
    #[default]
    Whole,
    /// Without the bodies of its functions.
    Signatures,
    /// Only what other files can see of it.
    Public,
}

/// A variable of patterns.
#[derive(Clone, Copy, Debug)]
pub struct PatternVariable {
    /// How it is written.
    pub name: &'static str,
    /// Which files it stands for.
    pub meaning: &'static str,
}

/// All variables.
pub const VARIABLES: &[PatternVariable] = &[
    PatternVariable {
        name: "$TARGET",
        meaning: "the files that the task names; without any, those that its words lead to",
    },
    PatternVariable {
        name: "$MENTIONED",
        meaning: "the files that the brief for this work names",
    },
    PatternVariable {
        name: "$TARGET_IMPORTS",
        meaning: "the files that those import",
    },
    PatternVariable {
        name: "$TARGET_IMPORTERS",
        meaning: "the files that import those",
    },
    PatternVariable {
        name: "$TARGET_TESTS",
        meaning: "the tests that go with the files of the task, by their names",
    },
    PatternVariable {
        name: "$CHANGED",
        meaning: "the files that the change touches",
    },
    PatternVariable {
        name: "$BLAST_RADIUS",
        meaning: "the files that import what the change touches, and those that import these",
    },
    PatternVariable {
        name: "$RELATED",
        meaning: "the files that the words of the task lead to, the best first",
    },
    PatternVariable {
        name: "$INTERFACE_DEFINITIONS",
        meaning: "specifications of APIs and schemas, stubs, and files that define little but types",
    },
    PatternVariable {
        name: "$COMPONENT_PUBLIC_API",
        meaning: "what other files can see of the source files in the folders of the task",
    },
    PatternVariable {
        name: "$IMPLEMENTATION_INTERNALS",
        meaning: "the source files in the folders of the task, tests left aside; for `exclude`",
    },
    PatternVariable {
        name: "$DOCS",
        meaning: "what the project says about itself: read-me, architecture, decisions, plans",
    },
    PatternVariable {
        name: "$STANDARDS",
        meaning: "how the project wants its code: standards, contributing, style",
    },
    PatternVariable {
        name: "$SECURITY",
        meaning: "code on identity and rights, manifests of dependencies, how the environment is read",
    },
];

/// Whether a word in a list of files stands for the diff, as people write it.
pub fn is_diff(word: &str) -> bool {
    let mut words = word.split_whitespace();
    words.next() == Some("git") && words.next() == Some("diff")
}
