//! Rule: a change does what its author claims.
//!
//! A claim that something passed counts if a command of the gate that runs tests has passed on this
//! very tree, because the orchestrator has observed that itself. The results of the author's own
//! commands are no evidence: a transcript shows neither on which tree they ran nor what they were
//! made to print. It does show what was started, and when. A claim is contradicted if nothing was
//! run, if nothing that was run can have shown anything, or if files were changed afterwards. A
//! claim that the gate has not confirmed is otherwise reported as its author's word. Wrong claims
//! about files are only reported, because a worker may list just what it touched in this round.

use codeteam_core::submission::names_path;

use super::{HonestySubject, join_names, shorten_line};
use crate::CheckFindings;
use crate::proof::is_document;

/// What the author of a change claims.
#[derive(Clone, Copy, Debug)]
pub struct AuthorClaim<'a> {
    /// The files that the author claims to have changed.
    pub files: &'a [String],
    /// The author's evidence that the change works.
    pub proof: &'a str,
}

/// An action of the author, from its transcript.
#[derive(Clone, Copy, Debug)]
pub enum AuthorAction<'a> {
    /// It started a command; empty if the command is not known.
    Ran(&'a str),
    /// It changed a file.
    Changed(&'a str),
    /// It did something that cannot be identified.
    Unknown,
}

/// What the transcript shows about the commands that the author ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEvidence {
    /// The author ran something that may have shown what it claims.
    Something,
    /// It did, and changed files afterwards.
    BeforeLastEdit,
    /// It only read files.
    OnlyRead,
    /// It ran nothing at all.
    Nothing,
    /// The transcript does not show it.
    Unknown,
}

impl RunEvidence {
    /// Derives the evidence from the author's actions in their order. Documents may change at any
    /// time.
    pub fn from_actions<'a>(all: impl IntoIterator<Item = AuthorAction<'a>>) -> Self {
        let (mut ran, mut unknown) = (Self::Nothing, false);
        for did in all {
            match did {
                AuthorAction::Ran(command) if !only_reads_files(command) => ran = Self::Something,
                AuthorAction::Ran(_) if ran == Self::Nothing => ran = Self::OnlyRead,
                AuthorAction::Changed(path) if ran == Self::Something && !is_document(path) => {
                    ran = Self::BeforeLastEdit;
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

/// Returns true if a command cannot have shown anything, because all it does is read or move files.
fn only_reads_files(command: &str) -> bool {
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

/// What the gate has observed about the tests on the very tree that is judged.
#[derive(Clone, Copy, Debug)]
pub struct GateTestOutcome<'a> {
    /// Whether a command that runs tests has passed.
    pub passed: bool,
    /// The names of the commands that failed.
    pub failed: &'a [String],
}

/// Compares what the author claims with what is known.
pub fn check_claims(
    subject: &HonestySubject<'_>,
    claimed: &AuthorClaim<'_>,
    ran: RunEvidence,
    seen: &GateTestOutcome<'_>,
) -> CheckFindings {
    let mut found = CheckFindings::default();
    if claims_success(claimed.proof) {
        let said = shorten_line(claimed.proof.lines().next().unwrap_or_default());
        let contradicts = match ran {
            RunEvidence::Nothing => Some("no command was run"),
            RunEvidence::OnlyRead => Some("nothing that was run can have shown it"),
            // Whatever it was, the gate has seen the current state pass.
            RunEvidence::BeforeLastEdit if !seen.passed => {
                Some("files were changed after the last command")
            }
            RunEvidence::BeforeLastEdit | RunEvidence::Something | RunEvidence::Unknown => None,
        };
        if let Some(what) = contradicts {
            found.failures.push(format!(
                "the proof says \"{said}\", and {what}: run what you claim, or leave `proof` out"
            ));
        } else if !seen.passed && seen.failed.is_empty() {
            found.notes.push(format!(
                "the proof says \"{said}\", which is its author's word: no command of the gate \
                 that runs tests has passed on this tree"
            ));
        }
        if !seen.failed.is_empty() {
            found.failures.push(format!(
                "the proof says \"{said}\", and {} failed",
                join_names(seen.failed)
            ));
        }
    }
    let changed = |called: &str| {
        let mut files = subject.change.files.iter();
        files.any(|file| names_path(called, &file.path))
    };
    let unchanged: Vec<String> = claimed
        .files
        .iter()
        .filter(|path| !changed(path) && !path.ends_with('/'))
        .cloned()
        .collect();
    let is_own = |path: &String| path.trim_start_matches("./").starts_with(".codeteam/");
    let (own, unchanged): (Vec<String>, Vec<String>) = unchanged.into_iter().partition(is_own);
    if !own.is_empty() {
        found.failures.push(format!(
            "said to be changed, and no change of a run includes codeteam's own folder: {}; a \
             person has to make that change",
            join_names(&own)
        ));
    }
    if !unchanged.is_empty() && !claimed.files.is_empty() {
        found.notes.push(format!(
            "said to be changed, and is not: {}",
            join_names(&unchanged)
        ));
    }
    found
}

/// Returns true if a text claims that something was run and succeeded.
fn claims_success(proof: &str) -> bool {
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
    // It must be a separate word, anywhere in the text: some authors print it on a line of its own.
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    let is_ok = words.any(|word| matches!(word, "ok" | "okay"));
    !unsure.iter().any(|words| lower.contains(words))
        && (is_ok || sure.iter().any(|words| lower.contains(words)))
}
