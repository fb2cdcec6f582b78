//! The grammar rules of JavaScript and TypeScript, whose grammar extends that of JavaScript.

use tree_sitter::Node;

use super::{GrammarRules, NodeContext, NodeOutput};
use crate::outline::definitions::{
    Definition, DefinitionKind, DefinitionNode, signature, value_signature,
};
use crate::outline::references::NameCollector;
use crate::outline::references::NameRole::{Bound, Exported, Imported, Nothing, Own, Plain, Sure};

pub(super) const RULES: GrammarRules = GrammarRules {
    defines: &[
        "function_declaration",
        "generator_function_declaration",
        "function_expression",
        "arrow_function",
        "function_signature",
        "class_declaration",
        "abstract_class_declaration",
        "class",
        "method_definition",
        "method_signature",
        "abstract_method_signature",
        "field_definition",
        "public_field_definition",
        "pair",
        "interface_declaration",
        "type_alias_declaration",
        "enum_declaration",
        "internal_module",
        "module",
        "variable_declarator",
        "assignment_expression",
    ],
    define,
    functions: &[
        "function_declaration",
        "generator_function_declaration",
        "function_expression",
        "generator_function",
        "arrow_function",
        "method_definition",
        "class_static_block",
    ],
    names: &[
        ("identifier", Plain),
        ("type_identifier", Sure),
        ("property_identifier", Sure),
        ("shorthand_property_identifier", Plain),
        ("shorthand_property_identifier_pattern", Bound),
    ],
    places: &[
        ("function_declaration", "name", Nothing),
        ("generator_function_declaration", "name", Nothing),
        ("function_signature", "name", Nothing),
        ("function_expression", "name", Nothing),
        ("class_declaration", "name", Nothing),
        ("abstract_class_declaration", "name", Nothing),
        ("class", "name", Nothing),
        ("method_definition", "name", Nothing),
        ("method_signature", "name", Nothing),
        ("abstract_method_signature", "name", Nothing),
        ("field_definition", "property", Nothing),
        ("public_field_definition", "name", Nothing),
        ("property_signature", "name", Nothing),
        ("interface_declaration", "name", Nothing),
        ("type_alias_declaration", "name", Nothing),
        ("enum_declaration", "name", Nothing),
        ("enum_body", "name", Nothing),
        ("enum_assignment", "name", Nothing),
        ("internal_module", "name", Nothing),
        ("module", "name", Nothing),
        ("pair", "key", Nothing),
        ("pair_pattern", "key", Nothing),
        ("jsx_attribute", "", Nothing),
        ("index_signature", "name", Nothing),
        ("type_parameter", "name", Own),
        ("mapped_type_clause", "name", Own),
        ("infer_type", "", Own),
        ("variable_declarator", "name", Bound),
        ("formal_parameters", "", Bound),
        ("arrow_function", "parameter", Bound),
        ("required_parameter", "pattern", Bound),
        ("optional_parameter", "pattern", Bound),
        ("rest_pattern", "", Bound),
        ("array_pattern", "", Bound),
        ("assignment_pattern", "left", Bound),
        ("pair_pattern", "value", Bound),
        ("catch_clause", "parameter", Bound),
        ("for_in_statement", "left", Bound),
        ("import_clause", "", Imported),
        ("import_specifier", "name", Imported),
        ("import_specifier", "alias", Nothing),
        ("namespace_import", "", Nothing),
        ("export_specifier", "name", Exported),
        ("export_specifier", "alias", Nothing),
        ("call_expression", "function", Plain),
    ],
    lists: &[],
    members: &[],
    skipped: &[],
    finish,
};

/// Hides definitions that a module does not export. A file that neither imports nor exports is a
/// script, and its top-level names are visible to everyone.
fn finish(definitions: &mut [Definition], names: &NameCollector<'_>) {
    let module = names.module
        || !names.exported.is_empty()
        || definitions
            .iter()
            .any(|definition| definition.signature.starts_with("export "));
    for definition in definitions {
        if definition.inside.is_none() && !definition.public {
            definition.public = (!module && !definition.signature.is_empty())
                || names.exported.contains(&*definition.name);
        }
    }
}

fn define<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    match node.kind() {
        "variable_declarator" => variable(node, place, out),
        "assignment_expression" => assigned(node, place, out),
        "pair" | "field_definition" | "public_field_definition" => member(node, place, out),
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            method(node, place, out);
        }
        // Function and class expressions are named by what they are assigned to, which is handled
        // there, or have no name. Only a directly exported expression is found nowhere else.
        "function_expression" | "arrow_function" | "class" if !place.is_in("export_statement") => {}
        _ => declared(node, place, out),
    }
}

