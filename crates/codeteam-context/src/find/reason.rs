//! Explains in words why a file was found.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::RankingSignal;
use super::rank::FileRanking;
use super::words::WordBag;

/// The largest number of words or names in a reason.
const NAMED: usize = 3;
/// The largest number of reasons per file.
const REASONS: usize = 4;
/// A signal that contributes less than this share of the score is not given as a reason.
const LEAST: f64 = 0.06;

/// Why a file was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum MatchReason {
    /// The task names the file.
    Named,
    /// Its text contains words of the task.
    Text {
        /// Some of these words, as the task spells them.
        words: Vec<String>,
    },
    /// Its path contains words of the task.
    Path {
        /// The matching words.
        words: Vec<String>,
    },
    /// Names that it defines contain words of the task.
    Names {
        /// Some of these names.
        names: Vec<String>,
    },
    /// Its text contains identifiers of the task.
    Identifier {
        /// Some of these identifiers.
        names: Vec<String>,
    },
    /// It defines identifiers of the task.
    Definition {
        /// Some of these identifiers.
        names: Vec<String>,
    },
    /// Past commits with similar words changed it.
    Message {
        /// The number of such commits.
        commits: usize,
        /// The first line of the most similar one.
        subject: String,
    },
    /// It is changed often and recently.
    Often {
        /// The number of recent commits that changed it.
        commits: usize,
    },
    /// It was changed together with another result.
    Together {
        /// The path of the other file.
        path: String,
        /// The number of commits that changed both.
        times: usize,
        /// The number of commits that changed the other file.
        of: usize,
    },
    /// It imports another result.
    Imports {
        /// The path of the imported file.
        path: String,
    },
    /// Another result imports it.
    ImportedBy {
        /// The path of the importing file.
        path: String,
    },
    /// It tests another result.
    Tests {
        /// The path of the tested file.
        path: String,
    },
    /// A test that was found tests it.
    TestedBy {
        /// The path of the test.
        path: String,
    },
}

impl fmt::Display for MatchReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => f.write_str("the task names it"),
            Self::Text { words } => write!(f, "the text has {}", join_quoted(words)),
            Self::Path { words } => write!(f, "the path has {}", join_quoted(words)),
            Self::Names { names } => write!(f, "defines {}", join_quoted(names)),
            Self::Identifier { names } => write!(f, "{} is in it", join_quoted(names)),
            Self::Definition { names } => write!(f, "{} is defined here", join_quoted(names)),
            Self::Message {
                commits: 1,
                subject,
            } => {
                write!(
                    f,
                    "a past commit with similar words changed it: “{subject}”"
                )
            }
            Self::Message { commits, subject } => write!(
                f,
                "{commits} past commits with similar words changed it, as “{subject}”"
            ),
            Self::Often { commits: 1 } => f.write_str("changed lately"),
            Self::Often { commits } => write!(f, "changed in {commits} commits"),
            Self::Together { path, times, of } => {
                write!(f, "changed together with {path} in {times} of {of} commits")
            }
            Self::Imports { path } => write!(f, "imports {path}"),
            Self::ImportedBy { path } => write!(f, "imported by {path}"),
            Self::Tests { path } => write!(f, "the test of {path}"),
            Self::TestedBy { path } => write!(f, "tested by {path}"),
        }
    }
}

/// Joins words in backticks with commas.
fn join_quoted(words: &[String]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push_str(", ");
        }
        let _ = write!(text, "`{word}`");
    }
    text
}

