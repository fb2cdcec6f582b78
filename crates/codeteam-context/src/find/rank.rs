//! Computes all signals and combines them into a ranking.

use super::query::TaskQuery;
use super::words::WordBag;
use super::{
    RankedFile, RankingOptions, RankingSignal, SIGNALS, SearchCorpus, SignalWeights, SymbolSketch,
    commit_signals, lexical, test_pairs,
};
use crate::imports::{ImportGraph, SourceFile};

/// The number of direct results whose neighbours are considered.
const SEEDS: usize = 10;

/// The number of files that are parsed: the best by words and history.
const CLOSER: usize = 300;

/// A ranking in progress.
///
/// The constructor computes the signals in three steps (words and history, definitions,
/// neighbours); each step uses [`best_files`](Self::best_files) of the signals computed so far.
/// After that, [`ranked_files`](Self::ranked_files) sorts the files and explains the best of them.
pub(super) struct FileRanking<'a> {
    pub(super) corpus: &'a SearchCorpus<'a>,
    pub(super) query: TaskQuery,
    pub(super) weights: SignalWeights,
    /// The signals of each file.
    pub(super) rows: Vec<[f64; SIGNALS]>,
    /// The words of each path.
    pub(super) paths: Vec<WordBag>,
    /// How rare each word of the task is in the texts.
    pub(super) rarities: Vec<f64>,
    /// Past commits similar to the task, the most similar first.
    pub(super) alike: Vec<(usize, f64)>,
    /// For each file, its tests or the sources that it tests.
    pub(super) pairs: Vec<Vec<u32>>,
    /// The direct results, best first, with their scores relative to the best one.
    pub(super) seeds: Vec<(usize, f64)>,
    /// The imports of the files that were parsed.
    imports: ImportGraph,
}

impl<'a> FileRanking<'a> {
    pub(super) fn new(text: &str, corpus: &'a SearchCorpus<'a>, weights: SignalWeights) -> Self {
        let paths: Vec<&str> = corpus.files.iter().map(|file| file.path).collect();
        let mut ranking = Self {
            corpus,
            query: TaskQuery::from_text(text),
            weights,
            rows: vec![[0.0; SIGNALS]; corpus.files.len()],
            paths: paths.iter().map(|path| WordBag::from_text(path)).collect(),
            rarities: Vec::new(),
            alike: Vec::new(),
            pairs: test_pairs::pair_tests_with_sources(&paths),
            seeds: Vec::new(),
            imports: ImportGraph::default(),
        };
        ranking.score_words();
        ranking.score_history();
        ranking.score_definitions();
        ranking.score_neighbours();
        ranking
    }

    /// Scores the task's words in texts and paths.
    fn score_words(&mut self) {
        let files = &self.corpus.files;
        let texts: Vec<&WordBag> = files.iter().map(|file| &file.sketch.words).collect();
        let paths: Vec<&WordBag> = self.paths.iter().collect();
        let TaskQuery {
            terms,
            identifiers,
            paths: said,
        } = &self.query;
        self.rarities = lexical::word_rarities(terms, &texts);
        let named = files
            .iter()
            .map(|file| lexical::named_path_score(said, file.path));
        let signals = [
            (
                RankingSignal::Text,
                lexical::bm25(terms, &texts, lexical::LONG),
            ),
            (
                RankingSignal::Path,
                lexical::bm25(terms, &paths, lexical::SHORT),
            ),
            (
                RankingSignal::Identifier,
                lexical::bm25(identifiers, &texts, lexical::LONG),
            ),
            (RankingSignal::Named, named.collect()),
        ];
        for (signal, values) in signals {
            self.set_signal(signal, values);
        }
    }

    fn score_history(&mut self) {
        if let Some(history) = self.corpus.history {
            self.alike = commit_signals::similar_commits(&self.query, history);
            self.set_signal(
                RankingSignal::Message,
                commit_signals::message_scores(&self.alike, history),
            );
            self.set_signal(
                RankingSignal::Often,
                commit_signals::frequency_scores(history),
            );
        }
    }

    /// Scores the definitions of the best files so far.
    fn score_definitions(&mut self) {
        let Some(look) = self.corpus.lookup else {
            return;
        };
        let mut near: Vec<usize> = self
            .best_files(CLOSER)
            .into_iter()
            .map(|(file, _)| file)
            .collect();
        near.sort_unstable();
        let paths: Vec<&str> = near
            .iter()
            .map(|file| self.corpus.files[*file].path)
            .collect();
        look.prepare(&paths);
        let none = SymbolSketch::default();
        let closer: Vec<&SymbolSketch> = paths
            .iter()
            .map(|path| look.symbols_of(path).unwrap_or(&none))
            .collect();
        let words: Vec<&WordBag> = closer.iter().map(|closer| &closer.words).collect();
        let signals = [
            (RankingSignal::Names, &self.query.terms),
            (RankingSignal::Definition, &self.query.identifiers),
        ];
        let signals = signals.map(|(signal, terms)| {
            let mut values = vec![0.0; self.rows.len()];
            let scores = lexical::bm25(terms, &words, lexical::SHORT);
            for (file, score) in near.iter().zip(scores) {
                values[*file] = score;
            }
            (signal, values)
        });
        for (signal, values) in signals {
            self.set_signal(signal, values);
        }
        let mut sources: Vec<SourceFile<'_>> = self
            .corpus
            .files
            .iter()
            .map(|file| SourceFile {
                path: file.path,
                imports: &[],
            })
            .collect();
        for (file, closer) in near.iter().zip(&closer) {
            sources[*file].imports = &closer.imports;
        }
        self.imports = ImportGraph::from_sources(&sources, &|path| look.read_text(path));
    }

