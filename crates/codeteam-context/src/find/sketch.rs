//! The part of a file's content that is kept for searching.

use serde::{Deserialize, Serialize};

use super::words::WordBag;
use crate::outline::{Import, Outline};

/// The largest number of definition names kept per file; a file with more is data or generated.
const NAMES: usize = 1000;

/// A file's content, reduced to what searching needs. It depends on nothing but the content, so it
/// can be cached by the content's hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSketch {
    /// The hash of the content.
    pub hash: [u8; 16],
    /// The words of the text.
    pub words: WordBag,
}

impl FileSketch {
    /// Creates the sketch of a text.
    pub fn from_text(text: &str) -> Self {
        Self {
            hash: content_hash(text),
            words: WordBag::from_text(text),
        }
    }
}

/// The part of a file's outline that searching needs; it requires parsing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolSketch {
    /// The distinct names of its definitions, sorted.
    pub names: Vec<String>,
    /// The words of these names.
    pub words: WordBag,
    /// The imports of the file.
    pub imports: Vec<Import>,
}

impl SymbolSketch {
    /// Keeps what searching needs from an outline.
    pub fn from_outline(outline: Outline) -> Self {
        let mut names: Vec<String> = outline.definitions.into_iter().map(|it| it.name).collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(NAMES);
        Self {
            words: WordBag::from_text(&names.join(" ")),
            names,
            imports: outline.imports,
        }
    }
}

/// Returns the hash of a content.
pub(super) fn content_hash(text: &str) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    hash
}