impl FileRanking<'_> {
    /// Returns why a file was found, the strongest reason first.
    pub(super) fn reasons(&self, file: usize) -> Vec<MatchReason> {
        let mut parts: Vec<(RankingSignal, f64)> = RankingSignal::ALL
            .into_iter()
            .map(|signal| (signal, self.weighted_signal(file, signal)))
            .filter(|(_, part)| *part > 0.0)
            .collect();
        let total: f64 = parts.iter().map(|(_, part)| part).sum();
        parts.retain(|(_, part)| *part >= LEAST * total);
        parts.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
        let reasons = parts
            .into_iter()
            .filter_map(|(signal, _)| self.reason(file, signal));
        reasons.take(REASONS).collect()
    }

    fn reason(&self, file: usize, signal: RankingSignal) -> Option<MatchReason> {
        let candidate = &self.corpus.files[file];
        Some(match signal {
            RankingSignal::Named => MatchReason::Named,
            RankingSignal::Text => MatchReason::Text {
                words: self.matched_words(&candidate.sketch.words),
            },
            RankingSignal::Path => MatchReason::Path {
                words: self.matched_words(&self.paths[file]),
            },
            RankingSignal::Names => MatchReason::Names {
                names: self.matched_names(file),
            },
            RankingSignal::Identifier => MatchReason::Identifier {
                names: self.matched_identifiers(&candidate.sketch.words),
            },
            RankingSignal::Definition => MatchReason::Definition {
                names: self
                    .matched_identifiers(&self.corpus.lookup?.symbols_of(candidate.path)?.words),
            },
            RankingSignal::Message => self.message_reason(file)?,
            RankingSignal::Often => MatchReason::Often {
                commits: self.corpus.history?.of_file[file].len(),
            },
            RankingSignal::Together => self.together_reason(file)?,
            RankingSignal::Near => self.import_reason(file)?,
            RankingSignal::Pair => self.pair_reason(file)?,
        })
    }

    /// Returns the words of the task that a text contains, the most significant first.
    fn matched_words(&self, text: &WordBag) -> Vec<String> {
        let mut words: Vec<(f64, &str)> = Vec::new();
        for (term, rarity) in self.query.terms.iter().zip(&self.rarities) {
            if text.count(term.word) > 0 {
                words.push((term.weight * rarity, &term.shown));
            }
        }
        words.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.cmp(b)));
        words
            .into_iter()
            .take(NAMED)
            .map(|(_, word)| word.to_owned())
            .collect()
    }

    fn matched_identifiers(&self, text: &WordBag) -> Vec<String> {
        let known = self.query.identifiers.iter();
        let known = known.filter(|term| text.count(term.word) > 0);
        known.take(NAMED).map(|term| term.shown.clone()).collect()
    }

    /// Returns the names defined in a file that match most of the task's words.
    fn matched_names(&self, file: usize) -> Vec<String> {
        let mut names: Vec<(f64, &String)> = Vec::new();
        let look = self.corpus.lookup;
        let closer = look.and_then(|look| look.symbols_of(self.corpus.files[file].path));
        for name in closer.iter().flat_map(|closer| &closer.names) {
            let bag = WordBag::from_text(name);
            let terms = self.query.terms.iter().zip(&self.rarities);
            let met = terms.filter(|(term, _)| bag.count(term.word) > 0);
            let sum: f64 = met.map(|(term, rarity)| term.weight * rarity).sum();
            if sum > 0.0 {
                names.push((sum, name));
            }
        }
        names.sort_by(|(one, a), (other, b)| {
            let shorter = a.len().cmp(&b.len()).then(a.cmp(b));
            other.total_cmp(one).then(shorter)
        });
        names
            .into_iter()
            .take(NAMED)
            .map(|(_, name)| name.clone())
            .collect()
    }

    fn message_reason(&self, file: usize) -> Option<MatchReason> {
        let history = self.corpus.history?;
        let file = u32::try_from(file).ok()?;
        let mut alike = self.alike.iter();
        let mut with = alike
            .by_ref()
            .filter(|(at, _)| history.commits[*at].files.contains(&file));
        let (first, _) = with.next()?;
        Some(MatchReason::Message {
            commits: 1 + with.count(),
            subject: history.commits[*first].subject.to_owned(),
        })
    }

    /// Returns the result that this file was most often changed together with, weighted by rank.
    fn together_reason(&self, file: usize) -> Option<MatchReason> {
        let history = self.corpus.history?;
        let number = u32::try_from(file).ok()?;
        let mut best: Option<(f64, usize, usize, usize)> = None;
        for (seed, share) in self.seeds.iter().filter(|(seed, _)| *seed != file) {
            let commits = &history.of_file[*seed];
            let shared = commits
                .iter()
                .filter(|at| history.commits[**at as usize].files.contains(&number));
            let times = shared.count();
            #[expect(clippy::cast_precision_loss, reason = "thousands of commits")]
            let weight =
                share * times as f64 / (commits.len() as f64 + super::commit_signals::DOUBT);
            if times > 0 && best.is_none_or(|(most, ..)| weight > most) {
                best = Some((weight, *seed, times, commits.len()));
            }
        }
        let (_, seed, times, of) = best?;
        Some(MatchReason::Together {
            path: self.file_path(seed),
            times,
            of,
        })
    }

    fn import_reason(&self, file: usize) -> Option<MatchReason> {
        let (imports, importers) = self.neighbours(file);
        for (seed, _) in &self.seeds {
            let path = self.file_path(*seed);
            if imports.contains(seed) {
                return Some(MatchReason::Imports { path });
            }
            if importers.contains(seed) {
                return Some(MatchReason::ImportedBy { path });
            }
        }
        None
    }

    fn pair_reason(&self, file: usize) -> Option<MatchReason> {
        let number = u32::try_from(file).ok()?;
        let mut seeds = self.seeds.iter();
        let (seed, _) = seeds.find(|(seed, _)| self.pairs[*seed].contains(&number))?;
        let path = self.file_path(*seed);
        Some(if super::is_test(self.corpus.files[file].path) {
            MatchReason::Tests { path }
        } else {
            MatchReason::TestedBy { path }
        })
    }

    fn file_path(&self, file: usize) -> String {
        self.corpus.files[file].path.to_owned()
    }
}
