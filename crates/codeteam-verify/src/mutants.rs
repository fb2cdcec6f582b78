//! Makes mutants of a change: copies of it in which one small thing on a changed line is wrong.
//!
//! A test suite that checks the change notices them: it fails. A mutant that no test notices
//! (it *survives*) shows a line whose behaviour nobody checks, and if all of them survive, the
//! tests do not check anything. The engine runs the tests; this module only says what to try, in an
//! order of which every beginning is spread over the change, so that a small budget sees all of it.
//!
//! Only lines that the change has added or edited are touched, in product code of a language with a
//! grammar. The operators are few: an operator swapped, a condition negated, a constant or a
//! returned value replaced, a statement taken out. They are those that are rarely equivalent to the
//! original.

mod operators;
mod parsed_text;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use codeteam_context::language::Language;

use crate::change::{ChangeSet, FileVersion};
use crate::proof::TestPatterns;
use crate::source::{is_generated, is_source};

/// The most mutants of one line that are tried.
const PER_LINE: usize = 3;

/// A copy of a file in which one thing is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The beginning of what is replaced, for people.
    pub was: String,
    /// The beginning of what replaces it; empty if it is taken out.
    pub became: String,
    operator: MutantOperator,
    range: Range<usize>,
    replacement: String,
}

/// What is made wrong. The order is that in which the mutants of a line are tried: those that say
/// most about the tests come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MutantOperator {
    /// `<` becomes `<=`, `==` becomes `!=`.
    Comparison,
    /// `and` becomes `or`.
    Connective,
    /// A condition is negated.
    Condition,
    /// `+` becomes `-`.
    Arithmetic,
    /// A number or a truth value is another one.
    Constant,
    /// Another value is returned.
    ReturnValue,
    /// A statement is taken out.
    Statement,
}

/// The mutants of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MutantPlan {
    /// The mutants, in the order in which they are to be tried.
    pub mutants: Vec<Mutant>,
    /// Changed files of a language in which the project has no tests.
    pub untested: Vec<String>,
}

impl Mutant {
    /// Returns the text of the file with the mutation, or `None` if it is another text than the one
    /// that the mutant was made from.
    pub fn apply(&self, text: &str) -> Option<String> {
        let (before, after) = (text.get(..self.range.start)?, text.get(self.range.end..)?);
        text.get(self.range.clone())?;
        Some([before, &self.replacement, after].concat())
    }

    /// Returns a text by which the mutant is told apart from all others of the same tree.
    pub fn key(&self) -> String {
        let Range { start, end } = self.range;
        format!("{}:{start}-{end}={}", self.path, self.replacement)
    }
}

/// `` `>` became `>=` at src/cart.py:41 ``.
impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            was,
            became,
            ..
        } = self;
        match self.operator {
            MutantOperator::Condition => write!(f, "`{was}` was negated")?,
            MutantOperator::Statement => write!(f, "`{was}` was taken out")?,
            MutantOperator::ReturnValue => write!(f, "the returned `{was}` became `{became}`")?,
            _ => write!(f, "`{was}` became `{became}`")?,
        }
        write!(f, " at {path}:{line}")
    }
}

/// Finds the mutants of a change. `is_tested` says whether the project has tests in a language.
pub fn find_mutants(
    change: &ChangeSet,
    tests: &TestPatterns,
    is_tested: &dyn Fn(Language) -> bool,
) -> MutantPlan {
    let mut plan = MutantPlan::default();
    let mut lines: BTreeMap<(usize, u32), Vec<Mutant>> = BTreeMap::new();
    for (at, file) in change.files.iter().enumerate() {
        let FileVersion::Text(text) = &file.after else {
            continue;
        };
        let Some(language) = Language::from_path(&file.path) else {
            continue;
        };
        let is_product = is_source(&file.path) && !tests.is_test(&file.path);
        if !is_product || file.added.is_empty() || is_generated(text) {
            continue;
        }
        if !is_tested(language) {
            plan.untested.push(file.path.clone());
            continue;
        }
        let added: BTreeSet<u32> = file.added.iter().map(|line| line.number).collect();
        for mutant in walk::mutate_text(&file.path, text, language, &added) {
            lines.entry((at, mutant.line)).or_default().push(mutant);
        }
    }
    plan.mutants = spread(lines.into_values().collect());
    plan
}

/// Returns true if a build tool says at the end of an output that it could not build the program,
/// so that no test ran: cargo, go, Maven, Gradle, the TypeScript compiler.
pub fn says_it_was_not_built(output: &str) -> bool {
    let marks = [
        "error: could not compile",
        "[build failed]",
        "COMPILATION ERROR",
        "Compilation failed",
        "error TS",
    ];
    marks.iter().any(|mark| output.contains(mark))
}

/// Orders the mutants so that every beginning is spread over the lines: first one of each line, by
/// halving the distances between them, then a second one of each.
fn spread(mut lines: Vec<Vec<Mutant>>) -> Vec<Mutant> {
    for mutants in &mut lines {
        mutants.sort_by_key(|mutant| (mutant.operator, mutant.range.start));
        // The reversed list is a stack with the best one on top.
        mutants.reverse();
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|at| at.reverse_bits());
    let rounds = std::iter::repeat_n(order, PER_LINE).flatten();
    let mut found = Vec::new();
    for at in rounds {
        found.extend(lines[at].pop());
    }
    found
}

#[cfg(test)]
mod tests;
