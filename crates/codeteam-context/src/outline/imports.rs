//! What a file imports, as it is written.

mod go;
mod java;
mod python;
mod rust;
mod script;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::language::Language;

/// No more of a file's imports are kept.
const MAX_IMPORTS: usize = 10_000;

/// No longer name is one.
const MAX_NAME: usize = 1_000;

/// No more of a statement is kept, in characters.
const MAX_STATEMENT: usize = 200;

/// An import. Which file it leads to is found out by [`crate::imports`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// What is imported from, as it is written: `..models.user`, `./api`, `crate::git`, `java.util`.
    /// In a module within a Rust file, as it would be written at the file's top.
    pub module: String,
    /// What is imported from it by name; none if it is the module itself.
    pub names: Vec<String>,
    /// The line, from 1.
    pub line: u32,
    /// The statement, on one line.
    pub statement: String,
    /// What kind of statement it is.
    pub form: ImportForm,
}

/// What shows that a file needs another.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ImportForm {
    /// An import.
    #[default]
    Import,
    /// An import of types, which is gone when the program runs.
    Types,
    /// A part of the file that lies elsewhere: `mod x;`, or its path, which begins with `./`.
    Part,
    /// Where the file says that it stands itself: `package a.b;`. It leads nowhere.
    Within,
    /// A name or a path in the code, which needs no import to lead to another file. Nothing is
    /// missing if it leads to none.
    Mention,
}

/// The imports below a node, in the order of the lines.
pub(super) fn of(root: Node<'_>, text: &str, language: Language) -> Vec<Import> {
    let mut found = ImportCollector {
        text,
        imports: Vec::new(),
    };
    match language {
        Language::Python => python::find(root, &mut found),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            script::find(root, &mut found);
        }
        Language::Rust => rust::find(root, &mut found),
        Language::Go => go::find(root, &mut found),
        Language::Java => java::find(root, &mut found),
    }
    found.imports.sort_by_key(|import| import.line);
    found.imports
}

/// What has been found so far.
struct ImportCollector<'t> {
    text: &'t str,
    imports: Vec<Import>,
}

impl<'t> ImportCollector<'t> {
    /// The text of a node.
    fn text(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    /// The text of a part of a node.
    fn field(&self, node: Node<'_>, name: &str) -> Option<&'t str> {
        node.child_by_field_name(name).map(|part| self.text(part))
    }

    /// Adds an import that a statement shows.
    fn add(&mut self, statement: Node<'_>, module: &str, names: Vec<String>, form: ImportForm) {
        let shown = one_line(self.text(statement));
        self.add_shown(line(statement), shown, module, names, form);
    }

    /// Adds an import that is shown by the line it stands in.
    fn add_line(&mut self, at: Node<'_>, module: &str, names: Vec<String>, form: ImportForm) {
        // A line may be the whole file: no more of it is looked at than can be shown.
        let start = at.start_byte().min(self.text.len());
        let from = self
            .text
            .floor_char_boundary(start.saturating_sub(MAX_STATEMENT));
        let to = self.text.floor_char_boundary(start + 4 * MAX_STATEMENT);
        let before = self.text.get(from..start).unwrap_or("");
        let from = before.rfind('\n').map_or(from, |end| from + end + 1);
        let shown = self.text.get(from..to).unwrap_or("");
        let shown = one_line(shown.lines().next().unwrap_or(""));
        self.add_shown(line(at), shown, module, names, form);
    }

    fn add_shown(
        &mut self,
        line: u32,
        statement: String,
        module: &str,
        names: Vec<String>,
        form: ImportForm,
    ) {
        let module = module.trim();
        let is_name = |name: &str| !name.is_empty() && name.len() <= MAX_NAME;
        if self.imports.len() >= MAX_IMPORTS || !is_name(module) {
            return;
        }
        self.imports.push(Import {
            module: module.to_owned(),
            names: names.into_iter().filter(|name| is_name(name)).collect(),
            line,
            statement,
            form,
        });
    }
}

/// The line a node begins on.
fn line(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row + 1).unwrap_or(u32::MAX)
}

/// A statement on one line, and no longer than fits there.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut room = MAX_STATEMENT;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if length + 1 > room {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        room -= length + 1;
    }
    line
}

/// Whether what lies below a node is looked at too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChildVisit {
    Seen,
    Skipped,
}

/// Goes through a tree, a node before what is in it, however deep it is. `look` is told each named
/// node and how deep it lies.
fn walk<'t>(root: Node<'t>, mut look: impl FnMut(Node<'t>, usize) -> ChildVisit) {
    let mut cursor = root.walk();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        let is_seen = !node.is_named() || look(node, depth) == ChildVisit::Seen;
        if is_seen && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return;
            }
            depth -= 1;
        }
    }
}

/// The children of a node that have names.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).collect()
}

#[cfg(test)]
mod tests;
