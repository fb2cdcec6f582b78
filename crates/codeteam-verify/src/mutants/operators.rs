//! What can be made wrong at one node of a syntax tree, for all grammars.
//!
//! The grammars share most names of their nodes, so that there is one table for all languages, and
//! a node that only one of them has is mentioned where it matters.

use std::ops::Range;

use codeteam_context::language::Language;
use tree_sitter::Node;

use super::MutantOperator;
use super::parsed_text::ParsedText;

/// One replacement in a text.
pub(super) struct Mutation {
    pub(super) operator: MutantOperator,
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
}

/// Receives mutations, each with the node whose line it belongs to.
type KeepMutation<'k> = dyn FnMut(Node<'_>, Mutation) + 'k;

/// Nodes without behaviour that tests could check: types, imports, annotations, texts, assertions.
const LEFT_ALONE: &[&str] = &[
    "annotation",
    "array_type",
    "assert_statement",
    "attribute_item",
    "comment",
    "decorator",
    "enum_declaration",
    "import_declaration",
    "import_from_statement",
    "import_statement",
    "inner_attribute_item",
    "interface_declaration",
    "interpreted_string_literal",
    "marker_annotation",
    "package_clause",
    "package_declaration",
    "raw_string_literal",
    "string",
    "string_literal",
    "template_string",
    "token_tree",
    "type",
    "type_alias_declaration",
    "type_annotation",
    "type_arguments",
    "type_declaration",
    "type_parameters",
    "use_declaration",
    "where_clause",
];

/// Calls of functions with one of these words in their name only tell people something.
const LOGGING: &[&str] = &[
    "console", "debug", "log", "logger", "logging", "print", "printf", "println", "slog", "trace",
    "tracing", "warn", "warning", "warnings",
];

/// Returns true if nothing below a node is to be mutated.
pub(super) fn is_left_alone(source: ParsedText<'_>, node: Node<'_>) -> bool {
    match node.kind() {
        kind if LEFT_ALONE.contains(&kind) => true,
        "call" | "call_expression" => node
            .child_by_field_name("function")
            .is_some_and(|function| is_logging(source.text_of(function))),
        "method_invocation" => {
            let whole = source.text_of(node);
            is_logging(whole.split('(').next().unwrap_or_default())
        }
        // `if __name__ == "__main__":`
        "if_statement" => node
            .child_by_field_name("condition")
            .is_some_and(|condition| source.text_of(condition).starts_with("__name__")),
        "mod_item" | "function_item" => is_test_item(source, node),
        _ => false,
    }
}

fn is_logging(function: &str) -> bool {
    let mut words = function.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_one = |word: &str| LOGGING.contains(&word.to_ascii_lowercase().as_str());
    let last = words.next_back().unwrap_or_default();
    is_one(last) || words.next().is_some_and(is_one)
}

/// Returns true if an item of Rust is a test, or a module of tests.
fn is_test_item(source: ParsedText<'_>, node: Node<'_>) -> bool {
    let mut before = node.prev_sibling();
    while let Some(attribute) = before.filter(|node| node.kind() == "attribute_item") {
        let text = source.text_of(attribute);
        if text.contains("cfg(test") || text.contains("test]") || text.starts_with("#[test") {
            return true;
        }
        before = attribute.prev_sibling();
    }
    false
}

/// Returns true if a node is only mutated as a whole.
pub(super) fn is_whole(node: Node<'_>) -> bool {
    matches!(node.kind(), "raise_statement" | "throw_statement")
}

