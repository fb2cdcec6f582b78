//! Writes a workflow as a Mermaid flowchart, for Mermaid 10 and 11.
//!
//! Ids are generated, and labels contain only letters, digits, blanks and entities. A name can
//! therefore not end a label, start a comment or a directive, or be read as Markdown.

use std::fmt::Write as _;

use super::{EdgeEnd, NodeShape, ScopeGraph, StepNode, WorkflowGraph};

pub(super) fn write(graph: &WorkflowGraph) -> String {
    let mut out = String::from("flowchart TD\n");
    scope(&mut out, &graph.root, "n", 1);
    out
}

/// Writes one scope. `prefix` makes the ids of the scope unique.
fn scope(out: &mut String, scope: &ScopeGraph, prefix: &str, depth: usize) {
    let indent = "  ".repeat(depth);
    let _ = writeln!(out, "{indent}{prefix}start((\" \"))");
    for (i, node) in scope.nodes.iter().enumerate() {
        let id = format!("{prefix}{i}");
        let Some(inner) = &node.inner else {
            let _ = writeln!(out, "{indent}{id}{}", shaped(node));
            continue;
        };
        let _ = writeln!(out, "{indent}subgraph {id}[\"{}\"]", label(node));
        let _ = writeln!(out, "{indent}  direction TB");
        self::scope(out, inner, &format!("{id}_"), depth + 1);
        let _ = writeln!(out, "{indent}end");
    }
    let merged = scope.merge_edges();
    for (end, word) in [(EdgeEnd::Done, "done"), (EdgeEnd::Fail, "fail")] {
        if merged.iter().any(|edge| edge.to == end) {
            let _ = writeln!(out, "{indent}{prefix}{word}([\"{word}\"])");
        }
    }
    let _ = writeln!(out, "{indent}{prefix}start --> {prefix}0");
    for edge in merged {
        let from = edge.from;
        let to = match edge.to {
            EdgeEnd::Node(i) => i.to_string(),
            EdgeEnd::Done => "done".to_owned(),
            EdgeEnd::Fail => "fail".to_owned(),
        };
        let arrow = if edge.back { "-.->" } else { "-->" };
        let label = edge.label.map(|text| format!("|\"{}\"|", escaped(&text)));
        let label = label.unwrap_or_default();
        let _ = writeln!(out, "{indent}{prefix}{from} {arrow}{label} {prefix}{to}");
    }
}

fn shaped(node: &StepNode) -> String {
    let text = label(node);
    match node.shape {
        NodeShape::Role | NodeShape::Each => format!("[\"{text}\"]"),
        NodeShape::Gate => format!("{{{{\"{text}\"}}}}"),
        NodeShape::Person => format!("([\"{text}\"])"),
        NodeShape::Commit => format!("[[\"{text}\"]]"),
        NodeShape::Publish => format!("[/\"{text}\"/]"),
    }
}

fn label(node: &StepNode) -> String {
    let mut text = escaped(&node.id);
    let _ = write!(text, "<br/>{}", escaped(&node.action));
    for line in &node.assignments {
        let _ = write!(text, "<br/>{}", escaped(line));
    }
    if let Some(when) = &node.when {
        let _ = write!(text, "<br/>{}", escaped(&format!("only if {when}")));
    }
    text
}

/// Escapes, as numeric entities, all characters that could mean something to Mermaid, Markdown or
/// HTML.
fn escaped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let plain = |at: Option<usize>| {
        let letter = at.and_then(|at| letters.get(at));
        letter.is_some_and(|c| c.is_alphanumeric())
    };
    let mut out = String::new();
    for (i, &c) in letters.iter().enumerate() {
        let safe = match c {
            ' ' | ',' | '?' | '\'' => true,
            // Within a word these mean nothing.
            '-' | '_' | '.' if plain(i.checked_sub(1)) && plain(Some(i + 1)) => true,
            // Allowed at the end of a sentence, but not after a list number.
            '.' => i.checked_sub(1).is_some_and(|b| letters[b].is_alphabetic()),
            // Allowed in prose, but not in a form that a style or a list would use.
            ':' => plain(i.checked_sub(1)) && letters.get(i + 1) == Some(&' '),
            '(' | ')' => !i.checked_sub(1).is_some_and(|b| letters[b].is_numeric()),
            c => c.is_alphanumeric(),
        };
        if safe {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    out
}
