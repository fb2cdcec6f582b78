//! The names a file refers to.

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::language::Language;

/// A name that is referred to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name.
    pub name: String,
    /// How often.
    pub count: u32,
}

/// The names referred to below a node, in their order.
pub(super) fn of(_root: Node<'_>, _text: &str, _language: Language) -> Vec<Reference> {
    Vec::new()
}