/// Collects the mutations of one node. `above` are its ancestors, the nearest last.
pub(super) fn mutate_node(
    source: ParsedText<'_>,
    node: Node<'_>,
    above: &[Node<'_>],
    keep: &mut KeepMutation<'_>,
) {
    let parent = above.last().map_or("", |parent| parent.kind());
    match node.kind() {
        "comparison_operator" => {
            let mut cursor = node.walk();
            for token in node.children(&mut cursor).filter(|token| !token.is_named()) {
                swap_operator(source, node, token, keep);
            }
        }
        "binary_expression" | "boolean_operator" | "binary_operator" => {
            if let Some(token) = node.child_by_field_name("operator") {
                swap_operator(source, node, token, keep);
            }
        }
        "if_statement" | "elif_clause" | "if_expression" | "ternary_expression" => {
            if let Some(condition) = node.child_by_field_name("condition") {
                negate_condition(source, condition, keep);
            }
        }
        "conditional_expression" => {
            if let Some(condition) = node.named_child(1) {
                negate_condition(source, condition, keep);
            }
        }
        "integer" | "float" | "number" | "integer_literal" | "float_literal" | "int_literal"
        | "decimal_integer_literal" | "decimal_floating_point_literal"
            // `pair.0` of Rust is no number.
            if parent != "field_expression" =>
        {
            if let Some(other) = other_number(source.text_of(node)) {
                keep(node, replace(MutantOperator::Constant, node, other));
            }
        }
        "true" | "false" | "boolean_literal" if node.is_named() => {
            let other = match source.text_of(node) {
                "true" => "false",
                "false" => "true",
                "True" => "False",
                "False" => "True",
                _ => return,
            };
            keep(node, replace(MutantOperator::Constant, node, other.to_owned()));
        }
        "return_statement" | "return_expression" => {
            if let Some(value) = returned_value(node) {
                replace_returned(source, value, above, keep);
            }
        }
        "block" if parent == "function_item" => {
            if let Some(value) = tail_expression(node) {
                replace_returned(source, value, above, keep);
            }
        }
        "expression_statement" | "raise_statement" | "throw_statement" | "inc_statement"
        | "dec_statement" | "assignment_statement" => take_out(source, node, keep),
        _ => {}
    }
}

fn replace(operator: MutantOperator, node: Node<'_>, replacement: String) -> Mutation {
    Mutation {
        operator,
        range: node.byte_range(),
        replacement,
    }
}

fn swap_operator(
    source: ParsedText<'_>,
    node: Node<'_>,
    token: Node<'_>,
    keep: &mut KeepMutation<'_>,
) {
    use MutantOperator::{Arithmetic, Comparison, Connective};
    // Words may be apart: `not  in`.
    let words: Vec<&str> = source.text_of(token).split_whitespace().collect();
    let (operator, other) = match words.join(" ").as_str() {
        "<" => (Comparison, "<="),
        "<=" => (Comparison, "<"),
        ">" => (Comparison, ">="),
        ">=" => (Comparison, ">"),
        "==" => (Comparison, "!="),
        "!=" => (Comparison, "=="),
        "===" => (Comparison, "!=="),
        "!==" => (Comparison, "==="),
        "in" if source.is_python() => (Comparison, "not in"),
        "not in" => (Comparison, "in"),
        "is" => (Comparison, "is not"),
        "is not" => (Comparison, "is"),
        "and" => (Connective, "or"),
        "or" => (Connective, "and"),
        "&&" => (Connective, "||"),
        "||" => (Connective, "&&"),
        "+" => (Arithmetic, "-"),
        "-" => (Arithmetic, "+"),
        "*" => (Arithmetic, "/"),
        "/" => (Arithmetic, "*"),
        _ => return,
    };
    // Texts and lists are put together with `+`, too, and nothing else can be done with them.
    let mut cursor = node.walk();
    let joins = operator == Arithmetic
        && node.named_children(&mut cursor).any(|operand| {
            let kind = operand.kind();
            kind.contains("string") || kind.contains("list") || kind.contains("array")
        });
    if !joins {
        keep(token, replace(operator, token, other.to_owned()));
    }
}

/// Negates a condition, unless it has an operator that is swapped instead.
fn negate_condition(source: ParsedText<'_>, condition: Node<'_>, keep: &mut KeepMutation<'_>) {
    let mut inner = condition;
    while inner.kind() == "parenthesized_expression" {
        match inner.named_child(0) {
            Some(node) => inner = node,
            None => return,
        }
    }
    let is_swapped = matches!(
        inner.kind(),
        "comparison_operator"
            | "binary_expression"
            | "boolean_operator"
            | "let_condition"
            | "let_chain"
            | "true"
            | "false"
            | "boolean_literal"
    );
    if is_swapped {
        return;
    }
    let text = source.text_of(inner);
    let negated = match (inner.kind(), inner.child_by_field_name("argument")) {
        ("not_operator", Some(argument)) => source.text_of(argument).to_owned(),
        ("unary_expression", argument) if text.starts_with('!') => match argument {
            Some(argument) => source.text_of(argument).to_owned(),
            None => text[1..].to_owned(),
        },
        _ if source.is_python() => format!("not ({text})"),
        _ => format!("!({text})"),
    };
    let mutation = replace(MutantOperator::Condition, inner, negated);
    keep(inner, mutation);
}

/// Returns another number, written like this one.
fn other_number(text: &str) -> Option<String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (whole, rest) = text.split_at(digits);
    let is_octal = whole.len() > 1 && whole.starts_with('0');
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(after) => {
            let length = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            (&rest[..=length], &after[length..])
        }
        None => ("", rest),
    };
    let is_known = matches!(suffix, "" | "L" | "l" | "n" | "f" | "F" | "d" | "D")
        || matches!(
            suffix.trim_start_matches('_'),
            "u8" | "u16"
                | "u32"
                | "u64"
                | "u128"
                | "usize"
                | "i8"
                | "i16"
                | "i32"
                | "i64"
                | "i128"
                | "isize"
                | "f32"
                | "f64"
        );
    if is_octal || !is_known {
        return None;
    }
    let number: u64 = whole.parse().ok()?;
    Some(format!("{}{fraction}{suffix}", number.checked_add(1)?))
}

