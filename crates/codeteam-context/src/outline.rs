//! Extracts what a source file defines, refers to and imports, using its grammar.
//!
//! A single parse yields all of it, so the result can be cached by the file's content.

mod definitions;
mod imports;
mod references;
mod rules;
mod signatures;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

pub use self::definitions::{Definition, DefinitionKind};
pub use self::imports::{Import, ImportForm};
pub use self::references::Reference;
pub use self::signatures::signatures;

use crate::language::Language;

/// The outline of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// The definitions, in the order of the lines.
    pub definitions: Vec<Definition>,
    /// The distinct names it refers to, sorted.
    pub references: Vec<Reference>,
    /// The imports, in the order of the lines.
    pub imports: Vec<Import>,
}

impl Outline {
    /// Returns the named functions and methods, including nested ones, in the order of the lines.
    pub fn functions(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(|definition| {
            matches!(
                definition.kind,
                DefinitionKind::Function | DefinitionKind::Method
            )
        })
    }
}

/// A longer text is not parsed, because nobody wrote it by hand.
const LONGEST: usize = 2 << 20;

/// A text with a longer average line was not written by hand either.
const LONGEST_LINE: usize = 1_000;

/// Extracts a file's outline. A file with syntax errors gives as much as could be understood.
pub fn outline(text: &str, language: Language) -> Outline {
    let Some(tree) = parse_source(text, language) else {
        return Outline::default();
    };
    let root = tree.root_node();
    let (definitions, references) = rules::collect_names(root, text, language);
    Outline {
        definitions,
        references,
        imports: imports::find_imports(root, text, language),
    }
}

/// Parses a text; returns `None` if it was not written by hand, or is crafted so that parsing would
/// take far longer than its length warrants.
pub fn parse_source(text: &str, language: Language) -> Option<Tree> {
    if text.len() > LONGEST || is_packed(text) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    // Steps (in hundreds) are limited, not seconds, so that the same text always gives the same
    // result. Real code takes less than two per byte.
    let mut steps = 1_000 + text.len() / 12;
    let mut progress = |_: &ParseState| match steps.checked_sub(1) {
        Some(left) => {
            steps = left;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let bytes = text.as_bytes();
    let options = ParseOptions::new().progress_callback(&mut progress);
    parser.parse_with_options(
        &mut |at, _| &bytes[at.min(bytes.len())..],
        None,
        Some(options),
    )
}

/// Returns true if a text was minified: everything on a few lines.
fn is_packed(text: &str) -> bool {
    text.len() > 20 * LONGEST_LINE
        && memchr::memchr_iter(b'\n', text.as_bytes()).count() < text.len() / LONGEST_LINE
}
