//! The map of a repository: its most important definitions, within a budget of tokens.
//!
//! Files stand in the order of their paths, definitions in that of their lines, each below what it
//! stands in. `⋮` is where definitions are left out.

mod render;

use serde::Serialize;

use crate::graph::ImportanceRanks;
use crate::index::SourceIndex;
use crate::outline::DefinitionKind;
use crate::redact::{RedactionCounts, Redactor};
use crate::tokens::{self, TokenCounter};

/// What is wanted of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapOptions {
    /// How many tokens it may have.
    pub budget: usize,
    /// What becomes of the files that the focus touches.
    pub touched: FocusDisplay,
    /// Only files below this folder, or this file, are shown; all if it is empty.
    pub below: String,
}

impl MapOptions {
    /// A map of everything, of so many tokens.
    pub fn new(budget: usize) -> Self {
        Self {
            budget,
            touched: FocusDisplay::default(),
            below: String::new(),
        }
    }

    /// Whether a file may be shown.
    pub fn wants(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&*self.below);
        self.below.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// What becomes of the files that the focus touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FocusDisplay {
    /// They are in the map like all others.
    #[default]
    Shown,
    /// They are left out: whoever reads the map sees them anyway.
    LeftOut,
}

/// A map.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RepositoryMap {
    /// As it is shown.
    #[serde(skip)]
    pub text: String,
    /// How many tokens that is.
    pub tokens: usize,
    /// What is in it.
    pub files: Vec<MappedFile>,
    /// How many definitions are not in it that others can mean.
    pub left_out: usize,
}

/// What a map shows of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MappedFile {
    /// Where it is.
    pub path: String,
    /// Its rank among all; the sum of all ranks is 1.
    pub rank: f64,
    /// What is shown of it.
    pub definitions: Vec<MappedDefinition>,
}

/// A definition in a map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MappedDefinition {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: DefinitionKind,
    /// The line it begins on, from 1.
    pub line: u32,
    /// How deep it is in others.
    pub depth: usize,
    /// How it is declared.
    pub signature: String,
    /// How much it matters.
    pub score: f64,
}

impl RepositoryMap {
    /// Takes secrets out of it: a constant may be one.
    pub fn redact(&mut self, redactor: &Redactor) -> RedactionCounts {
        let (text, hits) = redacted(&self.text, redactor);
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

/// The text of a map without its secrets, and what they were. Each line is looked at by itself: what
/// begins in one declaration, and is cut off there, does not go on in the next.
pub fn redacted(text: &str, redactor: &Redactor) -> (String, RedactionCounts) {
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

/// The fewest tokens that a definition takes.
const FEWEST: usize = 3;

/// Draws the map of an index by its ranks.
pub fn map(index: &SourceIndex, ranks: &ImportanceRanks, options: &MapOptions) -> RepositoryMap {
    let (candidates, all) = candidates(index, ranks, options);
    let mut counter = TokenCounter::new();
    let mut best = render::draw(index, ranks, &[], &mut counter);
    // The most candidates that fit. More of them never make the text shorter by more than a line.
    let (mut fits, mut too_many) = (0, candidates.len() + 1);
    while too_many - fits > 1 {
        let tried = usize::midpoint(fits, too_many);
        let map = render::draw(index, ranks, &candidates[..tried], &mut counter);
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

/// The most important definitions, best first, and how many there are in all. What nobody refers to
/// comes last, by the rank of its file.
fn candidates(
    index: &SourceIndex,
    ranks: &ImportanceRanks,
    options: &MapOptions,
) -> (Vec<MapCandidate>, usize) {
    let mut all = Vec::new();
    for (file, scores) in ranks.definitions.iter().enumerate() {
        let left_out = options.touched == FocusDisplay::LeftOut && ranks.touched[file];
        if left_out || !options.wants(index.path(file)) {
            continue;
        }
        let definitions = index.definitions(file);
        for (definition, (defined, score)) in definitions.iter().zip(scores).enumerate() {
            // A name of one letter says nothing to anyone.
            let said = index.name(defined.name).len() > 1;
            if said && defined.reachable() && (defined.public || *score > 0.0) {
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
        let (clean, hits) = redacted(&text, &Redactor::new([]));
        assert!(!clean.contains("MIIE"), "{clean}");
        assert!(clean.ends_with("\nb.py:\ndef b()\n"), "{clean}");
        assert_eq!(hits.values().sum::<usize>(), 1);
    }
}
