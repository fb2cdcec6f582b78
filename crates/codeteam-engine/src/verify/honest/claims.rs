//! A change has what its author says it has.
//!
//! A claim that something passed counts if a command of the gate that runs tests has passed on this very
//! tree: that is seen by the orchestrator itself. How the author's own commands ended is no evidence,
//! because a transcript says neither on which tree they ran nor what they were made to say. What it does
//! say is what was begun, and when: that nothing was run, that nothing which was run can have shown
//! anything, or that files were changed since, contradicts a claim. Otherwise a claim that the gate has
//! not seen is told as its author's word. Files are told: a worker may name what it touched in this round
//! only.

use codeteam_core::submission::means;

use super::{HonestySubject, brief, names};
use crate::verify::CheckFindings;
use crate::verify::proof::is_document;

/// What the author of a change says.
#[derive(Clone, Copy, Debug)]
pub struct AuthorClaim<'a> {
    /// The files it says it changed.
    pub files: &'a [String],
    /// What it says shows that it works.
    pub proof: &'a str,
}

/// Something that the author did.
#[derive(Clone, Copy, Debug)]
pub enum AuthorAction<'a> {
    /// It began a command; nothing, if it is not known which.
    Ran(&'a str),
    /// It changed a file.
    Changed(&'a str),
    /// Nobody knows what.
    Unknown,
}

/// What is known of what the author ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEvidence {
    /// It ran something that may have shown what it says.
    Something,
    /// It did, and changed files afterwards.
    Earlier,
    /// It only looked at files.
    Looked,
    /// It ran nothing at all.
    Nothing,
    /// That is not known.
    Unknown,
}

impl RunEvidence {
    /// What is known, by what the author did in its order. Documents may change at any time.
    pub fn of<'a>(all: impl IntoIterator<Item = AuthorAction<'a>>) -> Self {
        let (mut ran, mut unknown) = (Self::Nothing, false);
        for did in all {
            match did {
                AuthorAction::Ran(command) if !only_looks(command) => ran = Self::Something,
                AuthorAction::Ran(_) if ran == Self::Nothing => ran = Self::Looked,
                AuthorAction::Changed(path) if ran == Self::Something && !is_document(path) => {
                    ran = Self::Earlier;
                }
                AuthorAction::Unknown => unknown = true,
                AuthorAction::Ran(_) | AuthorAction::Changed(_) => {}
            }
        }
        match ran {
            Self::Something => ran,
            _ if unknown => Self::Unknown,
            _ => ran,
        }
    }
}

/// Whether a command can have shown nothing: all it does is to look at files or to move them.
fn only_looks(command: &str) -> bool {
    const LOOK: &[&str] = &[
        "ls", "cat", "head", "tail", "grep", "rg", "find", "fd", "sed", "awk", "git", "echo",
        "printf", "pwd", "cd", "wc", "which", "stat", "tree", "diff", "true", "mkdir", "cp", "mv",
        "rm", "touch", "chmod", "sort", "uniq", "cut", "sleep", "date", "jq", "less", "file",
    ];
    let parts = command.split(['\n', ';', '|', '&']).map(str::trim);
    let mut parts = parts.filter(|part| !part.is_empty()).peekable();
    let is_known = parts.peek().is_some();
    is_known
        && parts.all(|part| {
            let mut words = part.split_whitespace().filter(|word| !word.contains('='));
            let first = words.next().unwrap_or_default();
            let runs = ["-exec", "bisect", "$(", "`"];
            LOOK.contains(&first) && !runs.iter().any(|word| part.contains(word))
        })
}

/// What the gate has seen of the tests on the very tree that is judged.
#[derive(Clone, Copy, Debug)]
pub struct GateTestOutcome<'a> {
    /// Whether a command that runs tests has passed.
    pub passed: bool,
    /// The names of the commands that failed.
    pub failed: &'a [String],
}

/// Compares what is said with what is known.
pub fn claims(
    subject: &HonestySubject<'_>,
    claimed: &AuthorClaim<'_>,
    ran: RunEvidence,
    seen: &GateTestOutcome<'_>,
) -> CheckFindings {
    let mut found = CheckFindings::default();
    if says_that_it_passed(claimed.proof) {
        let said = brief(claimed.proof.lines().next().unwrap_or_default());
        let contradicts = match ran {
            RunEvidence::Nothing => Some("no command was run"),
            RunEvidence::Looked => Some("nothing that was run can have shown it"),
            // Whatever it was, the gate has seen it pass as it is now.
            RunEvidence::Earlier if !seen.passed => {
                Some("files were changed after the last command")
            }
            RunEvidence::Earlier | RunEvidence::Something | RunEvidence::Unknown => None,
        };
        if let Some(what) = contradicts {
            found.wrong.push(format!(
                "the proof says \"{said}\", and {what}: run what you claim, or leave `proof` out"
            ));
        } else if !seen.passed && seen.failed.is_empty() {
            found.told.push(format!(
                "the proof says \"{said}\", which is its author's word: no command of the gate \
                 that runs tests has passed on this tree"
            ));
        }
        if !seen.failed.is_empty() {
            found.wrong.push(format!(
                "the proof says \"{said}\", and {} failed",
                names(seen.failed)
            ));
        }
    }
    let changed = |called: &str| {
        let mut files = subject.change.files.iter();
        files.any(|file| means(called, &file.path))
    };
    let unchanged: Vec<String> = claimed
        .files
        .iter()
        .filter(|path| !changed(path) && !path.ends_with('/'))
        .cloned()
        .collect();
    if !unchanged.is_empty() && !claimed.files.is_empty() {
        found.told.push(format!(
            "said to be changed, and is not: {}",
            names(&unchanged)
        ));
    }
    found
}

/// Whether a text claims that something was run and went well.
fn says_that_it_passed(proof: &str) -> bool {
    let lower = proof.to_lowercase();
    let unsure = [
        "not run",
        "did not run",
        "could not",
        "couldn't",
        "cannot",
        "can't",
        "untested",
        "not tested",
        "should pass",
        "will pass",
        "would pass",
        "expected to pass",
        "no tests",
        "unable",
        "without running",
        "haven't run",
        "didn't run",
    ];
    let sure = [
        "pass",
        "green",
        "succe",
        "exit code 0",
        "exit 0",
        "exits with 0",
        "0 failed",
    ];
    // A word of its own, wherever it stands: some print it on a line, and nothing else.
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    let is_ok = words.any(|word| matches!(word, "ok" | "okay"));
    !unsure.iter().any(|words| lower.contains(words))
        && (is_ok || sure.iter().any(|words| lower.contains(words)))
}
