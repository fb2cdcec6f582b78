//! The grammar rules of Java.

use tree_sitter::Node;

use super::{GrammarRules, NodeContext, NodeOutput};
use crate::outline::definitions::{DefinitionKind, DefinitionNode, join_stretches, signature};
use crate::outline::references::NameRole::{Bound, Nothing, Own, Plain, Sure};

pub(super) const RULES: GrammarRules = GrammarRules {
    defines: &[
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
        "annotation_type_element_declaration",
        "method_declaration",
        "constructor_declaration",
        "compact_constructor_declaration",
        "field_declaration",
        "constant_declaration",
        "import_declaration",
    ],
    define,
    functions: &[
        "method_declaration",
        "constructor_declaration",
        "compact_constructor_declaration",
        "lambda_expression",
        "static_initializer",
    ],
    names: &[("identifier", Plain), ("type_identifier", Sure)],
    places: &[
        ("class_declaration", "name", Nothing),
        ("interface_declaration", "name", Nothing),
        ("enum_declaration", "name", Nothing),
        ("record_declaration", "name", Nothing),
        ("annotation_type_declaration", "name", Nothing),
        ("annotation_type_element_declaration", "name", Nothing),
        ("method_declaration", "name", Nothing),
        ("constructor_declaration", "name", Nothing),
        ("compact_constructor_declaration", "name", Nothing),
        ("enum_constant", "name", Nothing),
        ("variable_declarator", "name", Bound),
        ("formal_parameter", "name", Bound),
        ("catch_formal_parameter", "name", Bound),
        ("inferred_parameters", "", Bound),
        ("lambda_expression", "parameters", Bound),
        ("enhanced_for_statement", "name", Bound),
        ("resource", "name", Bound),
        ("instanceof_expression", "name", Bound),
        ("type_pattern", "", Bound),
        ("record_pattern_component", "", Bound),
        ("type_parameter", "", Own),
        ("element_value_pair", "key", Nothing),
        ("labeled_statement", "", Nothing),
        ("break_statement", "", Nothing),
        ("continue_statement", "", Nothing),
        ("method_invocation", "name", Sure),
        ("field_access", "field", Sure),
        ("method_reference", "", Sure),
        ("annotation", "name", Sure),
        ("marker_annotation", "name", Sure),
        ("import_declaration", "", Sure),
    ],
    lists: &[],
    members: &[],
    skipped: &["package_declaration", "module_declaration"],
    finish: |_, _| {},
};

fn define<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let kind = match node.kind() {
        "import_declaration" => {
            let path = place.text(node).trim_start_matches("import").trim_start();
            let path = path.trim_start_matches("static").trim_start();
            // Names from Java's own library do not belong to the project.
            if path.starts_with("java.") || path.starts_with("javax.") {
                out.foreign
                    .extend(path.trim_end_matches(';').rsplit('.').next());
            }
            return;
        }
        "field_declaration" | "constant_declaration" => return constants(node, place, out),
        "interface_declaration" | "annotation_type_declaration" => DefinitionKind::Interface,
        "class_declaration" | "enum_declaration" | "record_declaration" => DefinitionKind::Type,
        _ => DefinitionKind::Method,
    };
    let Some(name) = place.field(node, "name") else {
        return;
    };
    let end = node
        .child_by_field_name("body")
        .map_or(node.end_byte(), |body| body.start_byte());
    out.found.push(DefinitionNode {
        name,
        kind,
        public: !has(node, "private"),
        signature: declared(node, place, end),
        whole: node,
    });
}

/// Collects the constants of a class, and those of an interface, where `static final` is implied.
fn constants<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let of_interface = node.kind() == "constant_declaration";
    if !of_interface && !["static", "final"].iter().all(|word| has(node, word)) {
        return;
    }
    for declarator in node.children_by_field_name("declarator", &mut node.walk()) {
        let Some(name) = place.field(declarator, "name") else {
            continue;
        };
        let value = declarator.child_by_field_name("value");
        let short = value.is_none_or(|value| {
            value.end_byte() - value.start_byte() <= 60
                && value.start_position().row == value.end_position().row
        });
        let end = value.map_or(node.end_byte(), |value| value.start_byte());
        let signature = if short {
            declared(node, place, node.end_byte())
        } else {
            declared(node, place, end) + " …"
        };
        out.found.push(DefinitionNode {
            name,
            kind: DefinitionKind::Value,
            public: !has(node, "private"),
            signature,
            whole: node,
        });
    }
}

fn modifiers(node: Node<'_>) -> Option<Node<'_>> {
    node.child(0).filter(|child| child.kind() == "modifiers")
}

fn has(node: Node<'_>, modifier: &str) -> bool {
    modifiers(node).is_some_and(|modifiers| {
        modifiers
            .children(&mut modifiers.walk())
            .any(|child| child.kind() == modifier)
    })
}

/// Renders a declaration up to a position, without its annotations.
fn declared(node: Node<'_>, place: &NodeContext<'_, '_>, end: usize) -> String {
    let Some(modifiers) = modifiers(node) else {
        return signature(place.text, node, node.start_byte()..end);
    };
    let mut parts: Vec<_> = modifiers
        .children(&mut modifiers.walk())
        .filter(|child| !child.is_named())
        .map(|child| child.byte_range())
        .collect();
    parts.push(modifiers.end_byte()..end);
    join_stretches(place.text, node, &parts)
}
