//! A change is its author's own work, not another task's.

use std::collections::BTreeSet;

use super::HonestySubject;
use crate::verify::CheckFindings;
use crate::verify::change::{ChangeSet, hunks};

/// A smaller change may well be the same twice.
const LEAST: usize = 10;

/// Another change.
#[derive(Clone, Debug)]
pub struct OtherChange {
    /// Whose it is, in words: ``task `T2` ``.
    pub whose: String,
    /// Its patch.
    pub patch: Vec<u8>,
    /// Whether it is the same change exactly.
    pub same: bool,
}

/// Compares a change with those of other tasks.
pub fn own_work(subject: &HonestySubject<'_>, others: &[OtherChange]) -> CheckFindings {
    let mut found = CheckFindings::default();
    let own = lines(subject.change);
    for other in others {
        let known: BTreeSet<String> = hunks(&other.patch)
            .into_values()
            .flat_map(|(added, _)| added)
            .map(|line| line.text.trim().to_owned())
            .collect();
        let shared = own
            .iter()
            .filter(|line| known.contains(line.as_str()))
            .count();
        let is_most = own.len() > LEAST && shared * 10 >= own.len() * 9;
        if other.same || is_most {
            let how = match (other.same, shared == own.len()) {
                (true, _) => "the change is the same as".to_owned(),
                (_, true) => "all lines of the change are in".to_owned(),
                _ => format!("{shared} of the {} lines of the change are in", own.len()),
            };
            found.wrong.push(format!(
                "{how} that of {}: make the change that this task asks for",
                other.whose
            ));
        }
    }
    found
}

/// Whether a change does again, or undoes, what a commit has done.
pub fn repeats(subject: &HonestySubject<'_>, commit: &str, patch: &[u8]) -> Option<String> {
    let own = lines(subject.change);
    if own.len() <= LEAST {
        return None;
    }
    let (mut came, mut went) = (BTreeSet::new(), BTreeSet::new());
    for (added, removed) in hunks(patch).into_values() {
        came.extend(added.into_iter().map(|line| line.text.trim().to_owned()));
        went.extend(removed.into_iter().map(|line| line.text.trim().to_owned()));
    }
    let most = |known: &BTreeSet<String>| {
        let shared = own
            .iter()
            .filter(|line| known.contains(line.as_str()))
            .count();
        shared * 10 >= own.len() * 9
    };
    let short = &commit[..commit.len().min(12)];
    if most(&went) {
        return Some(format!(
            "the change brings back what commit {short} took away"
        ));
    }
    most(&came).then(|| format!("the change does again what commit {short} did"))
}

/// The lines that came, without those that say nothing.
fn lines(change: &ChangeSet) -> Vec<String> {
    let all = change.files.iter().flat_map(|file| &file.added);
    all.map(|line| line.text.trim().to_owned())
        .filter(|line| line.len() > 3)
        .collect()
}
