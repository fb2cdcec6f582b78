//! Rule: a change is its author's own work and not a copy of another task's.

use std::collections::BTreeSet;

use codeteam_core::findings::{ReportedFinding, Severity};

use super::HonestySubject;
use crate::CheckFindings;
use crate::change::{ChangeSet, parse_hunks};

/// Changes up to this number of lines may well be equal by chance.
const LEAST: usize = 10;

/// A change by another task.
#[derive(Clone, Debug)]
pub struct OtherChange {
    /// The owner of the change, in words: ``task `T2` ``.
    pub owner: String,
    /// The patch of the change.
    pub patch: Vec<u8>,
    /// Whether the two changes are exactly the same.
    pub is_identical: bool,
}

/// Compares a change with those of other tasks.
pub fn check_own_work(subject: &HonestySubject<'_>, others: &[OtherChange]) -> CheckFindings {
    let mut found = CheckFindings::default();
    let own = added_lines(subject.change);
    for other in others {
        let known: BTreeSet<String> = parse_hunks(&other.patch)
            .into_values()
            .flat_map(|(added, _)| added)
            .map(|line| line.text.trim().to_owned())
            .collect();
        let shared = own
            .iter()
            .filter(|line| known.contains(line.as_str()))
            .count();
        let is_most = own.len() > LEAST && shared * 10 >= own.len() * 9;
        if other.is_identical || is_most {
            let how = match (other.is_identical, shared == own.len()) {
                (true, _) => "the change is the same as".to_owned(),
                (_, true) => "all lines of the change are in".to_owned(),
                _ => format!("{shared} of the {} lines of the change are in", own.len()),
            };
            found.failures.push(format!(
                "{how} that of {}: make the change that this task asks for",
                other.owner
            ));
        }
    }
    found
}

/// Returns a finding for reviewers if a change repeats or reverts a commit.
pub fn repeated_commit(
    subject: &HonestySubject<'_>,
    commit: &str,
    patch: &[u8],
) -> Option<ReportedFinding> {
    let own = added_lines(subject.change);
    if own.len() <= LEAST {
        return None;
    }
    let (mut came, mut went) = (BTreeSet::new(), BTreeSet::new());
    for (added, removed) in parse_hunks(patch).into_values() {
        came.extend(added.into_iter().map(|line| line.text.trim().to_owned()));
        went.extend(removed.into_iter().map(|line| line.text.trim().to_owned()));
    }
    let most = |known: &BTreeSet<String>| {
        // The first commit of a repository has almost every line, and repeats nothing.
        if known.len() > 4 * own.len() {
            return false;
        }
        let shared = own
            .iter()
            .filter(|line| known.contains(line.as_str()))
            .count();
        shared * 10 >= own.len() * 9
    };
    let short = &commit[..commit.len().min(12)];
    let title = if most(&went) {
        format!("the change brings back what commit {short} took away")
    } else if most(&came) {
        format!("the change does again what commit {short} did")
    } else {
        return None;
    };
    Some(ReportedFinding {
        severity: Severity::Minor,
        title,
        detail: "Judge whether that is what the task asks for.".to_owned(),
        file: None,
        line: None,
    })
}

/// Returns the added lines, without those that are too short to mean anything.
fn added_lines(change: &ChangeSet) -> Vec<String> {
    let all = change.files.iter().flat_map(|file| &file.added);
    all.map(|line| line.text.trim().to_owned())
        .filter(|line| line.len() > 3)
        .collect()
}
