//! Describes how a context is chosen: as parts in order of priority, each with the files that it
//! consists of.
//!
//! A strategy is data. Its files are given by patterns and by variables, which stand for files that
//! depend on the task: `$TARGET`, `$TARGET_IMPORTS` and the like ([`VARIABLES`]).

mod choose;
mod file_purposes;

pub use self::choose::{
    ChosenPart, ContextRequest, ContextSelection, PartBody, PickedFile, ProjectFacts, TaskFacts,
    select_context,
};

/// The part with the change that is to be judged, or has been made so far.
pub const DIFF: &str = "diff";
/// The part with the changes since the last judgement.
pub const CHANGES: &str = "changes";
/// The part with the map of the repository.
pub const MAP: &str = "map";
/// The part with the names of all files.
pub const TREE: &str = "tree";
/// The part with the files that the task touches.
pub const TARGET: &str = "target";
/// The part with files that are always included.
pub const ALWAYS: &str = "always";
/// The variable for the files of the implementation, of which only the public declarations are shown.
pub const INTERNALS: &str = "$IMPLEMENTATION_INTERNALS";
/// The part with files that the role itself names.
pub(crate) const INCLUDED: &str = "included";

/// Parts that do not consist of files.
pub const SPECIAL: [&str; 4] = [DIFF, CHANGES, MAP, TREE];

/// Defines which files a role is shown, and in which order of priority.
///
/// A strategy only names files. The path from a strategy to a prompt has three steps:
///
/// 1. [`select_context`] resolves patterns and variables to files, each of which goes to the first
///    part that wants it.
/// 2. [`assemble`](crate::assemble::assemble) reads these files and removes their secrets.
/// 3. [`fit_context`](crate::budget::fit_context) shortens and drops items until everything fits
///    the token budget, starting with the last part.
///
/// So the order of `parts` matters twice: an earlier part takes a file before a later one, and is
/// shortened after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strategy {
    /// The strategy's name.
    pub name: String,
    /// The token budget of a prompt, unless the role sets one.
    pub budget: Option<u64>,
    /// The parts, the most important first.
    pub parts: Vec<StrategyPart>,
}

/// A part of a strategy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrategyPart {
    /// The part's name.
    pub name: String,
    /// Its files, as patterns and variables. Empty for those of [`SPECIAL`].
    pub include: Vec<String>,
    /// The form in which its files are shown.
    pub form: FileForm,
    /// The largest number of files.
    pub limit: Option<usize>,
}

/// The form in which a file is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileForm {
    /// The whole file.
    #[default]
    Whole,
    /// Without the bodies of its functions.
    Signatures,
    /// Only its public declarations.
    Public,
}

/// A variable that can be used in place of a pattern.
#[derive(Clone, Copy, Debug)]
pub struct PatternVariable {
    /// The variable as it is written.
    pub name: &'static str,
    /// The files that it stands for.
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
        name: INTERNALS,
        meaning: "the source files in the folders of the task, tests left aside; for `context.exclude` and `exclude`",
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

/// Returns true if a word in a list of files means the diff, as people write it.
pub fn is_diff(word: &str) -> bool {
    let mut words = word.split_whitespace();
    words.next() == Some("git") && words.next() == Some("diff")
}
