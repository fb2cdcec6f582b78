//! A text with its language, from which the nodes of its syntax tree take their own texts.

use codeteam_context::language::Language;
use tree_sitter::Node;

/// A text and its language.
#[derive(Clone, Copy)]
pub(super) struct ParsedText<'t> {
    pub(super) text: &'t str,
    pub(super) language: Language,
}

impl<'t> ParsedText<'t> {
    pub(super) fn text_of(self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub(super) fn is_python(self) -> bool {
        self.language == Language::Python
    }
}
