//! What is kept of a file's content to find it by.

use serde::{Deserialize, Serialize};

use super::words::WordBag;
use crate::outline::{Import, Outline};

/// The most names of definitions that are kept of a file; beyond, it is data or generated.
const NAMES: usize = 1000;

/// A file's content, as it is found by. It depends on nothing but the content, so that it can be kept
/// by its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSketch {
    /// By what the content is told from another.
    pub hash: [u8; 16],
    /// The words of the text.
    pub words: WordBag,
}

impl FileSketch {
    /// Looks at a text.
    pub fn of(text: &str) -> Self {
        Self {
            hash: hash(text),
            words: WordBag::of(text),
        }
    }
}

/// What a second look at a file shows, for which it has to be parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolSketch {
    /// The names of what is defined in it, in their order, each once.
    pub names: Vec<String>,
    /// The words of these names.
    pub words: WordBag,
    /// What it imports.
    pub imports: Vec<Import>,
}

impl SymbolSketch {
    /// Keeps what is needed of an outline.
    pub fn of(outline: Outline) -> Self {
        let mut names: Vec<String> = outline.definitions.into_iter().map(|it| it.name).collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(NAMES);
        Self {
            words: WordBag::of(&names.join(" ")),
            names,
            imports: outline.imports,
        }
    }
}

/// By what a content is told from another.
pub(super) fn hash(text: &str) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    hash
}
