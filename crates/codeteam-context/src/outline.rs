//! What a source file defines, refers to and imports, by its grammar.
//!
//! One parse gives all of it, so that it can be kept by the file's content and never be asked for
//! twice.

mod definitions;
mod imports;
mod references;
mod signatures;

use serde::{Deserialize, Serialize};
use tree_sitter::{Parser, Tree};

pub use self::definitions::{Definition, Kind};
pub use self::imports::{Form, Import};
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

/// Reads a file's outline. One that breaks the grammar gives what could be understood.
pub fn outline(text: &str, language: Language) -> Outline {
    let Some(tree) = parse(text, language) else {
        return Outline::default();
    };
    let root = tree.root_node();
    Outline {
        definitions: definitions::of(root, text, language),
        references: references::of(root, text, language),
        imports: imports::of(root, text, language),
    }
}

/// The tree of a text; `None` if its grammar could not be loaded.
fn parse(text: &str, language: Language) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    parser.parse(text, None)
}
