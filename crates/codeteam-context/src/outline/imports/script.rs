//! Extracts imports of JavaScript and TypeScript.

use tree_sitter::Node;

use super::{ChildVisit, ImportCollector, ImportForm, children, walk};

/// Finds all imports: static ones, re-exports, `require` and `import()`.
pub(super) fn find(root: Node<'_>, found: &mut ImportCollector<'_>) {
    walk(root, |node, _| {
        match node.kind() {
            "import_statement" => {
                statement(node, found);
                return ChildVisit::Skipped;
            }
            "export_statement" => {
                if let Some(module) = source(node, found) {
                    let names = names(node, found);
                    found.add(node, module, names, form(node));
                    return ChildVisit::Skipped;
                }
            }
            "call_expression" => add_dynamic_import(node, found),
            _ => {}
        }
        ChildVisit::Seen
    });
}

/// Adds `import a, { b as c } from "d"`, `import "d"` or `import a = require("d")`.
fn statement(node: Node<'_>, found: &mut ImportCollector<'_>) {
    let required = children(node)
        .into_iter()
        .find(|part| part.kind() == "import_require_clause");
    let Some(module) = source(required.unwrap_or(node), found) else {
        return;
    };
    let names = names(node, found);
    found.add(node, module, names, form(node));
}

/// Returns whether a statement imports values or only types.
fn form(node: Node<'_>) -> ImportForm {
    let is_type = node
        .children(&mut node.walk())
        .any(|part| part.kind() == "type");
    if is_type {
        ImportForm::Types
    } else {
        ImportForm::Import
    }
}

/// Returns the module after `from`.
fn source<'t>(node: Node<'_>, found: &ImportCollector<'t>) -> Option<&'t str> {
    literal_text(node.child_by_field_name("source")?, found)
}

/// Returns the names of a statement, as the other file calls them.
fn names(node: Node<'_>, found: &ImportCollector<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for clause in children(node) {
        match clause.kind() {
            "import_clause" => {
                for part in children(clause) {
                    match part.kind() {
                        "identifier" => names.push("default".to_owned()),
                        "named_imports" => names.extend(specifier_names(part, found)),
                        _ => {}
                    }
                }
            }
            "export_clause" => names.extend(specifier_names(clause, found)),
            _ => {}
        }
    }
    names
}

fn specifier_names(list: Node<'_>, found: &ImportCollector<'_>) -> Vec<String> {
    let names = children(list).into_iter();
    names
        .filter_map(|name| found.field(name, "name").map(str::to_owned))
        .collect()
}

/// Adds `require("a")`, `require.resolve("a")` and `import("a")`.
fn add_dynamic_import(node: Node<'_>, found: &mut ImportCollector<'_>) {
    let function = found.field(node, "function");
    if !matches!(
        function,
        Some("require" | "import" | "require.resolve" | "jest.requireActual")
    ) {
        return;
    }
    let arguments = node.child_by_field_name("arguments");
    let first = arguments.and_then(|arguments| arguments.named_child(0));
    let Some(module) = first.and_then(|first| literal_text(first, found)) else {
        return;
    };
    found.add_line(node, module, Vec::new(), ImportForm::Import);
}

/// Returns the text of a string or template without substitutions.
fn literal_text<'t>(node: Node<'_>, found: &ImportCollector<'t>) -> Option<&'t str> {
    if !matches!(node.kind(), "string" | "template_string") {
        return None;
    }
    match children(node).as_slice() {
        [text] if text.kind() == "string_fragment" => Some(found.text(*text)),
        _ => None,
    }
}
