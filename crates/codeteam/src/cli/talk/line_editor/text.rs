//! The text being edited, and the edit operations on it.

use unicode_width::UnicodeWidthChar as _;

/// A text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EditBuffer {
    text: String,
    at: usize,
}

impl EditBuffer {
    pub(super) fn new(text: String) -> Self {
        let at = text.len();
        Self { text, at }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the cursor position, in bytes.
    pub(super) fn cursor(&self) -> usize {
        self.at
    }

    pub(super) fn before(&self) -> &str {
        &self.text[..self.at]
    }

    pub(super) fn after(&self) -> &str {
        &self.text[self.at..]
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    /// Returns where the previous character begins, including its combining marks.
    fn left(&self) -> usize {
        let mut chars = self.before().char_indices().rev();
        let found = chars.find(|(_, c)| *c == '\n' || c.width().unwrap_or(1) > 0);
        found.map_or(0, |(at, _)| at)
    }

    /// Returns where the current character ends.
    fn right(&self) -> usize {
        let mut chars = self.after().char_indices().skip(1);
        let found = chars.find(|(_, c)| *c == '\n' || c.width().unwrap_or(1) > 0);
        found.map_or(self.text.len(), |(at, _)| self.at + at)
    }

    fn word_left(&self) -> usize {
        let trimmed = self
            .before()
            .trim_end_matches(|c: char| !c.is_alphanumeric());
        trimmed.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_right(&self) -> usize {
        let rest = self
            .after()
            .trim_start_matches(|c: char| !c.is_alphanumeric());
        let rest = rest.trim_start_matches(char::is_alphanumeric);
        self.text.len() - rest.len()
    }

    pub(super) fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    pub(super) fn line_end(&self) -> usize {
        self.after()
            .find('\n')
            .map_or(self.text.len(), |n| self.at + n)
    }

    pub(super) fn move_to(&mut self, to: CursorTarget) {
        self.at = self.position_of(to);
    }

    pub(super) fn position_of(&self, place: CursorTarget) -> usize {
        match place {
            CursorTarget::Left => self.left(),
            CursorTarget::Right => self.right(),
            CursorTarget::WordLeft => self.word_left(),
            CursorTarget::WordRight => self.word_right(),
            CursorTarget::LineStart => self.line_start(),
            CursorTarget::LineEnd => self.line_end(),
            CursorTarget::Above => self.vertical(self.line_start().checked_sub(1)),
            CursorTarget::Below => self.vertical(Some(self.line_end() + 1)),
        }
    }

    /// Returns the same column in the line that contains a byte, or the current position if there
    /// is none.
    fn vertical(&self, byte: Option<usize>) -> usize {
        let Some(byte) = byte.filter(|byte| *byte <= self.text.len()) else {
            return self.at;
        };
        let column = self.text[self.line_start()..self.at].chars().count();
        let start = self.text[..byte].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        let into = line
            .char_indices()
            .nth(column)
            .map_or(line.len(), |(at, _)| at);
        start + into
    }

    /// Removes and returns the text between the cursor and a target.
    pub(super) fn kill(&mut self, to: CursorTarget) -> String {
        let to = self.position_of(to);
        let (from, to) = (self.at.min(to), self.at.max(to));
        self.at = from;
        self.text.drain(from..to).collect()
    }

    /// Replaces the text between a position and the cursor.
    pub(super) fn replace_before(&mut self, from: usize, text: &str) {
        self.text.replace_range(from..self.at, text);
        self.at = from + text.len();
    }
}

/// A target of cursor movement.
#[derive(Clone, Copy, Debug)]
pub(super) enum CursorTarget {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Above,
    Below,
}

/// Returns true if a text continues: its last line ends in `\`, or a `"""` is open.
pub(crate) fn is_incomplete(text: &str) -> bool {
    if let Some(quoted) = find_quoted(text) {
        return quoted.matches(FENCE).count() < 2;
    }
    text.ends_with('\\') && !text.ends_with("\\\\")
}

/// Returns the intended text, without the continuation markers.
pub(crate) fn unquote_input(text: &str) -> String {
    let trimmed = text.trim();
    if let Some(from) = find_quoted(trimmed) {
        let command = trimmed[..trimmed.len() - from.len()].trim();
        let inner = from.trim_start_matches(FENCE);
        let inner = inner.strip_suffix(FENCE).unwrap_or(inner).trim();
        return format!("{command} {inner}").trim().to_owned();
    }
    trimmed.replace("\\\n", "\n")
}

/// Returns the text from a `"""` on, if that starts the input or follows a command.
fn find_quoted(text: &str) -> Option<&str> {
    let at = text.find(FENCE)?;
    let before = text[..at].trim();
    let is_command = before.starts_with('/') && !before.contains(char::is_whitespace);
    (before.is_empty() || is_command).then_some(&text[at..])
}

const FENCE: &str = "\"\"\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_several_lines() {
        let mut text = EditBuffer::new("first line\nsecond".to_owned());
        text.move_to(CursorTarget::Above);
        assert_eq!(text.before(), "first ");
        text.move_to(CursorTarget::Above);
        assert_eq!(text.before(), "first ");
        text.move_to(CursorTarget::LineEnd);
        text.move_to(CursorTarget::WordLeft);
        assert_eq!(text.kill(CursorTarget::LineEnd), "line");
        text.move_to(CursorTarget::Below);
        assert_eq!(text.before(), "first \nsecond");
        text.insert("!");
        assert_eq!(text.kill(CursorTarget::LineStart), "second!");
        assert_eq!(text.as_str(), "first \n");
    }

    #[test]
    fn what_is_drawn_as_one_goes_as_one() {
        let mut text = EditBuffer::new("ae\u{301}b".to_owned());
        text.move_to(CursorTarget::Left);
        text.move_to(CursorTarget::Left);
        assert_eq!((text.before(), text.after()), ("a", "e\u{301}b"));
        text.kill(CursorTarget::Right);
        assert_eq!(text.as_str(), "ab");
    }

    #[test]
    fn a_text_goes_on_by_a_backslash_and_in_a_fence() {
        for whole in ["", "a", "a\\\\", "\"\"\"a\nb\"\"\"", "a \"\"\" b"] {
            assert!(!is_incomplete(whole), "{whole}");
        }
        for part in ["a\\", "\"\"\"", "\"\"\"a\nb", "a\\\nb\\"] {
            assert!(is_incomplete(part), "{part}");
        }
        assert_eq!(unquote_input(" a\\\nb "), "a\nb");
        assert_eq!(unquote_input("\"\"\"\na\n\nb\n\"\"\""), "a\n\nb");
        assert!(is_incomplete("/reject_changes \"\"\"\nno test"));
        let rejected = unquote_input("/reject_changes \"\"\"\nno test\nno docs\n\"\"\"");
        assert_eq!(rejected, "/reject_changes no test\nno docs");
        assert!(!is_incomplete("what does \"\"\" mean?"));
    }
}
