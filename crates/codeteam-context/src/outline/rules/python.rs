//! The grammar rules of Python.

use tree_sitter::Node;

use super::{GrammarRules, NodeContext, NodeOutput};
use crate::outline::definitions::{DefinitionKind, DefinitionNode, signature, value_signature};
use crate::outline::references::NameRole::{Bound, Imported, Nothing, Plain, Sure};

pub(super) const RULES: GrammarRules = GrammarRules {
    defines: &[
        "function_definition",
        "class_definition",
        "assignment",
        "type_alias_statement",
        "import_from_statement",
    ],
    define,
    functions: &["function_definition", "lambda"],
    names: &[("identifier", Plain)],
    places: &[
        ("function_definition", "name", Nothing),
        ("class_definition", "name", Nothing),
        ("attribute", "attribute", Sure),
        ("keyword_argument", "name", Nothing),
        ("parameters", "", Bound),
        ("lambda_parameters", "", Bound),
        ("typed_parameter", "", Bound),
        ("default_parameter", "name", Bound),
        ("typed_default_parameter", "name", Bound),
        ("list_splat_pattern", "", Bound),
        ("dictionary_splat_pattern", "", Bound),
        ("assignment", "left", Bound),
        ("augmented_assignment", "left", Bound),
        ("named_expression", "name", Bound),
        ("for_statement", "left", Bound),
        ("for_in_clause", "left", Bound),
        ("as_pattern_target", "", Bound),
        ("type", "", Sure),
        ("generic_type", "", Sure),
        ("type_parameter", "", Sure),
        ("import_from_statement", "name", Imported),
        ("import_from_statement", "module_name", Sure),
        ("import_statement", "name", Imported),
        ("aliased_import", "name", Imported),
        ("aliased_import", "alias", Nothing),
        ("relative_import", "", Sure),
    ],
    lists: &[
        "pattern_list",
        "tuple_pattern",
        "list_pattern",
        "dotted_name",
        "relative_import",
    ],
    members: &[],
    skipped: &[],
    finish: |_, _| {},
};

fn define<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    match node.kind() {
        "function_definition" | "class_definition" => declared(node, place, out),
        "import_from_statement" => imported(node, place, out),
        "assignment" if !place.in_function && place.inside.is_none() => assigned(node, place, out),
        "type_alias_statement" if !place.in_function => {
            let Some(left) = node.child_by_field_name("left") else {
                return;
            };
            let name = place.text(left);
            let name = name.split('[').next().unwrap_or(name);
            out.found.push(DefinitionNode {
                name,
                kind: DefinitionKind::Alias,
                public: !name.starts_with('_'),
                signature: value_signature(
                    place.text,
                    node,
                    node.start_byte(),
                    node.child_by_field_name("right"),
                ),
                whole: node,
            });
        }
        _ => {}
    }
}

/// Modules of Python's standard library from which names are often imported.
const OWN: &[&str] = &[
    "__future__",
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "collections",
    "concurrent",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "email",
    "enum",
    "fractions",
    "functools",
    "http",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "multiprocessing",
    "operator",
    "os",
    "pathlib",
    "queue",
    "random",
    "re",
    "shutil",
    "socket",
    "string",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "traceback",
    "types",
    "typing",
    "typing_extensions",
    "unittest",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
];

/// Marks names imported from Python's standard library, which do not belong to the project.
fn imported<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let module = place.field(node, "module_name").unwrap_or_default();
    let top = module.split('.').next().unwrap_or(module);
    if OWN.contains(&top) {
        for name in node.children_by_field_name("name", &mut node.walk()) {
            out.foreign.push(place.text(name));
        }
    }
}

fn declared<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let Some(name) = place.field(node, "name") else {
        return;
    };
    let kind = if node.kind() == "function_definition" {
        if place.in_type() {
            DefinitionKind::Method
        } else {
            DefinitionKind::Function
        }
    } else if place
        .field(node, "superclasses")
        .is_some_and(|bases| bases.contains("Protocol"))
    {
        DefinitionKind::Interface
    } else {
        DefinitionKind::Type
    };
    let end = node
        .child_by_field_name("body")
        .map_or(node.end_byte(), |body| body.start_byte());
    out.found.push(DefinitionNode {
        name,
        kind,
        public: visible(name),
        signature: signature(place.text, node, node.start_byte()..end),
        whole: node,
    });
}

fn assigned<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let Some(left) = node.child_by_field_name("left") else {
        return;
    };
    if left.kind() != "identifier" || !place.is_in("expression_statement") {
        return;
    }
    let name = place.text(left);
    out.found.push(DefinitionNode {
        name,
        kind: DefinitionKind::Value,
        public: visible(name),
        signature: value_signature(
            place.text,
            node,
            node.start_byte(),
            node.child_by_field_name("right"),
        ),
        whole: node,
    });
}

/// Returns true for public names; Python's own names such as `__init__` are public.
fn visible(name: &str) -> bool {
    !name.starts_with('_') || (name.starts_with("__") && name.ends_with("__"))
}
