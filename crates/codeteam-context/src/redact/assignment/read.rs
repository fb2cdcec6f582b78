//! Reading an assignment: how far its name goes, what separates them, how far its value goes.

use std::ops::Range;

use crate::redact::surroundings::backslashes;

/// No name is longer on either side of its keyword.
const LONGEST_NAME: usize = 64;
/// No value is longer.
const LONGEST_VALUE: usize = 4096;
const LONGEST_TYPE: usize = 48;

/// A value, and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AssignedValue {
    pub(super) range: Range<usize>,
    pub(super) style: ValueStyle,
}

/// The way in which a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::redact) enum ValueStyle {
    /// As a string.
    Quoted,
    /// Without quotes where settings are: an environment file, YAML, an option, a header, a query.
    Setting,
    /// Without quotes where it may as well be code.
    Bare,
}

/// The whole name that a keyword is in.
pub(super) fn name_range(line: &str, keyword: Range<usize>) -> Range<usize> {
    let bytes = line.as_bytes();
    let before = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let after = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let head = bytes[..keyword.start].iter().rev().take(LONGEST_NAME);
    let tail = bytes[keyword.end..].iter().take(LONGEST_NAME);
    keyword.start - head.take_while(before).count()..keyword.end + tail.take_while(after).count()
}

/// The value of a name.
pub(super) fn read_value(line: &str, name: Range<usize>) -> Option<AssignedValue> {
    let bytes = line.as_bytes();
    if bytes.get(name.end) == Some(&b'>') {
        return element_value(line, name);
    }
    let closing = QuoteMark::at(bytes, name.end);
    let mut at = closing.map_or(name.end, |quote| quote.end);
    if closing.is_some() && bytes.get(at) == Some(&b']') {
        at += 1;
    }
    let blanks = skip_blanks(bytes, at);
    let is_option = bytes[name.start..].starts_with(b"--") && closing.is_none();
    let separator = separator_length(&bytes[at + blanks..]);
    let separated = match separator {
        0 if is_option && blanks > 0 => "",
        0 => return None,
        length => &line[at + blanks..at + blanks + length],
    };
    at += blanks + separated.len();
    let gap = self::skip_blanks(bytes, at);
    at += gap;
    if separated == ":" {
        at = skip_type(bytes, at);
    }
    at = skip_string_prefix(bytes, at);
    match QuoteMark::at(bytes, at) {
        Some(opening) => {
            if closing.is_some_and(|closing| {
                closing.mark == opening.mark && closing.depth != opening.depth
            }) {
                return None;
            }
            quoted_value(line, opening)
        }
        // What follows a quoted name without quotes is a number or a name.
        None if closing.is_some() => None,
        None => {
            let range = bare_value(line, at)?;
            let setting = is_option || is_setting(line, &name, separated, blanks + gap, range.end);
            let style = if setting {
                ValueStyle::Setting
            } else {
                ValueStyle::Bare
            };
            Some(AssignedValue { range, style })
        }
    }
}

/// `<password>…</password>`.
fn element_value(line: &str, name: Range<usize>) -> Option<AssignedValue> {
    if !line[..name.start].ends_with('<') {
        return None;
    }
    let start = name.end + 1;
    let rest = &line.as_bytes()[start..];
    let stops = |byte: &u8| b"<>\"'\\ \t".contains(byte);
    let length = rest.iter().take(LONGEST_VALUE).position(stops)?;
    (rest[length] == b'<').then_some(AssignedValue {
        range: start..start + length,
        style: ValueStyle::Quoted,
    })
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    bytes[at..].iter().take(32).take_while(blank).count()
}

/// Returns the length of the separator: `=`, `:`, `:=`, `=>`, `==`, `!=` and so on; but not `::`.
fn separator_length(rest: &[u8]) -> usize {
    let length = rest
        .iter()
        .take(4)
        .take_while(|b| b"=:!?>+|".contains(b))
        .count();
    match &rest[..length] {
        b":" | b"=" | b":=" | b"=>" | b"==" | b"===" | b"!=" | b"!==" | b"?=" | b"+=" | b"||=" => {
            length
        }
        // `password=!…`: the rest is value.
        [b'=', b'!' | b'?' | b'+', ..] => 1,
        _ => 0,
    }
}

