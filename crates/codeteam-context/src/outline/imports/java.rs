//! Extracts imports of Java, and the types that need none: those of the same package.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{ChildVisit, ImportCollector, ImportForm, children, walk};

/// Types of `java.lang` and the like, which need no import. Hardly anybody defines their own.
const EVERYWHERE: &[&str] = &[
    "Boolean",
    "Byte",
    "CharSequence",
    "Character",
    "Class",
    "Comparable",
    "Deprecated",
    "Double",
    "Enum",
    "Exception",
    "Float",
    "FunctionalInterface",
    "IllegalArgumentException",
    "IllegalStateException",
    "Integer",
    "Iterable",
    "Long",
    "Math",
    "Number",
    "Object",
    "Override",
    "Runnable",
    "RuntimeException",
    "SafeVarargs",
    "Short",
    "String",
    "StringBuilder",
    "SuppressWarnings",
    "System",
    "Thread",
    "Throwable",
    "Void",
];

/// Finds all imports and mentioned types.
pub(super) fn find(root: Node<'_>, found: &mut ImportCollector<'_>) {
    let mut package = String::new();
    let mut known: BTreeSet<&str> = EVERYWHERE.iter().copied().collect();
    let mut met: Vec<(Node<'_>, &str)> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    walk(root, |node, _| {
        match node.kind() {
            "package_declaration" => {
                package = dotted(node, found).unwrap_or_default();
                found.add(node, &package, Vec::new(), ImportForm::Within);
                return ChildVisit::Skipped;
            }
            "import_declaration" => {
                if let Some(name) = import(node, found) {
                    known.insert(name);
                }
                return ChildVisit::Skipped;
            }
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration" => {
                known.extend(found.field(node, "name"));
            }
            "type_parameter" => {
                known.extend(node.named_child(0).map(|name| found.text(name)));
                return ChildVisit::Seen;
            }
            _ => {}
        }
        if let Some(name) = of_type(node)
            && is_type(found.text(name))
            && seen.insert(found.text(name))
        {
            met.push((name, found.text(name)));
        }
        match node.kind() {
            // The inner types of `Outer.Inner` belong to the outer one.
            "scoped_type_identifier" => ChildVisit::Skipped,
            _ => ChildVisit::Seen,
        }
    });
    if package.is_empty() {
        // The unnamed package.
        ".".clone_into(&mut package);
    }
    for (node, name) in met {
        if !known.contains(name) {
            found.add_line(node, &package, vec![name.to_owned()], ImportForm::Mention);
        }
    }
}

/// Adds `import a.b.C;`, `import a.b.*;` or `import static a.b.C.d;`, and returns the name that it
/// brings into scope.
fn import<'t>(node: Node<'_>, found: &mut ImportCollector<'t>) -> Option<&'t str> {
    let path = dotted(node, found)?;
    let parts = children(node);
    if parts.iter().any(|part| part.kind() == "asterisk") {
        found.add(node, &path, vec!["*".to_owned()], ImportForm::Import);
        return None;
    }
    let (module, name) = path.rsplit_once('.')?;
    found.add(node, module, vec![name.to_owned()], ImportForm::Import);
    let last = parts
        .iter()
        .find(|part| part.kind() == "scoped_identifier")?;
    found.field(*last, "name")
}

/// Returns the dotted name in a declaration.
fn dotted(node: Node<'_>, found: &ImportCollector<'_>) -> Option<String> {
    let is_name = |part: &Node<'_>| matches!(part.kind(), "scoped_identifier" | "identifier");
    let name = children(node).into_iter().find(is_name)?;
    Some(found.text(name).split_whitespace().collect())
}

/// Returns the name of a type in a node, if it can be one: `A`, `A.B`, `A.b()`, `A::b`, `@A`.
fn of_type(node: Node<'_>) -> Option<Node<'_>> {
    let name = match node.kind() {
        "type_identifier" => Some(node),
        "scoped_type_identifier" => {
            let mut first = node.named_child(0);
            while let Some(inner) = first.filter(|n| n.kind() == "scoped_type_identifier") {
                first = inner.named_child(0);
            }
            first
        }
        "method_invocation" | "field_access" => node.child_by_field_name("object"),
        "marker_annotation" | "annotation" => node.child_by_field_name("name"),
        "method_reference" => node.named_child(0),
        _ => None,
    };
    name.filter(|name| matches!(name.kind(), "type_identifier" | "identifier"))
}

/// Returns true for names that start with a capital, except those that consist of capitals only, as
/// constants do.
fn is_type(name: &str) -> bool {
    let is_constant = name.len() > 1
        && name
            .chars()
            .all(|c| c.is_uppercase() || c.is_ascii_digit() || c == '_');
    name.starts_with(char::is_uppercase) && !(is_constant && name.contains('_'))
}
