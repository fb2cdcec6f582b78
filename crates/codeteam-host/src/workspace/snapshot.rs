//! Ends a workspace: its content is kept as a commit, then it is removed. Also restores such a
//! commit.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Error, Workspace, WorkspaceState, bare_repositories, files};
use crate::git::{CommitSignature, ExpectedRef, Oid, Repo, SnapshotScope};

/// The directory to which workspaces are moved before they are deleted, so that a workspace is
/// either complete or gone.
pub const TRASH: &str = ".trash";

/// The snapshot to create in the user's repository.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotRequest<'a> {
    /// The reference that keeps it: `refs/codeteam/<run>/worktree/<name>`.
    pub reference: &'a str,
    /// The commit the work began from.
    pub parent: &'a Oid,
    /// A tree that need not be kept because a branch already has it: usually the parent's.
    pub known_tree: &'a Oid,
    /// The commit message.
    pub message: &'a str,
    /// The author and the time.
    pub signature: &'a CommitSignature,
}

/// The result of removing a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// Its changes were kept in this commit.
    Kept {
        /// The commit that the snapshot's reference points to.
        commit: Oid,
    },
    /// It contained nothing new, or was never ready for use.
    NothingToKeep,
    /// It was already removed, so this call is a repetition.
    AlreadyGone,
}

impl Workspace {
    /// Keeps the content of the work tree, untracked files included, as a commit in the user's
    /// repository, and removes the workspace. Six processes; two if there is nothing to keep.
    ///
    /// If git cannot record a file, that is an [`Error::NotKept`] and the workspace stays. Ignored
    /// files are not kept: they can be rebuilt from the files that are. For a nested
    /// repository, the files are kept but not the history; for a submodule of the user's, which is
    /// never checked out here, nothing is kept.
    pub fn snapshot_and_remove(
        &self,
        snapshot: &SnapshotRequest<'_>,
    ) -> Result<RemovalOutcome, Error> {
        if self.directory.symlink_metadata().is_err() {
            self.remove()?;
            return Ok(RemovalOutcome::AlreadyGone);
        }
        self.lock()?.snapshot_and_remove_locked(snapshot)
    }

    fn snapshot_and_remove_locked(
        &self,
        snapshot: &SnapshotRequest<'_>,
    ) -> Result<RemovalOutcome, Error> {
        let tree = match self.state()? {
            Some(WorkspaceState::Ready { tree: before }) if self.is_whole() => {
                Some(self.record_files(&before)?)
            }
            Some(WorkspaceState::Rebuilding { found }) => found,
            _ => None,
        };
        let removed = match tree.filter(|tree| tree != snapshot.known_tree) {
            Some(tree) => RemovalOutcome::Kept {
                commit: self.commit_snapshot(&tree, snapshot)?,
            },
            None => RemovalOutcome::NothingToKeep,
        };
        self.release_locked()?;
        Ok(removed)
    }

    /// Removes the workspace with everything in it. No process.
    pub fn remove(&self) -> Result<(), Error> {
        if self.directory.symlink_metadata().is_ok() {
            return self.lock()?.remove_locked();
        }
        files::remove_tree(&self.trash_path())
    }

    pub(super) fn remove_locked(&self) -> Result<(), Error> {
        let trash = self.trash_path();
        loop {
            files::create_dir(&self.root.join(TRASH))?;
            // Leftovers of a removal that was killed are in the way.
            files::remove_tree(&trash)?;
            match fs::rename(&self.directory, &trash) {
                // Whoever removed the last other entry of the trash has removed the folder as well.
                Err(error) if error.kind() == ErrorKind::NotFound && self.directory.exists() => {}
                done => break done.map_err(files::io_error("remove", &self.directory))?,
            }
        }
        files::remove_large_tree(&trash)
    }

    fn trash_path(&self) -> PathBuf {
        self.root.join(TRASH).join(&self.name)
    }

    /// Records all files, including those of nested repositories. The work tree is no longer
    /// needed, so they can be taken apart. It stays if it has something that git cannot record,
    /// because that would be gone with it.
    fn record_files(&self, before: &Oid) -> Result<Oid, Error> {
        // Nobody will work in it any more, and all of it has to be readable.
        self.repair_work_tree()?;
        files::remove_nested_git(&self.tree_dir())?;
        let recorded = self.record(before, SnapshotScope::Everything, None)?;
        match recorded.left_out {
            None => Ok(recorded.tree),
            Some(reason) => Err(Error::NotKept {
                reason,
                path: self.tree_dir(),
            }),
        }
    }

    /// Creates the commit and moves the reference to it. Only this workspace's owner writes the
    /// reference, and a repetition replaces it with an equal commit.
    fn commit_snapshot(&self, tree: &Oid, snapshot: &SnapshotRequest<'_>) -> Result<Oid, Error> {
        let SnapshotRequest {
            reference,
            parent,
            message,
            signature,
            ..
        } = *snapshot;
        let diff = self.diff(parent, tree)?;
        self.refuse_filtered(parent, tree, &diff, &self.index_entries()?)?;
        let sent = self.send_to_repository(tree, parent, SnapshotScope::Everything)?;
        let commit = self.repo.commit(tree, &[parent], message, signature)?;
        self.repo
            .update_ref(reference, &commit, ExpectedRef::Anywhere)?;
        // A `git gc` of the user's may have run between writing the objects and the reference to
        // them.
        if self.repo.require_transferred(&sent, tree, parent).is_err() {
            self.send_to_repository(tree, parent, SnapshotScope::Everything)?;
        }
        Ok(commit)
    }
}

/// Removes leftovers of killed removals under `root`. Call it when codeteam starts: no removal may
/// be in progress.
pub fn empty_trash(root: &Path) -> Result<(), Error> {
    files::remove_tree(&root.join(TRASH))
}

/// Writes a snapshot's files into a directory that must be absent or empty, and returns the folders
/// in it that git would take for repositories. Two processes.
pub fn restore_snapshot(
    repo: &Repo,
    snapshot: &Oid,
    directory: &Path,
) -> Result<Vec<PathBuf>, Error> {
    files::create_empty(directory)?;
    repo.checkout_into(snapshot, directory)?;
    let files = repo.ls_tree_paths(snapshot)?;
    Ok(bare_repositories::find_bare_repositories(
        files.iter().map(PathBuf::as_path),
    ))
}
