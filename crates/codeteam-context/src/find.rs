//! Finds the files of a tree that matter for a task.

pub mod history;
mod lexical;
mod pairs;
mod past;
mod query;
mod reason;
mod sketch;
pub mod words;

use std::cmp::Ordering;

use serde::Serialize;

pub use self::history::{Commit, History, Touched};
pub use self::pairs::is_test;
pub use self::reason::Reason;
pub use self::sketch::Sketch;

use self::query::Query;
use self::words::Bag;

/// The files among which to look, and what is known of them.
#[derive(Clone, Debug, Default)]
pub struct Corpus<'a> {
    /// The files, in the order of their paths.
    pub files: Vec<Candidate<'a>>,
    /// Which file imports which, by their places in the list.
    pub imports: Vec<(u32, u32)>,
    /// Past commits over these files.
    pub history: Option<&'a History<'a>>,
    /// How near each file is to the text by its meaning, from 0 to 1.
    pub meaning: Option<Vec<f32>>,
}

/// A file among others.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its path.
    pub path: &'a str,
    /// What is in it.
    pub sketch: &'a Sketch,
}

/// How to rank.
#[derive(Clone, Debug)]
pub struct Options {
    /// The most files to find.
    pub limit: usize,
    /// How much each signal counts.
    pub weights: Weights,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limit: 10,
            weights: WEIGHTS,
        }
    }
}

/// What speaks for a file. Each signal goes from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
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
    /// It is a source file.
    Source,
    /// It is a test.
    Test,
}

/// How many signals there are.
pub const SIGNALS: usize = 14;

/// How much each signal counts, in the order of [`Signal`].
pub type Weights = [f64; SIGNALS];

/// The weights that are used.
pub const WEIGHTS: Weights = [
    1.0, 0.5, 0.3, 0.3, 0.3, 5.0, 1.0, 0.4, 0.6, 0.2, 0.3, 0.3, 0.0, 0.0,
];

/// How many of the files found first are looked round from.
const SEEDS: usize = 10;

/// A file that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its path.
    pub path: String,
    /// How much speaks for it.
    pub score: f64,
    /// What speaks for it, each signal by itself, in the order of [`Signal`].
    pub signals: [f64; SIGNALS],
    /// What speaks for it, in words, the most telling first.
    pub why: Vec<Reason>,
}

/// Ranks the files of a tree for the text of a task, best first.
pub fn rank(text: &str, corpus: &Corpus<'_>, options: &Options) -> Vec<Found> {
    let query = Query::of(text);
    let mut table = Table::new(corpus);
    let paths: Vec<Bag> = corpus.files.iter().map(|file| Bag::of(file.path)).collect();
    table.set(Signal::Text, |t| lexical::bm25(&query.terms, t, 1.2, 0.75), corpus, |f, _| &f.sketch.text, &paths);
    table.set(Signal::Path, |t| lexical::bm25(&query.terms, t, 1.2, 0.5), corpus, |_, p| p, &paths);
    table.set(Signal::Names, |t| lexical::bm25(&query.terms, t, 1.2, 0.5), corpus, |f, _| &f.sketch.named, &paths);
    table.set(Signal::Identifier, |t| lexical::bm25(&query.identifiers, t, 1.2, 0.75), corpus, |f, _| &f.sketch.text, &paths);
    table.set(Signal::Definition, |t| lexical::bm25(&query.identifiers, t, 1.2, 0.5), corpus, |f, _| &f.sketch.named, &paths);
    let named = corpus.files.iter().map(|file| lexical::named(&query.paths, file.path));
    table.put(Signal::Named, named.collect());
    if let Some(history) = corpus.history {
        table.put(Signal::Message, past::alike(&query, history, corpus.files.len()));
        table.put(Signal::Often, past::often(history));
    }
    if let Some(meaning) = &corpus.meaning {
        table.put(Signal::Meaning, meaning.iter().map(|m| f64::from(*m)).collect());
    }
    table.put(Signal::Source, corpus.files.iter().map(|f| f64::from(u8::from(crate::language::Language::of(f.path).is_some()))).collect());
    table.put(Signal::Test, corpus.files.iter().map(|f| f64::from(u8::from(is_test(f.path)))).collect());
    let seeds = table.best(&options.weights, SEEDS);
    let paths: Vec<&str> = corpus.files.iter().map(|file| file.path).collect();
    if let Some(history) = corpus.history {
        table.put(Signal::Together, past::together(history, &seeds, paths.len()));
    }
    table.put(Signal::Near, near(&corpus.imports, &seeds, paths.len()));
    table.put(Signal::Pair, beside(&pairs::pairs(&paths), &seeds, paths.len()));
    let best = table.best(&options.weights, options.limit);
    best.into_iter()
        .map(|(at, score)| Found {
            path: paths[at].to_owned(),
            score,
            signals: table.rows[at],
            why: Vec::new(),
        })
        .collect()
}

