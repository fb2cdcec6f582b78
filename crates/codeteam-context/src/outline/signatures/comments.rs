//! Decides which comments stay: the first line of every doc comment.

use std::ops::Range;

use tree_sitter::Node;

use crate::language::Language;

/// The distance from a comment up to which the ends of its line are searched for.
const FAR: usize = 500;

/// Processes the comments of a file, in order.
pub(super) struct CommentTrimmer<'t> {
    text: &'t str,
    language: Language,
    /// The line after the last comment.
    next: usize,
}

impl<'t> CommentTrimmer<'t> {
    pub(super) fn new(text: &'t str, language: Language) -> Self {
        Self {
            text,
            language,
            next: usize::MAX,
        }
    }

    /// Returns the range of a comment to replace, and its replacement; `None` if the comment stays.
    pub(super) fn edit(&mut self, node: Node<'_>) -> Option<(Range<usize>, String)> {
        let start = node.start_byte();
        // Some grammars include the line end in the comment.
        let text = self.text[node.byte_range()].trim_end();
        let range = start..start + text.len();
        let row = node.start_position().row;
        let follows = self.next == row;
        self.next = row + 1 + text.matches('\n').count();
        if text.starts_with("/**") && self.language != Language::Go {
            let short = first_line_of_block(text);
            return match short {
                Some(short) if short.len() < text.len() => Some((range, short)),
                Some(_) => None,
                None => Some((self.lines(&range), String::new())),
            };
        }
        let doc = match self.language {
            Language::Rust => text.starts_with("///") || text.starts_with("//!"),
            Language::Go => {
                (!follows && self.above_declaration(&range)) || text.starts_with("//go:")
            }
            _ => false,
        };
        if doc && !follows {
            return None;
        }
        Some((self.lines(&range), String::new()))
    }

    /// Returns true if a Go comment, together with those right below it, stands right above a
    /// declaration.
    fn above_declaration(&self, range: &Range<usize>) -> bool {
        self.alone(range)
            && self.text[range.end..]
                .lines()
                .skip(1)
                .map(str::trim_start)
                .find(|line| !line.starts_with("//"))
                .is_some_and(|line| !line.is_empty() && !line.starts_with([')', '}']))
    }

    /// Returns true if nothing else is on the lines of a range. If a line end is too far away, the
    /// answer is false.
    fn alone(&self, range: &Range<usize>) -> bool {
        let text = self.text.as_bytes();
        let before = &text[range.start.saturating_sub(FAR)..range.start];
        let after = &text[range.end..text.len().min(range.end + FAR)];
        let blank = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\r');
        let before = before.iter().rev().find(|byte| !blank(byte));
        let after = after.iter().find(|byte| !blank(byte));
        before.is_none_or(|byte| *byte == b'\n') && after.is_none_or(|byte| *byte == b'\n')
    }

    /// Returns the full lines of a range if nothing else is on them, or else the range with the
    /// whitespace before it.
    fn lines(&self, range: &Range<usize>) -> Range<usize> {
        let before = &self.text[..range.start];
        if !self.alone(range) {
            return before.trim_end_matches([' ', '\t']).len()..range.end;
        }
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let after = &self.text[range.end..];
        let end = after
            .find('\n')
            .map_or(self.text.len(), |at| range.end + at + 1);
        start..end
    }
}

/// Returns `/** The first line. */`; `None` if the comment is empty.
fn first_line_of_block(text: &str) -> Option<String> {
    let inside = text.trim_start_matches(['/', '*']);
    let inside = inside.strip_suffix("*/").unwrap_or(inside);
    let line = inside
        .lines()
        .map(|line| line.trim().trim_start_matches('*').trim())
        .find(|line| !line.is_empty())?;
    Some(format!("/** {line} */"))
}

/// Shortens a string of several lines to the first non-empty one, in its quotes. Returns `None` for
/// a single line.
pub(super) fn first_line_of_string(text: &str) -> Option<String> {
    if !text.contains('\n') {
        return None;
    }
    let quote = if text.contains("\"\"\"") {
        "\"\"\""
    } else {
        "'''"
    };
    let (prefix, rest) = text.split_once(quote)?;
    let inside = rest.strip_suffix(quote).unwrap_or(rest);
    let line = inside
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(format!("{prefix}{quote}{line}{quote}"))
}
