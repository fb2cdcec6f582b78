//! Secrets that are known exactly, in the forms they are met in.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use crate::redact::line::{RuleRank, SecretSpan};

pub(super) const RULE: &str = "known secret";
/// Shorter ones would be found by chance.
const SHORTEST: usize = 8;
/// Lines of a secret of several lines are secrets of their own if they are at least so long and
/// have no blanks: those of a key, not those of the JSON that a key may be wrapped in.
const SHORTEST_LINE: usize = 20;

/// Whether the base64 digit before a form, and the one behind it, hold some bits of the secret too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SharedDigits {
    before: bool,
    after: bool,
}

/// The forms that all these are met in.
pub(super) fn secret_forms(
    secrets: impl IntoIterator<Item = String>,
) -> BTreeSet<(String, SharedDigits)> {
    let mut all = BTreeSet::new();
    for secret in secrets {
        let secret = secret.trim();
        if secret.contains('\n') {
            for line in secret.lines().map(str::trim) {
                if line.len() >= SHORTEST_LINE && !line.contains([' ', '\t']) {
                    all.extend(forms_of_one(line));
                }
            }
        }
        if secret.chars().count() >= SHORTEST {
            all.extend(forms_of_one(secret));
        }
    }
    // Lines are redacted one by one.
    all.retain(|(form, _)| !form.contains('\n'));
    all
}

/// Returns the range to remove where a form was found.
pub(super) fn find(line: &str, form: Range<usize>, shared: SharedDigits) -> SecretSpan {
    let is_digit = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte))
    };
    let bytes = line.as_bytes();
    let before = shared.before && is_digit(bytes[..form.start].last());
    let after = shared.after && is_digit(bytes.get(form.end));
    SecretSpan {
        start: form.start - usize::from(before),
        end: form.end + usize::from(after),
        rule: RULE,
        rank: RuleRank::Known,
    }
}

/// The forms that one secret is met in.
fn forms_of_one(secret: &str) -> BTreeSet<(String, SharedDigits)> {
    let mut texts = BTreeSet::from([secret.to_owned()]);
    for escaped in [
        escape_json(secret, JsonEscaping::Least),
        escape_json(secret, JsonEscaping::Most),
    ] {
        for escaped in [escaped.replace('/', r"\/"), escaped] {
            // JSON in JSON is what transcripts are made of.
            texts.insert(escape_json(&escaped, JsonEscaping::Least));
            texts.insert(escaped);
        }
    }
    for upper in [true, false] {
        texts.insert(percent_encode(secret, upper, "%20"));
        texts.insert(percent_encode(secret, upper, "+"));
    }
    let whole = SharedDigits {
        before: false,
        after: false,
    };
    let mut forms: BTreeSet<_> = texts.into_iter().map(|text| (text, whole)).collect();
    for offset in 0..3 {
        forms.extend(base64_at(secret, offset));
    }
    forms
}

/// The extent to which a JSON string is escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonEscaping {
    /// Only the characters that must be.
    Least,
    /// Also what is not ASCII, and what would mean something in HTML.
    Most,
}

fn escape_json(text: &str, how: JsonEscaping) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control()
                || how == JsonEscaping::Most && (!c.is_ascii() || "<>&'".contains(c)) =>
            {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out
}

fn percent_encode(text: &str, upper: bool, blank: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => out.push_str(blank),
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => {
                out.push(char::from(byte));
            }
            byte if upper => {
                let _ = write!(out, "%{byte:02X}");
            }
            byte => {
                let _ = write!(out, "%{byte:02x}");
            }
        }
    }
    out
}

/// Returns the base64 digits of a secret that begins `offset` bytes (modulo three) into the encoded
/// text: those that depend on nothing else.
fn base64_at(secret: &str, offset: usize) -> [(String, SharedDigits); 2] {
    let bytes = [vec![0; offset], secret.as_bytes().to_vec()].concat();
    let (from, to) = (offset * 8, bytes.len() * 8);
    let inner = from.div_ceil(6)..to / 6;
    let shared = SharedDigits {
        before: !from.is_multiple_of(6),
        after: !to.is_multiple_of(6),
    };
    [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)]
        .map(|encoded| (encoded[inner.clone()].to_owned(), shared))
}
