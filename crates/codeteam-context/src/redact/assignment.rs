//! Secrets that are known by their name: `password = "…"`, `API_KEY=…`, `--token …`.
//!
//! A name alone is not enough, as programs are full of them; the value has to look like a secret
//! too. Only the value goes.

mod read;

use std::ops::Range;

use crate::redact::line::{RuleRank, SecretSpan};
use crate::redact::value;

use self::read::AssignedValue;
pub(super) use self::read::ValueStyle;

/// The kind of value that a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretKind {
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

/// Keywords of names, in lower case.
pub(super) const NAMES: [(&str, SecretKind); 32] = [
    ("password", SecretKind::Password),
    ("passwd", SecretKind::Password),
    ("passphrase", SecretKind::Password),
    ("pwd", SecretKind::Password),
    ("secret", SecretKind::Secret),
    ("credential", SecretKind::Secret),
    ("token", SecretKind::Token),
    ("api_key", SecretKind::Key),
    ("apikey", SecretKind::Key),
    ("api-key", SecretKind::Key),
    ("access_key", SecretKind::Key),
    ("accesskey", SecretKind::Key),
    ("access-key", SecretKind::Key),
    ("account_key", SecretKind::Key),
    ("accountkey", SecretKind::Key),
    ("account-key", SecretKind::Key),
    ("auth_key", SecretKind::Key),
    ("authkey", SecretKind::Key),
    ("auth-key", SecretKind::Key),
    ("private_key", SecretKind::Key),
    ("privatekey", SecretKind::Key),
    ("private-key", SecretKind::Key),
    ("encryption_key", SecretKind::Key),
    ("encryptionkey", SecretKind::Key),
    ("encryption-key", SecretKind::Key),
    ("signing_key", SecretKind::Key),
    ("signingkey", SecretKind::Key),
    ("signing-key", SecretKind::Key),
    ("master_key", SecretKind::Key),
    ("masterkey", SecretKind::Key),
    ("master-key", SecretKind::Key),
    ("subscription-key", SecretKind::Key),
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
pub(super) fn find(line: &str, keyword: Range<usize>, name: SecretKind) -> Option<SecretSpan> {
    let whole = read::name_range(line, keyword.clone());
    let value = read::read_value(line, whole.clone())?;
    let tail = name_tail(&line[keyword.start..whole.end], keyword.len())?;
    if name_words(tail).any(|word| OTHER.contains(&word.as_str())) {
        return None;
    }
    let lead = &line[whole.start..keyword.start];
    if name == SecretKind::Token && name_words(lead).any(|word| PLACES.contains(&word.as_str())) {
        return None;
    }
    // Where JSON is inside JSON backslashes multiply; they say nothing about the value.
    let text = &*line[value.range.clone()].replace('\\', "");
    let rule = rule_name(&line[whole], text, name);
    let secret = match name {
        _ if rule == "aws secret key" || rule == "azure key" => !value::is_placeholder(text),
        SecretKind::Password => is_password(text, value.style),
        SecretKind::Secret => is_secret(text, &value, name) || is_short_secret(text, value.style),
        SecretKind::Key | SecretKind::Token => is_secret(text, &value, name),
    };
    secret.then_some(SecretSpan {
        start: value.range.start,
        end: value.range.end,
        rule,
        rank: RuleRank::Named,
    })
}

/// Returns the part of a name after the keyword. `None` if the keyword is only the beginning of a
/// word, as in `tokenizer`.
fn name_tail(name: &str, keyword: usize) -> Option<&str> {
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
fn name_words(name: &str) -> impl Iterator<Item = String> {
    let is_hump = |a: &u8, b: &u8| a.is_ascii_lowercase() && b.is_ascii_uppercase();
    name.split(['_', '-', '.'])
        .flat_map(move |part| part.as_bytes().chunk_by(move |a, b| !is_hump(a, b)))
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
}

fn rule_name(name: &str, value: &str, kind: SecretKind) -> &'static str {
    let name: String = name_words(name).collect();
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
        SecretKind::Password => "password",
        SecretKind::Secret => "secret",
        SecretKind::Key => "api key",
        SecretKind::Token => "token",
    }
}

/// Returns true if a value can be a password: neither only words, nor code.
pub(super) fn is_password(text: &str, style: ValueStyle) -> bool {
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
            ValueStyle::Quoted => !text.starts_with(['#', '.', '@', ':', '^', '=', '*', '?']),
            ValueStyle::Setting => {
                digits || scrambled || marks && !text.starts_with(['*', '&', '@', '!', '?', '|'])
            }
            ValueStyle::Bare => {
                scrambled || digits && !value::is_identifier(text) && value::is_random(text)
            }
        }
}

/// Returns true if a secret that is shorter than those of providers is where settings are: a chosen
/// one, or a short random one.
fn is_short_secret(text: &str, style: ValueStyle) -> bool {
    style != ValueStyle::Bare
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && value::is_random(text)
        && !value::is_identifier(text)
        && is_password(text, style)
}

/// Returns true if a value can be random.
fn is_secret(text: &str, value: &AssignedValue, name: SecretKind) -> bool {
    text.len() >= SHORTEST_SECRET
        && value::entropy(text) >= LEAST_ENTROPY
        && (value::is_random(text) || value::is_scrambled(text))
        && !value::is_placeholder(text)
        && !value::is_reference(text)
        && !(name == SecretKind::Token && value::is_uuid(text))
        && !(value.style == ValueStyle::Bare && value::is_identifier(text))
}
