//! Extracts imports of Python.

use tree_sitter::Node;

use super::{ChildVisit, ImportCollector, ImportForm, children, walk};

/// Finds all imports, including those in functions and below conditions.
pub(super) fn find(root: Node<'_>, found: &mut ImportCollector<'_>) {
    // The depths of open blocks that only type checkers read, and the next such block.
    let mut checking: Vec<usize> = Vec::new();
    let mut next = None;
    walk(root, |node, depth| {
        while checking.last().is_some_and(|above| *above >= depth) {
            checking.pop();
        }
        let form = if checking.is_empty() {
            ImportForm::Import
        } else {
            ImportForm::Types
        };
        match node.kind() {
            "import_statement" => add_plain_import(node, form, found),
            "import_from_statement" => add_from_import(node, form, found),
            "call" => {
                add_dynamic_import(node, found);
                return ChildVisit::Seen;
            }
            "if_statement" => {
                next = type_checking_block(node, found).or(next);
                return ChildVisit::Seen;
            }
            "block" if next == Some(node) => {
                checking.push(depth);
                return ChildVisit::Seen;
            }
            _ => return ChildVisit::Seen,
        }
        ChildVisit::Skipped
    });
}

/// Returns the body of an `if TYPE_CHECKING:`.
fn type_checking_block<'t>(node: Node<'t>, found: &ImportCollector<'_>) -> Option<Node<'t>> {
    let condition = found.field(node, "condition")?;
    let is_asked = condition == "TYPE_CHECKING" || condition.ends_with(".TYPE_CHECKING");
    node.child_by_field_name("consequence").filter(|_| is_asked)
}

/// Adds `import a.b, c as d`.
fn add_plain_import(node: Node<'_>, form: ImportForm, found: &mut ImportCollector<'_>) {
    for name in children(node) {
        let name = named(name, found);
        if let Some(name) = name {
            found.add(node, &name, Vec::new(), form);
        }
    }
}

/// Adds `from ..a import b as c, d`.
fn add_from_import(node: Node<'_>, form: ImportForm, found: &mut ImportCollector<'_>) {
    let Some(module) = node.child_by_field_name("module_name") else {
        return;
    };
    let mut names = Vec::new();
    for part in children(node) {
        if part == module {
            continue;
        }
        match part.kind() {
            "wildcard_import" => names.push("*".to_owned()),
            _ => names.extend(named(part, found)),
        }
    }
    let module = unspaced(found.text(module));
    found.add(node, &module, names, form);
}

/// Returns the dotted name in a part of an import.
fn named(part: Node<'_>, found: &ImportCollector<'_>) -> Option<String> {
    let name = match part.kind() {
        "aliased_import" => part.child_by_field_name("name")?,
        "dotted_name" => part,
        _ => return None,
    };
    Some(unspaced(found.text(name)))
}

/// Turns `a . b` into `a.b`.
fn unspaced(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Adds `__import__("a")` and `importlib.import_module(".a", "b")`.
fn add_dynamic_import(node: Node<'_>, found: &mut ImportCollector<'_>) {
    let Some(function) = found.field(node, "function") else {
        return;
    };
    if !matches!(
        function,
        "__import__" | "import_module" | "importlib.import_module"
    ) {
        return;
    }
    let Some(arguments) = node.child_by_field_name("arguments") else {
        return;
    };
    let arguments = children(arguments);
    let literal = |at: usize| {
        arguments
            .get(at)
            .and_then(|node| literal_text(*node, found))
    };
    let Some(module) = literal(0) else { return };
    if !module.starts_with('.') {
        found.add_line(node, module, Vec::new(), ImportForm::Import);
    } else if let Some(package) = literal(1) {
        // Relative to a named package: each dot but the first goes up one level.
        let dots = module.bytes().take_while(|byte| *byte == b'.').count();
        let parts: Vec<&str> = package.split('.').collect();
        let Some(kept) = (parts.len() + 1).checked_sub(dots) else {
            return;
        };
        let module = format!("{}.{}", parts[..kept].join("."), &module[dots..]);
        found.add_line(
            node,
            module.trim_matches('.'),
            Vec::new(),
            ImportForm::Import,
        );
    }
}

/// Returns the text of a plain string literal.
fn literal_text<'t>(node: Node<'_>, found: &ImportCollector<'t>) -> Option<&'t str> {
    let parts = children(node);
    let (first, rest) = parts.split_first()?;
    let is_plain = node.kind() == "string"
        && found.text(*first).starts_with(['"', '\''])
        && rest.len() == 2
        && rest[0].kind() == "string_content"
        && rest[0].named_child_count() == 0;
    is_plain.then(|| found.text(rest[0]))
}
