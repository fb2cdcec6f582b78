//! Secrets that are known exactly, in the forms they are met in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use crate::redact::line::{Rank, Span};

pub(super) const RULE: &str = "known secret";
/// Shorter ones would be found by chance.
const SHORTEST: usize = 8;
/// Lines of a secret of several lines are secrets of their own if they are at least so long and
/// have no blanks: those of a key, not those of the JSON that a key may be wrapped in.
const SHORTEST_LINE: usize = 20;

/// The secrets that are known exactly.
#[derive(Debug, Default)]
pub(super) struct Known {
    needles: Vec<Needle>,
    automaton: Option<AhoCorasick>,
}

/// One form of one secret.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Needle {
    text: String,
    /// Whether the base64 digit before or after it also holds some bits of it.
    shared: (bool, bool),
}

impl Known {
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut needles = BTreeSet::new();
        for secret in secrets {
            let secret = secret.trim();
            if secret.contains('\n') {
                for line in secret.lines().map(str::trim) {
                    if line.len() >= SHORTEST_LINE && !line.contains([' ', '\t']) {
                        needles.extend(forms(line));
                    }
                }
            }
            if secret.chars().count() >= SHORTEST {
                needles.extend(forms(secret));
            }
        }
        let needles: Vec<Needle> = needles.into_iter().collect();
        let automaton = (!needles.is_empty()).then(|| automaton(&needles));
        Self { needles, automaton }
    }

    /// Where the first one begins at or after `at`.
    pub(super) fn find(&self, text: &str, at: usize) -> Option<usize> {
        let input = Input::new(text).range(at..);
        Some(self.automaton.as_ref()?.find(input)?.start())
    }

    /// All of them in a line, overlapping ones too.
    pub(super) fn spans(&self, line: &str, spans: &mut Vec<Span>) {
        if self.find(line, 0).is_none() {
            return;
        }
        for needle in &self.needles {
            let finder = memchr::memmem::Finder::new(&needle.text);
            let mut at = 0;
            while let Some(found) = finder.find(&line.as_bytes()[at..]) {
                let start = at + found;
                let end = start + needle.text.len();
                let shared = |at: Option<usize>| {
                    at.and_then(|at| line.as_bytes().get(at))
                        .is_some_and(|byte| is_base64(*byte))
                };
                let before = needle.shared.0 && shared(start.checked_sub(1));
                let after = needle.shared.1 && shared(Some(end));
                spans.push(Span {
                    start: start - usize::from(before),
                    end: end + usize::from(after),
                    rule: RULE,
                    rank: Rank::Known,
                });
                // Past the first character: a secret may begin within itself.
                at = start + needle.text.chars().next().map_or(1, char::len_utf8);
            }
        }
    }
}

#[expect(
    clippy::expect_used,
    reason = "it fails only beyond two thousand million states"
)]
fn automaton(needles: &[Needle]) -> AhoCorasick {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(needles.iter().map(|needle| &needle.text))
        .expect("an automaton")
}

/// The forms that one secret is met in.
fn forms(secret: &str) -> BTreeSet<Needle> {
    let mut texts = BTreeSet::from([secret.to_owned()]);
    for escaped in [json(secret, Json::Least), json(secret, Json::Most)] {
        // JSON in JSON is what transcripts are made of.
        texts.insert(json(&escaped, Json::Least));
        texts.insert(escaped);
    }
    texts.insert(secret.replace('/', r"\/"));
    for upper in [true, false] {
        texts.insert(percent(secret, upper, "%20"));
        texts.insert(percent(secret, upper, "+"));
    }
    let mut forms: BTreeSet<Needle> = texts
        .into_iter()
        .map(|text| Needle {
            text,
            shared: (false, false),
        })
        .collect();
    for offset in 0..3 {
        forms.extend(base64_at(secret, offset));
    }
    forms
}

/// How much of a JSON string is escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Json {
    /// What must be.
    Least,
    /// Also what is not ASCII, and what would mean something in HTML.
    Most,
}

fn json(text: &str, how: Json) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control()
                || how == Json::Most && (!c.is_ascii() || "<>&'".contains(c)) =>
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

fn percent(text: &str, upper: bool, blank: &str) -> String {
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

/// What base64 makes of a secret that begins `offset` bytes (modulo three) into what is encoded:
/// the digits that depend on nothing else.
fn base64_at(secret: &str, offset: usize) -> Vec<Needle> {
    let bytes = [vec![0; offset], secret.as_bytes().to_vec()].concat();
    let (from, to) = (offset * 8, bytes.len() * 8);
    let inner = from.div_ceil(6)..to / 6;
    [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)]
        .iter()
        .map(|encoded| Needle {
            text: encoded[inner.clone()].to_owned(),
            shared: (!from.is_multiple_of(6), !to.is_multiple_of(6)),
        })
        .collect()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}
