//! Private keys in PEM and its like: on one line as JSON has them, and on many.

use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use crate::redact::line::{RuleRank, SecretSpan};
use crate::redact::surroundings::backslashes;

pub(super) const RULE: &str = "private key";
/// No key has more lines.
const MOST_LINES: usize = 1000;
/// So many lines that are no part of a key may stand between its lines: programs speak at once.
const MOST_STRANGE: usize = 3;
/// The length from which text after the first line, on the same line, counts as key.
const SHORTEST: usize = 40;

/// A private key whose last line has not been seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenPemBlock {
    /// The text before its first line: a diff's `+`, an indent.
    prefix: String,
    /// Whether its lines are strings.
    quoted: bool,
    lines: usize,
    strange: usize,
}

#[expect(clippy::expect_used, reason = "the patterns are always the same")]
fn compiled(what: &str) -> Regex {
    Regex::new(&format!(
        "{what} (?:[A-Z0-9]+ ){{0,3}}PRIVATE KEY(?: BLOCK)?-----"
    ))
    .expect("a pattern")
}

static BEGIN: LazyLock<Regex> = LazyLock::new(|| compiled(r"\A-----BEGIN"));
static END: LazyLock<Regex> = LazyLock::new(|| compiled("-----END"));
static END_HERE: LazyLock<Regex> = LazyLock::new(|| compiled(r"\A-----END"));

/// The private key that begins at `at`, and what is still to come if it does not end on this line.
pub(super) fn find(line: &str, at: usize) -> Option<(SecretSpan, Option<OpenPemBlock>)> {
    let begin = at + BEGIN.find(&line[at..])?.end();
    let rest = &line[begin..];
    let dashes = memmem::find(rest.as_bytes(), b"-----").unwrap_or(rest.len());
    if let Some(end) = END_HERE.find(&rest[dashes..])
        && is_inside(&rest.as_bytes()[..dashes])
    {
        return Some((span(at, begin + dashes + end.end()), None));
    }
    let length = part_of_key(&rest.as_bytes()[..dashes], ESCAPES);
    let length = rest[..length].trim_end().len();
    let length = if has_key(&rest.as_bytes()[..length]) {
        length
    } else {
        0
    };
    let ends = rest[length..]
        .bytes()
        .enumerate()
        .all(|(i, byte)| match byte {
            b'n' | b'r' => backslashes(&rest.as_bytes()[..length + i]) > 0,
            byte => b" \t\r\"'`+,\\".contains(&byte),
        });
    // A string that nothing joins to the next line is a program's that looks for keys. (What is
    // left of the line is short here, so that long lines are not read again and again.)
    let quoted = ends && rest.contains(QUOTES);
    let ends = ends && (!quoted || rest.contains(['\\', '+', ',']));
    let block = ends.then(|| OpenPemBlock {
        prefix: line[..at].to_owned(),
        quoted,
        lines: 0,
        strange: 0,
    });
    (length > 0 || ends).then(|| (span(at, begin + length), block))
}

