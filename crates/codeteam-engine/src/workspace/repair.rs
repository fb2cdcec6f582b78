//! Puts a work tree right that git cannot go through: pipes, sockets and devices go, and folders that
//! their owner may not use are opened. Nothing is done where nothing fails, so that an ordinary work
//! tree costs nothing.

use std::path::PathBuf;
use std::sync::PoisonError;

use super::{Error, Workspace, files};
use crate::git::{self, Oid, SnapshotScope, TreeRepairs};
use crate::process::WaitLimit;
use crate::walk;

/// Files from this size on are looked at when collecting takes too long.
const LARGE_BYTES: u64 = 32 << 20;
/// So many of them are named.
const LARGE_FILES: usize = 5;

impl Workspace {
    /// What had to be put right in the work tree since this was last asked.
    pub fn take_repairs(&self) -> TreeRepairs {
        let mut repairs = self.repairs.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *repairs)
    }

    /// The largest files that git would collect, with their sizes: what takes long.
    pub fn largest_files(&self) -> Result<Vec<(PathBuf, u64)>, Error> {
        let tree = self.tree_dir();
        let found =
            walk::find_largest(&tree, LARGE_BYTES, 100).map_err(files::io("read", &tree))?;
        let paths = found.iter().map(|(path, _)| path.clone()).collect();
        let collected = self.collector.unignored(paths)?;
        let mut files: Vec<_> = found
            .into_iter()
            .filter(|(path, _)| collected.contains(path))
            .collect();
        files.truncate(LARGE_FILES);
        Ok(files)
    }

    /// Records the work tree as a tree, after putting it right if git cannot go through it.
    pub(super) fn record_mending(&self, scope: SnapshotScope) -> Result<Oid, Error> {
        let included = self.included()?;
        self.exclude_products()?;
        let attempt = || {
            let left_out = self.collector.add_all(scope, &included)?;
            Ok((self.collector.write_tree()?, left_out))
        };
        let mut recorded = attempt();
        let is_whole = matches!(&recorded, Ok((_, None)));
        if !is_whole && may_help(&recorded) {
            let repairs = self.repair()?;
            self.refuse_special(scope, &repairs)?;
            if !repairs.is_empty() {
                recorded = attempt();
            }
        }
        match recorded? {
            (_, Some(reason)) if scope == SnapshotScope::Changes => {
                Err(Error::Unrecordable { reason })
            }
            (tree, _) => Ok(tree),
        }
    }

    /// Does something in the work tree, and once more if putting it right may help.
    pub(super) fn mending<T>(
        &self,
        act: impl Fn() -> Result<T, git::Error>,
    ) -> Result<T, git::Error> {
        let done = act();
        if done.is_ok() || !may_help(&done) {
            return done;
        }
        match self.repair() {
            Ok(repairs) if !repairs.is_empty() => act(),
            _ => done,
        }
    }

    /// Puts the work tree right. No worker may be running in it.
    pub(super) fn repair(&self) -> Result<TreeRepairs, Error> {
        // Git was ended in the middle of it.
        self.unlock()?;
        let tree = self.tree_dir();
        let found = walk::repair(&tree).map_err(files::io("put right", &tree))?;
        let mut repairs = self.repairs.lock().unwrap_or_else(PoisonError::into_inner);
        repairs.removed.extend(found.removed.iter().cloned());
        repairs.unlocked.extend(found.unlocked.iter().cloned());
        Ok(found)
    }

    /// Refuses a change that has put a pipe or the like in the place of a file: it would look as if
    /// the file had been deleted on purpose.
    fn refuse_special(&self, scope: SnapshotScope, repairs: &TreeRepairs) -> Result<(), Error> {
        if scope == SnapshotScope::Everything || repairs.removed.is_empty() {
            return Ok(());
        }
        let entries = self.collector.index()?.unwrap_or_default();
        let replaced = repairs
            .removed
            .iter()
            .find(|file| entries.iter().any(|entry| entry.path == file.path));
        match replaced {
            None => Ok(()),
            Some(file) => Err(Error::Unrecordable {
                reason: format!("{file}, in the place of a file that git has"),
            }),
        }
    }
}

/// Whether there is time left to put a work tree right, and somebody who wants it.
fn may_help<T>(done: &Result<T, git::Error>) -> bool {
    let is_wanted = !matches!(done, Err(git::Error::Cancelled { .. }));
    is_wanted && WaitLimit::current().check().is_ok()
}
