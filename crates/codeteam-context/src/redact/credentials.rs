//! Secrets that are known by what carries them: URLs and headers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::redact::line::{RuleRank, SecretSpan};
use crate::redact::surroundings::is_start;
use crate::redact::value;

const URL: &str = "url password";
const BEARER: &str = "bearer token";
const BASIC: &str = "basic credentials";
pub(super) const RULES: [&str; 3] = [URL, BEARER, BASIC];

/// No user and password in a URL are longer.
const LONGEST_AUTHORITY: usize = 1024;
const SHORTEST_BEARER: usize = 16;
const SHORTEST_PASSWORD: usize = 4;

fn credential_span(start: usize, end: usize, rule: &'static str) -> SecretSpan {
    SecretSpan {
        start,
        end,
        rule,
        rank: RuleRank::Carried,
    }
}

/// The password in a URL whose authority begins at `at`.
pub(super) fn url_password(line: &str, at: usize) -> Option<SecretSpan> {
    let stops = |byte: &u8| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || b"/?#\"'`<>\\|(){}[],;".contains(byte)
    };
    let rest = &line.as_bytes()[at..];
    let length = rest.iter().take(LONGEST_AUTHORITY).position(stops);
    let authority = &rest[..length.unwrap_or(rest.len().min(LONGEST_AUTHORITY))];
    let end = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..end].iter().position(|byte| *byte == b':')?;
    let user = &line[at..at + colon];
    let password = &line[at + colon + 1..at + end];
    let host = &line[at + end + 1..at + authority.len()];
    let secret = password.chars().count() >= SHORTEST_PASSWORD
        && password != user
        && !is_sample_host(host)
        && !value::is_placeholder(password)
        && !(password.starts_with(':') || password.starts_with('$') || password.starts_with('%'));
    secret.then(|| credential_span(at + colon + 1, at + end, URL))
}

/// Returns true if a host is reserved for documentation and tests.
fn is_sample_host(host: &str) -> bool {
    const DOMAINS: [&str; 6] = [
        "example.com",
        "example.org",
        "example.net",
        "example",
        "invalid",
        "test",
    ];
    let name = host.split(':').next().unwrap_or_default();
    DOMAINS.iter().any(|domain| {
        name.strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// The credentials in an `Authorization` header whose name ends at `at`.
pub(super) fn authorization_credentials(line: &str, at: usize) -> Option<SecretSpan> {
    let bytes = line.as_bytes();
    // Between name and scheme: quotes, escaped ones too, a separator, blanks.
    let is_between = |byte: &&u8| b" \t\"'`\\:=,>]".contains(byte);
    let between = bytes[at..].iter().take(16).take_while(is_between).count();
    if !bytes[at..at + between]
        .iter()
        .any(|byte| b":=,".contains(byte))
    {
        return None;
    }
    let at = at + between;
    let scheme = bytes[at..]
        .iter()
        .take_while(|b| b.is_ascii_alphabetic())
        .count();
    let value = token_range(line, after_blanks(line, at + scheme)?);
    let text = &line[value.clone()];
    match line[at..at + scheme].to_ascii_lowercase().as_str() {
        "basic" if is_encoded_login(text) => Some(credential_span(value.start, value.end, BASIC)),
        "bearer" | "token" | "apikey" | "bot" | "flyv1" if is_bearer(text) => {
            Some(credential_span(value.start, value.end, BEARER))
        }
        _ => None,
    }
}

/// The token behind the word `bearer`, which is at `start..end`.
pub(super) fn bearer_token(line: &str, start: usize, end: usize) -> Option<SecretSpan> {
    if !is_start(line.as_bytes(), start) {
        return None;
    }
    let value = token_range(line, after_blanks(line, end)?);
    is_bearer(&line[value.clone()]).then(|| credential_span(value.start, value.end, BEARER))
}

/// Returns the position after at least one blank.
fn after_blanks(line: &str, at: usize) -> Option<usize> {
    let blanks = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let count = line.as_bytes()[at..]
        .iter()
        .take(8)
        .take_while(blanks)
        .count();
    (count > 0).then_some(at + count)
}

/// Returns the range at `at` that can be part of a token.
fn token_range(line: &str, at: usize) -> std::ops::Range<usize> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    let length = line.as_bytes()[at..].iter().take_while(is_part).count();
    at..at + line[at..at + length].trim_end_matches('.').len()
}

fn is_bearer(token: &str) -> bool {
    token.len() >= SHORTEST_BEARER
        && (token.bytes().any(|byte| byte.is_ascii_digit()) || value::is_scrambled(token))
        && value::entropy(token) >= 3.0
        && !value::is_placeholder(token)
        && !value::is_reference(token)
        && !value::is_identifier(token)
}

/// Returns true if this is base64 of a user and a password, and the password can be a real one.
pub(super) fn is_encoded_login(encoded: &str) -> bool {
    STANDARD
        .decode(encoded)
        .ok()
        .and_then(|login| String::from_utf8(login).ok())
        .is_some_and(|login| {
            login.split_once(':').is_some_and(|(user, password)| {
                password.len() >= SHORTEST_PASSWORD
                    && password != user
                    && !value::is_placeholder(password)
            })
        })
}
