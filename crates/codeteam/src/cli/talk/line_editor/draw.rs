//! Lays out a prompt and its text on the screen.

use unicode_width::UnicodeWidthChar as _;

/// The rows of a prompt with its text, and the cursor's position in them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PromptLayout {
    pub(super) rows: Vec<String>,
    pub(super) row: usize,
    pub(super) column: usize,
}

impl PromptLayout {
    /// Lays out a prompt and its text. The last column of a row is never filled, because terminals
    /// differ there.
    pub(super) fn lay_out(
        prompt: &str,
        text: &str,
        at: usize,
        columns: usize,
        height: usize,
    ) -> Self {
        let room = columns.saturating_sub(1).max(8);
        let indent: String = " ".repeat(width(prompt).min(room / 2));
        let mut layout = Self {
            rows: vec![String::new()],
            row: 0,
            column: 0,
        };
        let mut used = 0;
        for c in prompt.chars() {
            layout.put(c, &mut used, room);
        }
        for (byte, c) in text.char_indices() {
            if byte == at {
                layout.mark(used);
            }
            if c == '\n' {
                layout.rows.push(indent.clone());
                used = width(&indent);
            } else {
                let c = if c == '\t' { ' ' } else { c };
                layout.put(c, &mut used, room);
            }
        }
        if at >= text.len() {
            layout.mark(used);
        }
        layout.fit_height(height)
    }

    fn mark(&mut self, used: usize) {
        self.row = self.rows.len() - 1;
        self.column = used;
    }

    fn put(&mut self, c: char, used: &mut usize, room: usize) {
        // Control characters are shown as a placeholder.
        let c = if c.is_control() { '\u{fffd}' } else { c };
        let wide = c.width().unwrap_or(0);
        if *used + wide > room {
            self.rows.push(String::new());
            *used = 0;
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(c);
        }
        *used += wide;
    }

    /// Keeps as many rows as fit, those around the cursor.
    fn fit_height(mut self, height: usize) -> Self {
        let height = height.saturating_sub(1).max(1);
        if self.rows.len() > height {
            let first = (self.row + 1).saturating_sub(height);
            self.rows = self.rows.split_off(first);
            self.rows.truncate(height);
            self.row -= first;
        }
        self
    }
}

/// Returns the number of columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_and_new_lines_take_rows() {
        let layout = PromptLayout::lay_out("> ", "abcdefghij", 10, 9, 20);
        assert_eq!(layout.rows, ["> abcdef", "ghij"]);
        assert_eq!((layout.row, layout.column), (1, 4));
        let layout = PromptLayout::lay_out("> ", "ab\ncd", 2, 40, 20);
        assert_eq!(layout.rows, ["> ab", "  cd"]);
        assert_eq!((layout.row, layout.column), (0, 4));
        let layout = PromptLayout::lay_out("> ", "字字", 6, 40, 20);
        assert_eq!((layout.row, layout.column), (0, 6));
    }

    #[test]
    fn a_text_longer_than_the_screen_shows_where_the_cursor_is() {
        let text = "1\n2\n3\n4\n5";
        let layout = PromptLayout::lay_out("> ", text, text.len(), 40, 4);
        assert_eq!(layout.rows, ["  3", "  4", "  5"]);
        assert_eq!(layout.row, 2);
        let layout = PromptLayout::lay_out("> ", text, 0, 40, 4);
        assert_eq!(layout.rows, ["> 1", "  2", "  3"]);
    }
}
