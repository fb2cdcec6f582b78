//! A text that is typed.

/// More than this is not taken in.
const LONGEST: usize = 64 << 10;

/// A text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextInput {
    text: String,
    /// The byte before which the cursor is.
    at: usize,
    /// Whether it may have several lines.
    has_lines: bool,
}

impl TextInput {
    /// Creates an empty text of one line.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Creates an empty text that may have several lines.
    pub(crate) fn with_lines() -> Self {
        Self {
            has_lines: true,
            ..Self::default()
        }
    }

    /// Replaces the text; the cursor is at its end.
    #[must_use]
    pub(crate) fn with_text(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self.at = self.text.len();
        self
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if it may have several lines.
    pub(crate) fn has_lines(&self) -> bool {
        self.has_lines
    }

    /// Returns the part before the cursor.
    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.at]
    }

    /// Types a text. In a text of one line, line breaks become blanks; other control characters are
    /// left out. Returns false if there is no more room.
    pub(crate) fn insert(&mut self, typed: &str) -> bool {
        let typed = typed.replace("\r\n", "\n").replace('\r', "\n");
        let mut is_whole = true;
        for c in typed.chars() {
            let c = match c {
                '\n' if !self.has_lines => ' ',
                '\n' | '\t' => c,
                c if c.is_control() => continue,
                c => c,
            };
            if self.text.len() + c.len_utf8() > LONGEST {
                is_whole = false;
                break;
            }
            self.text.insert(self.at, c);
            self.at += c.len_utf8();
        }
        is_whole
    }

    /// Begins a new line, if there may be several.
    pub(crate) fn break_line(&mut self) {
        if self.has_lines {
            self.insert("\n");
        }
    }

    /// Removes the character before the cursor.
    pub(crate) fn delete_back(&mut self) {
        if let Some(c) = self.before_cursor().chars().next_back() {
            self.at -= c.len_utf8();
            self.text.remove(self.at);
        }
    }

    /// Removes the character at the cursor.
    pub(crate) fn delete(&mut self) {
        if self.at < self.text.len() {
            self.text.remove(self.at);
        }
    }

    /// Removes the word before the cursor.
    pub(crate) fn delete_word(&mut self) {
        let before = self.before_cursor().trim_end();
        let start = before.rfind(char::is_whitespace);
        let start = start.map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        self.text.replace_range(start..self.at, "");
        self.at = start;
    }

    /// Removes everything before the cursor.
    pub(crate) fn delete_to_start(&mut self) {
        self.text.replace_range(..self.at, "");
        self.at = 0;
    }

    /// Moves the cursor a character to the left.
    pub(crate) fn move_left(&mut self) {
        if let Some(c) = self.before_cursor().chars().next_back() {
            self.at -= c.len_utf8();
        }
    }

    /// Moves the cursor a character to the right.
    pub(crate) fn move_right(&mut self) {
        if let Some(c) = self.text[self.at..].chars().next() {
            self.at += c.len_utf8();
        }
    }

    /// Moves the cursor to the start.
    pub(crate) fn move_home(&mut self) {
        self.at = 0;
    }

    /// Moves the cursor to the end.
    pub(crate) fn move_end(&mut self) {
        self.at = self.text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited() {
        let mut input = TextInput::new().with_text("réject it");
        input.delete_word();
        assert_eq!(input.text(), "réject ");
        input.move_home();
        input.move_right();
        input.move_right();
        input.delete_back();
        assert_eq!((input.text(), input.before_cursor()), ("rject ", "r"));
        input.insert("e\n\u{1b}");
        assert_eq!(input.text(), "re ject ");
        input.delete();
        input.delete_to_start();
        assert_eq!(input.text(), "ect ");
    }

    #[test]
    fn ten_thousand_pasted_lines_are_cut() {
        let mut input = TextInput::with_lines();
        assert!(!input.insert(&"a line\r\n".repeat(10_000)));
        assert_eq!(input.text().len(), LONGEST);
        assert!(input.text().starts_with("a line\na line\n"));
    }
}
