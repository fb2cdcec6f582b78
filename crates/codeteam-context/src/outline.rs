//! What a source file defines, refers to and imports, by its grammar.
//!
//! One parse gives all of it, so that it can be kept by the file's content and never be asked for
//! twice.

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

/// What is in a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// What it defines, in the order of the lines.
    pub definitions: Vec<Definition>,
    /// The names it refers to, in their order, each once.
    pub references: Vec<Reference>,
    /// What it imports, in the order of the lines.
    pub imports: Vec<Import>,
}

impl Outline {
    /// The functions and methods in it that have a name, nested ones too, in the order of the lines.
    pub fn functions(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(|definition| {
            matches!(
                definition.kind,
                DefinitionKind::Function | DefinitionKind::Method
            )
        })
    }
}

/// A longer text is not parsed: nobody wrote it by hand.
const LONGEST: usize = 2 << 20;

/// Lines of such a length, on average, were not written by hand either.
const LONGEST_LINE: usize = 1_000;

/// Reads a file's outline. One that breaks the grammar gives what could be understood.
pub fn outline(text: &str, language: Language) -> Outline {
    let Some(tree) = parse(text, language) else {
        return Outline::default();
    };
    let root = tree.root_node();
    let (definitions, references) = rules::walk(root, text, language);
    Outline {
        definitions,
        references,
        imports: imports::of(root, text, language),
    }
}

/// The tree of a text; `None` if the text is none that was written by hand, or is made so that
/// parsing it would take far longer than its length warrants.
fn parse(text: &str, language: Language) -> Option<Tree> {
    if text.len() > LONGEST || is_packed(text) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    // Steps are counted (by the hundred), not seconds, so that the same text always gives the same.
    // Real code takes less than two a byte.
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

/// Whether a text was packed by a program: all on a few lines.
fn is_packed(text: &str) -> bool {
    text.len() > 20 * LONGEST_LINE
        && memchr::memchr_iter(b'\n', text.as_bytes()).count() < text.len() / LONGEST_LINE
}
