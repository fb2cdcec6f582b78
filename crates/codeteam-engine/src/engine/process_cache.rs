//! Caches of expensive facts for the lifetime of one process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use codeteam_core::ids::Tree;
use codeteam_verify::test_report::TestReport;

/// Caches how long gate commands took per (tree, command) for the lifetime of the process.
#[derive(Debug, Default)]
pub(crate) struct CommandTimes(Mutex<BTreeMap<(String, String), Duration>>);

impl CommandTimes {
    pub(crate) fn note(&self, tree: &str, command: &str, took: Duration) {
        let known = self.0.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert((tree.to_owned(), command.to_owned()), took);
    }

    pub(crate) fn get(&self, tree: &str, command: &str) -> Option<Duration> {
        let known = self.0.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(&(tree.to_owned(), command.to_owned())).copied()
    }
}

/// What became of a mutant when the tests ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MutantFate {
    /// A test failed.
    Noticed,
    /// Every test passed.
    Survived,
    /// It could not be built, so that no test ran.
    NotBuilt,
}

/// Caches the fates of mutants per (tree with the mutant, commands) for the lifetime of the process.
#[derive(Debug, Default)]
pub(crate) struct MutantFates(Mutex<BTreeMap<(String, String), MutantFate>>);

impl MutantFates {
    pub(crate) fn note(&self, mutant: &str, commands: &str, fate: MutantFate) {
        let known = self.0.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert((mutant.to_owned(), commands.to_owned()), fate);
    }

    pub(crate) fn get(&self, mutant: &str, commands: &str) -> Option<MutantFate> {
        let known = self.0.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known
            .get(&(mutant.to_owned(), commands.to_owned()))
            .copied()
    }
}

/// Caches gate results per (tree, command) for the lifetime of the process.
#[derive(Debug, Default)]
pub(crate) struct CommandOutcomes(Mutex<BTreeMap<(String, String), bool>>);

impl CommandOutcomes {
    /// Remembers whether a command passed on a tree.
    pub(crate) fn note(&self, tree: &str, command: &str, passed: bool) {
        let known = self.0.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert((tree.to_owned(), command.to_owned()), passed);
    }

    /// Returns whether a command passed on a tree, if that is known.
    pub(crate) fn get(&self, tree: &str, command: &str) -> Option<bool> {
        let known = self.0.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(&(tree.to_owned(), command.to_owned())).copied()
    }
}

/// Caches what test runners reported per (tree, command) for the lifetime of the process: `None` if
/// the command ended without a report.
#[derive(Debug, Default)]
pub(crate) struct TestReports(Mutex<BTreeMap<(String, String), Option<TestReport>>>);

impl TestReports {
    pub(crate) fn note(&self, tree: &str, command: &str, report: Option<TestReport>) {
        let known = self.0.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert((tree.to_owned(), command.to_owned()), report);
    }

    /// Returns true if it is known whether a command reported anything on a tree.
    pub(crate) fn is_known(&self, tree: &str, command: &str) -> bool {
        let known = self.0.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.contains_key(&(tree.to_owned(), command.to_owned()))
    }

    /// Returns what a command reported on a tree, if that is known and it did.
    pub(crate) fn get(&self, tree: &str, command: &str) -> Option<TestReport> {
        let known = self.0.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        let report = known.get(&(tree.to_owned(), command.to_owned()))?;
        report.clone()
    }
}

/// Caches which tests a command failed on a tree. It is kept in memory only, because a session has
/// the user's own shell and could write to a file.
#[derive(Debug, Default)]
pub(crate) struct BaseFailures(Mutex<BTreeMap<(String, String), Vec<String>>>);

impl BaseFailures {
    pub(crate) fn note(&self, tree: &str, command: &str, tests: Vec<String>) {
        let known = self.0.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert((tree.to_owned(), command.to_owned()), tests);
    }

    pub(crate) fn get(&self, tree: &str, command: &str) -> Option<Vec<String>> {
        let known = self.0.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(&(tree.to_owned(), command.to_owned())).cloned()
    }
}

/// Caches digests of the products of set-up commands that ran in this process, by cache key. It is
/// kept in memory only, because a session could write to a file.
#[derive(Debug, Default)]
pub(crate) struct SetupDigests(Mutex<BTreeMap<String, blake3::Hash>>);

impl SetupDigests {
    pub(crate) fn note(&self, key: &str, digest: blake3::Hash) {
        let known = self.0.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert(key.to_owned(), digest);
    }

    pub(crate) fn get(&self, key: &str) -> Option<blake3::Hash> {
        let known = self.0.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(key).copied()
    }
}

/// The worktrees whose content was just collected and that nobody has used since, so that they need
/// not be compared with their tree again.
#[derive(Debug, Default)]
pub struct CleanWorktrees(Mutex<BTreeMap<PathBuf, Tree>>);

impl CleanWorktrees {
    /// Records that a worktree contains exactly this tree.
    pub fn note(&self, path: &Path, tree: &Tree) {
        if let Ok(mut known) = self.0.lock() {
            known.insert(path.to_owned(), tree.clone());
        }
    }

    /// Returns true if a worktree is known to contain exactly this tree. The caller is about to use
    /// it, so the entry is removed.
    pub fn take(&self, path: &Path, tree: &Tree) -> bool {
        self.0
            .lock()
            .is_ok_and(|mut known| known.remove(path).as_ref() == Some(tree))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untouched_worktree_is_used_once() {
        let untouched = CleanWorktrees::default();
        let (path, tree) = (Path::new("/w"), Tree::from("t"));
        untouched.note(path, &tree);
        assert!(!untouched.take(path, &"other".into()));
        untouched.note(path, &tree);
        assert!(untouched.take(path, &tree));
        assert!(!untouched.take(path, &tree));
    }
}
