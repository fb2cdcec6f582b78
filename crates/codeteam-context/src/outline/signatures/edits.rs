//! Replaces ranges of a text.

use std::ops::Range;

use tree_sitter::Node;

/// The replacements of a text. Ranges do not overlap, except for those nested in another, which are
/// ignored.
#[derive(Default)]
pub(super) struct TextEdits {
    /// The ranges; one without a replacement is copied unchanged.
    edits: Vec<(Range<usize>, Option<String>)>,
    replaced: usize,
}

impl TextEdits {
    pub(super) fn push(&mut self, range: Range<usize>, by: String) {
        self.replaced += 1;
        self.edits.push((range, Some(by)));
    }

    /// Returns the number of replacements.
    pub(super) fn len(&self) -> usize {
        self.replaced
    }

    /// Protects a node from having its empty lines squeezed.
    pub(super) fn keep(&mut self, node: Node<'_>) {
        if node.start_position().row != node.end_position().row {
            self.edits.push((node.byte_range(), None));
        }
    }

    /// Returns the text with all replacements, and with at most one empty line in a row.
    pub(super) fn apply(mut self, text: &str) -> String {
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

/// A text with at most one empty line in a row.
#[derive(Default)]
struct SqueezedText {
    text: String,
    /// The number of line breaks it ends with.
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
