//! Extracts the imports of a file, as they are written.

mod go;
mod java;
mod python;
mod rust;
mod script;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::language::Language;

/// The largest number of imports kept per file.
const MAX_IMPORTS: usize = 10_000;

/// The length limit of a name.
const MAX_NAME: usize = 1_000;

/// The length limit of a statement, in characters.
const MAX_STATEMENT: usize = 200;

/// An import. [`crate::imports`] resolves it to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The imported module, as it is written: `..models.user`, `./api`, `crate::git`, `java.util`.
    /// In an inline module of a Rust file, as it would be written at the file's top.
    pub module: String,
    /// The names imported from it; empty if the module itself is imported.
    pub names: Vec<String>,
    /// The line number, from 1.
    pub line: u32,
    /// The statement, on one line.
    pub statement: String,
    /// The kind of statement.
    pub form: ImportForm,
}

/// The kind of evidence that a file needs another.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ImportForm {
    /// An import statement.
    #[default]
    Import,
    /// A type-only import, which does not exist at run time.
    Types,
    /// A part of the file that is in another file: `mod x;`, or its path, which begins with `./`.
    Part,
    /// A declaration of the file's own place: `package a.b;`. It resolves to nothing.
    Within,
    /// A name or path in the code that needs no import to refer to another file. It is not an error
    /// if it resolves to nothing.
    Mention,
}

/// Returns the imports below a node, in the order of the lines.
pub(super) fn find_imports(root: Node<'_>, text: &str, language: Language) -> Vec<Import> {
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

/// Collects imports.
struct ImportCollector<'t> {
    text: &'t str,
    imports: Vec<Import>,
}

impl<'t> ImportCollector<'t> {
    /// Returns the text of a node.
    fn text(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    /// Returns the text of a field of a node.
    fn field(&self, node: Node<'_>, name: &str) -> Option<&'t str> {
        node.child_by_field_name(name).map(|part| self.text(part))
    }

    /// Adds an import, shown by its statement.
    fn add(&mut self, statement: Node<'_>, module: &str, names: Vec<String>, form: ImportForm) {
        let shown = one_line(self.text(statement));
        self.add_shown(line(statement), shown, module, names, form);
    }

    /// Adds an import, shown by the line it is in.
    fn add_line(&mut self, at: Node<'_>, module: &str, names: Vec<String>, form: ImportForm) {
        // A line may be the whole file, so no more of it is inspected than can be shown.
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

/// Returns the line that a node begins on.
fn line(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row + 1).unwrap_or(u32::MAX)
}

/// Joins a statement into one line of limited length.
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

/// Whether a walk descends into a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChildVisit {
    Seen,
    Skipped,
}

/// Walks a tree in pre-order without recursion. `look` is called with each named node and its
/// depth.
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

/// Returns the named children of a node.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).collect()
}

#[cfg(test)]
mod tests;