fn returned_value(node: Node<'_>) -> Option<Node<'_>> {
    let value = node.named_child(0)?;
    if value.kind() != "expression_list" {
        return Some(value);
    }
    // Several values are returned by Go and Python alike; only a single one is replaced.
    (value.named_child_count() == 1).then(|| value.named_child(0))?
}

/// Returns the expression whose value a block of Rust has.
fn tail_expression(block: Node<'_>) -> Option<Node<'_>> {
    let last = block.named_child(
        u32::try_from(block.named_child_count())
            .ok()?
            .checked_sub(1)?,
    )?;
    let is_statement = last.kind().ends_with("_statement")
        || last.kind().ends_with("_item")
        || last.kind().ends_with("_declaration")
        || last.kind().contains("comment");
    // Blocks, loops and matches return through what is inside of them.
    let is_compound = matches!(
        last.kind(),
        "if_expression" | "match_expression" | "block" | "unsafe_block" | "return_expression"
    ) || last.kind().ends_with("_loop")
        || last.kind() == "loop_expression"
        || last.kind() == "while_expression"
        || last.kind() == "for_expression";
    (!is_statement && !is_compound).then_some(last)
}

fn replace_returned(
    source: ParsedText<'_>,
    value: Node<'_>,
    above: &[Node<'_>],
    keep: &mut KeepMutation<'_>,
) {
    let text = source.text_of(value);
    let other = match source.language {
        Language::Python => "None".to_owned(),
        Language::JavaScript | Language::TypeScript | Language::Tsx => "undefined".to_owned(),
        Language::Rust | Language::Go | Language::Java => {
            match declared_result(source, above).and_then(|result| zero_value(source, result)) {
                Some(ZeroValue::Negated) => format!("!({text})"),
                Some(ZeroValue::Text(text)) => text.to_owned(),
                None => return,
            }
        }
    };
    // Truth values are changed as constants.
    let is_same = text == other
        || matches!(
            text,
            "null" | "undefined" | "true" | "false" | "True" | "False"
        );
    if !is_same {
        keep(value, replace(MutantOperator::ReturnValue, value, other));
    }
}

/// Returns the type that the innermost function declares as its result.
fn declared_result<'t>(source: ParsedText<'t>, above: &[Node<'_>]) -> Option<&'t str> {
    let function = above.iter().rev().find(|node| {
        matches!(
            node.kind(),
            "function_item"
                | "closure_expression"
                | "function_declaration"
                | "method_declaration"
                | "func_literal"
                | "lambda_expression"
        )
    })?;
    let field = match source.language {
        Language::Rust => "return_type",
        Language::Go => "result",
        _ => "type",
    };
    let result = function.child_by_field_name(field)?;
    Some(source.text_of(result).trim())
}

enum ZeroValue {
    /// The opposite of the value.
    Negated,
    /// This text.
    Text(&'static str),
}

/// Returns the value to return in place of another one of a type; `None` if there is none that every
/// such type has.
fn zero_value(source: ParsedText<'_>, result: &str) -> Option<ZeroValue> {
    let is_number =
        |rest: &str| matches!(rest, "8" | "16" | "32" | "64" | "128" | "size" | "ptr" | "");
    let text = match (source.language, result) {
        (_, "bool" | "boolean") => return Some(ZeroValue::Negated),
        (Language::Rust, _) if result.starts_with("Option<") => "None",
        (Language::Rust, "String" | "usize" | "isize" | "f32" | "f64") => "Default::default()",
        (Language::Rust, _) if result.starts_with("Vec<") || result.starts_with("BTree") => {
            "Default::default()"
        }
        (Language::Rust, _)
            if result.strip_prefix(['u', 'i']).is_some_and(is_number) && result.len() > 1 =>
        {
            "Default::default()"
        }
        (Language::Go, "string") => "\"\"",
        (Language::Go, _)
            if result
                .strip_prefix("uint")
                .or_else(|| result.strip_prefix("int"))
                .is_some_and(is_number) =>
        {
            "0"
        }
        (Language::Go, "error" | "any") => "nil",
        (Language::Go, _)
            if result.starts_with('*')
                || result.starts_with("[]")
                || result.starts_with("map[") =>
        {
            "nil"
        }
        (Language::Go, "float32" | "float64")
        | (Language::Java, "int" | "long" | "short" | "byte" | "char" | "float" | "double") => "0",
        (Language::Java, _) if result != "void" => "null",
        _ => return None,
    };
    Some(ZeroValue::Text(text))
}

/// Takes a statement out that has an effect: a call, a value that is updated, an exception.
fn take_out(source: ParsedText<'_>, node: Node<'_>, keep: &mut KeepMutation<'_>) {
    let has_effect = match node.kind() {
        "raise_statement" | "throw_statement" | "inc_statement" | "dec_statement" => true,
        "assignment_statement" => updates(source, node),
        _ => node.named_child(0).is_some_and(|what| {
            let what = if matches!(what.kind(), "await" | "await_expression") {
                what.named_child(0).unwrap_or(what)
            } else {
                what
            };
            match what.kind() {
                "call" | "call_expression" | "method_invocation" => !is_left_alone(source, what),
                "augmented_assignment"
                | "augmented_assignment_expression"
                | "compound_assignment_expr"
                | "update_expression" => true,
                "assignment" | "assignment_expression" => updates(source, what),
                _ => false,
            }
        }),
    };
    if !has_effect {
        return;
    }
    let nothing = match source.language {
        Language::Python => "pass",
        Language::Rust | Language::Go => "",
        _ => ";",
    };
    let mutation = replace(MutantOperator::Statement, node, nothing.to_owned());
    keep(node, mutation);
}

/// Returns true if an assignment changes something that was there: a field or an item, or a
/// variable that is updated.
fn updates(source: ParsedText<'_>, assignment: Node<'_>) -> bool {
    let operator = assignment.child_by_field_name("operator");
    if operator.is_some_and(|operator| source.text_of(operator) != "=") {
        return true;
    }
    let Some(mut left) = assignment.child_by_field_name("left") else {
        return false;
    };
    if left.kind() == "expression_list" {
        left = match left.named_child(0) {
            Some(first) => first,
            None => return false,
        };
    }
    matches!(
        left.kind(),
        "attribute"
            | "subscript"
            | "member_expression"
            | "subscript_expression"
            | "field_expression"
            | "index_expression"
            | "selector_expression"
            | "field_access"
            | "array_access"
    )
}
