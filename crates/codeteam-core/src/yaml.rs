//! YAML that people write: read with places, merged in layers, and turned into types.
//!
//! A file becomes a tree of [`YamlNode`]s, each with its [`SourcePosition`]. Trees are merged by one set of
//! rules ([`merge`]) and deserialized by one deserializer ([`typed`]), so that every mistake, in
//! whichever layer, is reported with its file, line, column and text.

mod de;
mod forms;
mod merge;
mod node;
mod read;
mod source;
mod write;

use serde::de::DeserializeOwned;

pub use self::de::{typed, typed_by_key};
pub use self::forms::{OneOrMany, OrderedMap, ScalarOr, WithPosition};
pub use self::merge::{REPLACED, merge};
pub use self::node::{YamlKey, YamlNode, YamlScalar, YamlValue};
pub use self::read::read;
pub use self::source::{Diagnostic, FileProblem, FileProblems, SourceFiles, SourcePosition};
pub use self::write::{OriginComments, write};

/// Parses a YAML document of a known form.
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, FileProblems> {
    let mut sources = SourceFiles::default();
    let node = read(&mut sources, file, text).map_err(|fault| sources.problems([fault]))?;
    typed(&node).map_err(|faults| sources.problems(faults))
}

/// The nearest of `words` to `typed`, if it is near enough to be what was meant.
pub fn nearest<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody means a word by a page of text, and comparing one would take its time.
    if typed.len() > 100 {
        return None;
    }
    words
        .into_iter()
        .map(|word| (distance(typed, word), word))
        .filter(|(distance, word)| *distance <= 1 + word.len().max(typed.len()) / 4)
        .min()
        .map(|(_, word)| word)
}

/// What to say of an unknown word: the nearest known one, or all of them if they are few.
pub fn meant<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let words: Vec<&str> = words.into_iter().collect();
    match nearest(typed, words.iter().copied()) {
        Some(word) => Some(format!("did you mean `{word}`?")),
        None if words.is_empty() || words.len() > 24 => None,
        None => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            Some(format!("known here: {}", words.join(", ")))
        }
    }
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
