//! What a task's text asks for: words, identifiers, and paths.

use std::collections::HashMap;

use super::words::{self, FnvBuildHasher, WordHash};

/// How much a word counts that is not in the first line.
const FURTHER: f64 = 0.5;

/// A text, as files are found by it.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskQuery {
    /// Its words, in the order in which they are first met.
    pub(super) terms: Vec<QueryTerm>,
    /// Identifiers, which are to be met as they are.
    pub(super) identifiers: Vec<QueryTerm>,
    /// What looks like a path or the name of a file.
    pub(super) paths: Vec<String>,
}

/// A word of a text.
#[derive(Clone, Debug)]
pub(super) struct QueryTerm {
    /// The word.
    pub(super) word: WordHash,
    /// As it is written, where it is met first.
    pub(super) shown: String,
    /// How much it counts.
    pub(super) weight: f64,
}

impl TaskQuery {
    /// Reads a text.
    pub(super) fn of(text: &str) -> Self {
        let mut query = Self::default();
        let mut terms = TermList::default();
        let mut identifiers = TermList::default();
        for (number, line) in text.trim().lines().enumerate() {
            let weight = if number == 0 { 1.0 } else { FURTHER };
            words::each_run(line, |run| {
                words::each_part(run, |part| {
                    let lower = part.to_lowercase();
                    if part.len() > 1 && !words::is_stop(&lower) {
                        terms.add(words::hash(words::stem(&lower)), &lower, weight);
                    }
                });
                if is_compound(run) {
                    identifiers.add(words::whole(run), run, weight);
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

/// Words in the order in which they are met, each once.
#[derive(Default)]
struct TermList {
    list: Vec<QueryTerm>,
    at: HashMap<WordHash, usize, FnvBuildHasher>,
}

impl TermList {
    fn add(&mut self, word: WordHash, shown: &str, weight: f64) {
        if let Some(at) = self.at.get(&word) {
            // A word that is said again counts a little more, not twice.
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

/// Whether a run is an identifier of several parts: `parse_header`, `parseHeader`, but not `GitHub3`
/// of a sentence... which cannot be told, and does no harm.
fn is_compound(run: &str) -> bool {
    let mut parts = 0;
    words::each_part(run, |_| parts += 1);
    parts > 1
}

/// A folder or an ending is in it.
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
