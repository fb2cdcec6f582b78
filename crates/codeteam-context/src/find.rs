//! Finds the files of a tree that matter for a task.
//!
//! A file's score is a sum of signals, each from 0 to 1, times fixed weights (`WEIGHTS`). The
//! signals are computed in three steps, each based on the results of the one before:
//!
//! 1. **All files**: BM25 of the task's words ([`words`]) over texts and over paths, and of its
//!    literal identifiers over texts; files that the task names; files that past commits with
//!    similar words changed ([`history`]); and how often a file is changed.
//! 2. **The best 300** are parsed: BM25 over the names of their definitions.
//! 3. **The neighbours of the best ten**: files changed together with them, files they import or
//!    that import them, and their tests. These signals are shares of the total and are not
//!    rescaled, so that a faint relation to one result does not look like a strong match.
//!
//! The result depends only on the text, the files and the history, not on a cache or on the number
//! of threads.

mod commit_signals;
pub mod history;
mod lexical;
mod query;
mod rank;
mod reason;
mod sketch;
mod sketches;
mod test_pairs;
#[cfg(test)]
mod tests;
pub mod words;

pub use self::history::{Commit, CommitHistory, TouchedFile};
pub use self::reason::MatchReason;
pub use self::sketch::{FileSketch, SymbolSketch};
pub use self::sketches::{SketchIndex, is_generated};
pub use self::test_pairs::is_test;

use self::rank::FileRanking;

/// The files to search, with everything known about them.
#[derive(Clone, Default)]
pub struct SearchCorpus<'a> {
    /// The files, in the order of their paths.
    pub files: Vec<CandidateFile<'a>>,
    /// Parses selected files, if parsing is available.
    pub lookup: Option<&'a dyn SourceLookup>,
    /// The past commits over these files.
    pub history: Option<&'a CommitHistory<'a>>,
}

/// A file that may be found.
#[derive(Clone, Copy, Debug)]
pub struct CandidateFile<'a> {
    /// The path from the top of the tree.
    pub path: &'a str,
    /// The words of its content.
    pub sketch: &'a FileSketch,
}

/// Parses the few files that are likely results; parsing all files would take too long.
pub trait SourceLookup: Sync {
    /// Announces the files that will be asked for, so that they can be parsed together.
    fn prepare(&self, paths: &[&str]);

    /// Returns the definitions and imports of a source file.
    fn symbols_of(&self, path: &str) -> Option<&SymbolSketch>;

    /// Returns the text of a file, such as a manifest.
    fn read_text(&self, path: &str) -> Option<String>;
}

/// Options of a ranking.
#[derive(Clone, Debug)]
pub struct RankingOptions {
    /// The largest number of files to return.
    pub limit: usize,
    /// The weight of each signal.
    pub weights: SignalWeights,
    /// Whether to compute reasons.
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

/// A signal in favour of a file, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RankingSignal {
    /// Its text contains words of the task.
    Text,
    /// Its path contains words of the task.
    Path,
    /// The names that it defines contain words of the task.
    Names,
    /// It contains an identifier of the task literally.
    Identifier,
    /// It defines an identifier of the task.
    Definition,
    /// The task names the file.
    Named,
    /// Past commits with similar words changed it.
    Message,
    /// It is changed often and recently.
    Often,
    /// It is changed together with other results.
    Together,
    /// It imports other results, or is imported by them.
    Near,
    /// It is the test of another result, or is tested by one.
    Pair,
}

impl RankingSignal {
    /// All signals, in order.
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
    ];

    /// Returns the signal's name.
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
        }
    }
}

/// The number of signals.
pub const SIGNALS: usize = 11;

/// The weight of each signal, in the order of [`RankingSignal`].
pub type SignalWeights = [f64; SIGNALS];

/// The default weights. They were fitted by hill climbing on recall at 10, on the newest commits of
/// a dozen repositories, and validated on others: see `docs/benchmarks.md`.
pub(crate) const WEIGHTS: SignalWeights = [
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
];

/// A file that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedFile {
    /// The path from the top of the tree.
    pub path: String,
    /// The weighted sum of its signals.
    pub score: f64,
    /// The value of each signal, in the order of [`RankingSignal`].
    pub signals: [f64; SIGNALS],
    /// The reasons in words, the strongest first.
    pub reasons: Vec<MatchReason>,
}

/// Ranks the files of a tree for the text of a task, best first. The same text, files and history
/// always give the same ranking.
pub fn rank_files(
    text: &str,
    corpus: &SearchCorpus<'_>,
    options: &RankingOptions,
) -> Vec<RankedFile> {
    FileRanking::new(text, corpus, options.weights).ranked_files(options)
}
