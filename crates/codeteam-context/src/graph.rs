//! Ranks files and definitions by who refers to them, starting from what a task touches.
//!
//! There is an edge from a file to each file that defines a name it refers to; its weight is higher
//! the rarer, longer and less ambiguous the name is. A random walker follows these edges and
//! restarts at what the task touches (or anywhere) after every sixth step or so; the probability of
//! finding it in a file is that file's rank (personalised `PageRank`). The share that arrives in a
//! file through a name is the score of the definition with that name.
//!
//! Sums are taken in the order of paths, definitions and names, never in that of name numbers, so
//! that the same files give the same scores to the last bit.

mod weight;

use std::ops::Range;

use crate::index::SourceIndex;

use self::weight::DefinedNames;

/// The files and names that a task touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFocus {
    /// The paths of files.
    pub files: Vec<String>,
    /// Names that the task mentions.
    pub names: Vec<String>,
}

/// An edge between files that is known by other means, such as an import.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileEdge {
    /// The source file, by its number in the index.
    pub from: usize,
    /// The target file, by its number in the index.
    pub to: usize,
    /// The weight, where one unambiguous reference has weight 1.
    pub weight: f64,
}

/// The importance of files and definitions.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportanceRanks {
    /// The rank of each file; they add up to 1.
    pub files: Vec<f64>,
    /// The score of each definition, by file.
    pub definitions: Vec<Vec<f64>>,
    /// Whether the focus touches each file.
    pub touched: Vec<bool>,
}

/// The probability that the walker continues instead of restarting.
const GOES_ON: f64 = 0.85;
/// The ranks have converged when their total change is below this.
const SETTLED: f64 = 1e-6;
/// The weight of a virtual edge to nowhere, for files with few and vague references.
const DOUBT: f64 = 0.5;
/// The largest number of iterations.
const ROUNDS: usize = 50;

/// Ranks the files and definitions of an index.
pub fn rank_by_references(
    index: &SourceIndex,
    focus: &TaskFocus,
    edges: &[FileEdge],
) -> ImportanceRanks {
    let graph = ReferenceGraph::new(index, focus, edges);
    let start = RestartWeights::new(index, focus);
    let (files, arrived) = graph.iterate_ranks(&start.weights);
    let definitions = (0..index.len())
        .map(|file| graph.definition_scores(index, file, &files, &arrived, &start))
        .collect();
    ImportanceRanks {
        files,
        definitions,
        touched: start.touched,
    }
}

/// The restart distribution of the walker.
struct RestartWeights {
    weights: Vec<f64>,
    touched: Vec<bool>,
    /// The numbers of the names that the task mentions.
    names: Vec<u32>,
}

impl RestartWeights {
    fn new(index: &SourceIndex, focus: &TaskFocus) -> Self {
        let mut weights = vec![0.0; index.len()];
        let mut touched = vec![false; index.len()];
        for file in focus
            .files
            .iter()
            .filter_map(|path| index.file_number(path))
        {
            weights[file] = 1.0;
            touched[file] = true;
        }
        let names: Vec<_> = focus
            .names
            .iter()
            .filter_map(|name| index.name_id(name))
            .collect();
        for name in &names {
            let places = index.definition_locations(*name);
            for (file, _) in places {
                weights[*file as usize] += 1.0 / as_float(places.len());
            }
        }
        let total: f64 = weights.iter().sum();
        if total > 0.0 {
            for weight in &mut weights {
                *weight /= total;
            }
        } else {
            weights.fill(1.0 / as_float(index.len().max(1)));
        }
        Self {
            weights,
            touched,
            names,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no tree has 2^52 files")]
fn as_float(number: usize) -> f64 {
    number as f64
}

/// The edges between files. They end at spots: a spot is a name that a file defines.
struct ReferenceGraph {
    names: DefinedNames,
    /// For each file, the range of its edges.
    ranges: Vec<Range<usize>>,
    /// The spot that each edge leads to, and its share of the file's edges.
    ways: Vec<(u32, f64)>,
    /// The given file edges: from, to, and share.
    edges: Vec<(usize, usize, f64)>,
    /// For each file, the share of its edges that leads nowhere.
    lost_weight: Vec<f64>,
}

impl ReferenceGraph {
    fn new(index: &SourceIndex, focus: &TaskFocus, edges: &[FileEdge]) -> Self {
        let mut names = DefinedNames::new(index);
        let (mut ways, ends) = names.weighted_edges(index, focus);
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
            lost_weight: totals.iter().map(|total| DOUBT / total).collect(),
            names,
            ranges,
            ways,
            edges,
        }
    }

    /// Iterates until the ranks converge, and returns them with the share that arrives at each
    /// spot.
    fn iterate_ranks(&self, start: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut ranks = start.to_vec();
        let mut next = vec![0.0; ranks.len()];
        let mut arrived = vec![0.0; self.names.definition_count()];
        for _ in 0..ROUNDS {
            self.propagate_ranks(&ranks, &mut arrived);
            let lost: f64 = self
                .lost_weight
                .iter()
                .zip(&ranks)
                .map(|(a, b)| a * b)
                .sum();
            let anew = 1.0 - GOES_ON + GOES_ON * lost;
            for (file, next) in next.iter_mut().enumerate() {
                let sum: f64 = arrived[self.names.definitions_in(file)].iter().sum();
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
        self.propagate_ranks(&ranks, &mut arrived);
        (ranks, arrived)
    }

    fn propagate_ranks(&self, ranks: &[f64], arrived: &mut [f64]) {
        arrived.fill(0.0);
        for (range, rank) in self.ranges.iter().zip(ranks) {
            if *rank > 0.0 {
                for (spot, share) in &self.ways[Range::clone(range)] {
                    arrived[*spot as usize] += rank * share;
                }
            }
        }
    }

    /// Returns the scores of a file's definitions.
    fn definition_scores(
        &self,
        index: &SourceIndex,
        file: usize,
        ranks: &[f64],
        arrived: &[f64],
        start: &RestartWeights,
    ) -> Vec<f64> {
        let definitions = index.definitions(file);
        let scores = definitions.iter().map(|defined| {
            if !defined.is_reachable() {
                return 0.0;
            }
            let spot = self.names.definition_of(file, defined.name);
            let mut score = spot.map_or(0.0, |spot| arrived[spot as usize]);
            if start.names.contains(&defined.name) {
                score += ranks[file];
            }
            score
        });
        scores.collect()
    }
}
