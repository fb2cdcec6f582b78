//! Parses JSON strictly: a duplicate key is an error.
//!
//! `serde_json` keeps the last of two equal keys, so `{"verdict":"reject","verdict":"approve"}`
//! would approve. Nothing that decides may be read that way.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

/// Parses exactly one JSON value; refuses duplicate keys, trailing text and nesting over 128.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let StrictValue(value) = StrictValue::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Rephrases a parse error in the terms of JSON instead of those of the parsing library.
pub fn plain_json_error(error: &str) -> String {
    let kinds = [
        ("invalid type: map", "invalid type: object"),
        ("invalid type: sequence", "invalid type: list"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected an object"),
    ];
    let said = error.to_owned();
    kinds
        .iter()
        .fold(said, |said, (foreign, plain)| said.replace(foreign, plain))
}

struct StrictValue(Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(StrictValue)
    }
}

struct StrictVisitor;

impl<'de> DeserializeSeed<'de> for StrictVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(StrictVisitor)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(StrictVisitor)?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` occurs twice")));
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_occurs_twice_is_refused_at_any_depth() {
        let error = parse(r#"{"a":[{"verdict":"reject","verdict":"approve"}]}"#).unwrap_err();
        assert!(
            error.to_string().contains("`verdict` occurs twice"),
            "{error}"
        );
    }

    #[test]
    fn trailing_text_and_deep_nesting_are_refused() {
        assert!(parse("{} {}").is_err());
        assert!(parse(&"[".repeat(10_000)).is_err());
        assert_eq!(
            parse(r#"{"a":[1,-2,3.5,null,true,"x"]}"#).unwrap()["a"][1],
            -2
        );
    }
}
