//! The grammar rules of Go.

use tree_sitter::Node;

use super::{GrammarRules, NodeContext, NodeOutput};
use crate::outline::definitions::{DefinitionKind, DefinitionNode, signature, value_signature};
use crate::outline::references::NameRole::{Bound, Nothing, Own, Plain, Sure};

pub(super) const RULES: GrammarRules = GrammarRules {
    defines: &[
        "function_declaration",
        "method_declaration",
        "type_spec",
        "type_alias",
        "const_spec",
        "var_spec",
        "method_elem",
        "import_spec",
    ],
    define,
    functions: &["function_declaration", "method_declaration", "func_literal"],
    names: &[
        ("identifier", Plain),
        ("type_identifier", Sure),
        ("field_identifier", Sure),
    ],
    places: &[
        ("function_declaration", "name", Nothing),
        ("method_declaration", "name", Nothing),
        ("method_elem", "name", Nothing),
        ("type_spec", "name", Nothing),
        ("type_alias", "name", Nothing),
        ("const_spec", "name", Bound),
        ("var_spec", "name", Bound),
        ("field_declaration", "name", Nothing),
        ("parameter_declaration", "name", Bound),
        ("variadic_parameter_declaration", "name", Bound),
        ("type_parameter_declaration", "name", Own),
        ("short_var_declaration", "left", Bound),
        ("range_clause", "left", Bound),
        ("receive_statement", "left", Bound),
        ("type_switch_statement", "alias", Bound),
        ("keyed_element", "key", Nothing),
    ],
    lists: &["expression_list", "literal_element"],
    members: &[
        ("selector_expression", "operand"),
        ("qualified_type", "package"),
    ],
    skipped: &[],
    finish: |_, _| {},
};

fn define<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    if node.kind() == "import_spec" {
        out.foreign.extend(own_package(node, place));
        return;
    }
    let Some(name) = node.child_by_field_name("name") else {
        return;
    };
    let kind = match node.kind() {
        "function_declaration" => DefinitionKind::Function,
        "method_declaration" => DefinitionKind::Method,
        "method_elem" if place.in_type() => DefinitionKind::Method,
        "method_elem" => return,
        "const_spec" | "var_spec" if place.in_function => return,
        "const_spec" | "var_spec" => return values(node, place, out),
        "type_alias" => DefinitionKind::Alias,
        _ if node
            .child_by_field_name("type")
            .is_some_and(|of| of.kind() == "interface_type") =>
        {
            DefinitionKind::Interface
        }
        _ => DefinitionKind::Type,
    };
    let signature = match node.kind() {
        "type_spec" | "type_alias" => type_signature(node, place),
        _ => {
            let end = node
                .child_by_field_name("body")
                .map_or(node.end_byte(), |body| body.start_byte());
            signature(place.text, node, node.start_byte()..end)
        }
    };
    let name = place.text(name);
    out.found.push(DefinitionNode {
        name,
        kind,
        public: name.starts_with(char::is_uppercase),
        signature,
        whole: node,
    });
}

/// Returns the name of a package of Go's standard library, whose path has no dot in its first part.
fn own_package<'t>(node: Node<'t>, place: &NodeContext<'_, 't>) -> Option<&'t str> {
    let path = place.field(node, "path")?.trim_matches(['"', '`']);
    if path.split('/').next()?.contains('.') {
        return None;
    }
    place
        .field(node, "name")
        .or_else(|| path.split('/').next_back())
}

/// Renders `type Server struct`: without fields, but with the underlying type of other types.
fn type_signature(node: Node<'_>, place: &NodeContext<'_, '_>) -> String {
    let mut end = node.end_byte();
    if let Some(of) = node.child_by_field_name("type") {
        match of.kind() {
            "struct_type" => end = of.start_byte() + "struct".len(),
            "interface_type" => end = of.start_byte() + "interface".len(),
            _ => {}
        }
    }
    format!(
        "type {}",
        signature(place.text, node, node.start_byte()..end)
    )
}

fn values<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let keyword = if node.kind() == "const_spec" {
        "const"
    } else {
        "var"
    };
    let declared = value_signature(
        place.text,
        node,
        node.start_byte(),
        node.child_by_field_name("value"),
    );
    for name in node.children_by_field_name("name", &mut node.walk()) {
        let name = place.text(name);
        if name != "_" && name != "," {
            out.found.push(DefinitionNode {
                name,
                kind: DefinitionKind::Value,
                public: name.starts_with(char::is_uppercase),
                signature: format!("{keyword} {declared}"),
                whole: node,
            });
        }
    }
}
