//! Ranking: all signals, and what they come to.

use super::query::TaskQuery;
use super::words::WordBag;
use super::{
    RankedFile, RankingOptions, RankingSignal, SIGNALS, SearchCorpus, SignalWeights, SymbolSketch,
    lexical, pairs, past,
};
use crate::imports::{ImportGraph, SourceFile};

/// How many of the files found by what they are themselves are looked round from.
const SEEDS: usize = 10;

/// How many files are looked at more closely: those found by words and by history.
const CLOSER: usize = 300;

/// A ranking under way.
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
    /// Past commits like the task, most alike first.
    pub(super) alike: Vec<(usize, f64)>,
    /// Which files go together as test and tested.
    pub(super) pairs: Vec<Vec<u32>>,
    /// The files found by what they are themselves, best first, with their parts of the best one's
    /// score.
    pub(super) seeds: Vec<(usize, f64)>,
    /// What the files that were looked at more closely import.
    imports: ImportGraph,
}

impl<'a> FileRanking<'a> {
    pub(super) fn new(text: &str, corpus: &'a SearchCorpus<'a>, weights: SignalWeights) -> Self {
        let paths: Vec<&str> = corpus.files.iter().map(|file| file.path).collect();
        let mut ranking = Self {
            corpus,
            query: TaskQuery::of(text),
            weights,
            rows: vec![[0.0; SIGNALS]; corpus.files.len()],
            paths: paths.iter().map(|path| WordBag::of(path)).collect(),
            rarities: Vec::new(),
            alike: Vec::new(),
            pairs: pairs::pairs(&paths),
            seeds: Vec::new(),
            imports: ImportGraph::default(),
        };
        ranking.by_words();
        ranking.by_history();
        ranking.by_a_closer_look();
        ranking.by_others();
        ranking
    }

    /// By the words of the task in texts and paths.
    fn by_words(&mut self) {
        let files = &self.corpus.files;
        let texts: Vec<&WordBag> = files.iter().map(|file| &file.sketch.words).collect();
        let paths: Vec<&WordBag> = self.paths.iter().collect();
        let TaskQuery {
            terms,
            identifiers,
            paths: said,
        } = &self.query;
        self.rarities = lexical::rarities(terms, &texts);
        let named = files.iter().map(|file| lexical::named(said, file.path));
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
            self.put(signal, values);
        }
        if let Some(meaning) = &self.corpus.meaning {
            self.put(
                RankingSignal::Meaning,
                meaning.iter().map(|near| f64::from(*near)).collect(),
            );
        }
    }

    fn by_history(&mut self) {
        if let Some(history) = self.corpus.history {
            self.alike = past::alike(&self.query, history);
            self.put(
                RankingSignal::Message,
                past::changed_by(&self.alike, history),
            );
            self.put(RankingSignal::Often, past::often(history));
        }
    }

    /// By what is defined in those files that have been found so far.
    fn by_a_closer_look(&mut self) {
        let Some(look) = self.corpus.look else {
            return;
        };
        let mut near: Vec<usize> = self
            .best(CLOSER)
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
            .map(|path| look.closer(path).unwrap_or(&none))
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
            self.put(signal, values);
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
        self.imports = ImportGraph::of(&sources, &|path| look.text(path));
    }

    /// The signals of each file by what was found so far.
    fn by_others(&mut self) {
        let mut seeds = self.best(SEEDS);
        let most = seeds.first().map_or(1.0, |(_, score)| *score);
        for (_, score) in &mut seeds {
            *score /= most;
        }
        self.seeds = seeds;
        if let Some(history) = self.corpus.history {
            self.put_parts(
                RankingSignal::Together,
                past::together(history, &self.seeds),
            );
        }
        self.put_parts(RankingSignal::Near, self.by_imports());
        self.put_parts(RankingSignal::Pair, self.by_pairs());
    }

    /// How near each file is to what was found by imports, in both directions. A file that imports
    /// much, or is imported by many, says little of each.
    fn by_imports(&self) -> Vec<f64> {
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

    /// The files that a file imports, and those that import it.
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

    /// How much each file goes with what was found as a test or a tested one.
    fn by_pairs(&self) -> Vec<f64> {
        let mut beside = vec![0.0_f64; self.rows.len()];
        for (at, part) in &self.seeds {
            for other in &self.pairs[*at] {
                beside[*other as usize] += part;
            }
        }
        beside
    }

    /// Sets a signal of all files, the greatest being 1.
    fn put(&mut self, signal: RankingSignal, values: Vec<f64>) {
        let most = values.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            for (row, value) in self.rows.iter_mut().zip(values) {
                row[signal as usize] = value / most;
            }
        }
    }

    /// Sets a signal that is a sum of parts of what was found: of all of it would be 1. It is not
    /// stretched, since what has little to do with anything found must not seem to have much.
    fn put_parts(&mut self, signal: RankingSignal, values: Vec<f64>) {
        let all: f64 = self.seeds.iter().map(|(_, part)| part).sum();
        for (row, value) in self.rows.iter_mut().zip(values) {
            row[signal as usize] = if all > 0.0 {
                (value / all).min(1.0)
            } else {
                0.0
            };
        }
    }

    /// How much a signal counts for a file.
    pub(super) fn part(&self, file: usize, signal: RankingSignal) -> f64 {
        self.rows[file][signal as usize] * self.weights[signal as usize]
    }

    /// The best files by the signals there are so far, with their scores. That a file is changed often
    /// is no reason alone.
    fn best(&self, limit: usize) -> Vec<(usize, f64)> {
        let score = |file| {
            let parts = RankingSignal::ALL.map(|signal| self.part(file, signal));
            let sum: f64 = parts.iter().sum();
            (sum > parts[RankingSignal::Often as usize]).then_some((file, sum))
        };
        let mut best: Vec<(usize, f64)> = (0..self.rows.len()).filter_map(score).collect();
        best.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
        best.truncate(limit);
        best
    }

    /// The files that were found.
    pub(super) fn found(&self, options: &RankingOptions) -> Vec<RankedFile> {
        let best = self.best(options.limit).into_iter();
        best.map(|(file, score)| RankedFile {
            path: self.corpus.files[file].path.to_owned(),
            score,
            signals: self.rows[file],
            why: if options.reasons {
                self.reasons(file)
            } else {
                Vec::new()
            },
        })
        .collect()
    }
}
