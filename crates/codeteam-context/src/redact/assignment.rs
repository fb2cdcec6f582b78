//! Secrets that are known by their name: `password = "…"`, `API_KEY=…`, `--token …`.
//!
//! A name alone is not enough, as programs are full of them; the value has to look like a secret
//! too. Only the value goes.

mod read;

use std::ops::Range;

use crate::redact::line::{Rank, Span};
use crate::redact::value;

pub(super) use self::read::Style;
use self::read::Value;

/// What a name says its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// Something that a person may have thought of.
    Password,
    /// Something drawn by lot.
    Secret,
    /// The same.
    Key,
    /// The same, but programs have many tokens that are none.
    Token,
}

pub(super) const RULES: [&str; 6] = [
    "password",
    "secret",
    "api key",
    "token",
    "aws secret key",
    "azure key",
];

/// What names contain, in lower case.
pub(super) const NAMES: [(&str, Name); 32] = [
    ("password", Name::Password),
    ("passwd", Name::Password),
    ("passphrase", Name::Password),
    ("pwd", Name::Password),
    ("secret", Name::Secret),
    ("credential", Name::Secret),
    ("token", Name::Token),
    ("api_key", Name::Key),
    ("apikey", Name::Key),
    ("api-key", Name::Key),
    ("access_key", Name::Key),
    ("accesskey", Name::Key),
    ("access-key", Name::Key),
    ("account_key", Name::Key),
    ("accountkey", Name::Key),
    ("account-key", Name::Key),
    ("auth_key", Name::Key),
    ("authkey", Name::Key),
    ("auth-key", Name::Key),
    ("private_key", Name::Key),
    ("privatekey", Name::Key),
    ("private-key", Name::Key),
    ("encryption_key", Name::Key),
    ("encryptionkey", Name::Key),
    ("encryption-key", Name::Key),
    ("signing_key", Name::Key),
    ("signingkey", Name::Key),
    ("signing-key", Name::Key),
    ("master_key", Name::Key),
    ("masterkey", Name::Key),
    ("master-key", Name::Key),
    ("subscription-key", Name::Key),
];

/// Words that make of a name that of something else.
const OTHER: [&str; 44] = [
    "hash",
    "digest",
    "type",
    "url",
    "uri",
    "name",
    "path",
    "file",
    "field",
    "count",
    "length",
    "len",
    "size",
    "expiry",
    "expires",
    "expiration",
    "ttl",
    "ref",
    "policy",
    "regex",
    "pattern",
    "format",
    "prefix",
    "suffix",
    "id",
    "label",
    "placeholder",
    "hint",
    "header",
    "version",
    "limit",
    "usage",
    "max",
    "min",
    "class",
    "selector",
    "input",
    "provider",
    "kind",
    "arn",
    "endpoint",
    "algorithm",
    "error",
    "message",
];
/// Words before `token` that make of it a place in a list.
const PLACES: [&str; 8] = [
    "page",
    "next",
    "continuation",
    "cursor",
    "sync",
    "resume",
    "public",
    "cancellation",
];

const SHORTEST_PASSWORD: usize = 8;
const SHORTEST_SECRET: usize = 16;
const LEAST_ENTROPY: f64 = 3.0;

/// The value that belongs to the name which has `keyword` in it, if it is a secret.
pub(super) fn find(line: &str, keyword: Range<usize>, name: Name) -> Option<Span> {
    let whole = read::name(line, keyword.clone());
    let value = read::value(line, whole.clone())?;
    let tail = tail(&line[keyword.start..whole.end], keyword.len())?;
    if words(tail).any(|word| OTHER.contains(&word.as_str())) {
        return None;
    }
    let lead = &line[whole.start..keyword.start];
    if name == Name::Token && words(lead).any(|word| PLACES.contains(&word.as_str())) {
        return None;
    }
    // Where JSON is inside JSON backslashes multiply; they say nothing about the value.
    let text = &*line[value.range.clone()].replace('\\', "");
    let rule = rule(&line[whole], text, name);
    let secret = match name {
        _ if rule == "aws secret key" || rule == "azure key" => !value::is_placeholder(text),
        Name::Password => is_password(text, value.style),
        Name::Secret => is_secret(text, &value, name) || is_short_secret(text, value.style),
        Name::Key | Name::Token => is_secret(text, &value, name),
    };
    secret.then_some(Span {
        start: value.range.start,
        end: value.range.end,
        rule,
        rank: Rank::Named,
    })
}

