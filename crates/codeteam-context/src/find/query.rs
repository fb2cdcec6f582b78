//! Extracts words, identifiers and paths from a task's text.

use std::collections::HashMap;

use super::words::{self, FnvBuildHasher, WordHash};

/// The weight of a word outside the first line.
const FURTHER: f64 = 0.5;

/// A task's text, prepared for searching.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskQuery {
    /// The words, in order of first appearance.
    pub(super) terms: Vec<QueryTerm>,
    /// Identifiers that must match literally.
    pub(super) identifiers: Vec<QueryTerm>,
    /// Everything that looks like a path or a file name.
    pub(super) paths: Vec<String>,
}

/// A word of the text.
#[derive(Clone, Debug)]
pub(super) struct QueryTerm {
    /// The word's hash.
    pub(super) word: WordHash,
    /// The word as it is written where it first appears.
    pub(super) shown: String,
    /// The word's weight.
    pub(super) weight: f64,
}

impl TaskQuery {
    /// Parses a text.
    pub(super) fn from_text(text: &str) -> Self {
        let mut query = Self::default();
        let mut terms = TermList::default();
        let mut identifiers = TermList::default();
        for (number, line) in text.trim().lines().enumerate() {
            let weight = if number == 0 { 1.0 } else { FURTHER };
            words::for_each_run(line, |run| {
                words::for_each_part(run, |part| {
                    let lower = part.to_lowercase();
                    if part.len() > 1 && !words::is_stop_word(&lower) {
                        terms.add(words::hash_stem(words::stem(&lower)), &lower, weight);
                    }
                });
                if is_compound(run) {
                    identifiers.add(words::hash_identifier(run), run, weight);
                }
            });
            for path in line.split(|c: char| !(c.is_alphanumeric() || "_-./+@[]".contains(c))) {
                let path = path.trim_matches(|c| matches!(c, '.' | '/' | '[' | ']'));
                if looks_like_path(path) && !query.paths.iter().any(|known| known == path) {
                    query.paths.push(path.to_owned());
                }
            }
        }
        query.terms = terms.list;
        query.identifiers = identifiers.list;
        query
    }
}

/// Distinct words in order of first appearance.
#[derive(Default)]
struct TermList {
    list: Vec<QueryTerm>,
    at: HashMap<WordHash, usize, FnvBuildHasher>,
}

impl TermList {
    fn add(&mut self, word: WordHash, shown: &str, weight: f64) {
        if let Some(at) = self.at.get(&word) {
            // A repeated word counts a little more, not twice.
            self.list[*at].weight += weight * 0.25;
            return;
        }
        self.at.insert(word, self.list.len());
        self.list.push(QueryTerm {
            word,
            shown: shown.to_owned(),
            weight,
        });
    }
}

/// Returns true if a run is an identifier of several parts: `parse_header` or `parseHeader`.
/// `GitHub3` in a sentence counts too; it cannot be distinguished, and does no harm.
fn is_compound(run: &str) -> bool {
    let mut parts = 0;
    words::for_each_part(run, |_| parts += 1);
    parts > 1
}

/// Returns true if a text contains a folder or a file extension.
fn looks_like_path(text: &str) -> bool {
    let named = text.rsplit('/').next().unwrap_or(text);
    let ending = named.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic())
    });
    (text.contains('/') || ending) && text.bytes().any(|b| b.is_ascii_alphabetic())
}
