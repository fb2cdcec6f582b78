//! Repairs a work tree that git cannot walk: pipes, sockets and devices are removed, and folders
//! that their owner cannot use are opened. This happens only after a failure, so an ordinary work
//! tree costs nothing.

use std::path::PathBuf;
use std::sync::PoisonError;

use super::{Error, RecordedTree, Workspace, files};
use crate::git::{self, Oid, SnapshotScope, TreeRepairs};
use crate::process::WaitLimit;
use crate::walk;

/// The size from which files are listed when collecting takes too long.
const LARGE_BYTES: u64 = 32 << 20;
/// The number of large files to list.
const LARGE_FILES: usize = 5;

impl Workspace {
    /// Returns the repairs made in the work tree since the last call.
    pub fn take_repairs(&self) -> TreeRepairs {
        let mut repairs = self.repairs.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *repairs)
    }

    /// Returns the largest files that git would collect, with their sizes, to explain why
    /// collecting takes long.
    pub fn largest_files(&self) -> Result<Vec<(PathBuf, u64)>, Error> {
        let tree = self.tree_dir();
        let found =
            walk::find_largest(&tree, LARGE_BYTES, 100).map_err(files::io_error("read", &tree))?;
        let paths = found.iter().map(|(path, _)| path.clone()).collect();
        let collected = self.collector.without_ignored(paths)?;
        let mut files: Vec<_> = found
            .into_iter()
            .filter(|(path, _)| collected.contains(path))
            .collect();
        files.truncate(LARGE_FILES);
        Ok(files)
    }

    /// Records the work tree as a tree, repairing it first if git cannot walk it, and compares it with
    /// the tree `base`, if there is one. It is an error if git could not record something, unless
    /// everything is recorded.
    pub(super) fn record_with_repair(
        &self,
        scope: SnapshotScope,
        base: Option<&Oid>,
    ) -> Result<RecordedTree, Error> {
        let included = self.included_files()?;
        self.exclude_products()?;
        let attempt = || {
            let left_out = self.collector.add_all(scope, &included)?;
            let (tree, diff) = match base {
                None => (self.collector.write_tree()?, None),
                Some(base) => {
                    let (tree, diff) = self.collector.write_tree_and_diff(base)?;
                    (tree, Some(diff))
                }
            };
            Ok(RecordedTree {
                tree,
                left_out,
                diff,
            })
        };
        let mut recorded = attempt();
        let is_whole = matches!(&recorded, Ok(RecordedTree { left_out: None, .. }));
        if !is_whole && can_retry(&recorded) {
            let repairs = self.repair_work_tree()?;
            self.refuse_special(scope, &repairs)?;
            if !repairs.is_empty() {
                recorded = attempt();
            }
        }
        match recorded? {
            RecordedTree {
                left_out: Some(reason),
                ..
            } if scope == SnapshotScope::Changes => Err(Error::Unrecordable { reason }),
            recorded => Ok(recorded),
        }
    }

    /// Runs an operation on the work tree, and once more after a repair if it failed.
    pub(super) fn with_repair<T>(
        &self,
        act: impl Fn() -> Result<T, git::Error>,
    ) -> Result<T, git::Error> {
        let done = act();
        if done.is_ok() || !can_retry(&done) {
            return done;
        }
        match self.repair_work_tree() {
            Ok(repairs) if !repairs.is_empty() => act(),
            _ => done,
        }
    }

    /// Repairs the work tree. No worker may be running in it.
    pub(super) fn repair_work_tree(&self) -> Result<TreeRepairs, Error> {
        // Git was ended half-way and may have left its lock.
        self.remove_stale_locks()?;
        let tree = self.tree_dir();
        let found = walk::repair_tree(&tree).map_err(files::io_error("put right", &tree))?;
        let mut repairs = self.repairs.lock().unwrap_or_else(PoisonError::into_inner);
        repairs.removed.extend(found.removed.iter().cloned());
        repairs.unlocked.extend(found.unlocked.iter().cloned());
        Ok(found)
    }

    /// Refuses a change that has replaced a file with a pipe or the like: it would look as if the
    /// file had been deleted on purpose.
    fn refuse_special(&self, scope: SnapshotScope, repairs: &TreeRepairs) -> Result<(), Error> {
        if scope == SnapshotScope::Everything || repairs.removed.is_empty() {
            return Ok(());
        }
        let entries = self.collector.read_index()?.unwrap_or_default();
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

/// Returns true if there is time left for a repair and the operation was not cancelled.
fn can_retry<T>(done: &Result<T, git::Error>) -> bool {
    let is_wanted = !matches!(done, Err(git::Error::Cancelled { .. }));
    is_wanted && WaitLimit::current().check().is_ok()
}