/// What of a name follows the keyword. `None` if the keyword is only the beginning of a word, as in
/// `tokenizer`.
fn tail(name: &str, keyword: usize) -> Option<&str> {
    let (keyword, tail) = name.split_at(keyword);
    let (last, first) = (keyword.bytes().next_back()?, tail.bytes().next());
    let goes_on = first.is_some_and(|first| {
        first.is_ascii_alphabetic() && last.is_ascii_lowercase() == first.is_ascii_lowercase()
    });
    let lower = tail.to_ascii_lowercase();
    let plain = ["s", "key", "value"].iter().any(|more| {
        lower
            .strip_prefix(more)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    });
    (!goes_on || plain).then_some(tail)
}

/// The words of a name, in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let is_hump = |a: &u8, b: &u8| a.is_ascii_lowercase() && b.is_ascii_uppercase();
    name.split(['_', '-', '.'])
        .flat_map(move |part| part.as_bytes().chunk_by(move |a, b| !is_hump(a, b)))
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
}

fn rule(name: &str, value: &str, kind: Name) -> &'static str {
    let name: String = words(name).collect();
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let encoded = value.bytes().all(is_base64) && value::is_random(value);
    if encoded && value.len() == 40 && name.contains("secret") && name.contains("access") {
        return "aws secret key";
    }
    if encoded
        && matches!(value.len(), 44 | 88)
        && (name.contains("accountkey") || name.contains("sharedaccesskey"))
    {
        return "azure key";
    }
    match kind {
        Name::Password => "password",
        Name::Secret => "secret",
        Name::Key => "api key",
        Name::Token => "token",
    }
}

/// Whether a value can be a password: no words alone, and no code.
pub(super) fn is_password(text: &str, style: Style) -> bool {
    let has = |class: fn(&u8) -> bool| text.as_bytes().iter().any(class);
    let digits = has(u8::is_ascii_digit);
    let marks = has(|byte| b"!@#$%^&*?+=~|".contains(byte));
    let scrambled = value::is_scrambled(text);
    text.chars().count() >= SHORTEST_PASSWORD
        && has(u8::is_ascii_alphabetic)
        && (digits || marks || scrambled)
        && value::entropy(text) >= 2.5
        && !value::is_placeholder(text)
        && !value::is_reference(text)
        && match style {
            Style::Quoted => !text.starts_with(['#', '.', '@', ':', '^', '=', '*', '?']),
            Style::Setting => {
                digits || scrambled || marks && !text.starts_with(['*', '&', '@', '!', '?', '|'])
            }
            Style::Bare => {
                scrambled || digits && !value::is_identifier(text) && value::is_random(text)
            }
        }
}

/// Whether a secret that is shorter than those of providers stands where settings do: what somebody
/// thought of, or a short one that was drawn by lot.
fn is_short_secret(text: &str, style: Style) -> bool {
    style != Style::Bare
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && value::is_random(text)
        && !value::is_identifier(text)
        && is_password(text, style)
}

/// Whether a value can have been drawn by lot.
fn is_secret(text: &str, value: &Value, name: Name) -> bool {
    text.len() >= SHORTEST_SECRET
        && value::entropy(text) >= LEAST_ENTROPY
        && (value::is_random(text) || value::is_scrambled(text))
        && !value::is_placeholder(text)
        && !value::is_reference(text)
        && !(name == Name::Token && value::is_uuid(text))
        && !(value.style == Style::Bare && value::is_identifier(text))
}
