//! Stretches of a text that are replaced.

use std::ops::Range;

use tree_sitter::Node;

/// What is replaced by what. Stretches do not overlap, but for those within another, which are
/// ignored.
#[derive(Default)]
pub(super) struct TextEdits {
    /// What is replaced by nothing at all stays as it is.
    edits: Vec<(Range<usize>, Option<String>)>,
    replaced: usize,
}

impl TextEdits {
    pub(super) fn push(&mut self, range: Range<usize>, by: String) {
        self.replaced += 1;
        self.edits.push((range, Some(by)));
    }

    /// How much is replaced.
    pub(super) fn len(&self) -> usize {
        self.replaced
    }

    /// Nothing of this is squeezed.
    pub(super) fn keep(&mut self, node: Node<'_>) {
        if node.start_position().row != node.end_position().row {
            self.edits.push((node.byte_range(), None));
        }
    }

    /// The text with everything replaced, and with no more than one empty line in a row.
    pub(super) fn applied(mut self, text: &str) -> String {
        self.edits
            .sort_by_key(|(range, by)| (range.start, usize::MAX - range.end, by.is_none()));
        let mut out = SqueezedText::default();
        let mut at = 0;
        for (range, by) in self.edits {
            if range.start < at {
                continue;
            }
            out.push(&text[at..range.start]);
            match by {
                Some(by) => out.push(&by),
                None => out.push_as_it_is(&text[range.clone()]),
            }
            at = range.end;
        }
        out.push(&text[at..]);
        out.text.trim_start_matches('\n').to_owned()
    }
}

/// A text with no more than one empty line in a row.
#[derive(Default)]
struct SqueezedText {
    text: String,
    /// How many line breaks it ends with.
    breaks: usize,
}

impl SqueezedText {
    fn push_as_it_is(&mut self, part: &str) {
        self.text.push_str(part);
        self.breaks = 0;
    }

    fn push(&mut self, part: &str) {
        for piece in part.split_inclusive('\n') {
            let blank = piece.trim().is_empty() && piece.ends_with('\n');
            if blank && self.breaks >= 2 {
                continue;
            }
            self.text.push_str(piece);
            if blank {
                self.breaks += 1;
            } else {
                self.breaks = usize::from(piece.ends_with('\n'));
            }
        }
    }
}
