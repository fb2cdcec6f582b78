//! Deserializes a tree into a type. Every unknown key is reported, with the nearest known one.

use std::cell::RefCell;
use std::fmt;

use codeteam_core::spelling::suggest_word;
use serde::de::value::U32Deserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};

use super::forms::PLACED;
use super::node::{YamlKey, YamlNode, YamlScalar, YamlValue};
use super::source::{Diagnostic, SourcePosition};

/// The largest number of unknown keys that are reported at once.
const MAX_FAULTS: usize = 50;

/// Deserializes a tree, or returns every mistake that can be found in it.
pub fn deserialize_node<T: DeserializeOwned>(node: &YamlNode) -> Result<T, Vec<Diagnostic>> {
    let faults = RefCell::new(Vec::new());
    let result = T::deserialize(NodeDeserializer {
        node,
        faults: &faults,
    });
    let mut faults = faults.into_inner();
    match result {
        Ok(value) if faults.is_empty() => Ok(value),
        Ok(_) => Err(faults),
        Err(error) => {
            // An unknown key is often the reason why a known one is missing.
            if faults.is_empty() || !error.is_missing {
                faults.push(Diagnostic {
                    place: error.place.unwrap_or(node.place),
                    message: error.message,
                    hint: error.hint,
                });
            }
            Err(faults)
        }
    }
}

/// Deserializes a mapping all of whose keys are optional. A mistake at one key does not hide
/// mistakes at others.
pub fn deserialize_by_key<T: DeserializeOwned>(node: &YamlNode) -> Result<T, Vec<Diagnostic>> {
    deserialize_node(node).map_err(|found| {
        let mut faults = Vec::new();
        for entry in node.as_map().unwrap_or_default() {
            if faults.len() >= MAX_FAULTS {
                break;
            }
            let alone = YamlNode::at(node.place, YamlValue::Map(vec![entry.clone()]));
            faults.extend(deserialize_node::<T>(&alone).err().unwrap_or_default());
        }
        if faults.is_empty() { found } else { faults }
    })
}

/// The mistake that stopped the deserializer.
#[derive(Debug)]
struct Error {
    place: Option<SourcePosition>,
    message: String,
    hint: Option<String>,
    is_missing: bool,
}

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Self {
            place: None,
            message: message.into(),
            hint: None,
            is_missing: false,
        }
    }

    /// Sets the position unless one is set already: the innermost position is the right one.
    fn at(mut self, place: SourcePosition) -> Self {
        self.place.get_or_insert(place);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            is_missing: true,
            ..Self::new(format!("`{field}` is missing"))
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self {
            hint: suggest_word(field, expected.iter().copied()),
            ..Self::new(format!("unknown key `{field}`"))
        }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self {
            hint: suggest_word(variant, expected.iter().copied()),
            ..Self::new(format!("unknown word `{variant}`"))
        }
    }
}

#[derive(Clone, Copy)]
struct NodeDeserializer<'a> {
    node: &'a YamlNode,
    faults: &'a RefCell<Vec<Diagnostic>>,
}

impl<'a> NodeDeserializer<'a> {
    fn for_node(self, node: &'a YamlNode) -> Self {
        Self { node, ..self }
    }

    fn expected(self, what: impl fmt::Display) -> Error {
        Error::new(format!("expected {what}, found {}", self.node.kind())).at(self.node.place)
    }

