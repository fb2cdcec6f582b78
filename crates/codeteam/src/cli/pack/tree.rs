//! `codeteam pack --tree`: shows where the tokens are.

use std::collections::BTreeMap;
use std::io;

use codeteam_context::pack::{PackReport, PackedFile};
use serde_json::{Value, json};

use crate::cli::CliContext;
use crate::output::{self, group_digits};
use codeteam_engine::problem::Problem;

/// The number of lines shown if the terminal's height is unknown.
const LINES: usize = 40;
/// The length of the bar for all tokens.
const BAR: usize = 20;
/// Folders below this depth are merged with those above.
const DEEPEST: usize = 64;

/// A folder or a file.
#[derive(Default)]
struct TokenTreeNode {
    tokens: usize,
    files: usize,
    below: BTreeMap<String, TokenTreeNode>,
}

/// Prints the folders with the most tokens, or all of them as JSON.
pub(super) fn print_tree(report: &PackReport, scene: &CliContext) -> Result<(), Problem> {
    let top = build_tree(&report.files);
    if scene.json {
        return output::print_json(&node_to_json("", &top));
    }
    let lines =
        rustix::termios::tcgetwinsize(io::stdout()).map_or(LINES, |size| usize::from(size.ws_row));
    let lines = if lines == 0 {
        LINES
    } else {
        lines.saturating_sub(3).max(10)
    };
    output::print_text(&draw(&top, lines))
}

fn build_tree(files: &[PackedFile]) -> TokenTreeNode {
    let mut top = TokenTreeNode::default();
    for file in files {
        let tokens = file.tokens.unwrap_or(0);
        let mut node = &mut top;
        node.tokens += tokens;
        node.files += 1;
        let mut rest = file.path.as_str();
        for depth in 0.. {
            let (name, after) = match rest.split_once('/') {
                Some((name, after)) if depth < DEEPEST => (format!("{name}/"), Some(after)),
                _ => (rest.to_owned(), None),
            };
            node = node.below.entry(name).or_default();
            node.tokens += tokens;
            node.files += 1;
            let Some(after) = after else { break };
            rest = after;
        }
    }
    top
}

/// Draws as many of the largest folders and files as there are lines for. A node with more tokens
/// takes precedence over one with fewer, and no node is shown without its parents.
fn draw(top: &TokenTreeNode, lines: usize) -> String {
    let mut sizes = Vec::new();
    collect(top, &mut sizes);
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes.get(lines).map_or(0, |size| size + 1);
    let mut out = format!("{}\n", row("", 0, top, top.tokens));
    draw_children(top, top.tokens, least, 1, &mut out);
    let shown = out.lines().count() - 1;
    if shown < sizes.len() {
        let left = group_digits(sizes.len() - shown);
        out.extend(["and ", &left, " smaller (`--json` has them all)\n"]);
    }
    out
}

fn collect(node: &TokenTreeNode, sizes: &mut Vec<usize>) {
    for below in node.below.values() {
        sizes.push(below.tokens);
        collect(below, sizes);
    }
}

fn draw_children(node: &TokenTreeNode, all: usize, least: usize, depth: usize, out: &mut String) {
    let mut order: Vec<_> = node
        .below
        .iter()
        .filter(|(_, below)| below.tokens >= least)
        .collect();
    order.sort_by_key(|(_, below)| std::cmp::Reverse(below.tokens));
    for (name, node) in order {
        out.push_str(&row(name, depth, node, all));
        out.push('\n');
        draw_children(node, all, least, depth + 1, out);
    }
}

fn row(name: &str, depth: usize, node: &TokenTreeNode, all: usize) -> String {
    let share = |of: usize| (node.tokens * of + all / 2).checked_div(all).unwrap_or(0);
    let bar = "█".repeat(share(BAR));
    let files = if name.is_empty() || name.ends_with('/') {
        format!(
            " ({} file{})",
            group_digits(node.files),
            if node.files == 1 { "" } else { "s" }
        )
    } else {
        String::new()
    };
    let name = if name.is_empty() { "all" } else { name };
    let indent = "  ".repeat(depth);
    format!(
        "{:>11} {:>3}% {bar:<BAR$} {indent}{name}{files}",
        group_digits(node.tokens),
        share(100)
    )
}

fn node_to_json(name: &str, node: &TokenTreeNode) -> Value {
    let mut value = json!({"name": name, "tokens": node.tokens, "files": node.files});
    if !node.below.is_empty() {
        let below = node
            .below
            .iter()
            .map(|(name, node)| node_to_json(name, node));
        value["below"] = below.collect();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(path: &str, tokens: usize) -> PackedFile {
        PackedFile {
            path: path.to_owned(),
            bytes: 0,
            tokens: Some(tokens),
            redactions: 0,
            compressed: false,
        }
    }

    #[test]
    fn the_largest_come_first_and_the_rest_is_counted() {
        let files = [
            packed("a/b/c", 50),
            packed("a/d", 30),
            packed("e", 15),
            packed("f", 5),
        ];
        let drawn = draw(&build_tree(&files), 4);
        expect_test::expect![[r"
                    100 100% ████████████████████ all (4 files)
                     80  80% ████████████████       a/ (2 files)
                     50  50% ██████████               b/ (1 file)
                     50  50% ██████████                 c
                     30  30% ██████                   d
            and 2 smaller (`--json` has them all)
        "]]
        .assert_eq(&drawn);
        assert_eq!(draw(&build_tree(&[]), 5).lines().count(), 1);
    }
}