/// The signals of all files.
struct Table {
    rows: Vec<[f64; SIGNALS]>,
}

impl Table {
    fn new(corpus: &Corpus<'_>) -> Self {
        Self {
            rows: vec![[0.0; SIGNALS]; corpus.files.len()],
        }
    }

    fn set<'a>(
        &mut self,
        signal: Signal,
        score: impl Fn(&[&'a Bag]) -> Vec<f64>,
        corpus: &Corpus<'a>,
        field: impl Fn(&Candidate<'a>, &'a Bag) -> &'a Bag,
        paths: &'a [Bag],
    ) {
        let bags: Vec<&Bag> = corpus.files.iter().zip(paths).map(|(f, p)| field(f, p)).collect();
        let mut scores = score(&bags);
        let most = scores.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            for score in &mut scores {
                *score /= most;
            }
        }
        self.put(signal, scores);
    }

    fn put(&mut self, signal: Signal, values: Vec<f64>) {
        for (row, value) in self.rows.iter_mut().zip(values) {
            row[signal as usize] = value;
        }
    }

    /// The files for which most speaks, with how much.
    fn best(&self, weights: &Weights, limit: usize) -> Vec<(usize, f64)> {
        let score = |row: &[f64; SIGNALS]| row.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
        let mut best: Vec<(usize, f64)> = self.rows.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
        best.sort_by(|(a, one), (b, other)| other.partial_cmp(one).unwrap_or(Ordering::Equal).then(a.cmp(b)));
        best.truncate(limit);
        best
    }
}

/// How near each file is to what was found by imports.
fn near(imports: &[(u32, u32)], seeds: &[(usize, f64)], files: usize) -> Vec<f64> {
    let mut near = vec![0.0_f64; files];
    let Some(most) = seeds.first().map(|(_, score)| *score) else {
        return near;
    };
    let mut share = vec![0.0_f64; files];
    for (at, score) in seeds {
        share[*at] = score / most;
    }
    let mut degree = vec![0_u32; files];
    for (from, to) in imports {
        degree[*from as usize] += 1;
        degree[*to as usize] += 1;
    }
    for (from, to) in imports {
        let (from, to) = (*from as usize, *to as usize);
        near[to] += share[from] / f64::from(degree[from]).sqrt();
        near[from] += share[to] / f64::from(degree[to]).sqrt();
    }
    let top = near.iter().copied().fold(0.0, f64::max);
    if top > 0.0 {
        for value in &mut near {
            *value /= top;
        }
    }
    near
}

/// How much each file goes with what was found, as a test or a tested one.
fn beside(pairs: &[Vec<u32>], seeds: &[(usize, f64)], files: usize) -> Vec<f64> {
    let mut beside = vec![0.0_f64; files];
    let Some(most) = seeds.first().map(|(_, score)| *score) else {
        return beside;
    };
    for (at, score) in seeds {
        for other in &pairs[*at] {
            let value = &mut beside[*other as usize];
            *value = value.max(score / most);
        }
    }
    beside
}
