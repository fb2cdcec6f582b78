//! Wraps lines that are longer than a terminal is wide, between words.

use unicode_width::UnicodeWidthChar as _;

/// A terminal narrower than this is not wrapped for.
const NARROW: usize = 20;

/// Wraps a text to a width, where its words allow it. Continuation rows are aligned with the text
/// of their line: after a list marker or a table column.
pub(super) fn wrap_text(text: &str, room: usize) -> String {
    if room < NARROW || text.lines().all(|line| width(line) <= room) {
        return text.to_owned();
    }
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| break_line(line, room))
        .collect();
    lines.join("\n")
}

fn break_line(line: &str, room: usize) -> String {
    if width(line) <= room {
        return line.to_owned();
    }
    let hang = " ".repeat(hanging_indent(line).min(room / 3));
    let mut out = String::with_capacity(line.len() + hang.len());
    let mut used = 0;
    for (gap, word) in words(line) {
        let wide = width(gap) + width(word);
        if used > 0 && used + wide > room {
            out.push('\n');
            out.push_str(&hang);
            out.push_str(word);
            used = hang.len() + width(word);
        } else {
            out.push_str(gap);
            out.push_str(word);
            used += wide;
        }
    }
    out
}

/// Returns the words of a line, each with the space before it.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let gap = rest.len() - rest.trim_start_matches(' ').len();
        let (before, after) = rest.split_at(gap);
        let end = after.find(' ').unwrap_or(after.len());
        let (word, left) = after.split_at(end);
        rest = left;
        Some((before, word))
    })
}

/// Returns the column at which the text of a line begins.
fn hanging_indent(line: &str) -> usize {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let mut column = 0;
    let mut hang = None;
    for (n, (gap, word)) in words(line).enumerate() {
        column += gap.len();
        // A table column ends with more than one space.
        if n > 0 && gap.len() > 1 && column <= 24 {
            hang = Some(column);
        }
        let is_mark = word == "-" || word.strip_suffix('.').is_some_and(is_number);
        column += width(word);
        if n == 0 && is_mark {
            hang = Some(column + 1);
        }
    }
    hang.unwrap_or(if indent == 0 { 0 } else { indent + 2 })
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the number of columns that a text takes; colours take none.
fn width(text: &str) -> usize {
    let mut chars = text.chars();
    let mut width = 0;
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| *c == 'm');
        } else {
            width += c.width().unwrap_or(0);
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_stand_under_their_text() {
        for (text, broken) in [
            (
                "one two three four five six",
                "one two three four\nfive six",
            ),
            ("short\n\n  lines", "short\n\n  lines"),
            (
                "  1. one two three four five",
                "  1. one two three\n     four five",
            ),
            ("- one two three four five", "- one two three four\n  five"),
            (
                "  task  one two three four",
                "  task  one two\n      three four",
            ),
            (
                "    one two three four five",
                "    one two three\n      four five",
            ),
            (
                "a wordthatislongerthanthescreen b",
                "a\nwordthatislongerthanthescreen\nb",
            ),
            (
                "\u{1b}[1mone two three four\u{1b}[0m",
                "\u{1b}[1mone two three four\u{1b}[0m",
            ),
            ("字字字字字 字字字字 字", "字字字字字 字字字字\n字"),
        ] {
            assert_eq!(wrap_text(text, 20), broken);
            assert_eq!(wrap_text(text, usize::MAX), text);
        }
    }
}
