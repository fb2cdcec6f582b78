//! Keeps the tracked files of a gate's work tree as they are in the tree that is judged.
//!
//! A check may rewrite files: `ruff --fix`, a formatter, a test that records its expectations. What the
//! next check saw would then not be what is committed, so such files are put back after each command.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::perform::Error;
use crate::workspace::Workspace;

/// The tracked files of a work tree, each with what shows that it was written.
pub(super) struct TrackedFiles<'a> {
    workspace: &'a Workspace,
    stamps: BTreeMap<PathBuf, Option<FileStamp>>,
}

type FileStamp = (u64, i64, i64, i64, i64, u64);

impl<'a> TrackedFiles<'a> {
    /// Remembers the files as they are now: after set-up, which may write to some of them.
    pub(super) fn record(workspace: &'a Workspace) -> Result<Self, Error> {
        let tree = workspace.tree_dir();
        let files = workspace.tracked()?.into_iter();
        let stamps = files
            .map(|file| {
                let stamp = read_stamp(&tree.join(&file.path));
                (file.path, stamp)
            })
            .collect();
        Ok(Self { workspace, stamps })
    }

    /// Puts back the files that were changed since, and names them.
    pub(super) fn restore(&mut self) -> Result<Vec<PathBuf>, Error> {
        let tree = self.workspace.tree_dir();
        let touched: Vec<PathBuf> = self
            .stamps
            .iter()
            .filter(|(path, stamp)| read_stamp(&tree.join(path)) != **stamp)
            .map(|(path, _)| path.clone())
            .collect();
        if touched.is_empty() {
            return Ok(Vec::new());
        }
        let restored = self.workspace.restore_tracked(&touched)?;
        for path in touched {
            let stamp = read_stamp(&tree.join(&path));
            self.stamps.insert(path, stamp);
        }
        Ok(restored)
    }
}

fn read_stamp(path: &Path) -> Option<FileStamp> {
    let stamp = |found: Metadata| {
        (
            found.len(),
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec(),
            found.ino(),
        )
    };
    path.symlink_metadata().ok().map(stamp)
}