fn span(start: usize, end: usize) -> SecretSpan {
    SecretSpan {
        start,
        end,
        rule: RULE,
        rank: RuleRank::Format,
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Returns true if this can be everything between the first line of a key and its last, on one
/// line. In a list of strings, or a program, that is itself in a string, there are quotes in
/// between, too.
fn is_inside(text: &[u8]) -> bool {
    part_of_key(text, ESCAPES_AND_QUOTES) == text.len() && has_key(text)
}

/// Returns true if there is as much base64 in a row as every key has, not counting escapes as ends.
fn has_key(text: &[u8]) -> bool {
    let is_part = |byte: u8| is_base64(byte) || byte == b'\\';
    text.chunk_by(|a, b| is_part(*a) && is_part(*b))
        .any(|run| run.len() >= SHORTEST)
}

const ESCAPES: &[u8] = b"nrt/";
const ESCAPES_AND_QUOTES: &[u8] = b"nrt/\"";

/// Returns the length of the beginning that can be the inside of a key on one line: no quotes, no
/// braces, and no escapes but these and those of base64 characters.
fn part_of_key(text: &[u8], escapes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' | b'\'' | b'`' | b'<' | b'>' | b'{' | b'}' => break,
            b'\\' => {
                let run = text[at..].iter().take_while(|b| **b == b'\\').count();
                match text.get(at + run) {
                    // An even number of backslashes before a quote: it ends the string.
                    Some(b'"') if run % 2 == 0 => break,
                    Some(escape) if escapes.contains(escape) => at += run + 1,
                    Some(b'u') if text.get(at + run + 1..at + run + 3) == Some(b"00") => {
                        let Some(digits) = text.get(at + run + 3..at + run + 5) else {
                            break;
                        };
                        if !digits.iter().all(u8::is_ascii_hexdigit) {
                            break;
                        }
                        at += run + 5;
                    }
                    _ => break,
                }
            }
            _ => at += 1,
        }
    }
    at
}

impl OpenPemBlock {
    /// Returns the part of the next line that belongs to the key, and the block after this line, if
    /// it continues.
    pub(super) fn take_line(mut self, line: &str) -> (Option<Self>, Option<SecretSpan>) {
        if let Some(end) = END.find(line) {
            let inner = self.unwrapped_line(&line[..end.end()]);
            let start = inner.filter(|inner| !line[inner.start..end.start()].contains(QUOTES));
            let start = start.map_or(end.start(), |inner| inner.start);
            return (None, Some(span(start, end.end())));
        }
        self.lines += 1;
        if line.trim().is_empty() {
            return (self.if_within_limits(), None);
        }
        let Some(inner) = self.unwrapped_line(line) else {
            return (None, None);
        };
        let content = &line[inner.clone()];
        if content.contains(QUOTES) || content.contains(['{', '}', '[', ']', '<', '>']) {
            return (None, None);
        }
        if !is_key_line(content) {
            self.strange += 1;
        }
        match self.if_within_limits() {
            None => (None, None),
            goes_on => (goes_on, Some(span(inner.start, inner.end))),
        }
    }

    fn if_within_limits(self) -> Option<Self> {
        (self.lines <= MOST_LINES && self.strange <= MOST_STRANGE).then_some(self)
    }

    /// A line without what the key is wrapped in. `None` if it is not wrapped as the first line was.
    fn unwrapped_line(&self, line: &str) -> Option<std::ops::Range<usize>> {
        let lead = match line.strip_prefix(self.prefix.as_str()) {
            Some(_) if !self.prefix.contains(QUOTES) => self.prefix.len(),
            _ => 0,
        };
        let start = lead + (line.len() - lead - line[lead..].trim_start().len());
        let end = line.trim_end().len().max(start);
        if !self.quoted {
            return Some(start..end);
        }
        let string = &line[start..end];
        let string = string.trim_end_matches([' ', '\t', ',', '+', ';', ')', '\\']);
        let quote = string.chars().next().filter(|c| QUOTES.contains(c))?;
        if string.len() > 1 && string.ends_with(quote) {
            Some(start + 1..start + string.len() - 1)
        } else if string.contains("-----END") {
            Some(start + 1..end)
        } else {
            None
        }
    }
}

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// Returns true if a line can be part of a key: its last word is base64, or it is one of the
/// headers.
fn is_key_line(content: &str) -> bool {
    let content = content.trim_end_matches(['\\', 'n', 'r']);
    let last = content.split_whitespace().next_back().unwrap_or_default();
    let is_key = last
        .bytes()
        .all(|byte| is_base64(byte) || b"-_".contains(&byte));
    let is_header = || {
        content.split_once(": ").is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
        })
    };
    is_key && (last.len() >= 16 || last.len() == content.trim().len()) || is_header()
}
