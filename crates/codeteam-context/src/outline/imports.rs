//! What a file imports, as it is written.

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::language::Language;

/// An import. Which file it leads to is found out by [`crate::imports`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// What is imported from, as it is written: `..models.user`, `./api`, `crate::git`, `java.util`.
    pub module: String,
    /// What is imported from it by name; none if it is the module itself.
    pub names: Vec<String>,
    /// The line, from 1.
    pub line: u32,
    /// The statement, on one line.
    pub statement: String,
}

/// The imports below a node, in the order of the lines.
pub(super) fn of(_root: Node<'_>, _text: &str, _language: Language) -> Vec<Import> {
    Vec::new()
}