/// `: string = "…"`, `: &str = "…"`: where the value begins.
fn skip_type(bytes: &[u8], at: usize) -> usize {
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_&'<>[]?| .".contains(byte);
    let length = bytes[at..]
        .iter()
        .take(LONGEST_TYPE)
        .take_while(is_type)
        .count();
    let equals = at + length;
    if length == 0 || bytes.get(equals) != Some(&b'=') {
        return at;
    }
    let value = equals + 1 + skip_blanks(bytes, equals + 1);
    if QuoteMark::at(bytes, value).is_some() {
        value
    } else {
        at
    }
}

/// `b"…"`, `r"…"`, `f'…'`: where the quote is.
fn skip_string_prefix(bytes: &[u8], at: usize) -> usize {
    let is_prefix = |byte: &&u8| b"bBrRfFuUL@#".contains(byte);
    let length = bytes[at..].iter().take(3).take_while(is_prefix).count();
    match bytes.get(at + length) {
        Some(b'"' | b'\'') if length > 0 => at + length,
        _ => at,
    }
}

/// A quotation mark, with the backslashes that stand before it where JSON is inside JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QuoteMark {
    mark: u8,
    /// The number of backslashes.
    depth: usize,
    /// Its end.
    end: usize,
}

impl QuoteMark {
    fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let depth = bytes[at..]
            .iter()
            .take(16)
            .take_while(|b| **b == b'\\')
            .count();
        let mark = *bytes.get(at + depth)?;
        let fits = match mark {
            b'"' => (depth + 1).is_power_of_two(),
            b'\'' | b'`' => depth == 0,
            _ => false,
        };
        fits.then_some(Self {
            mark,
            depth,
            end: at + depth + 1,
        })
    }
}

/// The inside of a string: up to the mark that closes it, and never past one that closes a string
/// which this one is in.
fn quoted_value(line: &str, opening: QuoteMark) -> Option<AssignedValue> {
    let start = opening.end;
    let bytes = line.as_bytes();
    let mut end = None;
    for (i, &byte) in bytes.iter().enumerate().skip(start).take(LONGEST_VALUE) {
        if byte.is_ascii_whitespace() {
            return None;
        }
        if byte != opening.mark && byte != b'"' {
            continue;
        }
        let before = backslashes(&bytes[start..i]);
        let unit = opening.depth + 1;
        let (times, rest) = (before / unit, before % unit);
        if byte != opening.mark || rest != opening.depth {
            // The mark closes something outside.
            end = Some(i - before);
            break;
        }
        if times % 2 == 0 {
            end = Some(i - opening.depth);
            break;
        }
    }
    let range = start..end?;
    // Where a string has ended rather than begun, JSON goes on with one of these.
    let is_between = line[range.clone()].starts_with([',', ':', '}', ']']);
    (!range.is_empty() && !is_between).then_some(AssignedValue {
        range,
        style: ValueStyle::Quoted,
    })
}

/// A value without quotes. `None` if it is code.
fn bare_value(line: &str, at: usize) -> Option<Range<usize>> {
    let is_part = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"_-.+/~!@#$%^*?".contains(&byte) || !byte.is_ascii()
    };
    let bytes = line.as_bytes();
    let length = bytes[at..]
        .iter()
        .take(LONGEST_VALUE)
        .take_while(|b| is_part(**b))
        .count();
    let mut end = at + length;
    // Only base64 ends with it.
    let padding = bytes[end..]
        .iter()
        .take(3)
        .take_while(|b| **b == b'=')
        .count();
    match bytes.get(end + padding) {
        Some(b'(' | b'[' | b'{' | b'<' | b':') => return None,
        Some(byte) if padding > 0 && is_part(*byte) => {}
        _ => end += padding,
    }
    if length == LONGEST_VALUE {
        return None;
    }
    let end = at + line[at..end].trim_end_matches('.').len();
    (end > at).then_some(at..end)
}

/// Returns true if a value without quotes is where settings are.
fn is_setting(line: &str, name: &Range<usize>, separator: &str, blanks: usize, end: usize) -> bool {
    let whole = &line[name.clone()];
    let before = line[..name.start].bytes().next_back();
    let rest = &line[end..];
    let is_last = rest.trim_start().is_empty()
        || rest.starts_with(['"', '\'', '\\'])
        || rest.starts_with(" #");
    match separator {
        "=" if blanks == 0 => {
            let upper = !whole.bytes().any(|byte| byte.is_ascii_lowercase());
            upper || is_last || matches!(before, Some(b'?' | b'&' | b';'))
        }
        ":" => is_last && (whole.contains('-') || blanks > 0),
        _ => false,
    }
}
