//! Finds the files of a tree that matter for a task.
//!
//! A file's score is a sum of signals, each from 0 to 1, times fixed weights ([`WEIGHTS`]). They are
//! worked out in three steps, each on what the one before has found:
//!
//! 1. **All files**: BM25 of the task's words ([`words`]) over texts and over paths, of its
//!    identifiers as they are written over texts; files that the task names; files that past commits
//!    with such words changed ([`history`]); how often a file is changed; and, if there is a model,
//!    how near it is by its [`meaning`].
//! 2. **The best 300** are parsed: BM25 over the names of what they define.
//! 3. **Round the best ten**: what was changed together with them, what they import and what imports
//!    them, their tests. These are shares of what was found, so that a faint likeness to something
//!    found does not make a file look like a find.
//!
//! What comes of it depends on the text, the files and the history alone: not on a cache, not on the
//! number of threads.

pub mod history;
mod lexical;
pub mod meaning;
mod pairs;
mod past;
mod query;
mod rank;
mod reason;
mod sketch;
mod sketches;
#[cfg(test)]
mod tests;
pub mod words;

pub use self::history::{Commit, CommitHistory, TouchedFile};
pub use self::pairs::is_test;
pub use self::reason::MatchReason;
pub use self::sketch::{FileSketch, SymbolSketch};
pub use self::sketches::{SketchIndex, is_generated};

use self::rank::FileRanking;

/// The files among which to look, and what is known of them.
#[derive(Clone, Default)]
pub struct SearchCorpus<'a> {
    /// The files, in the order of their paths.
    pub files: Vec<CandidateFile<'a>>,
    /// Takes a closer look at some of them.
    pub look: Option<&'a dyn SourceLookup>,
    /// Past commits over these files.
    pub history: Option<&'a CommitHistory<'a>>,
    /// How near each file is to the text by its meaning, from 0 to 1.
    pub meaning: Option<Vec<f32>>,
}

/// A file among others.
#[derive(Clone, Copy, Debug)]
pub struct CandidateFile<'a> {
    /// Its path.
    pub path: &'a str,
    /// What is in it.
    pub sketch: &'a FileSketch,
}

/// A closer look at the few files of a tree that may be found: all of them are too many to parse.
pub trait SourceLookup: Sync {
    /// Says which files will be asked for.
    fn prepare(&self, paths: &[&str]);

    /// What a source file defines and imports.
    fn closer(&self, path: &str) -> Option<&SymbolSketch>;

    /// The text of a file, such as a manifest.
    fn text(&self, path: &str) -> Option<String>;
}

/// How to rank.
#[derive(Clone, Debug)]
pub struct RankingOptions {
    /// The most files to find.
    pub limit: usize,
    /// How much each signal counts.
    pub weights: SignalWeights,
    /// Whether to say why.
    pub reasons: bool,
}

impl Default for RankingOptions {
    fn default() -> Self {
        Self {
            limit: 10,
            weights: WEIGHTS,
            reasons: true,
        }
    }
}

/// What speaks for a file. Each signal goes from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RankingSignal {
    /// Words of the task in its text.
    Text,
    /// In its path.
    Path,
    /// In the names of what it defines.
    Names,
    /// An identifier of the task, as it is written, is in it.
    Identifier,
    /// An identifier of the task is defined in it.
    Definition,
    /// The task names it.
    Named,
    /// Past commits with such words changed it.
    Message,
    /// It is changed often, and lately.
    Often,
    /// It is changed together with what was found.
    Together,
    /// It imports what was found, or is imported by it.
    Near,
    /// It is the test of what was found, or what a test that was found tests.
    Pair,
    /// It means something alike.
    Meaning,
}

impl RankingSignal {
    /// All of them, in their order.
    pub const ALL: [Self; SIGNALS] = [
        Self::Text,
        Self::Path,
        Self::Names,
        Self::Identifier,
        Self::Definition,
        Self::Named,
        Self::Message,
        Self::Often,
        Self::Together,
        Self::Near,
        Self::Pair,
        Self::Meaning,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Path => "path",
            Self::Names => "names",
            Self::Identifier => "identifier",
            Self::Definition => "definition",
            Self::Named => "named",
            Self::Message => "message",
            Self::Often => "often",
            Self::Together => "together",
            Self::Near => "near",
            Self::Pair => "pair",
            Self::Meaning => "meaning",
        }
    }
}

/// How many signals there are.
pub const SIGNALS: usize = 12;

/// How much each signal counts, in the order of [`RankingSignal`].
pub type SignalWeights = [f64; SIGNALS];

/// The weights that are used. They were fitted, by hill climbing on recall at 10, on the newest
/// commits of a dozen repositories, and tried on others: see `docs/benchmarks.md`.
pub const WEIGHTS: SignalWeights = [
    1.2,  // Text
    0.5,  // Path
    0.35, // Names
    0.25, // Identifier
    0.4,  // Definition
    5.0,  // Named: whoever names a file means it
    0.85, // Message
    0.3,  // Often
    2.4,  // Together
    1.0,  // Near
    0.5,  // Pair
    0.3,  // Meaning
];

/// A file that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedFile {
    /// Its path.
    pub path: String,
    /// How much speaks for it.
    pub score: f64,
    /// What speaks for it, each signal by itself, in the order of [`RankingSignal`].
    pub signals: [f64; SIGNALS],
    /// What speaks for it, in words, the most telling first.
    pub why: Vec<MatchReason>,
}

/// Ranks the files of a tree for the text of a task, best first. The same text, files and history give
/// the same ranking.
pub fn rank(text: &str, corpus: &SearchCorpus<'_>, options: &RankingOptions) -> Vec<RankedFile> {
    FileRanking::new(text, corpus, options.weights).found(options)
}
