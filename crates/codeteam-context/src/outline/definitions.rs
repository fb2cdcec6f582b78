//! What a file defines.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    /// A function.
    Function,
    /// A function of a type.
    Method,
    /// A class, struct, enum, record or union.
    Type,
    /// An interface, trait or protocol.
    Interface,
    /// A type by another name.
    Alias,
    /// A constant, static or variable of the file.
    Value,
    /// A macro.
    Macro,
    /// A module or namespace.
    Module,
    /// Methods of a type that is defined elsewhere. Its name is the type's, which it does not define.
    Impl,
}

impl DefinitionKind {
    /// Whether its name is one that others refer to it by.
    pub fn names(self) -> bool {
        self != Self::Impl
    }
}

/// Something defined in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: DefinitionKind,
    /// The definition it stands in, as its place in the list.
    pub inside: Option<u32>,
    /// The line it begins on, from 1.
    pub line: u32,
    /// The line it ends on.
    pub last_line: u32,
    /// How it is declared, without its body: `fn add(a: u32, b: u32) -> u32`.
    pub signature: String,
    /// Whether other files can see it: exported, public, or not marked private by its name.
    pub public: bool,
}

/// A definition as a grammar's rules find it.
pub(super) struct DefinitionNode<'t> {
    /// Its name, as it is written.
    pub(super) name: &'t str,
    /// What it is.
    pub(super) kind: DefinitionKind,
    /// Whether it is visible to other files, if what it stands in is.
    pub(super) public: bool,
    /// How it is declared.
    pub(super) signature: String,
    /// From its first line to its last.
    pub(super) whole: Node<'t>,
}

impl DefinitionNode<'_> {
    /// As it is kept.
    pub(super) fn kept(self, inside: Option<u32>) -> Definition {
        let line = row(self.whole.start_position().row);
        let end = self.whole.end_position();
        // A node that ends with its line's end ends on the next one's beginning.
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

/// A signature is cut after so many bytes.
const LONGEST: usize = 400;

/// A value is shown up to so many bytes.
const LONGEST_VALUE: usize = 60;

/// A stretch of a text on one line, without comments and without what begins a body.
pub(super) fn signature(text: &str, node: Node<'_>, part: Range<usize>) -> String {
    joined(text, node, std::slice::from_ref(&part))
}

/// Several stretches as one.
pub(super) fn joined(text: &str, node: Node<'_>, parts: &[Range<usize>]) -> String {
    let mut line = LineJoiner::default();
    let mut is_cut = false;
    for part in parts {
        // What comes after is cut anyway.
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
        text.truncate(before_the_cut(&text));
        text.push('…');
    }
    text
}

/// Where a text that was cut off ends if no half of a word stays: half a secret is not known for what
/// it is.
fn before_the_cut(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | '[' | '{' | '<');
    let end = text.rfind(ends).unwrap_or(0);
    text[..end].trim_end().len()
}

/// How a value is declared: all of it if that is short.
pub(super) fn value(text: &str, node: Node<'_>, from: usize, value: Option<Node<'_>>) -> String {
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

/// A text that is put together without line breaks.
#[derive(Default)]
struct LineJoiner {
    text: String,
    /// Something blank came last.
    space: bool,
    /// It had a line break in it.
    broken: bool,
}

impl LineJoiner {
    fn push(&mut self, part: &str) {
        for char in part.chars() {
            // Nothing is kept that could turn what is read around, or end a line.
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

    /// Between what stood on two lines there is nothing if a bracket is next to it.
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

/// The comments of a node within a stretch of the text.
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
