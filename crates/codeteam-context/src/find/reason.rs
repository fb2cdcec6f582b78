//! Why a file was found, in words.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::RankingSignal;
use super::rank::FileRanking;
use super::words::WordBag;

/// How many words or names a reason gives.
const NAMED: usize = 3;
/// The most reasons of a file.
const REASONS: usize = 4;
/// What counts for less than this part of a score is no reason.
const LEAST: f64 = 0.06;

/// Why a file was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum MatchReason {
    /// The task names it.
    Named,
    /// Its text has words of the task.
    Text {
        /// Some of them, as the task has them.
        words: Vec<String>,
    },
    /// So has its path.
    Path {
        /// The words.
        words: Vec<String>,
    },
    /// So have names of what is defined in it.
    Names {
        /// Some of these names.
        names: Vec<String>,
    },
    /// Identifiers of the task are in its text.
    Identifier {
        /// Some of them.
        names: Vec<String>,
    },
    /// Identifiers of the task are defined in it.
    Definition {
        /// Some of them.
        names: Vec<String>,
    },
    /// Past commits with such words changed it.
    Message {
        /// How many of those looked at.
        commits: usize,
        /// The first line of the one most alike.
        subject: String,
    },
    /// It is changed often, and lately.
    Often {
        /// In how many of the commits looked at.
        commits: usize,
    },
    /// It was changed together with another that was found.
    Together {
        /// The other.
        path: String,
        /// In so many commits,
        times: usize,
        /// of so many that changed the other.
        of: usize,
    },
    /// It imports another that was found.
    Imports {
        /// The other.
        path: String,
    },
    /// Another that was found imports it.
    ImportedBy {
        /// The other.
        path: String,
    },
    /// It is the test of another that was found.
    Tests {
        /// The other.
        path: String,
    },
    /// It is what a test that was found tests.
    TestedBy {
        /// The test.
        path: String,
    },
    /// It means something alike, as the model of meanings has it.
    Meaning {
        /// How much, in hundredths.
        percent: u8,
    },
}

impl fmt::Display for MatchReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => f.write_str("the task names it"),
            Self::Text { words } => write!(f, "the text has {}", list(words)),
            Self::Path { words } => write!(f, "the path has {}", list(words)),
            Self::Names { names } => write!(f, "defines {}", list(names)),
            Self::Identifier { names } => write!(f, "{} is in it", list(names)),
            Self::Definition { names } => write!(f, "{} is defined here", list(names)),
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
            Self::Meaning { percent } => write!(f, "means something alike ({percent} %)"),
        }
    }
}

/// `a`, `b`, `c`.
fn list(words: &[String]) -> String {
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
    /// Why a file was found, what counts most first.
    pub(super) fn reasons(&self, file: usize) -> Vec<MatchReason> {
        let mut parts: Vec<(RankingSignal, f64)> = RankingSignal::ALL
            .into_iter()
            .map(|signal| (signal, self.part(file, signal)))
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
                words: self.words(&candidate.sketch.words),
            },
            RankingSignal::Path => MatchReason::Path {
                words: self.words(&self.paths[file]),
            },
            RankingSignal::Names => MatchReason::Names {
                names: self.names(file),
            },
            RankingSignal::Identifier => MatchReason::Identifier {
                names: self.identifiers(&candidate.sketch.words),
            },
            RankingSignal::Definition => MatchReason::Definition {
                names: self.identifiers(&self.corpus.look?.closer(candidate.path)?.words),
            },
            RankingSignal::Message => self.message(file)?,
            RankingSignal::Often => MatchReason::Often {
                commits: self.corpus.history?.of_file[file].len(),
            },
            RankingSignal::Together => self.together(file)?,
            RankingSignal::Near => self.near(file)?,
            RankingSignal::Pair => self.pair(file)?,
            RankingSignal::Meaning => MatchReason::Meaning {
                percent: percent(self.rows[file][RankingSignal::Meaning as usize]),
            },
        })
    }

    /// The words of the task that a text has, what tells most first.
    fn words(&self, text: &WordBag) -> Vec<String> {
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

    fn identifiers(&self, text: &WordBag) -> Vec<String> {
        let known = self.query.identifiers.iter();
        let known = known.filter(|term| text.count(term.word) > 0);
        known.take(NAMED).map(|term| term.shown.clone()).collect()
    }

    /// The names defined in a file that have most of the task's words.
    fn names(&self, file: usize) -> Vec<String> {
        let mut names: Vec<(f64, &String)> = Vec::new();
        let look = self.corpus.look;
        let closer = look.and_then(|look| look.closer(self.corpus.files[file].path));
        for name in closer.iter().flat_map(|closer| &closer.names) {
            let bag = WordBag::of(name);
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

    fn message(&self, file: usize) -> Option<MatchReason> {
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

    /// The file found first with which this one was changed, weighed by how often.
    fn together(&self, file: usize) -> Option<MatchReason> {
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
            let weight = share * times as f64 / (commits.len() as f64 + super::past::DOUBT);
            if times > 0 && best.is_none_or(|(most, ..)| weight > most) {
                best = Some((weight, *seed, times, commits.len()));
            }
        }
        let (_, seed, times, of) = best?;
        Some(MatchReason::Together {
            path: self.path(seed),
            times,
            of,
        })
    }

    fn near(&self, file: usize) -> Option<MatchReason> {
        let (imports, importers) = self.neighbours(file);
        for (seed, _) in &self.seeds {
            let path = self.path(*seed);
            if imports.contains(seed) {
                return Some(MatchReason::Imports { path });
            }
            if importers.contains(seed) {
                return Some(MatchReason::ImportedBy { path });
            }
        }
        None
    }

    fn pair(&self, file: usize) -> Option<MatchReason> {
        let number = u32::try_from(file).ok()?;
        let mut seeds = self.seeds.iter();
        let (seed, _) = seeds.find(|(seed, _)| self.pairs[*seed].contains(&number))?;
        let path = self.path(*seed);
        Some(if super::is_test(self.corpus.files[file].path) {
            MatchReason::Tests { path }
        } else {
            MatchReason::TestedBy { path }
        })
    }

    fn path(&self, file: usize) -> String {
        self.corpus.files[file].path.to_owned()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 100"
)]
fn percent(part: f64) -> u8 {
    (part.clamp(0.0, 1.0) * 100.0).round() as u8
}
