//! Which files and definitions matter: by who refers to them, seen from what a task touches.
//!
//! A file leads to the files that define the names it refers to, the more the rarer, longer and more
//! public a name is. A walker who follows these ways, and starts over at what the task touches (or
//! anywhere) after every sixth step or so, is found in a file with some probability: its rank
//! (personalised `PageRank`). What arrives in a file for a name is the score of what the file defines by it.
//!
//! Ways are kept as file → name → file: a name that a thousand files refer to and a hundred define is
//! eleven hundred numbers, not a hundred thousand. Sums are taken in the order of paths and names,
//! never of the names' numbers, so that the same files give the same scores to the last bit.

mod weight;

use crate::index::Index;

use self::weight::{Weights, family};

/// What a task touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Focus {
    /// Files, by their paths.
    pub files: Vec<String>,
    /// Names that are mentioned.
    pub names: Vec<String>,
}

/// A way from one file to another that is known by other means, such as an import.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Where from, as its number in the index.
    pub from: usize,
    /// Where to.
    pub to: usize,
    /// How much it counts; one clear reference counts 1.
    pub weight: f64,
}

/// How much files and definitions matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// By file; the sum of all is 1.
    pub files: Vec<f64>,
    /// By file, and by definition.
    pub definitions: Vec<Vec<f64>>,
    /// Whether the focus touches a file.
    pub touched: Vec<bool>,
}

/// How often the walker goes on instead of starting over.
const GOES_ON: f64 = 0.85;
/// Ranks that together change by less have settled.
const SETTLED: f64 = 1e-6;
/// After so many rounds they count as settled.
const ROUNDS: usize = 50;

/// Ranks the files and definitions of an index.
pub fn rank(index: &Index, focus: &Focus, edges: &[Edge]) -> Ranks {
    let graph = Graph::new(index, focus, edges);
    let start = start(index, focus);
    let (files, arrived) = graph.settle(&start.weights);
    let definitions = (0..index.len())
        .map(|file| graph.definitions(index, file, &files, &arrived, &start))
        .collect();
    Ranks {
        files,
        definitions,
        touched: start.touched,
    }
}

/// Where the walker starts over.
struct Start {
    weights: Vec<f64>,
    touched: Vec<bool>,
    /// The numbers of the names that are mentioned.
    names: Vec<u32>,
}

fn start(index: &Index, focus: &Focus) -> Start {
    let mut weights = vec![0.0; index.len()];
    let mut touched = vec![false; index.len()];
    for file in focus.files.iter().filter_map(|path| index.file(path)) {
        weights[file] = 1.0;
        touched[file] = true;
    }
    let names: Vec<_> = focus
        .names
        .iter()
        .filter_map(|name| index.number(name))
        .collect();
    for name in &names {
        let places = index.places(*name);
        for (file, _) in places {
            weights[*file as usize] += 1.0 / count(places.len());
        }
    }
    let total: f64 = weights.iter().sum();
    if total > 0.0 {
        for weight in &mut weights {
            *weight /= total;
        }
    } else {
        weights.fill(1.0 / count(index.len().max(1)));
    }
    Start {
        weights,
        touched,
        names,
    }
}

#[expect(clippy::cast_precision_loss, reason = "no tree has 2^52 files")]
fn count(number: usize) -> f64 {
    number as f64
}

/// The ways between files.
struct Graph<'e> {
    weights: Weights,
    /// By file: where its ways to names end in `ways`.
    ends: Vec<usize>,
    /// To which name of a family, and which share of the file's ways it is.
    ways: Vec<(u32, f64)>,
    edges: &'e [Edge],
    /// By edge: its share of the ways of the file it begins in.
    shares: Vec<f64>,
    /// Files without a way.
    stuck: Vec<usize>,
    /// By file: the names it defines, each once, in order; ends in `defines`.
    define_ends: Vec<usize>,
    defines: Vec<u32>,
}

