//! The definitions of a file, and how their signatures are rendered.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

/// The kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    /// A free function.
    Function,
    /// A function of a type.
    Method,
    /// A class, struct, enum, record or union.
    Type,
    /// An interface, trait or protocol.
    Interface,
    /// A type alias.
    Alias,
    /// A constant, static or variable of the file.
    Value,
    /// A macro definition.
    Macro,
    /// A module or namespace.
    Module,
    /// Methods of a type that is defined elsewhere. Its name is that type's, which it does not
    /// define.
    Impl,
}

impl DefinitionKind {
    /// Returns true if others refer to the definition by its own name.
    pub fn has_own_name(self) -> bool {
        self != Self::Impl
    }
}

/// A definition in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The name as it is written.
    pub name: String,
    /// The kind of definition.
    pub kind: DefinitionKind,
    /// The definition that contains it, by its index in the list.
    pub inside: Option<u32>,
    /// The line it begins on, from 1.
    pub line: u32,
    /// The line it ends on.
    pub last_line: u32,
    /// The declaration without its body: `fn add(a: u32, b: u32) -> u32`.
    pub signature: String,
    /// Whether other files can see it: exported, public, or not marked private by its name.
    pub public: bool,
}

/// A definition as a grammar's rules find it.
pub(super) struct DefinitionNode<'t> {
    /// The name as it is written.
    pub(super) name: &'t str,
    /// The kind of definition.
    pub(super) kind: DefinitionKind,
    /// Whether it is visible to other files, provided that what contains it is.
    pub(super) public: bool,
    /// The declaration without its body.
    pub(super) signature: String,
    /// The node from its first line to its last.
    pub(super) whole: Node<'t>,
}

impl DefinitionNode<'_> {
    /// Converts it into a [`Definition`].
    pub(super) fn into_definition(self, inside: Option<u32>) -> Definition {
        let line = row(self.whole.start_position().row);
        let end = self.whole.end_position();
        // A node that ends with a line break ends at the start of the next line.
        let last = if end.column == 0 {
            end.row.saturating_sub(1)
        } else {
            end.row
        };
        Definition {
            name: self.name.trim_matches(['"', '\'']).to_owned(),
            kind: self.kind,
            inside,
            line,
            last_line: row(last).max(line),
            signature: self.signature,
            public: self.public,
        }
    }
}

fn row(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1) + 1
}

/// The length limit of a signature, in bytes.
const LONGEST: usize = 400;

/// The length limit of a value, in bytes.
const LONGEST_VALUE: usize = 60;

/// Renders a range of the text on one line, without comments and without the start of a body.
pub(super) fn signature(text: &str, node: Node<'_>, part: Range<usize>) -> String {
    join_stretches(text, node, std::slice::from_ref(&part))
}

/// Renders several ranges as one line.
pub(super) fn join_stretches(text: &str, node: Node<'_>, parts: &[Range<usize>]) -> String {
    let mut line = LineJoiner::default();
    let mut is_cut = false;
    for part in parts {
        // Anything beyond this would be cut off anyway.
        let end = text.floor_char_boundary(part.end.min(part.start + 4 * LONGEST));
        is_cut |= end < part.end;
        let part = &(part.start..end.max(part.start));
        line.space = true;
        let mut at = part.start;
        for comment in comments(text, node, part) {
            line.push(&text[at..comment.start.max(at)]);
            line.space = true;
            line.broken = true;
            at = comment.end.clamp(at, part.end);
        }
        line.push(&text[at..part.end]);
        if is_cut || line.text.len() > LONGEST {
            break;
        }
    }
    let mut text = line.text;
    text.truncate(text.trim_end_matches(['{', ':', ';', ',', ' ']).len());
    if is_cut || text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.truncate(whole_word_end(&text));
        text.push('…');
    }
    text
}

/// Returns where to end a truncated text so that no half word remains: half a secret would not be
/// recognised as one.
fn whole_word_end(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | '[' | '{' | '<');
    let end = text.rfind(ends).unwrap_or(0);
    text[..end].trim_end().len()
}

/// Renders the declaration of a value, in full if that is short.
pub(super) fn value_signature(
    text: &str,
    node: Node<'_>,
    from: usize,
    value: Option<Node<'_>>,
) -> String {
    let Some(value) = value else {
        return signature(text, node, from..node.end_byte());
    };
    let short = value.end_byte() - value.start_byte() <= LONGEST_VALUE
        && value.start_position().row == value.end_position().row;
    if short {
        return signature(text, node, from..value.end_byte());
    }
    let mut declared = signature(text, node, from..value.start_byte());
    declared.push_str(" …");
    declared
}

/// Joins text without line breaks.
#[derive(Default)]
struct LineJoiner {
    text: String,
    /// Whether the last character was whitespace.
    space: bool,
    /// Whether that whitespace contained a line break.
    broken: bool,
}

impl LineJoiner {
    fn push(&mut self, part: &str) {
        for char in part.chars() {
            // Drop everything that could reverse the reading direction or end a line.
            if char.is_whitespace() || char.is_control() {
                self.space = true;
                self.broken |= char == '\n';
                continue;
            }
            if self.space && !self.text.is_empty() {
                self.separate(char);
            }
            self.space = false;
            self.broken = false;
            self.text.push(char);
            if self.text.len() > LONGEST + 8 {
                return;
            }
        }
    }

    /// Adds a space before `next`, except between lines that were broken at a bracket.
    fn separate(&mut self, next: char) {
        if self.broken && matches!(next, ')' | ']' | '}' | '>') {
            if self.text.ends_with(',') {
                self.text.pop();
            }
            return;
        }
        if self.broken && self.text.ends_with(['(', '[', '<']) {
            return;
        }
        if self.broken && matches!(next, '.' | '?') {
            return;
        }
        self.text.push(' ');
    }
}

/// Returns the comments of a node within a range of the text.
fn comments(text: &str, node: Node<'_>, part: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let slice = &text[part.clone()];
    if !slice.contains("//") && !slice.contains("/*") && !slice.contains('#') {
        return found;
    }
    let mut cursor = node.walk();
    loop {
        let node = cursor.node();
        let range = node.byte_range();
        let outside = range.end <= part.start || range.start >= part.end;
        if !outside && node.is_extra() && node.kind().ends_with("comment") {
            found.push(range);
        } else if !outside && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::language::Language;
    use crate::outline::outline;

    #[test]
    fn no_half_of_a_word_stays_where_a_signature_is_cut() {
        let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        for length in 300..1_700 {
            for filler in ["a, b=None, ", "a, # "] {
                let filled: String = filler.chars().cycle().take(length).collect();
                let filled = match filler.find('#') {
                    Some(at) => format!("{}{}\n", &filler[..=at], "x".repeat(length)),
                    None => format!("{}, ", filled.trim_end_matches([',', ' ', '='])),
                };
                let text = format!("def f({filled}z='{key}', c=1):\n    pass\n");
                let found = outline(&text, Language::Python);
                let signature = &found.definitions[0].signature;
                assert!(
                    !signature.contains("ghp_") || signature.contains(key),
                    "{signature}"
                );
                assert!(signature.starts_with("def f"), "{signature}");
            }
        }
    }
}
