//! YAML that people write: read with positions, merged in layers, and deserialized into types.
//!
//! A file becomes a tree of [`YamlNode`]s, each with its [`SourcePosition`]. All trees are merged
//! by one set of rules ([`merge`]) and deserialized by one deserializer ([`deserialize_node`]), so
//! that every mistake, in whichever layer, is reported with its file, line, column and text.

mod de;
mod forms;
mod merge;
mod node;
mod read;
mod source;
mod write;

use serde::de::DeserializeOwned;

pub use self::de::{deserialize_by_key, deserialize_node};
pub(crate) use self::forms::OrderedMap;
pub use self::forms::{OneOrMany, ScalarOr, WithPosition};
pub use self::merge::merge;
pub use self::node::{YamlKey, YamlNode, YamlScalar, YamlValue};
pub use self::read::read;
pub use self::source::{Diagnostic, FileProblem, FileProblems, SourceFiles, SourcePosition};
pub use self::write::{OriginComments, write};

/// Parses a YAML document into a type.
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, FileProblems> {
    let mut sources = SourceFiles::default();
    let node = read(&mut sources, file, text).map_err(|fault| sources.to_problems([fault]))?;
    deserialize_node(&node).map_err(|faults| sources.to_problems(faults))
}

#[cfg(test)]
mod tests;
