//! A workflow as text: one step below the other, what is in an `each` step indented, and every way
//! out named.

use std::fmt::Write as _;

use super::{
    EdgeEnd, EdgeKind, NodeShape, ScopeGraph, StepEdge, StepNode, WorkflowGraph, columns, wrap,
};

const WIDTH: usize = 80;
/// Names longer than this have a line of their own.
const NAME: usize = 22;
/// What a step does has at least so much room, however deep it stands.
const ROOM: usize = 24;

pub(super) fn write(graph: &WorkflowGraph) -> String {
    let mut out = String::new();
    let name = if graph.name.is_empty() {
        "workflow"
    } else {
        &graph.name
    };
    for line in wrap(name, WIDTH) {
        let _ = writeln!(out, "{line}");
    }
    for text in [&graph.about, &graph.limits] {
        for line in wrap(text, WIDTH).iter().filter(|line| !line.is_empty()) {
            let _ = writeln!(out, "{line}");
        }
    }
    out.push('\n');
    scope(&mut out, &graph.root, "");
    out
}

fn scope(out: &mut String, scope: &ScopeGraph, margin: &str) {
    let names = scope.nodes.iter().map(|node| columns(&node.id));
    let name = names.filter(|n| *n <= NAME).max().unwrap_or(4).max(4);
    for (i, node) in scope.nodes.iter().enumerate() {
        let last = i + 1 == scope.nodes.len();
        let line = if last { " " } else { "│" };
        let mut lines = wrap(&node.does, room(margin, name));
        if let Some(when) = &node.when {
            lines.extend(wrap(&format!("only if {when}"), room(margin, name)));
        }
        let exits: Vec<String> = scope.exits(i).map(|edge| exit(scope, edge)).collect();
        if node.inner.is_none() {
            lines.extend(exits.iter().flat_map(|e| hung(e, room(margin, name))));
        }
        head(out, node, margin, name, line, &lines);
        if let Some(inner) = &node.inner {
            self::scope(out, inner, &format!("{margin}│ "));
            let pad = " ".repeat(name + 2);
            let texts = exits.iter().flat_map(|e| hung(e, room(margin, name)));
            for (n, text) in texts.enumerate() {
                let line = if n == 0 { "└" } else { line };
                let _ = writeln!(out, "{margin}{line} {pad}{text}");
            }
        }
    }
}

/// A step's first lines: its mark, its name, what it does.
fn head(
    out: &mut String,
    node: &StepNode,
    margin: &str,
    name: usize,
    line: &str,
    lines: &[String],
) {
    let mark = mark(node.shape);
    let line = if node.inner.is_some() { "│" } else { line };
    let pad = " ".repeat(name + 2);
    let mut lines = lines.iter();
    if columns(&node.id) > name {
        let _ = writeln!(out, "{margin}{mark} {}", node.id);
    } else {
        let fill = " ".repeat(name + 2 - columns(&node.id));
        let first = lines.next().map_or("", String::as_str);
        let _ = writeln!(out, "{margin}{mark} {}{fill}{first}", node.id);
    }
    for text in lines {
        let _ = writeln!(out, "{margin}{line} {pad}{text}");
    }
}

fn room(margin: &str, name: usize) -> usize {
    WIDTH.saturating_sub(columns(margin) + name + 4).max(ROOM)
}

fn mark(shape: NodeShape) -> char {
    match shape {
        NodeShape::Role => '●',
        NodeShape::Gate => '◆',
        NodeShape::Person => '○',
        NodeShape::Each => '■',
        NodeShape::Commit => '✓',
        NodeShape::Publish => '▲',
    }
}

fn exit(scope: &ScopeGraph, edge: &StepEdge) -> String {
    let to = match edge.to {
        EdgeEnd::Node(i) => scope.nodes[i].id.as_str(),
        EdgeEnd::Done => "done",
        EdgeEnd::Fail => "fail",
    };
    let sign = match &edge.way {
        EdgeKind::Next => None,
        EdgeKind::Fails => Some('✗'),
        EdgeKind::Rejects | EdgeKind::Rebounds(_) | EdgeKind::Conflicts => Some('↩'),
        EdgeKind::Answer(_) => Some('?'),
        EdgeKind::Passed => Some('·'),
    };
    let way = match (sign, edge.way.label()) {
        (Some(sign), Some(label)) => format!("{sign} {label} → {to}"),
        _ => format!("→ {to}"),
    };
    let above = if edge.back { " ↑" } else { "" };
    match &edge.bound {
        Some(bound) => format!("{way}{above} ({bound})"),
        None => format!("{way}{above}"),
    }
}

/// A way out on as many lines as it needs, those after the first further in.
fn hung(text: &str, room: usize) -> Vec<String> {
    let lines = wrap(text, room.saturating_sub(2));
    let indented = |(i, line): (usize, String)| if i == 0 { line } else { format!("  {line}") };
    lines.into_iter().enumerate().map(indented).collect()
}
