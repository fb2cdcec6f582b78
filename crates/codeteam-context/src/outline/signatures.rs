//! Reduces a file to its declarations, without the bodies of its functions.
//!
//! Declarations, fields, imports and short values stay as they are written; a body becomes `…`. A
//! doc comment keeps its first line, and other comments are removed. Nothing is rephrased.

mod comments;
mod edits;

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use self::comments::CommentTrimmer;
use self::edits::TextEdits;
use super::rules::{GrammarRules, rules};
use crate::language::Language;

/// A body no longer than this is kept, because `…` would save nothing.
const SHORT: usize = 12;

/// A value that spans more lines is left out.
const MANY_LINES: usize = 5;

/// Returns the file with declarations only; `None` if that would gain nothing, or if the file has
/// too many syntax errors.
pub fn signatures(text: &str, language: Language) -> Option<String> {
    let tree = super::parse_source(text, language)?;
    let mut walk = SignatureWalk {
        text,
        language,
        rules: rules(language),
        edits: TextEdits::default(),
        comments: CommentTrimmer::new(text, language),
        values: Vec::new(),
        broken: 0,
    };
    walk.visit_all(tree.root_node());
    if walk.broken > text.len() / 4 {
        return None;
    }
    let shown = walk.edits.apply(text);
    (shown.len() < text.len()).then_some(shown)
}

struct SignatureWalk<'t> {
    text: &'t str,
    language: Language,
    rules: &'static GrammarRules,
    edits: TextEdits,
    comments: CommentTrimmer<'t>,
    /// The enclosing values: depth, number of edits before it, and range.
    values: Vec<(usize, usize, Range<usize>)>,
    /// The number of bytes inside syntax errors.
    broken: usize,
}

impl<'t> SignatureWalk<'t> {
    fn visit_all(&mut self, root: Node<'t>) {
        let mut cursor = root.walk();
        let mut depth = 0;
        loop {
            if self.enter(&cursor, depth) && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                depth -= 1;
                self.leave(depth);
            }
        }
    }

    /// Visits a node, and returns true if its children are to be visited.
    fn enter(&mut self, cursor: &TreeCursor<'t>, depth: usize) -> bool {
        let node = cursor.node();
        if node.is_error() {
            self.broken += node.byte_range().len();
            return false;
        }
        if !node.is_named() {
            return true;
        }
        let kind = node.kind();
        if kind.ends_with("comment") {
            if let Some(edit) = self.comments.edit(node) {
                self.edits.push(edit.0, edit.1);
            }
            return false;
        }
        if self.rules.functions.contains(&kind) {
            return !self.drop_function_body(node);
        }
        if kind == "macro_definition" {
            self.macro_definition(node);
            return false;
        }
        if self.language == Language::Python && (kind == "module" || kind == "class_definition") {
            self.shorten_docstring(node);
        }
        if kind.ends_with("string") || kind.ends_with("string_literal") {
            self.edits.keep(node);
            return false;
        }
        if matches!(cursor.field_name(), Some("value" | "right"))
            && node.end_position().row - node.start_position().row > MANY_LINES
            && !matches!(kind, "object_type" | "arrow_function")
        {
            self.values
                .push((depth, self.edits.len(), node.byte_range()));
        }
        true
    }

    /// Drops a long value in which no function was found, because it says little.
    fn leave(&mut self, depth: usize) {
        while let Some((at, before, range)) = self.values.pop_if(|(at, _, _)| *at >= depth) {
            if self.edits.len() == before && at == depth {
                self.edits.push(range, "…".to_owned());
            }
        }
    }

    /// Drops a function's body; returns `false` if there is nothing to drop.
    fn drop_function_body(&mut self, node: Node<'t>) -> bool {
        let body = node.child_by_field_name("body").or_else(|| {
            let last = node.child_count().checked_sub(1)?;
            node.child(last).filter(|child| child.kind() == "block")
        });
        let Some(body) = body else {
            return false;
        };
        let inside = &self.text[body.byte_range()];
        let one_line = !inside.contains('\n');
        if self.language == Language::Python {
            if node.kind() == "lambda" || inside == "..." || inside == "pass" {
                return false;
            }
            self.python_body(body);
        } else if inside.starts_with('{') {
            if one_line && inside.len() <= SHORT {
                return false;
            }
            self.edits.push(body.byte_range(), "{ … }".to_owned());
        } else if one_line && inside.len() <= 3 * SHORT {
            return false;
        } else {
            self.edits.push(body.byte_range(), "…".to_owned());
        }
        true
    }

    /// Replaces a body with `…` on the line of its function, or below the first line of its
    /// docstring.
    fn python_body(&mut self, body: Node<'t>) {
        if let Some(doc) = self.first_string(body) {
            let column = body.start_position().column;
            let indent = " ".repeat(column);
            self.edits
                .push(body.byte_range(), format!("{doc}\n{indent}…"));
            return;
        }
        let start = self.text[..body.start_byte()].trim_end().len();
        // A comment between the colon and the body is removed with the body.
        let start = self.text[..start].rfind(':').map_or(start, |at| {
            if self.text[at..start].contains('#') {
                at + 1
            } else {
                start
            }
        });
        self.edits.push(start..body.end_byte(), " …".to_owned());
    }

    /// Shortens the docstring of a module or class to its first line.
    fn shorten_docstring(&mut self, node: Node<'t>) {
        let body = node.child_by_field_name("body").unwrap_or(node);
        let Some(string) = first_string_node(body) else {
            return;
        };
        if let Some(short) = comments::first_line_of_string(&self.text[string.byte_range()]) {
            self.edits.push(string.byte_range(), short);
        }
    }

    /// Returns the first line of the string that a body begins with.
    fn first_string(&self, body: Node<'t>) -> Option<String> {
        let text = &self.text[first_string_node(body)?.byte_range()];
        Some(comments::first_line_of_string(text).unwrap_or_else(|| text.to_owned()))
    }

    fn macro_definition(&mut self, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else {
            return;
        };
        let end = self.text[..node.end_byte()].trim_end_matches(';').len();
        if end > name.end_byte() {
            self.edits.push(name.end_byte()..end, " { … }".to_owned());
        }
    }
}

fn first_string_node(body: Node<'_>) -> Option<Node<'_>> {
    let first = body
        .named_children(&mut body.walk())
        .find(|child| !child.is_extra())?;
    let string = first.named_child(0)?;
    (first.kind() == "expression_statement" && string.kind() == "string").then_some(string)
}
