//! The grammar rules of Rust.

use tree_sitter::Node;

use super::{GrammarRules, NodeContext, NodeOutput};
use crate::outline::definitions::{DefinitionKind, DefinitionNode, signature, value_signature};
use crate::outline::references::NameRole::{Bound, Nothing, Own, Plain, Sure};

pub(super) const RULES: GrammarRules = GrammarRules {
    defines: &[
        "function_item",
        "function_signature_item",
        "struct_item",
        "enum_item",
        "union_item",
        "trait_item",
        "type_item",
        "const_item",
        "static_item",
        "macro_definition",
        "mod_item",
        "impl_item",
        "use_declaration",
    ],
    define,
    functions: &["function_item", "closure_expression"],
    names: &[
        ("identifier", Plain),
        ("type_identifier", Sure),
        ("field_identifier", Sure),
        ("shorthand_field_identifier", Bound),
    ],
    places: &[
        ("function_item", "name", Nothing),
        ("function_signature_item", "name", Nothing),
        ("struct_item", "name", Nothing),
        ("enum_item", "name", Nothing),
        ("union_item", "name", Nothing),
        ("trait_item", "name", Nothing),
        ("type_item", "name", Nothing),
        ("associated_type", "name", Nothing),
        ("type_binding", "name", Nothing),
        ("const_item", "name", Nothing),
        ("static_item", "name", Nothing),
        ("macro_definition", "name", Nothing),
        ("mod_item", "name", Nothing),
        ("enum_variant", "name", Nothing),
        ("field_declaration", "name", Nothing),
        ("field_initializer", "field", Nothing),
        ("lifetime", "", Nothing),
        ("label", "", Nothing),
        ("type_parameter", "name", Own),
        ("const_parameter", "name", Own),
        ("parameter", "pattern", Bound),
        ("closure_parameters", "", Bound),
        ("let_declaration", "pattern", Bound),
        ("let_condition", "pattern", Bound),
        ("for_expression", "pattern", Bound),
        ("match_pattern", "", Bound),
        ("tuple_pattern", "", Bound),
        ("slice_pattern", "", Bound),
        ("tuple_struct_pattern", "", Bound),
        ("captured_pattern", "", Bound),
        ("ref_pattern", "", Bound),
        ("mut_pattern", "", Bound),
        ("reference_pattern", "", Bound),
        ("or_pattern", "", Bound),
        ("field_pattern", "pattern", Bound),
        ("macro_invocation", "macro", Sure),
        ("scoped_identifier", "name", Sure),
        ("use_declaration", "argument", Sure),
        ("use_list", "", Sure),
        ("use_as_clause", "alias", Nothing),
        ("visibility_modifier", "", Nothing),
    ],
    lists: &[],
    members: &[],
    skipped: &[],
    finish: |_, _| {},
};

fn define<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let kind = match node.kind() {
        "function_item" | "function_signature_item" if place.in_type() => DefinitionKind::Method,
        "function_item" | "function_signature_item" => DefinitionKind::Function,
        "trait_item" => DefinitionKind::Interface,
        "type_item" if place.in_type() => return,
        "type_item" => DefinitionKind::Alias,
        "const_item" | "static_item" if place.in_function => return,
        "const_item" | "static_item" => DefinitionKind::Value,
        "macro_definition" => DefinitionKind::Macro,
        "mod_item" => DefinitionKind::Module,
        "impl_item" => return implementation(node, place, out),
        "use_declaration" => return used(node, place, out),
        _ => DefinitionKind::Type,
    };
    let Some(name) = place.field(node, "name") else {
        return;
    };
    let start = node.start_byte();
    let signature = match node.kind() {
        "const_item" | "static_item" => {
            value_signature(place.text, node, start, node.child_by_field_name("value"))
        }
        "type_item" => value_signature(place.text, node, start, node.child_by_field_name("type")),
        "macro_definition" => format!("macro_rules! {name}"),
        _ => signature(place.text, node, start..before_body(node)),
    };
    out.found.push(DefinitionNode {
        name,
        kind,
        public: visible(node, place) || kind == DefinitionKind::Macro,
        signature,
        whole: node,
    });
}

/// Marks names imported from Rust's own libraries, which do not belong to the project.
fn used<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let Some(argument) = place.field(node, "argument") else {
        return;
    };
    if ["std::", "core::", "alloc::"]
        .iter()
        .any(|own| argument.starts_with(own))
    {
        let words = argument.split(|char: char| !char.is_alphanumeric() && char != '_');
        out.foreign.extend(words);
    }
}

/// Returns where the body begins. The fields of `struct Pair(A, B);` belong to the declaration.
fn before_body(node: Node<'_>) -> usize {
    node.child_by_field_name("body")
        .filter(|body| body.kind() != "ordered_field_declaration_list")
        .map_or(node.end_byte(), |body| body.start_byte())
}

/// Returns true if an item is visible. The items of a trait, and of its implementations, are as
/// visible as the trait.
fn visible(node: Node<'_>, place: &NodeContext<'_, '_>) -> bool {
    let given = place.inside.is_some_and(|inside| {
        inside.kind == DefinitionKind::Interface
            || (inside.kind == DefinitionKind::Impl && inside.signature.contains(" for "))
    });
    given
        || node
            .children(&mut node.walk())
            .any(|child| child.kind() == "visibility_modifier")
}

fn implementation<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let Some(of) = node.child_by_field_name("type") else {
        return;
    };
    let bare = of.child_by_field_name("type").unwrap_or(of);
    let bare = bare.child_by_field_name("name").unwrap_or(bare);
    out.found.push(DefinitionNode {
        name: place.text(bare),
        kind: DefinitionKind::Impl,
        public: true,
        signature: signature(place.text, node, node.start_byte()..before_body(node)),
        whole: node,
    });
}
