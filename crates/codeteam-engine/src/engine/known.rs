//! What one process need not find out twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use codeteam_core::ids::Tree;

/// How commands of gates have ended on which trees, as far as this process knows: nobody wants to
/// wait for the same twice.
#[derive(Debug, Default)]
pub(crate) struct CommandOutcomes(Mutex<BTreeMap<(String, String), bool>>);

impl CommandOutcomes {
    /// Remembers whether a command passed on a tree.
    pub(crate) fn note(&self, tree: &str, command: &str, passed: bool) {
        let known = self.0.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert((tree.to_owned(), command.to_owned()), passed);
    }

    /// Whether a command passed on a tree, if that is known.
    pub(crate) fn get(&self, tree: &str, command: &str) -> Option<bool> {
        let known = self.0.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(&(tree.to_owned(), command.to_owned())).copied()
    }
}

/// Which tests a command failed on a tree. Kept in memory only: a session has the user's own shell and
/// could write to a file.
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

/// Digests of what set-up commands made while this process watched, by the key of the cache. Kept in
/// memory only, for the same reason.
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

/// Worktrees that were just collected and have not been handed to anyone since, so that they need
/// not be compared with their tree again.
#[derive(Debug, Default)]
pub struct CleanWorktrees(Mutex<BTreeMap<PathBuf, Tree>>);

impl CleanWorktrees {
    /// Notes that a worktree holds exactly a tree.
    pub fn note(&self, path: &Path, tree: &Tree) {
        if let Ok(mut known) = self.0.lock() {
            known.insert(path.to_owned(), tree.clone());
        }
    }

    /// Whether a worktree holds exactly a tree. It is about to be used, so it is forgotten.
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
