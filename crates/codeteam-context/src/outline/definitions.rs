//! What a file defines.

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::language::Language;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A function.
    Function,
    /// A function of a type.
    Method,
    /// A class, struct, enum, record or union.
    Type,
    /// An interface, trait or protocol.
    Interface,
    /// A type by another name.
    Alias,
    /// A constant, static or variable of the file.
    Value,
    /// A macro.
    Macro,
    /// A module or namespace.
    Module,
}

/// Something defined in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The definition it stands in, as its place in the list.
    pub inside: Option<u32>,
    /// The line it begins on, from 1.
    pub line: u32,
    /// The line it ends on.
    pub last_line: u32,
    /// How it is declared, without its body: `fn add(a: u32, b: u32) -> u32`.
    pub signature: String,
    /// Whether other files can see it: exported, public, or not marked private by its name.
    pub public: bool,
}

/// The definitions below a node, in the order of the lines.
pub(super) fn of(_root: Node<'_>, _text: &str, _language: Language) -> Vec<Definition> {
    Vec::new()
}
