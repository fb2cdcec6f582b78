//! The vectors of a model's tokens, from a `safetensors` file: the length of a JSON header, the header,
//! the numbers.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

/// Vectors of tokens.
#[derive(Debug)]
pub(super) struct EmbeddingTable {
    bytes: Vec<u8>,
    place: Range<usize>,
    form: FloatFormat,
    rows: usize,
    width: usize,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FloatFormat {
    F32,
    F16,
    Bf16,
}

/// What the header says of a tensor.
#[derive(Debug, Deserialize)]
struct TensorHeader {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl EmbeddingTable {
    /// Finds the one table with a row for each token.
    pub(super) fn read(bytes: Vec<u8>, tokens: usize) -> Result<Self, String> {
        let (header, start) = header(&bytes).ok_or("it has no header")?;
        if header.contains_key("mapping") {
            return Err("its tokens share vectors (`mapping`), which is not understood".to_owned());
        }
        let mut tables = header.iter().filter(|(_, tensor)| tensor.shape.len() == 2);
        let (Some((name, tensor)), None) = (tables.next(), tables.next()) else {
            return Err("it must hold exactly one table of vectors".to_owned());
        };
        let form = match tensor.dtype.as_str() {
            "F32" => FloatFormat::F32,
            "F16" => FloatFormat::F16,
            "BF16" => FloatFormat::Bf16,
            other => {
                return Err(format!(
                    "the numbers of `{name}` are `{other}`, not `F32`, `F16` or `BF16`"
                ));
            }
        };
        let [rows, width] = [tensor.shape[0], tensor.shape[1]];
        let [from, to] = tensor.data_offsets;
        let place = start
            .checked_add(from)
            .zip(start.checked_add(to))
            .map(|(from, to)| from..to);
        let long = rows
            .checked_mul(width)
            .and_then(|n| n.checked_mul(form.bytes()));
        let place = place.filter(|place| Some(place.len()) == long && place.end <= bytes.len());
        let place = place.ok_or_else(|| format!("`{name}` is cut off"))?;
        if rows < tokens || width == 0 {
            return Err(format!(
                "`{name}` has {rows} vectors, and the tokenizer {tokens} tokens"
            ));
        }
        Ok(Self {
            bytes,
            place,
            form,
            rows,
            width,
        })
    }

    /// How many numbers a vector has.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Adds a token's vector to a sum.
    pub(super) fn add(&self, token: u32, sum: &mut [f32]) {
        let row = token as usize;
        if row >= self.rows {
            return;
        }
        let long = self.width * self.form.bytes();
        let start = self.place.start + row * long;
        let row = &self.bytes[start..start + long];
        for (sum, number) in sum.iter_mut().zip(row.chunks_exact(self.form.bytes())) {
            let value = self.form.value(number);
            if value.is_finite() {
                *sum += value;
            }
        }
    }
}

fn header(bytes: &[u8]) -> Option<(BTreeMap<String, TensorHeader>, usize)> {
    let (long, rest) = bytes.split_first_chunk::<8>()?;
    let long = usize::try_from(u64::from_le_bytes(*long)).ok()?;
    let mut header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(rest.get(..long)?).ok()?;
    header.remove("__metadata__");
    let tensors = header
        .into_iter()
        .map(|(name, value)| Some((name, serde_json::from_value(value).ok()?)));
    Some((tensors.collect::<Option<_>>()?, 8 + long))
}

impl FloatFormat {
    fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    fn value(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Self::F32, [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]),
            (Self::F16, [a, b]) => half(u16::from_le_bytes([*a, *b])),
            (Self::Bf16, [a, b]) => f32::from_le_bytes([0, 0, *a, *b]),
            _ => 0.0,
        }
    }
}

/// A number of sixteen bits: a sign, five of the exponent, ten of the fraction.
fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f32::from(bits & 0x3ff) / 1024.0;
    let exponent = i32::from((bits >> 10) & 0x1f);
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-14),
        31 if fraction > 0.0 => f32::NAN,
        31 => f32::INFINITY,
        _ => (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn numbers_of_sixteen_bits() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
        ] {
            assert!((half(bits) - value).abs() < 1e-9, "{bits:x}");
        }
        assert!(half(0x7c00).is_infinite());
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn vectors_are_read() {
        let header =
            r#"{"__metadata__":{"a":"b"},"e":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}"#;
        let table =
            EmbeddingTable::read(file(header, &[0, 0x3c, 0, 0xc0, 0, 0, 0, 0x3c]), 2).unwrap();
        let mut sum = [0.0, 0.0];
        table.add(0, &mut sum);
        table.add(1, &mut sum);
        table.add(7, &mut sum);
        assert_eq!(sum.map(|n| format!("{n}")), ["1", "-1"]);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let e = |dtype: &str, shape: &str, to: usize| {
            format!(r#"{{"e":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{to}]}}}}"#)
        };
        for (bytes, what) in [
            (b"short".to_vec(), "no header"),
            (u64::MAX.to_le_bytes().to_vec(), "no header"),
            (file("[]", &[]), "no header"),
            (file("{}", &[]), "exactly one table"),
            (file(&e("F16", "[2,2]", 8), &[0; 7]), "cut off"),
            (file(&e("F16", "[2,2]", 6), &[0; 8]), "cut off"),
            (
                file(&e("F16", "[18446744073709551615,2]", 8), &[0; 8]),
                "cut off",
            ),
            (file(&e("I8", "[2,2]", 4), &[0; 4]), "are `I8`"),
            (
                file(&e("F32", "[1,2]", 8), &[0; 8]),
                "1 vectors, and the tokenizer 2 tokens",
            ),
        ] {
            let error = EmbeddingTable::read(bytes, 2).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
