//! The map of a repository: its most important definitions, within a token budget.
//!
//! Files are in the order of their paths and definitions in that of their lines, each nested in the
//! definition that contains it. `⋮` marks where definitions are left out.

mod render;

use serde::Serialize;

use crate::graph::ImportanceRanks;
use crate::index::SourceIndex;
use crate::outline::DefinitionKind;
use crate::redact::{RedactionCounts, Redactor};
use crate::tokens::{self, TokenCounter};

/// Options for drawing a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapOptions {
    /// The token budget.
    pub budget: usize,
    /// How files that the focus touches are shown.
    pub touched: FocusDisplay,
    /// Only files below this folder, or this file, are shown; all if it is empty.
    pub below: String,
}

impl MapOptions {
    /// Returns options for a map of everything within a budget.
    pub fn new(budget: usize) -> Self {
        Self {
            budget,
            touched: FocusDisplay::default(),
            below: String::new(),
        }
    }

    /// Returns true if a file may be shown.
    pub fn includes_path(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&*self.below);
        self.below.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// How files that the focus touches are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FocusDisplay {
    /// They are in the map like all others.
    #[default]
    Shown,
    /// They are left out, because the reader of the map sees them anyway.
    LeftOut,
}

/// A map that was drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RepositoryMap {
    /// The rendered text.
    #[serde(skip)]
    pub text: String,
    /// The number of tokens of the text.
    pub tokens: usize,
    /// The files in the map.
    pub files: Vec<MappedFile>,
    /// The number of referable definitions that are not in the map.
    pub left_out: usize,
}

/// The part of a file that a map shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MappedFile {
    /// The path from the top of the tree.
    pub path: String,
    /// The rank of the file; all ranks add up to 1.
    pub rank: f64,
    /// The definitions shown.
    pub definitions: Vec<MappedDefinition>,
}

/// A definition in a map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MappedDefinition {
    /// The definition's name.
    pub name: String,
    /// The kind of definition.
    pub kind: DefinitionKind,
    /// The line it begins on, from 1.
    pub line: u32,
    /// The nesting depth.
    pub depth: usize,
    /// The declaration without its body.
    pub signature: String,
    /// The importance of the definition.
    pub score: f64,
}

impl RepositoryMap {
    /// Removes secrets from the map: a constant may be one.
    pub fn redact(&mut self, redactor: &Redactor) -> RedactionCounts {
        let (text, hits) = redact_map_text(&self.text, redactor);
        if !hits.is_empty() {
            self.text = text;
            self.tokens = tokens::count(&self.text);
            let clean = |text: &mut String| *text = redactor.redact(text).text.into_owned();
            for part in &mut self.files {
                clean(&mut part.path);
                for definition in &mut part.definitions {
                    clean(&mut definition.name);
                    clean(&mut definition.signature);
                }
            }
        }
        hits
    }
}

/// Returns the text of a map without its secrets, and their counts. Each line is redacted by
/// itself, because a declaration that was cut off does not continue in the next line.
pub(crate) fn redact_map_text(text: &str, redactor: &Redactor) -> (String, RedactionCounts) {
    let mut clean = String::with_capacity(text.len());
    let mut hits = RedactionCounts::default();
    for line in text.split_inclusive('\n') {
        let redacted = redactor.redact(line);
        clean.push_str(&redacted.text);
        for (rule, count) in redacted.hits {
            *hits.entry(rule).or_default() += count;
        }
    }
    (clean, hits)
}

/// The smallest number of tokens that a definition takes.
const FEWEST: usize = 3;

/// Draws the map of an index by its ranks.
pub fn draw_map(
    index: &SourceIndex,
    ranks: &ImportanceRanks,
    options: &MapOptions,
) -> RepositoryMap {
    let (candidates, all) = candidates(index, ranks, options);
    let mut counter = TokenCounter::new();
    let mut best = render::render_map(index, ranks, &[], &mut counter);
    // Find the largest number of candidates that fits. Adding one never shortens the text by more
    // than a line.
    let (mut fits, mut too_many) = (0, candidates.len() + 1);
    while too_many - fits > 1 {
        let tried = usize::midpoint(fits, too_many);
        let map = render::render_map(index, ranks, &candidates[..tried], &mut counter);
        if map.tokens <= options.budget {
            fits = tried;
            best = map;
        } else {
            too_many = tried;
        }
    }
    let shown: usize = best.files.iter().map(|part| part.definitions.len()).sum();
    best.left_out = all.saturating_sub(shown);
    best
}

/// A definition that may be shown.
#[derive(Clone, Copy, Debug)]
struct MapCandidate {
    file: usize,
    definition: usize,
    score: f64,
}

/// Returns the most important definitions, best first, and how many there are in all. Definitions
/// that nobody refers to come last, by the rank of their file.
fn candidates(
    index: &SourceIndex,
    ranks: &ImportanceRanks,
    options: &MapOptions,
) -> (Vec<MapCandidate>, usize) {
    let mut all = Vec::new();
    for (file, scores) in ranks.definitions.iter().enumerate() {
        let left_out = options.touched == FocusDisplay::LeftOut && ranks.touched[file];
        if left_out || !options.includes_path(index.path(file)) {
            continue;
        }
        let definitions = index.definitions(file);
        for (definition, (defined, score)) in definitions.iter().zip(scores).enumerate() {
            // A name of one letter tells the reader nothing.
            let said = index.name_text(defined.name).len() > 1;
            if said && defined.is_reachable() && (defined.public || *score > 0.0) {
                all.push(MapCandidate {
                    file,
                    definition,
                    score: *score,
                });
            }
        }
    }
    let order = |a: &MapCandidate, b: &MapCandidate| {
        let by_score = b.score.total_cmp(&a.score);
        let by_rank = || ranks.files[b.file].total_cmp(&ranks.files[a.file]);
        by_score
            .then_with(by_rank)
            .then_with(|| (a.file, a.definition).cmp(&(b.file, b.definition)))
    };
    let total = all.len();
    let wanted = options.budget / FEWEST + 1;
    if all.len() > wanted {
        all.select_nth_unstable_by(wanted, order);
        all.truncate(wanted);
    }
    all.sort_unstable_by(order);
    (all, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_in_one_line_takes_nothing_of_the_next() {
        let begun = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
        let body = "MIIEowIBAAKCAQEA7x3p".repeat(3);
        let text = format!("a.py:\ndef sign(key=\"{begun} {body} {body}…\nb.py:\ndef b()\n");
        let (clean, hits) = redact_map_text(&text, &Redactor::new([]));
        assert!(!clean.contains("MIIE"), "{clean}");
        assert!(clean.ends_with("\nb.py:\ndef b()\n"), "{clean}");
        assert_eq!(hits.values().sum::<usize>(), 1);
    }
}
