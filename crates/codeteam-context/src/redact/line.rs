//! One line: what is found in it, and the line without that.

use std::fmt::Write as _;

use memchr::memmem;

use crate::redact::anchors::{self, Kind};
use crate::redact::pem::{self, Block};
use crate::redact::surroundings::escape_around;
use crate::redact::{Hits, Redactor, assignment, carried, formats, known};

/// A part of a line that has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    /// What it is called in its place.
    pub(super) rule: &'static str,
    pub(super) rank: Rank,
}

/// Which rule names what several rules have found: the one that knows most about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
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
    pub(super) fn line(
        &self,
        block: &mut Option<Block>,
        line: &str,
        from: usize,
        hits: &mut Hits,
    ) -> Option<String> {
        let within = block.take().and_then(|open| {
            let (next, span) = open.line(line);
            *block = next;
            Some(replace(line, &settled(line, vec![span?]), hits))
        });
        let (mut current, mut from) = match within {
            Some(redacted) => (Some(redacted), 0),
            None => (None, from),
        };
        // What is left is looked at again until nothing is found: only so is it certain that
        // redacting it once more changes nothing. Every turn leaves less that is not yet redacted.
        loop {
            let text = current.as_deref().unwrap_or(line);
            let spans = self.spans(text, from, block);
            if spans.is_empty() {
                return current;
            }
            current = Some(replace(text, &spans, hits));
            from = 0;
        }
    }

    /// What has to go from a line.
    fn spans(&self, line: &str, from: usize, block: &mut Option<Block>) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut at = from;
        while let Some(anchor) = anchors::find(line, at) {
            // Another may begin within this one.
            at = anchor.start + 1;
            let span = match anchor.kind {
                Kind::Formats(which) => formats::find(line, anchor.start, which),
                Kind::Bot => formats::bot(line, anchor.start),
                Kind::Name(name) => assignment::find(line, anchor.start..anchor.end, *name),
                Kind::Url => carried::url(line, anchor.end),
                Kind::Authorization => carried::authorization(line, anchor.end),
                Kind::Bearer => carried::bearer(line, anchor.start, anchor.end),
                Kind::Pem => match pem::find(line, anchor.start) {
                    Some((span, _)) if self.is_allowed(&line[span.start..span.end]) => None,
                    Some((span, begun)) => {
                        *block = begun.or(block.take());
                        Some(span)
                    }
                    None => None,
                },
            };
            spans.extend(span);
        }
        if !self.allowed.is_empty() {
            spans.retain(|span| !self.is_allowed(&line[span.start..span.end]));
        }
        self.known.spans(line, &mut spans);
        if spans.is_empty() {
            return spans;
        }
        settled(line, spans)
    }
}

/// Spans in order, none overlapping another, none touching what was redacted before, none
/// beginning or ending within an escape.
fn settled(line: &str, mut spans: Vec<Span>) -> Vec<Span> {
    let bytes = line.as_bytes();
    for span in &mut spans {
        if let Some(escape) = escape_around(bytes, span.start) {
            span.start = escape.end;
        }
        if let Some(escape) = escape_around(bytes, span.end) {
            span.end = escape.start;
        }
    }
    for marker in markers(line) {
        for span in &mut spans {
            let (starts, ends) = (
                marker.contains(&span.start),
                marker.contains(&(span.end - 1)),
            );
            if starts {
                span.start = marker.end;
            }
            if ends {
                span.end = marker.start;
            }
        }
        spans.retain(|span| span.start < span.end);
    }
    spans.retain(|span| span.start < span.end);
    spans.sort_by_key(|span| (span.start, span.end));
    let mut settled: Vec<Span> = Vec::new();
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

/// Where something was redacted before.
fn markers(line: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    memmem::find_iter(line.as_bytes(), OPENING).filter_map(|start| {
        let name = &line[start + OPENING.len()..];
        let length = name.bytes().take(32).position(|byte| byte == b']')?;
        is_rule(&name[..length]).then_some(start..start + OPENING.len() + length + 1)
    })
}

fn is_rule(name: &str) -> bool {
    name == known::RULE
        || name == pem::RULE
        || carried::RULES.contains(&name)
        || assignment::RULES.contains(&name)
        || formats::rules().any(|rule| rule == name)
}

fn replace(line: &str, spans: &[Span], hits: &mut Hits) -> String {
    let mut out = String::with_capacity(line.len());
    let mut copied = 0;
    for span in spans {
        let number = (span.rank == Rank::Known).then(|| number_around(line, span));
        let (start, end, quote) = match number.flatten() {
            Some(number) if number.start >= copied => (number.start, number.end, "\""),
            _ => (span.start, span.end, ""),
        };
        out.push_str(&line[copied..start]);
        let _ = write!(out, "{quote}{OPENING}{}]{quote}", span.rule);
        copied = end;
        *hits.entry(span.rule).or_default() += 1;
    }
    out.push_str(line.get(copied..).unwrap_or_default());
    out
}

/// The number that a known secret is part of, if it may be one of JSON: then a string takes its
/// place, as nothing else would leave JSON behind.
fn number_around(line: &str, span: &Span) -> Option<std::ops::Range<usize>> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let bytes = line.as_bytes();
    if !bytes[span.start..span.end].iter().all(is_digit) || in_string(&bytes[..span.start]) {
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

/// Whether a string of JSON is open at the end of this beginning of a line.
fn in_string(head: &[u8]) -> bool {
    let (mut open, mut escaped) = (false, false);
    for byte in head {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if open => escaped = true,
            b'"' => open = !open,
            _ => {}
        }
    }
    open
}
