//! Determines what a set-up command has left behind in a worktree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::perform::Error;
use codeteam_host::process::WaitLimit;
use codeteam_host::workspace::Workspace;

/// The files of a worktree before a set-up command has run.
pub(super) struct FilesBefore {
    tree: PathBuf,
    /// Tracked files, each with a stamp that changes when it is written.
    tracked: BTreeMap<PathBuf, Option<WriteStamp>>,
    /// The user's files that were copied there.
    included: BTreeSet<PathBuf>,
    /// The folders that contain any of these.
    folders: BTreeSet<PathBuf>,
}

/// Metadata that changes when a file is written.
type WriteStamp = (u64, i64, i64, u64);

fn stamp(found: &Metadata) -> WriteStamp {
    (found.len(), found.mtime(), found.mtime_nsec(), found.ino())
}

impl FilesBefore {
    /// Records the files of a worktree.
    pub(super) fn record(workspace: &Workspace) -> Result<Self, Error> {
        let tree = workspace.tree_dir();
        let look = |path: &Path| tree.join(path).symlink_metadata().ok();
        let tracked: BTreeMap<PathBuf, Option<WriteStamp>> = workspace
            .tracked_files()?
            .into_iter()
            .map(|file| {
                let stamp = look(&file.path).as_ref().map(stamp);
                (file.path, stamp)
            })
            .collect();
        let included: BTreeSet<PathBuf> = workspace.included_files()?.into_iter().collect();
        let mut folders = BTreeSet::new();
        for path in tracked.keys().chain(&included) {
            folders.extend(path.ancestors().skip(1).map(Path::to_owned));
        }
        Ok(Self {
            tree,
            tracked,
            included,
            folders,
        })
    }

    /// Returns what is new or was written since: single files where there were others in the folder
    /// before, whole folders where everything in them is new.
    pub(super) fn products(&self) -> Result<Vec<PathBuf>, Error> {
        let mut found = Vec::new();
        let mut pending = vec![PathBuf::new()];
        while let Some(folder) = pending.pop() {
            let path = self.tree.join(&folder);
            let failed = |source: io::Error| Error::Io {
                doing: "read",
                path: path.clone(),
                source,
            };
            for entry in fs::read_dir(&path).map_err(failed)? {
                WaitLimit::current().check_io().map_err(failed)?;
                let entry = entry.map_err(failed)?;
                let name = folder.join(entry.file_name());
                if name == Path::new(".git") || self.included.contains(&name) {
                    continue;
                }
                let metadata = entry.metadata().map_err(failed)?;
                if metadata.is_dir() && self.folders.contains(&name) {
                    pending.push(name);
                } else if self.tracked.get(&name) != Some(&Some(stamp(&metadata))) {
                    found.push(name);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}
