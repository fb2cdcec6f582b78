//! Whether a change plays fair: one rule a file, each of which says what it found and where.
//!
//! A rule sees texts, never the worker's word for them. What a rule cannot know it does not claim:
//! each says in its file what it lets pass. What the task names in its `files` it may change.

mod claims;
mod gate_kept;
mod hard_coded;
mod own_work;
mod scope;
mod secrets;
mod skips;
mod stubs;
mod tests_kept;

pub use self::claims::{AuthorAction, AuthorClaim, GateTestOutcome, RunEvidence, claims};
pub use self::hard_coded::{HardCodedAnswers, hard_coded};
pub use self::own_work::{OtherChange, own_work, repeats};
pub use self::tests_kept::{in_question, needs, tests_kept};

use codeteam_context::redact::Redactor;
use codeteam_core::run::HeldFiles;
use codeteam_core::workflow::HonestyRule;

use super::CheckFindings;
use super::change::ChangeSet;
use super::proof::{TestPatterns, meets};

/// A change, and what it is judged by.
#[derive(Clone, Copy)]
pub struct HonestySubject<'a> {
    /// The change.
    pub change: &'a ChangeSet,
    /// Which files are tests.
    pub tests: TestPatterns<'a>,
    /// The files of the task: paths, folders, patterns. Without any there is no limit.
    pub files: &'a [String],
    /// The files of the plan's other tasks that are not done.
    pub held: &'a [HeldFiles],
    /// Files that the plan forbids to change.
    pub forbidden: &'a [String],
    /// The commands of the gate.
    pub commands: &'a [String],
    /// What knows secrets.
    pub redactor: &'a Redactor,
    /// Whether there is time to look at one file more. What is not looked at is said.
    pub go_on: &'a dyn Fn() -> bool,
}

impl HonestySubject<'_> {
    /// Whether the task names a file.
    pub fn names(&self, path: &str) -> bool {
        self.files.iter().any(|pattern| meets(pattern, path))
    }

    /// Whether there is no time left for this file and those after it; then it is said.
    fn is_over(&self, path: &str, found: &mut CheckFindings) -> bool {
        let is_over = !(self.go_on)();
        if is_over {
            found.unproved = Some(unlooked(path));
        }
        is_over
    }
}

/// What is said if a rule has come no further.
fn unlooked(path: &str) -> String {
    format!("it took too long to look at all of it: `{path}` and what follows was not looked at")
}

/// Looks for what the rule forbids, as far as that needs nothing but the change. The rules that need
/// more find nothing here.
pub fn look(rule: HonestyRule, subject: &HonestySubject<'_>) -> CheckFindings {
    match rule {
        HonestyRule::Scope => scope::scope(subject),
        HonestyRule::TestsKept => tests_kept::tests_kept(subject),
        HonestyRule::GateKept => gate_kept::gate_kept(subject),
        HonestyRule::Secrets => secrets::secrets(subject),
        HonestyRule::Stubs => stubs::stubs(subject),
        HonestyRule::HardCoded | HonestyRule::OwnWork | HonestyRule::Claims => {
            CheckFindings::default()
        }
    }
}

/// The beginning of a line of code, to be told.
fn brief(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Some names as one text.
fn names(all: &[String]) -> String {
    const SHOWN: usize = 6;
    let quoted: Vec<String> = all
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = all.len().saturating_sub(SHOWN);
    match more {
        0 => quoted.join(", "),
        _ => format!("{} and {more} more", quoted.join(", ")),
    }
}

#[cfg(test)]
mod tests;
