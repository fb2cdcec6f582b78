//! Keeps the tracked files of a gate's worktree as they are in the tree that is judged.
//!
//! A check may rewrite files: `ruff --fix`, a formatter, a test that records its expectations. The
//! next check would then judge something else than what is committed, so such files are restored
//! after each command.

use std::path::PathBuf;

use crate::perform::Error;
use codeteam_host::workspace::{FileStamps, Workspace};

/// The tracked files of a worktree, each with a stamp that changes when it is written.
pub(super) struct TrackedFiles<'a> {
    workspace: &'a Workspace,
    stamps: FileStamps,
}

impl<'a> TrackedFiles<'a> {
    /// Records the files of a worktree that has just been prepared, in which nothing has run.
    pub(super) fn as_prepared(workspace: &'a Workspace) -> Result<Self, Error> {
        let stamps = workspace.stamp_prepared_files()?;
        Ok(Self { workspace, stamps })
    }

    /// Records the files as they are now: after set-up, which may write to some of them.
    pub(super) fn record(workspace: &'a Workspace) -> Result<Self, Error> {
        let stamps = workspace.stamp_tracked_files()?;
        Ok(Self { workspace, stamps })
    }

    /// Restores the files that were changed since, and returns their names.
    pub(super) fn restore(&mut self) -> Result<Vec<PathBuf>, Error> {
        let touched = self.workspace.touched_files(&self.stamps)?;
        if touched.is_empty() {
            return Ok(touched);
        }
        let restored = self.workspace.restore_tracked(&touched)?;
        self.workspace.renew_stamps(&mut self.stamps, &touched)?;
        Ok(restored)
    }
}