    fn scalar(self, what: &str) -> Result<&'a YamlScalar, Error> {
        match &self.node.value {
            YamlValue::Scalar(scalar) if !scalar.is_null() => Ok(scalar),
            _ => Err(self.expected(what)),
        }
    }

    fn integer<T: TryFrom<i128>>(self) -> Result<T, Error> {
        let scalar = self.scalar("a whole number")?;
        let number = scalar.as_integer();
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| match scalar.as_integer() {
            Some(_) => self.expected("a number that fits here"),
            None if YamlScalar::plain(&scalar.text).as_integer().is_some() => Error {
                hint: Some("write it without quotes".to_owned()),
                ..self.expected("a whole number")
            },
            None => self.expected("a whole number"),
        })
    }

    fn entries(self) -> Result<&'a [(YamlKey, YamlNode)], Error> {
        match &self.node.value {
            YamlValue::Map(entries) => Ok(entries),
            // `key:` with everything below commented out.
            YamlValue::Scalar(scalar) if scalar.is_null() => Ok(&[]),
            _ => Err(self.expected("a mapping")),
        }
    }

    fn map<'de, V: Visitor<'de>>(
        self,
        entries: Vec<&'a (YamlKey, YamlNode)>,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let map = NodeMapAccess {
            de: self,
            rest: entries.into_iter(),
            value: None,
        };
        visitor
            .visit_map(map)
            .map_err(|error| error.at(self.node.place))
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let number: $type = self.integer()?;
            visitor.$visit(number).map_err(|e: Error| e.at(self.node.place))
        }
    )*};
}

impl<'de> Deserializer<'de> for NodeDeserializer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let place = self.node.place;
        let scalar = match &self.node.value {
            YamlValue::List(_) => return self.deserialize_seq(visitor),
            YamlValue::Map(_) => return self.deserialize_map(visitor),
            YamlValue::Scalar(scalar) => scalar,
        };
        let result = if scalar.is_null() {
            visitor.visit_unit()
        } else if let Some(truth) = scalar.as_bool() {
            visitor.visit_bool(truth)
        } else if let Some(number) = scalar.as_integer().and_then(|n| u64::try_from(n).ok()) {
            visitor.visit_u64(number)
        } else if let Some(number) = scalar.as_integer().and_then(|n| i64::try_from(n).ok()) {
            visitor.visit_i64(number)
        } else if let Some(number) = scalar.as_number() {
            visitor.visit_f64(number)
        } else {
            visitor.visit_str(&scalar.text)
        };
        result.map_err(|error: Error| error.at(place))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let scalar = self.scalar("`true` or `false`")?;
        let truth = scalar
            .as_bool()
            .ok_or_else(|| self.expected("`true` or `false`"))?;
        visitor.visit_bool(truth)
    }

    integers! {
        deserialize_i8 visit_i8 i8; deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32; deserialize_i64 visit_i64 i64;
        deserialize_u8 visit_u8 u8; deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32; deserialize_u64 visit_u64 u64;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let scalar = self.scalar("a number")?;
        let number = scalar
            .as_number()
            .filter(|number| number.is_finite())
            .ok_or_else(|| match YamlScalar::plain(&scalar.text).as_number() {
                Some(_) if scalar.as_number().is_none() => Error {
                    hint: Some("write it without quotes".to_owned()),
                    ..self.expected("a number")
                },
                _ => self.expected("a number"),
            })?;
        visitor.visit_f64(number)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let scalar = self.scalar("a text")?;
        visitor
            .visit_str(&scalar.text)
            .map_err(|error: Error| error.at(self.node.place))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.node.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.node.is_null() {
            visitor.visit_unit()
        } else {
            Err(self.expected("nothing"))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let list = match &self.node.value {
            YamlValue::List(list) => list.as_slice(),
            YamlValue::Scalar(scalar) if scalar.is_null() => &[],
            _ => return Err(self.expected("a list")),
        };
        visitor
            .visit_seq(NodeSeqAccess {
                de: self,
                rest: list.iter(),
            })
            .map_err(|error| error.at(self.node.place))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == PLACED {
            visitor.visit_seq(PositionAccess { de: self, given: 0 })
        } else {
            self.deserialize_seq(visitor)
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.map(self.entries()?.iter().collect(), visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (known, unknown): (Vec<_>, Vec<_>) = self
            .entries()?
            .iter()
            .partition(|(key, _)| fields.contains(&key.name.as_str()));
        // Beyond this many mistakes, more reports do not help anybody.
        let told = self.faults.borrow().len();
        for (key, _) in unknown.into_iter().take(MAX_FAULTS.saturating_sub(told)) {
            let fault = Diagnostic::at(key.place, format!("unknown key `{}`", key.name));
            let hint = suggest_word(&key.name, fields.iter().copied());
            self.faults
                .borrow_mut()
                .push(fault.with_optional_hint(hint));
        }
        self.map(known, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let place = self.node.place;
        let variant = match &self.node.value {
            YamlValue::Scalar(scalar) if !scalar.is_null() => NodeEnumAccess {
                de: self,
                name: &scalar.text,
                place,
                value: None,
            },
            YamlValue::Map(entries) if entries.len() == 1 => NodeEnumAccess {
                de: self,
                name: &entries[0].0.name,
                place: entries[0].0.place,
                value: Some(&entries[0].1),
            },
            _ => return Err(self.expected("a word, or a mapping with one key")),
        };
        visitor.visit_enum(variant).map_err(|error| error.at(place))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

struct PositionAccess<'a> {
    de: NodeDeserializer<'a>,
    given: u8,
}

impl<'de> SeqAccess<'de> for PositionAccess<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let place = self.de.node.place;
        let number = |number: u32| -> U32Deserializer<Error> { number.into_deserializer() };
        self.given += 1;
        let value = match self.given {
            1 => seed.deserialize(number(place.source))?,
            2 => seed.deserialize(number(place.line))?,
            3 => seed.deserialize(number(place.column))?,
            _ => seed.deserialize(self.de)?,
        };
        Ok(Some(value))
    }
}

struct NodeSeqAccess<'a> {
    de: NodeDeserializer<'a>,
    rest: std::slice::Iter<'a, YamlNode>,
}

impl<'de> SeqAccess<'de> for NodeSeqAccess<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some(node) = self.rest.next() else {
            return Ok(None);
        };
        let value = seed.deserialize(self.de.for_node(node));
        value.map(Some).map_err(|error| error.at(node.place))
    }
}

