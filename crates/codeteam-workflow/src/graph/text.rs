//! Writes a workflow as text: one step below the other, the contents of an `each` step indented,
//! and every exit named.

use std::fmt::Write as _;

use super::{
    EdgeEnd, EdgeKind, NodeShape, OutlineLine, ScopeGraph, StepEdge, StepNode, WorkflowGraph,
    columns, wrap,
};

const WIDTH: usize = 80;
/// Step names longer than this get a line of their own.
const NAME: usize = 22;
/// The description of a step gets at least this many columns, however deeply it is nested.
const ROOM: usize = 24;

pub(super) fn write(graph: &WorkflowGraph) -> String {
    let mut text = String::new();
    let name = if graph.name.is_empty() {
        "workflow"
    } else {
        &graph.name
    };
    for line in wrap(name, WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    for about in [&graph.about, &graph.limits] {
        for line in wrap(about, WIDTH).iter().filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "{line}");
        }
    }
    text.push('\n');
    for line in outline(graph, WIDTH) {
        let _ = writeln!(text, "{}", line.text);
    }
    text
}

/// Returns the steps alone, within so many columns where names allow it.
pub(super) fn outline(graph: &WorkflowGraph, width: usize) -> Vec<OutlineLine> {
    let mut outline = Outline {
        lines: Vec::new(),
        width,
    };
    outline.scope(&graph.root, "");
    outline.lines
}

/// The lines written so far.
struct Outline {
    lines: Vec<OutlineLine>,
    width: usize,
}

impl Outline {
    fn push(&mut self, text: String) {
        self.lines.push(OutlineLine { text, step: None });
    }

    fn scope(&mut self, scope: &ScopeGraph, margin: &str) {
        let names = scope.nodes.iter().map(|node| columns(&node.id));
        let name = names.filter(|n| *n <= NAME).max().unwrap_or(4).max(4);
        let room = self.room(margin, name);
        for (i, node) in scope.nodes.iter().enumerate() {
            let last = i + 1 == scope.nodes.len();
            let line = if last { " " } else { "│" };
            let mut lines = wrap(&node.action, room);
            lines.extend(node.assignments.iter().flat_map(|line| hung(line, room)));
            if let Some(when) = &node.when {
                lines.extend(wrap(&format!("only if {when}"), room));
            }
            let exits: Vec<String> = scope.exits(i).map(|edge| exit(scope, edge)).collect();
            if node.inner.is_none() {
                lines.extend(exits.iter().flat_map(|e| hung(e, room)));
            }
            self.head(node, margin, name, line, &lines);
            if let Some(inner) = &node.inner {
                self.scope(inner, &format!("{margin}│ "));
                let pad = " ".repeat(name + 2);
                let texts = exits.iter().flat_map(|e| hung(e, room));
                for (n, text) in texts.enumerate() {
                    let line = if n == 0 { "└" } else { line };
                    self.push(format!("{margin}{line} {pad}{text}"));
                }
            }
        }
    }

    /// Writes the first lines of a step: its mark, its name, and what it does.
    fn head(&mut self, node: &StepNode, margin: &str, name: usize, line: &str, lines: &[String]) {
        let mark = mark(node.shape);
        let line = if node.inner.is_some() { "│" } else { line };
        let pad = " ".repeat(name + 2);
        let mut lines = lines.iter();
        let text = if columns(&node.id) > name {
            format!("{margin}{mark} {}", node.id)
        } else {
            let fill = " ".repeat(name + 2 - columns(&node.id));
            let first = lines.next().map_or("", String::as_str);
            format!("{margin}{mark} {}{fill}{first}", node.id)
        };
        let step = Some(node.step.clone());
        self.lines.push(OutlineLine { text, step });
        for text in lines {
            self.push(format!("{margin}{line} {pad}{text}"));
        }
    }

    fn room(&self, margin: &str, name: usize) -> usize {
        let taken = columns(margin) + name + 4;
        self.width.saturating_sub(taken).max(ROOM)
    }
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
    let sign = match &edge.kind {
        EdgeKind::Next => None,
        EdgeKind::Fails => Some('✗'),
        EdgeKind::Rejects | EdgeKind::Rebounds(_) | EdgeKind::Conflicts => Some('↩'),
        EdgeKind::Answer(_) | EdgeKind::Requests => Some('?'),
        EdgeKind::Passed => Some('·'),
    };
    let way = match (sign, edge.kind.label()) {
        (Some(sign), Some(label)) => format!("{sign} {label} → {to}"),
        _ => format!("→ {to}"),
    };
    let above = if edge.back { " ↑" } else { "" };
    match &edge.bound {
        Some(bound) => format!("{way}{above} ({bound})"),
        None => format!("{way}{above}"),
    }
}

/// Wraps an exit onto as many lines as it needs, with a hanging indent.
fn hung(text: &str, room: usize) -> Vec<String> {
    let lines = wrap(text, room.saturating_sub(2));
    let indented = |(i, line): (usize, String)| if i == 0 { line } else { format!("  {line}") };
    lines.into_iter().enumerate().map(indented).collect()
}
