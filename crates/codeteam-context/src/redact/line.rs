//! One line: what is found in it, and the line without that.

use std::fmt::Write as _;
use std::ops::{ControlFlow, Range};

use memchr::memmem;

use crate::redact::anchors::SecretAnchor;
use crate::redact::literals::LiteralMatch;
use crate::redact::pem::{self, OpenPemBlock};
use crate::redact::surroundings::escape_around;
use crate::redact::{
    RedactionCounts, Redactor, assignment, credentials, formats, known_secrets, logins,
};

/// A part of a line that has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The name that replaces it.
    pub(super) rule: &'static str,
    pub(super) rank: RuleRank,
}

/// The precedence of rules that find the same secret: the most specific one names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleRank {
    /// It is known exactly.
    Known,
    /// It has the format of something.
    Format,
    /// It stands where secrets stand.
    Carried,
    /// It has a name that secrets have.
    Named,
}

impl Redactor {
    /// Redacts a line in which a candidate begins at `from` and none before. `None` if it stays.
    pub(super) fn redact_line(
        &self,
        block: &mut Option<OpenPemBlock>,
        line: &str,
        from: usize,
        hits: &mut RedactionCounts,
    ) -> Option<String> {
        let within = block.take().and_then(|open| {
            let (next, span) = open.take_line(line);
            *block = next;
            Some(replace(line, &resolve_overlaps(line, vec![span?]), hits))
        });
        let (mut current, mut from) = match within {
            Some(redacted) => (Some(redacted), 0),
            None => (None, from),
        };
        // What is left is looked at again until nothing is found: only so is it certain that
        // redacting it once more changes nothing. Every turn leaves less that is not yet redacted.
        loop {
            let text = current.as_deref().unwrap_or(line);
            let spans = self.secret_spans(text, from, block);
            if spans.is_empty() {
                return current;
            }
            current = Some(replace(text, &spans, hits));
            from = 0;
        }
    }

    /// Returns the ranges to remove from a line.
    fn secret_spans(
        &self,
        line: &str,
        from: usize,
        block: &mut Option<OpenPemBlock>,
    ) -> Vec<SecretSpan> {
        let mut spans = Vec::new();
        let _ = self.anchors.scan(line, from, |found| {
            let span = self.span_at_anchor(line, &found, block);
            spans.extend(span);
            ControlFlow::Continue(())
        });
        if spans.is_empty() {
            return spans;
        }
        resolve_overlaps(line, spans)
    }

    /// Returns the range to remove at one anchor.
    fn span_at_anchor(
        &self,
        line: &str,
        found: &LiteralMatch<'_, SecretAnchor>,
        block: &mut Option<OpenPemBlock>,
    ) -> Option<SecretSpan> {
        let Range { start, end } = found.range;
        let mut begun = None;
        let span = match found.payload {
            SecretAnchor::Known(shared) => {
                return Some(known_secrets::find(line, start..end, *shared));
            }
            SecretAnchor::Formats(which) => formats::find(line, start, which),
            SecretAnchor::Bot => formats::telegram_bot_token(line, start),
            SecretAnchor::Name(name) => assignment::find(line, start..end, *name),
            SecretAnchor::Url => credentials::url_password(line, end),
            SecretAnchor::Authorization => credentials::authorization_credentials(line, end),
            SecretAnchor::Bearer => credentials::bearer_token(line, start, end),
            SecretAnchor::Netrc => logins::netrc_password(line, start..end),
            SecretAnchor::PgPass => logins::pgpass_password(line, start..end),
            SecretAnchor::Auth => logins::encoded_auth(line, end),
            SecretAnchor::Curl => logins::curl_password(line, end),
            SecretAnchor::Terraform => formats::terraform_token(line, start..end),
            SecretAnchor::NewRelic => formats::new_relic_key(line, end),
            SecretAnchor::Pem => pem::find(line, start).map(|(span, block)| {
                begun = block;
                span
            }),
        }?;
        if self.is_allowed(&line[span.start..span.end]) {
            return None;
        }
        *block = begun.or(block.take());
        Some(span)
    }
}