impl<'e> Graph<'e> {
    fn new(index: &Index, focus: &Focus, edges: &'e [Edge]) -> Self {
        let weights = Weights::new(index, focus);
        let mut totals = vec![0.0; index.len()];
        let mut ways = Vec::new();
        let mut ends = Vec::with_capacity(index.len());
        let mut own = vec![u32::MAX; weights.len()];
        let mut defines = Vec::new();
        let mut define_ends = Vec::with_capacity(index.len());
        for (file, number) in (0..index.len()).zip(0_u32..) {
            let family = family(index.language(file));
            for defined in index.definitions(file) {
                if let Some(slot) = weights.slot(family, defined.name)
                    && own[slot as usize] != number
                    && defined.reachable()
                {
                    own[slot as usize] = number;
                    defines.push(slot);
                }
            }
            define_ends.push(defines.len());
            for (name, times) in index.references(file) {
                // What a file defines itself, it means itself.
                if let Some(slot) = weights.slot(family, *name)
                    && own[slot as usize] != number
                {
                    let weight = f64::from(*times).sqrt() * weights.of(slot);
                    totals[file] += weight;
                    ways.push((slot, weight));
                }
            }
            ends.push(ways.len());
        }
        let usable = |edge: &Edge| {
            edge.from != edge.to
                && edge.from < index.len()
                && edge.to < index.len()
                && edge.weight > 0.0
        };
        for edge in edges.iter().filter(|edge| usable(edge)) {
            totals[edge.from] += edge.weight;
        }
        let shares = edges.iter().map(|edge| {
            if usable(edge) {
                edge.weight / totals[edge.from]
            } else {
                0.0
            }
        });
        let shares = shares.collect();
        let mut graph = Self {
            weights,
            ends,
            ways,
            edges,
            shares,
            stuck: Vec::new(),
            define_ends,
            defines,
        };
        for (file, total) in totals.iter().enumerate() {
            let range = graph.range(file);
            for (_, weight) in &mut graph.ways[range] {
                *weight /= total;
            }
            if *total == 0.0 {
                graph.stuck.push(file);
            }
        }
        graph
    }

    fn range(&self, file: usize) -> std::ops::Range<usize> {
        let start = file.checked_sub(1).map_or(0, |last| self.ends[last]);
        start..self.ends[file]
    }

    fn defined(&self, file: usize) -> &[u32] {
        let start = file.checked_sub(1).map_or(0, |last| self.define_ends[last]);
        &self.defines[start..self.define_ends[file]]
    }

    /// Follows the ways until ranks no longer change, and says what arrived at each name for each
    /// of its files.
    fn settle(&self, start: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut ranks = start.to_vec();
        let mut arrived = vec![0.0; self.weights.len()];
        for _ in 0..ROUNDS {
            self.arrive(&ranks, &mut arrived);
            let stuck: f64 = self.stuck.iter().map(|file| ranks[*file]).sum();
            let anew = 1.0 - GOES_ON + GOES_ON * stuck;
            let mut next: Vec<f64> = start.iter().map(|weight| weight * anew).collect();
            for (file, rank) in next.iter_mut().enumerate() {
                let names = self.defined(file).iter();
                let sum: f64 = names.map(|slot| arrived[*slot as usize]).sum();
                *rank += GOES_ON * sum;
            }
            for (edge, share) in self.edges.iter().zip(&self.shares) {
                if *share > 0.0 {
                    next[edge.to] += GOES_ON * share * ranks[edge.from];
                }
            }
            let changed: f64 = next.iter().zip(&ranks).map(|(a, b)| (a - b).abs()).sum();
            ranks = next;
            if changed < SETTLED {
                break;
            }
        }
        self.arrive(&ranks, &mut arrived);
        (ranks, arrived)
    }

    /// What goes out to each name, in equal parts for the files that define it.
    fn arrive(&self, ranks: &[f64], arrived: &mut [f64]) {
        arrived.fill(0.0);
        let mut first = 0;
        for (end, rank) in self.ends.iter().zip(ranks) {
            if *rank > 0.0 {
                for (slot, share) in &self.ways[first..*end] {
                    arrived[*slot as usize] += rank * share;
                }
            }
            first = *end;
        }
        for (sum, files) in arrived.iter_mut().zip(self.weights.files()) {
            *sum /= f64::from(*files);
        }
    }

    /// The scores of a file's definitions.
    fn definitions(
        &self,
        index: &Index,
        file: usize,
        ranks: &[f64],
        arrived: &[f64],
        start: &Start,
    ) -> Vec<f64> {
        let family = family(index.language(file));
        let definitions = index.definitions(file);
        let scores = definitions.iter().map(|defined| {
            let Some(slot) = self.weights.slot(family, defined.name) else {
                return 0.0;
            };
            if !defined.reachable() {
                return 0.0;
            }
            let mut score = arrived[slot as usize];
            if start.names.contains(&defined.name) {
                score += ranks[file];
            }
            score
        });
        scores.collect()
    }
}