    /// Scores files by their relation to the best files so far.
    fn score_neighbours(&mut self) {
        let mut seeds = self.best_files(SEEDS);
        let most = seeds.first().map_or(1.0, |(_, score)| *score);
        for (_, score) in &mut seeds {
            *score /= most;
        }
        self.seeds = seeds;
        if let Some(history) = self.corpus.history {
            self.set_unscaled_signal(
                RankingSignal::Together,
                commit_signals::co_change_scores(history, &self.seeds),
            );
        }
        self.set_unscaled_signal(RankingSignal::Near, self.import_scores());
        self.set_unscaled_signal(RankingSignal::Pair, self.pair_scores());
    }

    /// Returns how closely imports connect each file to the results so far, in both directions. A
    /// file that imports much, or that many import, says little about each.
    fn import_scores(&self) -> Vec<f64> {
        let mut near = vec![0.0; self.rows.len()];
        for (seed, part) in &self.seeds {
            let (imports, importers) = self.neighbours(*seed);
            for side in [imports, importers] {
                #[expect(clippy::cast_precision_loss, reason = "thousands of files")]
                let share = part / (side.len() as f64).sqrt();
                for file in side {
                    near[file] += share;
                }
            }
        }
        near
    }

    /// Returns the files that a file imports, and those that import it.
    pub(super) fn neighbours(&self, file: usize) -> (Vec<usize>, Vec<usize>) {
        let files = &self.corpus.files;
        let number = |path: &str| files.binary_search_by(|file| file.path.cmp(path)).ok();
        let numbers = |paths: Vec<&str>| paths.into_iter().filter_map(number).collect();
        let path = files[file].path;
        (
            numbers(self.imports.imports_of(path)),
            numbers(self.imports.importers_of(path)),
        )
    }

    /// Returns how strongly test pairing connects each file to the results so far.
    fn pair_scores(&self) -> Vec<f64> {
        let mut beside = vec![0.0_f64; self.rows.len()];
        for (at, part) in &self.seeds {
            for other in &self.pairs[*at] {
                beside[*other as usize] += part;
            }
        }
        beside
    }

    /// Sets a signal of all files, scaled so that the greatest is 1.
    fn set_signal(&mut self, signal: RankingSignal, values: Vec<f64>) {
        let most = values.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            for (row, value) in self.rows.iter_mut().zip(values) {
                row[signal as usize] = value / most;
            }
        }
    }

    /// Sets a signal that is a share of the results so far, where all of them together would be 1.
    /// It is not rescaled, because a file with a weak relation must not seem to have a strong one.
    fn set_unscaled_signal(&mut self, signal: RankingSignal, values: Vec<f64>) {
        let all: f64 = self.seeds.iter().map(|(_, part)| part).sum();
        for (row, value) in self.rows.iter_mut().zip(values) {
            row[signal as usize] = if all > 0.0 {
                (value / all).min(1.0)
            } else {
                0.0
            };
        }
    }

    /// Returns the contribution of a signal to a file's score.
    pub(super) fn weighted_signal(&self, file: usize, signal: RankingSignal) -> f64 {
        self.rows[file][signal as usize] * self.weights[signal as usize]
    }

    /// Returns the best files by the signals computed so far, with their scores. A file that is
    /// merely changed often is not a result.
    fn best_files(&self, limit: usize) -> Vec<(usize, f64)> {
        let score = |file| {
            let parts = RankingSignal::ALL.map(|signal| self.weighted_signal(file, signal));
            let sum: f64 = parts.iter().sum();
            (sum > parts[RankingSignal::Often as usize]).then_some((file, sum))
        };
        let mut best: Vec<(usize, f64)> = (0..self.rows.len()).filter_map(score).collect();
        best.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
        best.truncate(limit);
        best
    }

    /// Returns the files that were found.
    pub(super) fn ranked_files(&self, options: &RankingOptions) -> Vec<RankedFile> {
        let best = self.best_files(options.limit).into_iter();
        best.map(|(file, score)| RankedFile {
            path: self.corpus.files[file].path.to_owned(),
            score,
            signals: self.rows[file],
            reasons: if options.reasons {
                self.reasons(file)
            } else {
                Vec::new()
            },
        })
        .collect()
    }
}