struct NodeMapAccess<'a> {
    de: NodeDeserializer<'a>,
    rest: std::vec::IntoIter<&'a (YamlKey, YamlNode)>,
    value: Option<&'a YamlNode>,
}

impl<'de> MapAccess<'de> for NodeMapAccess<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((key, node)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(node);
        // Keys have positions as well.
        let name = YamlNode::at(key.place, YamlValue::Scalar(YamlScalar::text(&key.name)));
        let key = seed.deserialize(NodeDeserializer {
            node: &name,
            faults: self.de.faults,
        });
        key.map(Some).map_err(|error| error.at(name.place))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some(node) = self.value.take() else {
            return Err(Error::new("a value is missing"));
        };
        let value = seed.deserialize(self.de.for_node(node));
        value.map_err(|error| error.at(node.place))
    }
}

struct NodeEnumAccess<'a> {
    de: NodeDeserializer<'a>,
    name: &'a str,
    place: SourcePosition,
    value: Option<&'a YamlNode>,
}

impl<'de, 'a> EnumAccess<'de> for NodeEnumAccess<'a> {
    type Error = Error;
    type Variant = NodeVariantAccess<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, NodeVariantAccess<'a>), Error> {
        let name: serde::de::value::StrDeserializer<'_, Error> = self.name.into_deserializer();
        let variant = seed.deserialize(name).map_err(|e| e.at(self.place))?;
        let content = NodeVariantAccess {
            de: self.de,
            name: self.name,
            value: self.value,
        };
        Ok((variant, content))
    }
}

struct NodeVariantAccess<'a> {
    de: NodeDeserializer<'a>,
    name: &'a str,
    value: Option<&'a YamlNode>,
}

impl<'a> NodeVariantAccess<'a> {
    fn value(&self) -> Result<NodeDeserializer<'a>, Error> {
        let missing = || Error::new(format!("`{}` needs a value", self.name));
        self.value
            .map(|node| self.de.for_node(node))
            .ok_or_else(missing)
    }
}

impl<'de> VariantAccess<'de> for NodeVariantAccess<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.value {
            None => Ok(()),
            Some(node) if node.is_null() => Ok(()),
            Some(node) => {
                let message = format!("`{}` takes no value", self.name);
                Err(Error::new(message).at(node.place))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.value()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.value()?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value()?.deserialize_struct("", fields, visitor)
    }
}
