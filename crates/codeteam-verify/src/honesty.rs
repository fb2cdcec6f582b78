//! Rules that detect a change which games its checks. There is one rule per file, and each reports
//! what it found and where.
//!
//! A rule inspects texts and never trusts the worker's account of them. A rule does not claim what
//! it cannot know; each file documents what its rule lets pass. A change may touch the files that
//! the task lists in `files`.

mod claims;
mod gate_kept;
mod gate_scripts;
mod hard_coded;
mod output_owners;
mod own_work;
mod scope;
mod secrets;
mod skips;
mod stubs;
mod tests_kept;

pub use self::claims::{AuthorAction, AuthorClaim, GateTestOutcome, RunEvidence, check_claims};
pub use self::gate_kept::{GateFileDoubt, doubtful_gate_files};
pub use self::gate_scripts::{GateScript, find_gate_scripts};
pub use self::hard_coded::{HardCodedAnswers, check_hard_coded};
pub use self::own_work::{OtherChange, check_own_work, repeated_commit};
pub use self::tests_kept::{foreign_test_changes, manifest_requiring};

use codeteam_context::redact::Redactor;
use codeteam_core::run::HeldFiles;
use codeteam_core::workflow::HonestyRule;
use codeteam_patterns::file_matches;

use self::output_owners::{belongs_to_named_test, source_of_snapshot};
use super::CheckFindings;
use super::change::{ChangeSet, ChangedFile};
use super::expected_outputs::is_expected_output;
use super::proof::TestPatterns;

/// A change, and everything that the rules judge it by.
///
/// The caller collects these facts once and passes the same value to [`check_rule`] for every rule.
/// The rules only read it, so they can run in any order.
///
/// All patterns of files (`files`, `held_files`, `forbidden`, `tests`) mean the same, as
/// [`codeteam_patterns`] says.
///
/// A slow rule may run out of time on a large change. It asks [`has_time`](Self::has_time) before
/// each file; when the answer is no, it stops and reports the result as inconclusive, with the
/// first file that it did not inspect. It never reports such a change as clean.
#[derive(Clone, Copy)]
pub struct HonestySubject<'a> {
    /// The change under judgement.
    pub change: &'a ChangeSet,
    /// The patterns of test files.
    pub tests: &'a TestPatterns,
    /// The files of the task: paths, folders, patterns. If there are none, the task may touch any
    /// file.
    pub files: &'a [String],
    /// The files of the plan's other unfinished tasks.
    pub held_files: &'a [HeldFiles],
    /// The files that the plan forbids to change.
    pub forbidden: &'a [String],
    /// The commands of the gate.
    pub commands: &'a [String],
    /// The files of the base that those commands lead to.
    pub scripts: &'a [GateScript],
    /// Whether the gate runs the tests as they were before with the new code. Then a test that asserts
    /// less than before hides nothing from the gate.
    pub runs_old_tests: bool,
    /// The redactor, which recognises secrets.
    pub redactor: &'a Redactor,
    /// Returns true if there is time to inspect another file. Files that are not inspected are
    /// reported.
    pub has_time: &'a dyn Fn() -> bool,
}

impl HonestySubject<'_> {
    /// Returns true if the task lists a file.
    pub fn is_task_file(&self, path: &str) -> bool {
        self.files.iter().any(|pattern| file_matches(pattern, path))
    }

    /// Returns true if the task may change a file of tests: it lists the file, or what the file is the
    /// expected output of.
    pub(crate) fn may_change_test(&self, file: &ChangedFile) -> bool {
        let path = &file.path;
        self.is_task_file(path)
            || (is_expected_output(path)
                && (belongs_to_named_test(path, self.files, self.tests)
                    || self.is_output_of_task_module(file)))
    }

    /// Returns true if a file is the expected output of tests that stand in a module which the task
    /// lists, according to the file as it was before.
    pub(crate) fn is_output_of_task_module(&self, file: &ChangedFile) -> bool {
        let source = source_of_snapshot(&file.path, file.before.text());
        source.is_some_and(|source| self.is_task_file(&source))
    }

    /// Returns true if there is no time left for this file and those after it; the findings then
    /// say so.
    fn is_out_of_time(&self, path: &str, found: &mut CheckFindings) -> bool {
        let is_over = !(self.has_time)();
        if is_over {
            found.inconclusive = Some(out_of_time_note(path));
        }
        is_over
    }
}

/// How a test is named that is meant to change: said to whoever changed one that is not.
pub const TESTS_MUST_BE_NAMED: &str = "Tests that are meant to change have to be named: in the task's \
    `files`, or by the goal, the task, its requirements or its design in a sentence which says that \
    they change (\"update tests/test_x.py\")";

/// Returns the note of a rule that ran out of time.
fn out_of_time_note(path: &str) -> String {
    format!("it took too long to look at all of it: `{path}` and what follows was not looked at")
}

/// Runs a rule, as far as it needs nothing but the change. For the rules that need more, this finds
/// nothing.
pub fn check_rule(rule: HonestyRule, subject: &HonestySubject<'_>) -> CheckFindings {
    match rule {
        HonestyRule::Scope => scope::check_scope(subject),
        HonestyRule::TestsKept => tests_kept::check_tests_kept(subject),
        HonestyRule::GateKept => gate_kept::check_gate_kept(subject),
        HonestyRule::Secrets => secrets::check_secrets(subject),
        HonestyRule::Stubs => stubs::check_stubs(subject),
        HonestyRule::HardCoded | HonestyRule::OwnWork | HonestyRule::Claims => {
            CheckFindings::default()
        }
    }
}

/// Shortens a line of code for a message.
fn shorten_line(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Joins names into one text, with a limit.
pub(crate) fn join_names(all: &[String]) -> String {
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