fn declared<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let kind = match node.kind() {
        "class_declaration" | "abstract_class_declaration" | "class" | "enum_declaration" => {
            DefinitionKind::Type
        }
        "interface_declaration" => DefinitionKind::Interface,
        "type_alias_declaration" => DefinitionKind::Alias,
        "internal_module" | "module" => DefinitionKind::Module,
        _ => DefinitionKind::Function,
    };
    // A default export needs no name.
    let name = match place.field(node, "name") {
        Some(name) => name,
        None if place.is_in("export_statement") => "default",
        None => return,
    };
    let (whole, start) = beginning(node, place);
    let signature = if kind == DefinitionKind::Alias {
        value_signature(place.text, node, start, node.child_by_field_name("value"))
    } else {
        signature(place.text, node, start..before_body(node))
    };
    out.found.push(DefinitionNode {
        name,
        kind,
        public: is_exported(place),
        signature,
        whole,
    });
}

fn before_body(node: Node<'_>) -> usize {
    node.child_by_field_name("body")
        .map_or(node.end_byte(), |body| body.start_byte())
}

/// Returns where a declaration begins: with `export` and `declare`, without decorators.
fn beginning<'t>(node: Node<'t>, place: &NodeContext<'_, 't>) -> (Node<'t>, usize) {
    let whole = place
        .above
        .iter()
        .rev()
        .take_while(|above| {
            matches!(
                above.kind(),
                "export_statement"
                    | "ambient_declaration"
                    | "lexical_declaration"
                    | "variable_declaration"
            )
        })
        .last()
        .copied()
        .unwrap_or(node);
    (whole, after_decorators(whole))
}

fn after_decorators(node: Node<'_>) -> usize {
    node.children(&mut node.walk())
        .find(|child| child.kind() != "decorator" && !child.is_extra())
        .map_or(node.start_byte(), |child| {
            // The decorators of an exported class are inside the class node.
            if child.id() != node.id() && child.kind().ends_with("class_declaration") {
                after_decorators(child)
            } else {
                child.start_byte()
            }
        })
}

fn is_exported(place: &NodeContext<'_, '_>) -> bool {
    place
        .above
        .iter()
        .rev()
        .take_while(|above| !matches!(above.kind(), "statement_block" | "program" | "class_body"))
        .any(|above| above.kind() == "export_statement")
}

/// Returns the function or class that is assigned to a name.
fn given(value: Option<Node<'_>>) -> Option<Node<'_>> {
    value.filter(|value| {
        matches!(
            value.kind(),
            "arrow_function" | "function_expression" | "generator_function" | "class"
        )
    })
}

fn kind_of(value: Node<'_>) -> DefinitionKind {
    if value.kind() == "class" {
        DefinitionKind::Type
    } else {
        DefinitionKind::Function
    }
}

fn variable<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let Some(name) = node.child_by_field_name("name") else {
        return;
    };
    if is_required(node, place) {
        required(name, place, out);
        return;
    }
    if name.kind() != "identifier" {
        return;
    }
    let declarator = node.child_by_field_name("value");
    let value_of = given(declarator);
    if value_of.is_none()
        && (place.in_function
            || place
                .inside
                .is_some_and(|inside| inside.kind != DefinitionKind::Module))
    {
        return;
    }
    if value_of.is_none() && !in_declaration(place) {
        return;
    }
    let (whole, start) = beginning(node, place);
    // The second of several declared names starts at the name itself.
    let alone = whole.start_position().row == node.start_position().row;
    let start = if alone { start } else { node.start_byte() };
    let signature = match value_of {
        Some(of) => signature(
            place.text,
            node_of(whole, node, alone),
            start..before_body(of),
        ),
        None => value_signature(place.text, node_of(whole, node, alone), start, declarator),
    };
    out.found.push(DefinitionNode {
        name: place.text(name),
        kind: value_of.map_or(DefinitionKind::Value, kind_of),
        public: is_exported(place),
        signature,
        whole: if alone { whole } else { node },
    });
}

/// Returns true for `const x = require("…")` and `require("…").x`, which are imports.
fn is_required<'t>(node: Node<'t>, place: &NodeContext<'_, 't>) -> bool {
    place
        .field(node, "value")
        .is_some_and(|value| value.starts_with("require(") && !value.contains('\n'))
}