/// Spans in order, none overlapping another, none touching what was redacted before, none
/// beginning or ending within an escape.
fn resolve_overlaps(line: &str, mut spans: Vec<SecretSpan>) -> Vec<SecretSpan> {
    let bytes = line.as_bytes();
    for span in &mut spans {
        if let Some(escape) = escape_around(bytes, span.start) {
            span.start = escape.end;
        }
        if let Some(escape) = escape_around(bytes, span.end) {
            span.end = escape.start;
        }
    }
    let markers: Vec<Range<usize>> = markers(line).collect();
    let around = |at: usize| {
        let after = markers.partition_point(|marker| marker.start <= at);
        let marker = markers[..after].last()?;
        marker.contains(&at).then_some(marker)
    };
    for span in &mut spans {
        let (first, last) = (around(span.start), around(span.end.saturating_sub(1)));
        span.start = first.map_or(span.start, |marker| marker.end);
        span.end = last.map_or(span.end, |marker| marker.start);
    }
    spans.retain(|span| span.start < span.end);
    spans.sort_by_key(|span| (span.start, span.end));
    let mut settled: Vec<SecretSpan> = Vec::new();
    for span in spans {
        match settled.last_mut() {
            Some(last) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if span.rank < last.rank {
                    (last.rank, last.rule) = (span.rank, span.rule);
                }
            }
            _ => settled.push(span),
        }
    }
    settled
}

const OPENING: &str = "[redacted: ";

/// Returns the places where something was redacted before.
pub(super) fn markers(line: &str) -> impl Iterator<Item = Range<usize>> {
    memmem::find_iter(line.as_bytes(), OPENING).filter_map(|start| {
        let name = &line[start + OPENING.len()..];
        let length = name.bytes().take(32).position(|byte| byte == b']')?;
        is_rule(&name[..length]).then_some(start..start + OPENING.len() + length + 1)
    })
}

fn is_rule(name: &str) -> bool {
    name == known_secrets::RULE
        || name == pem::RULE
        || credentials::RULES.contains(&name)
        || logins::RULES.contains(&name)
        || assignment::RULES.contains(&name)
        || formats::rule_names().any(|rule| rule == name)
}

fn replace(line: &str, spans: &[SecretSpan], hits: &mut RedactionCounts) -> String {
    let mut out = String::with_capacity(line.len());
    let mut copied = 0;
    let mut strings = JsonStringScanner::default();
    for span in spans {
        // It was part of a number that is gone.
        if span.end <= copied {
            continue;
        }
        let number = match span.rank {
            RuleRank::Known if !strings.open_at(line, span.start) => number_around(line, span),
            _ => None,
        };
        let quote = if number.is_some() { "\"" } else { "" };
        let gone = number.unwrap_or(span.start..span.end);
        out.push_str(line.get(copied..gone.start).unwrap_or_default());
        let _ = write!(out, "{quote}{OPENING}{}]{quote}", span.rule);
        copied = gone.end;
        *hits.entry(span.rule).or_default() += 1;
    }
    out.push_str(&line[copied..]);
    out
}

/// The number that a known secret is part of, if it may be one of JSON: then a string takes its
/// place, as nothing else would leave JSON behind.
fn number_around(line: &str, span: &SecretSpan) -> Option<Range<usize>> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let bytes = line.as_bytes();
    if !bytes[span.start..span.end].iter().all(is_digit) {
        return None;
    }
    let before = bytes[..span.start].iter().rev().take_while(|b| is_digit(b));
    let after = bytes[span.end..].iter().take_while(|b| is_digit(b));
    let number = span.start - before.count()..span.end + after.count();
    let before = line[..number.start].trim_end().bytes().next_back();
    let after = line[number.end..].trim_start().bytes().next();
    (matches!(before, None | Some(b':' | b'[' | b','))
        && matches!(after, None | Some(b']' | b'}' | b',')))
    .then_some(number)
}

/// Tracks the open JSON strings in a line.
#[derive(Default)]
struct JsonStringScanner {
    at: usize,
    open: bool,
    escaped: bool,
}

impl JsonStringScanner {
    /// Returns true if a string is open at a place, which must not be before the last one asked
    /// about.
    fn open_at(&mut self, line: &str, at: usize) -> bool {
        for byte in line.bytes().take(at).skip(self.at) {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.open => self.escaped = true,
                b'"' => self.open = !self.open,
                _ => {}
            }
        }
        self.at = at;
        self.open
    }
}
