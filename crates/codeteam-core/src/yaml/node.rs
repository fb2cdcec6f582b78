//! A tree of what a file says, each part with its place.

use super::source::SourcePosition;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// Where.
    pub place: SourcePosition,
    /// What.
    pub value: YamlValue,
}

/// A value as it is written. What a scalar means is decided by whoever reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlValue {
    /// A single value.
    Scalar(YamlScalar),
    /// A list.
    List(Vec<YamlNode>),
    /// A mapping, in its order, with every key once.
    Map(Vec<(YamlKey, YamlNode)>),
}

/// A single value as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlScalar {
    /// The text.
    pub text: String,
    /// Whether it stood without quotes, so that it may be a number, a truth or nothing.
    pub plain: bool,
}

/// A key and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlKey {
    /// The key.
    pub name: String,
    /// Where.
    pub place: SourcePosition,
}

impl YamlScalar {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            plain: false,
        }
    }

    /// Something that is not quoted.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            plain: true,
        }
    }

    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// The truth it is, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.text.as_str() {
            "true" | "True" | "TRUE" if self.plain => Some(true),
            "false" | "False" | "FALSE" if self.plain => Some(false),
            _ => None,
        }
    }

    /// The whole number it is, if it is one.
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

    /// The number it is, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        let first = self.text.trim_start_matches(['-', '+']).chars().next()?;
        let is_number = self.plain && (first.is_ascii_digit() || first == '.');
        self.text.parse().ok().filter(|_| is_number)
    }
}

impl YamlNode {
    /// A text that nobody wrote.
    pub fn text(text: impl Into<String>) -> Self {
        Self::at(
            SourcePosition::NONE,
            YamlValue::Scalar(YamlScalar::text(text)),
        )
    }

    /// A value at a place.
    pub fn at(place: SourcePosition, value: YamlValue) -> Self {
        Self { place, value }
    }

    /// An empty mapping at a place.
    pub fn empty(place: SourcePosition) -> Self {
        Self::at(place, YamlValue::Map(Vec::new()))
    }

    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, YamlValue::Scalar(scalar) if scalar.is_null())
    }

    /// The text, if it is a scalar that is something.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar(scalar) if !scalar.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    /// The truth, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.value {
            YamlValue::Scalar(scalar) => scalar.as_bool(),
            _ => None,
        }
    }

    /// The entries, if it is a list.
    pub fn as_list(&self) -> Option<&[YamlNode]> {
        match &self.value {
            YamlValue::List(list) => Some(list),
            _ => None,
        }
    }

    /// The entries, if it is a mapping.
    pub fn as_map(&self) -> Option<&[(YamlKey, YamlNode)]> {
        match &self.value {
            YamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entries to change, if it is a mapping.
    pub fn as_map_mut(&mut self) -> Option<&mut Vec<(YamlKey, YamlNode)>> {
        match &mut self.value {
            YamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// What a key of a mapping says.
    pub fn get(&self, name: &str) -> Option<&YamlNode> {
        let entries = self.as_map()?;
        entries
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut YamlNode> {
        let entries = self.as_map_mut()?;
        let found = entries.iter_mut().find(|(key, _)| key.name == name);
        found.map(|(_, node)| node)
    }

    /// Takes a key out of a mapping.
    pub fn take(&mut self, name: &str) -> Option<YamlNode> {
        let entries = self.as_map_mut()?;
        let index = entries.iter().position(|(key, _)| key.name == name)?;
        Some(entries.remove(index).1)
    }

    /// Puts a key into a mapping, over what was there.
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

    /// What kind of thing it is, for messages.
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