fn required<'t>(name: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    match name.kind() {
        "identifier" => out.imported.push(place.text(name)),
        "object_pattern" => {
            for child in name.named_children(&mut name.walk()) {
                match child.kind() {
                    "shorthand_property_identifier_pattern" => {
                        out.imported.push(place.text(child));
                    }
                    "pair_pattern" => out.imported.extend(place.field(child, "key")),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn node_of<'t>(whole: Node<'t>, node: Node<'t>, alone: bool) -> Node<'t> {
    if alone { whole } else { node }
}

/// Returns true for a variable of the file, as opposed to one of a loop or block.
fn in_declaration(place: &NodeContext<'_, '_>) -> bool {
    place.above.iter().rev().skip(1).all(|above| {
        matches!(
            above.kind(),
            "program"
                | "export_statement"
                | "ambient_declaration"
                | "statement_block"
                | "internal_module"
                | "module"
                | "expression_statement"
        )
    })
}

/// Collects `exports.name = function …`, `Type.prototype.name = …` and `module.exports = …`.
fn assigned<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let (Some(left), Some(right)) = (
        node.child_by_field_name("left"),
        node.child_by_field_name("right"),
    ) else {
        return;
    };
    if left.kind() != "member_expression" {
        return;
    }
    let target = place.text(left);
    let handed_out = target == "module.exports"
        || target.starts_with("exports.")
        || target.starts_with("module.exports.");
    if handed_out {
        exported(right, place, out);
    }
    let Some(of) = given(Some(right)) else {
        return;
    };
    let own = of.child_by_field_name("name");
    let property = left.child_by_field_name("property");
    let name = match (target, own) {
        ("module.exports", Some(own)) => place.text(own),
        ("module.exports", None) => "default",
        _ => match property {
            Some(property) => place.text(property),
            None => return,
        },
    };
    let kind = match kind_of(of) {
        DefinitionKind::Function if target.contains(".prototype.") => DefinitionKind::Method,
        kind => kind,
    };
    out.found.push(DefinitionNode {
        name,
        kind,
        public: !place.in_function,
        signature: signature(place.text, node, node.start_byte()..before_body(of)),
        whole: node,
    });
}

/// Collects the names that a value exports: its own, or those in an object.
fn exported<'t>(value: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    match value.kind() {
        "identifier" => out.exported.push(place.text(value)),
        "object" => {
            for child in value.children(&mut value.walk()) {
                match child.kind() {
                    "shorthand_property_identifier" => out.exported.push(place.text(child)),
                    "pair" => {
                        let value = child.child_by_field_name("value");
                        if let Some(value) = value.filter(|value| value.kind() == "identifier") {
                            out.exported.push(place.text(value));
                        }
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Collects a field, or an entry of an object, that is a function.
fn member<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let Some(of) = given(node.child_by_field_name("value")) else {
        return;
    };
    let name = ["name", "property", "key"]
        .into_iter()
        .find_map(|field| node.child_by_field_name(field));
    let Some(name) = name.filter(|name| name.kind() != "computed_property_name") else {
        return;
    };
    out.found.push(DefinitionNode {
        name: place.text(name),
        kind: DefinitionKind::Method,
        public: visible(node, name, place),
        signature: signature(place.text, node, after_decorators(node)..before_body(of)),
        whole: node,
    });
}

fn method<'t>(node: Node<'t>, place: &NodeContext<'_, 't>, out: &mut NodeOutput<'t>) {
    let Some(name) = node.child_by_field_name("name") else {
        return;
    };
    if name.kind() == "computed_property_name" || place.is_in("object_type") {
        return;
    }
    out.found.push(DefinitionNode {
        name: place.text(name),
        kind: DefinitionKind::Method,
        public: visible(node, name, place),
        signature: signature(place.text, node, after_decorators(node)..before_body(node)),
        whole: node,
    });
}

fn visible(node: Node<'_>, name: Node<'_>, place: &NodeContext<'_, '_>) -> bool {
    // A function in an anonymous object cannot be referred to.
    if place.inside.is_none() && !place.is_in("class_body") {
        return false;
    }
    let hidden = node
        .children(&mut node.walk())
        .find(|child| child.kind() == "accessibility_modifier")
        .is_some_and(|modifier| place.text[modifier.byte_range()] == *"private");
    !hidden && name.kind() != "private_property_identifier"
}
