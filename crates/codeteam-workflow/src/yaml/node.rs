//! The tree of a YAML file. Every node knows its position.

use super::source::SourcePosition;

/// A YAML value with its position in a file.
///
/// Everything that people write goes through this type before it gets a Rust type: it is read,
/// merged with other layers, and rearranged as a tree. Because each node keeps the position where
/// it was written, a mistake that shows up only after merging is still reported at the right line
/// of the right file.
///
/// Nodes that codeteam adds itself have the position [`SourcePosition::NONE`].
///
/// The accessors are lenient: [`get`](Self::get), [`as_map`](Self::as_map) and the others return
/// `None` for a node of another kind, and [`set`](Self::set) does nothing on a node that is not a
/// mapping. Type errors are reported later, by [`deserialize_node`](super::deserialize_node).
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// The position of the value.
    pub place: SourcePosition,
    /// The value itself.
    pub value: YamlValue,
}

/// A value as it is written. The reader of a scalar decides what it means.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlValue {
    /// A single value.
    Scalar(YamlScalar),
    /// A list.
    List(Vec<YamlNode>),
    /// A mapping in the order of the file; every key occurs once.
    Map(Vec<(YamlKey, YamlNode)>),
}

/// A single value as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlScalar {
    /// The text without quotes.
    pub text: String,
    /// Whether the value was written without quotes, so that it may be a number, a boolean or null.
    pub plain: bool,
}

/// A key of a mapping with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlKey {
    /// The text of the key.
    pub name: String,
    /// The position of the key.
    pub place: SourcePosition,
}

impl YamlScalar {
    /// Creates a quoted text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            plain: false,
        }
    }

    /// Creates an unquoted scalar.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            plain: true,
        }
    }

    /// Returns true if the scalar is null.
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// Returns the boolean, if the scalar is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.text.as_str() {
            "true" | "True" | "TRUE" if self.plain => Some(true),
            "false" | "False" | "FALSE" if self.plain => Some(false),
            _ => None,
        }
    }

    /// Returns the integer, if the scalar is one.
    pub fn as_integer(&self) -> Option<i128> {
        if !self.plain {
            return None;
        }
        let (digits, radix) = match self.text.get(..2) {
            Some("0x") => (&self.text[2..], 16),
            Some("0o") => (&self.text[2..], 8),
            _ => (self.text.as_str(), 10),
        };
        i128::from_str_radix(digits, radix).ok()
    }

    /// Returns the number, if the scalar is one.
    pub fn as_number(&self) -> Option<f64> {
        let first = self.text.trim_start_matches(['-', '+']).chars().next()?;
        let is_number = self.plain && (first.is_ascii_digit() || first == '.');
        self.text.parse().ok().filter(|_| is_number)
    }
}

impl YamlNode {
    /// Creates a text without a position.
    pub fn text(text: impl Into<String>) -> Self {
        Self::at(
            SourcePosition::NONE,
            YamlValue::Scalar(YamlScalar::text(text)),
        )
    }

    /// Creates a node at a position.
    pub fn at(place: SourcePosition, value: YamlValue) -> Self {
        Self { place, value }
    }

    /// Creates an empty mapping at a position.
    pub fn empty(place: SourcePosition) -> Self {
        Self::at(place, YamlValue::Map(Vec::new()))
    }

    /// Returns true if the node is null.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, YamlValue::Scalar(scalar) if scalar.is_null())
    }

    /// Returns the text, if the node is a scalar other than null.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar(scalar) if !scalar.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    /// Returns the boolean, if the node is one.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.value {
            YamlValue::Scalar(scalar) => scalar.as_bool(),
            _ => None,
        }
    }

    /// Returns the items, if the node is a list.
    pub fn as_list(&self) -> Option<&[YamlNode]> {
        match &self.value {
            YamlValue::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the entries, if the node is a mapping.
    pub fn as_map(&self) -> Option<&[(YamlKey, YamlNode)]> {
        match &self.value {
            YamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the mutable entries, if the node is a mapping.
    pub fn as_map_mut(&mut self) -> Option<&mut Vec<(YamlKey, YamlNode)>> {
        match &mut self.value {
            YamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value of a key, if the node is a mapping that has it.
    pub fn get(&self, name: &str) -> Option<&YamlNode> {
        let entries = self.as_map()?;
        entries
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node)
    }

    /// Returns the mutable value of a key, if the node is a mapping that has it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut YamlNode> {
        let entries = self.as_map_mut()?;
        let found = entries.iter_mut().find(|(key, _)| key.name == name);
        found.map(|(_, node)| node)
    }

    /// Removes a key from a mapping and returns its value.
    pub fn take(&mut self, name: &str) -> Option<YamlNode> {
        let entries = self.as_map_mut()?;
        let index = entries.iter().position(|(key, _)| key.name == name)?;
        Some(entries.remove(index).1)
    }

    /// Sets a key of a mapping, replacing any earlier value.
    pub fn set(&mut self, name: &str, node: YamlNode) {
        if let Some(old) = self.get_mut(name) {
            *old = node;
        } else {
            let place = node.place;
            let name = name.to_owned();
            if let Some(entries) = self.as_map_mut() {
                entries.push((YamlKey { name, place }, node));
            }
        }
    }

    /// Describes the node for messages.
    pub fn kind(&self) -> String {
        match &self.value {
            YamlValue::Scalar(scalar) if scalar.is_null() => "nothing".to_owned(),
            YamlValue::Scalar(scalar) if scalar.text.len() <= 60 && !scalar.text.contains('\n') => {
                format!("`{}`", scalar.text)
            }
            YamlValue::Scalar(_) => "a text".to_owned(),
            YamlValue::List(_) => "a list".to_owned(),
            YamlValue::Map(_) => "a mapping".to_owned(),
        }
    }
}
