//! Passwords in the files and options that programs log in with: `.netrc`, `.pgpass`, the `auth` of
//! Docker and npm, `curl -u`.

use std::ops::Range;

use crate::redact::assignment::{self, ValueStyle};
use crate::redact::credentials;
use crate::redact::line::{RuleRank, SecretSpan};
use crate::redact::surroundings::is_start;
use crate::redact::value;

const PASSWORD: &str = "password";
const LOGIN: &str = "login";
pub(super) const RULES: [&str; 1] = [LOGIN];

/// No word that is looked at is longer.
const LONGEST: usize = 4096;
/// The shortest password: nobody asks for fewer characters.
const SHORTEST_PASSWORD: usize = 4;

fn login_span(range: Range<usize>, rule: &'static str) -> SecretSpan {
    SecretSpan {
        start: range.start,
        end: range.end,
        rule,
        rank: RuleRank::Carried,
    }
}

/// Returns the range at `at` that can be part of a word: nothing that ends a string, an escape or a
/// list.
fn word_range(line: &str, at: usize) -> Range<usize> {
    let stops = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\<>(){}[],;".contains(c);
    let rest = &line[at..];
    let length = rest
        .char_indices()
        .find(|(_, c)| stops(*c))
        .map_or(rest.len(), |(i, _)| i);
    at..at + if length > LONGEST { 0 } else { length }
}

/// The password of a `.netrc` whose keyword and blank are at `keyword`: on one line with what it
/// belongs to, or alone on its line.
pub(super) fn netrc_password(line: &str, keyword: Range<usize>) -> Option<SecretSpan> {
    if !is_start(line.as_bytes(), keyword.start) {
        return None;
    }
    let blanks = line[keyword.end..]
        .bytes()
        .take_while(|b| matches!(b, b' ' | b'\t'));
    let found = word_range(line, keyword.end + blanks.count());
    let text = &line[found.clone()];
    let before = &line[..keyword.start];
    let belongs = ["login ", "login\t", "machine ", "account "];
    let style = if belongs.iter().any(|part| before.contains(part)) {
        ValueStyle::Setting
    } else if before.trim_matches(['+', '-', ' ', '\t']).is_empty()
        && line[found.end..].trim().is_empty()
    {
        ValueStyle::Bare
    } else {
        return None;
    };
    assignment::is_password(text, style).then(|| login_span(found, PASSWORD))
}

/// The password of a line of `.pgpass`, whose port is at `port`, colons included:
/// `host:port:database:user:password`.
pub(super) fn pgpass_password(line: &str, port: Range<usize>) -> Option<SecretSpan> {
    let is_host = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_.*/".contains(byte);
    let host = line.as_bytes()[..port.start]
        .iter()
        .rev()
        .take(256)
        .take_while(is_host);
    let start = port.start - host.count();
    if start == port.start || !is_start(line.as_bytes(), start) {
        return None;
    }
    let rest = word_range(line, port.end);
    let mut fields = line[rest.clone()].splitn(3, ':');
    let (database, user, password) = (fields.next()?, fields.next()?, fields.next()?);
    let is_secret =
        !database.is_empty() && !user.is_empty() && password != user && is_anything(password);
    is_secret.then(|| login_span(rest.end - password.len()..rest.end, PASSWORD))
}

/// Returns true if a text can be a password, in a place where nothing else is.
fn is_anything(password: &str) -> bool {
    password.chars().count() >= SHORTEST_PASSWORD
        && !value::is_placeholder(password)
        && !password.starts_with(['$', '%', ':', '@'])
        && !password.contains("//")
}

/// The user and password in base64 that a Docker or npm configuration has as `auth`, which ends at
/// `at`.
pub(super) fn encoded_auth(line: &str, at: usize) -> Option<SecretSpan> {
    let is_between = |byte: &&u8| b" \t\"'\\:=".contains(byte);
    let between = line.as_bytes()[at..]
        .iter()
        .take(16)
        .take_while(is_between)
        .count();
    let separators = &line[at..at + between];
    // The separator may be a part of what was looked for.
    let is_separated = separators.contains([':', '=']) || line[..at].ends_with([':', '=']);
    let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let start = at + between;
    let length = line.as_bytes()[start..]
        .iter()
        .take(LONGEST)
        .take_while(is_base64)
        .count();
    let found = start..start + length;
    (is_separated && credentials::is_encoded_login(&line[found.clone()]))
        .then(|| login_span(found, LOGIN))
}

/// The password that `curl`, which ends at `at`, is given with `-u` or `--user`.
pub(super) fn curl_password(line: &str, at: usize) -> Option<SecretSpan> {
    if line[at..].starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let rest = &line[at..];
    let options = [
        " -u ",
        " -u",
        " --user ",
        " --user=",
        " --proxy-user ",
        " -U ",
    ];
    let option = options
        .iter()
        .filter_map(|option| rest.find(option).map(|i| i + option.len()))
        .min()?;
    let start = at + option;
    let quotes = line.as_bytes()[start..].iter().take(8);
    let quotes = quotes.take_while(|byte| b"\"'\\ ".contains(byte)).count();
    let login = word_range(line, start + quotes);
    let (user, password) = line[login.clone()].split_once(':')?;
    let is_secret = !user.is_empty() && user != password && is_anything(password);
    is_secret.then(|| login_span(login.end - password.len()..login.end, PASSWORD))
}
