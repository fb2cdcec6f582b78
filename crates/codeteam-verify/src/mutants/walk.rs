//! Walks over the syntax tree of a file and collects the mutants of some of its lines.

use std::collections::BTreeSet;
use std::ops::Range;

use codeteam_context::language::Language;
use codeteam_context::outline::parse_source;
use tree_sitter::Node;

use super::operators::{self, Mutation};
use super::parsed_text::ParsedText;
use super::{Mutant, MutantOperator};

/// The most mutants of one file.
const MOST: usize = 2_000;
/// The longest text that is replaced.
const LONGEST: usize = 2_000;
/// How much of a text is shown.
const SHOWN: usize = 40;

/// Returns the mutants that begin on one of the given lines, in the order of the text.
pub(super) fn mutate_text(
    path: &str,
    text: &str,
    language: Language,
    lines: &BTreeSet<u32>,
) -> Vec<Mutant> {
    let Some(tree) = parse_source(text, language) else {
        return Vec::new();
    };
    let mut walk = MutationWalk {
        source: ParsedText { text, language },
        lines,
        above: Vec::new(),
        found: Vec::new(),
    };
    walk.visit_all(tree.root_node());
    let mutants = walk.found.into_iter().take(MOST);
    mutants.map(|found| found.into_mutant(path, text)).collect()
}

/// A single walk over a tree. It keeps its own stack, so no nesting is too deep for it.
struct MutationWalk<'a, 't> {
    source: ParsedText<'t>,
    lines: &'a BTreeSet<u32>,
    above: Vec<Node<'t>>,
    found: Vec<FoundMutation>,
}

/// A mutation, and the line on which it begins.
struct FoundMutation {
    line: u32,
    mutation: Mutation,
}

impl<'t> MutationWalk<'_, 't> {
    fn visit_all(&mut self, root: Node<'t>) {
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            if self.found.len() < MOST && self.enter(node) && cursor.goto_first_child() {
                self.above.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.above.pop();
            }
        }
    }

    /// Collects the mutations of a node, and returns true if its children are to be visited.
    fn enter(&mut self, node: Node<'t>) -> bool {
        let (first, last) = (line_of(node), last_line_of(node));
        if node.is_error() || self.lines.range(first..=last).next().is_none() {
            return false;
        }
        if operators::is_left_alone(self.source, node) {
            return false;
        }
        let source = self.source;
        let mut keep = |place: Node<'_>, mutation: Mutation| {
            let line = line_of(place);
            if self.lines.contains(&line) && mutation.range.len() <= LONGEST {
                self.found.push(FoundMutation { line, mutation });
            }
        };
        operators::mutate_node(source, node, &self.above, &mut keep);
        !operators::is_whole(node)
    }
}

impl FoundMutation {
    fn into_mutant(self, path: &str, text: &str) -> Mutant {
        let Mutation {
            operator,
            range,
            replacement,
        } = self.mutation;
        Mutant {
            path: path.to_owned(),
            line: self.line,
            was: beginning(text.get(Range::clone(&range)).unwrap_or_default()),
            became: match operator {
                MutantOperator::Statement => String::new(),
                _ => beginning(&replacement),
            },
            operator,
            range,
            replacement,
        }
    }
}

/// Returns the beginning of a text on one line.
fn beginning(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().replace('`', "'");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None if text.trim_end().lines().count() > 1 => format!("{line} …"),
        None => line,
    }
}

fn line_of(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).map_or(u32::MAX, |row| row.saturating_add(1))
}

fn last_line_of(node: Node<'_>) -> u32 {
    u32::try_from(node.end_position().row).map_or(u32::MAX, |row| row.saturating_add(1))
}
