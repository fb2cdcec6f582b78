//! A change has what its author says it has.
//!
//! That something was run is believed unless what the worker did is known and none of it can have run
//! anything. Files are told: a worker may name what it touched in this round only.

use super::{Subject, brief, names};
use crate::verify::Found;

/// What the author of a change says.
#[derive(Clone, Copy, Debug)]
pub struct Claimed<'a> {
    /// The files it says it changed.
    pub files: &'a [String],
    /// What it says shows that it works.
    pub proof: &'a str,
}

/// What is known of what the author ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It ran something.
    Something,
    /// It ran nothing at all.
    Nothing,
    /// That is not known.
    Unknown,
}

/// Compares what is said with what is known. `failed` are the names of the gate's commands that
/// failed.
pub fn claims(subject: &Subject<'_>, claimed: &Claimed<'_>, ran: Ran, failed: &[String]) -> Found {
    let mut found = Found::default();
    if says_that_it_passed(claimed.proof) {
        let said = brief(claimed.proof.lines().next().unwrap_or_default());
        if ran == Ran::Nothing {
            found.wrong.push(format!(
                "the proof says \"{said}\", and no command was run: run what you claim, or leave \
                 `proof` out"
            ));
        }
        if !failed.is_empty() {
            found.wrong.push(format!(
                "the proof says \"{said}\", and {} failed",
                names(failed)
            ));
        }
    }
    let changed = |path: &str| subject.change.file(path.trim_start_matches("./")).is_some();
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
        " ok",
    ];
    !unsure.iter().any(|words| lower.contains(words))
        && sure.iter().any(|words| lower.contains(words))
}
