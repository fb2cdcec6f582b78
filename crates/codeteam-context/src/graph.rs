//! Which files and definitions matter: by who refers to them, seen from what a task touches.
//!
//! A file leads to the files that define the names it refers to, the more the rarer, longer and more
//! clearly meant a name is. A walker who follows these ways, and starts over at what the task touches
//! (or anywhere) after every sixth step or so, is found in a file with some probability: its rank
//! (personalised `PageRank`). What arrives in a file for a name is the score of what the file defines
//! by it.
//!
//! Sums are taken in the order of paths, definitions and names, never of the names' numbers, so that
//! the same files give the same scores to the last bit.

mod weight;

use std::ops::Range;

use crate::index::SourceIndex;

use self::weight::DefinedNames;

/// What a task touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFocus {
    /// Files, by their paths.
    pub files: Vec<String>,
    /// Names that are mentioned.
    pub names: Vec<String>,
}

/// A way from one file to another that is known by other means, such as an import.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileEdge {
    /// Where from, as its number in the index.
    pub from: usize,
    /// Where to.
    pub to: usize,
    /// How much it counts; one clear reference counts 1.
    pub weight: f64,
}

/// How much files and definitions matter.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportanceRanks {
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
/// A file with few and vague references may lead nowhere just as well: so much of its ways does.
const DOUBT: f64 = 0.5;
/// After so many rounds they count as settled.
const ROUNDS: usize = 50;

/// Ranks the files and definitions of an index.
pub fn rank(index: &SourceIndex, focus: &TaskFocus, edges: &[FileEdge]) -> ImportanceRanks {
    let graph = ReferenceGraph::new(index, focus, edges);
    let start = RestartWeights::new(index, focus);
    let (files, arrived) = graph.settle(&start.weights);
    let definitions = (0..index.len())
        .map(|file| graph.scores(index, file, &files, &arrived, &start))
        .collect();
    ImportanceRanks {
        files,
        definitions,
        touched: start.touched,
    }
}

/// Where the walker starts over.
struct RestartWeights {
    weights: Vec<f64>,
    touched: Vec<bool>,
    /// The numbers of the names that are mentioned.
    names: Vec<u32>,
}

impl RestartWeights {
    fn new(index: &SourceIndex, focus: &TaskFocus) -> Self {
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
        Self {
            weights,
            touched,
            names,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no tree has 2^52 files")]
fn count(number: usize) -> f64 {
    number as f64
}

/// The ways between files. They end in spots: a spot is a name that a file defines.
struct ReferenceGraph {
    names: DefinedNames,
    /// By file: its ways.
    ranges: Vec<Range<usize>>,
    /// To which spot, and which share of the file's ways it is.
    ways: Vec<(u32, f64)>,
    /// Ways from elsewhere: from, to, and the share.
    edges: Vec<(usize, usize, f64)>,
    /// By file: the share of its ways that leads nowhere.
    lost: Vec<f64>,
}

impl ReferenceGraph {
    fn new(index: &SourceIndex, focus: &TaskFocus, edges: &[FileEdge]) -> Self {
        let mut names = DefinedNames::new(index);
        let (mut ways, ends) = names.ways(index, focus);
        let mut start = 0;
        let ranges: Vec<_> = ends
            .into_iter()
            .map(|end| std::mem::replace(&mut start, end)..end)
            .collect();
        let mut totals: Vec<f64> = ranges
            .iter()
            .map(|range| {
                ways[Range::clone(range)]
                    .iter()
                    .map(|(_, weight)| weight)
                    .sum()
            })
            .map(|sum: f64| sum + DOUBT)
            .collect();
        let all = 0..index.len();
        let usable = |edge: &&FileEdge| {
            edge.from != edge.to
                && all.contains(&edge.from)
                && all.contains(&edge.to)
                && edge.weight > 0.0
                && edge.weight.is_finite()
        };
        let edges: Vec<_> = edges.iter().filter(usable).collect();
        for edge in &edges {
            totals[edge.from] += edge.weight;
        }
        let edges = edges
            .iter()
            .map(|edge| (edge.from, edge.to, edge.weight / totals[edge.from]))
            .collect();
        for (range, total) in ranges.iter().zip(&totals) {
            for (_, weight) in &mut ways[Range::clone(range)] {
                *weight /= total;
            }
        }
        Self {
            lost: totals.iter().map(|total| DOUBT / total).collect(),
            names,
            ranges,
            ways,
            edges,
        }
    }

    /// Follows the ways until ranks no longer change; and what arrives at each spot then.
    fn settle(&self, start: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut ranks = start.to_vec();
        let mut next = vec![0.0; ranks.len()];
        let mut arrived = vec![0.0; self.names.spots()];
        for _ in 0..ROUNDS {
            self.arrive(&ranks, &mut arrived);
            let lost: f64 = self.lost.iter().zip(&ranks).map(|(a, b)| a * b).sum();
            let anew = 1.0 - GOES_ON + GOES_ON * lost;
            for (file, next) in next.iter_mut().enumerate() {
                let sum: f64 = arrived[self.names.spots_of(file)].iter().sum();
                *next = anew * start[file] + GOES_ON * sum;
            }
            for (from, to, share) in &self.edges {
                next[*to] += GOES_ON * share * ranks[*from];
            }
            let changed: f64 = next.iter().zip(&ranks).map(|(a, b)| (a - b).abs()).sum();
            std::mem::swap(&mut ranks, &mut next);
            if changed < SETTLED {
                break;
            }
        }
        self.arrive(&ranks, &mut arrived);
        (ranks, arrived)
    }

    fn arrive(&self, ranks: &[f64], arrived: &mut [f64]) {
        arrived.fill(0.0);
        for (range, rank) in self.ranges.iter().zip(ranks) {
            if *rank > 0.0 {
                for (spot, share) in &self.ways[Range::clone(range)] {
                    arrived[*spot as usize] += rank * share;
                }
            }
        }
    }

    /// The scores of a file's definitions.
    fn scores(
        &self,
        index: &SourceIndex,
        file: usize,
        ranks: &[f64],
        arrived: &[f64],
        start: &RestartWeights,
    ) -> Vec<f64> {
        let definitions = index.definitions(file);
        let scores = definitions.iter().map(|defined| {
            if !defined.reachable() {
                return 0.0;
            }
            let spot = self.names.spot(file, defined.name);
            let mut score = spot.map_or(0.0, |spot| arrived[spot as usize]);
            if start.names.contains(&defined.name) {
                score += ranks[file];
            }
            score
        });
        scores.collect()
    }
}
