//! `codeteam pack --tree`: where the tokens are.

use std::collections::BTreeMap;
use std::io;

use codeteam_context::pack::{PackReport, PackedFile};
use serde_json::{Value, json};

use crate::cli::CliContext;
use crate::output::{self, grouped};
use crate::problem::Problem;

/// As many lines as people look at, where no terminal says how many it has.
const LINES: usize = 40;
/// How long the bar of all tokens is.
const BAR: usize = 20;
/// Deeper folders are one with those above them.
const DEEPEST: usize = 64;

/// A folder or a file.
#[derive(Default)]
struct TokenTreeNode {
    tokens: usize,
    files: usize,
    below: BTreeMap<String, TokenTreeNode>,
}

/// Prints the folders with the most tokens, or all of them as JSON.
pub(super) fn print(report: &PackReport, scene: &CliContext) -> Result<(), Problem> {
    let top = grow(&report.files);
    if scene.json {
        return output::json(&in_json("", &top));
    }
    let lines =
        rustix::termios::tcgetwinsize(io::stdout()).map_or(LINES, |size| usize::from(size.ws_row));
    let lines = if lines == 0 {
        LINES
    } else {
        lines.saturating_sub(3).max(10)
    };
    output::out(&draw(&top, lines))
}

fn grow(files: &[PackedFile]) -> TokenTreeNode {
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

/// Draws the folders and files that have most of it, as many as there are lines for: whatever has more
/// tokens comes before what has fewer, and nothing without what it is in.
fn draw(top: &TokenTreeNode, lines: usize) -> String {
    let mut sizes = Vec::new();
    collect(top, &mut sizes);
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes.get(lines).map_or(0, |size| size + 1);
    let mut out = format!("{}\n", row("", 0, top, top.tokens));
    below(top, top.tokens, least, 1, &mut out);
    let shown = out.lines().count() - 1;
    if shown < sizes.len() {
        let left = grouped(sizes.len() - shown);
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

fn below(node: &TokenTreeNode, all: usize, least: usize, depth: usize, out: &mut String) {
    let mut order: Vec<_> = node
        .below
        .iter()
        .filter(|(_, below)| below.tokens >= least)
        .collect();
    order.sort_by_key(|(_, below)| std::cmp::Reverse(below.tokens));
    for (name, node) in order {
        out.push_str(&row(name, depth, node, all));
        out.push('\n');
        below(node, all, least, depth + 1, out);
    }
}

fn row(name: &str, depth: usize, node: &TokenTreeNode, all: usize) -> String {
    let share = |of: usize| (node.tokens * of + all / 2).checked_div(all).unwrap_or(0);
    let bar = "█".repeat(share(BAR));
    let files = if name.is_empty() || name.ends_with('/') {
        format!(
            " ({} file{})",
            grouped(node.files),
            if node.files == 1 { "" } else { "s" }
        )
    } else {
        String::new()
    };
    let name = if name.is_empty() { "all" } else { name };
    let indent = "  ".repeat(depth);
    format!(
        "{:>11} {:>3}% {bar:<BAR$} {indent}{name}{files}",
        grouped(node.tokens),
        share(100)
    )
}

fn in_json(name: &str, node: &TokenTreeNode) -> Value {
    let mut value = json!({"name": name, "tokens": node.tokens, "files": node.files});
    if !node.below.is_empty() {
        let below = node.below.iter().map(|(name, node)| in_json(name, node));
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
        let drawn = draw(&grow(&files), 4);
        expect_test::expect![[r"
                    100 100% ████████████████████ all (4 files)
                     80  80% ████████████████       a/ (2 files)
                     50  50% ██████████               b/ (1 file)
                     50  50% ██████████                 c
                     30  30% ██████                   d
            and 2 smaller (`--json` has them all)
        "]]
        .assert_eq(&drawn);
        assert_eq!(draw(&grow(&[]), 5).lines().count(), 1);
    }
}
