//! The end of a workspace: what it holds is kept as a commit, then it goes;
//! and bringing such a commit back.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Error, Workspace, WorkspaceState, bare, files};
use crate::git::{CommitSignature, ExpectedRef, Oid, Repo, SnapshotScope};

/// Where directories go to be removed, so that a workspace is there or not.
pub(crate) const TRASH: &str = ".trash";

/// What a snapshot is to be, in the user's repository.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotRequest<'a> {
    /// The reference that keeps it: `refs/codeteam/<run>/worktree/<name>`.
    pub reference: &'a str,
    /// The commit the work began from.
    pub parent: &'a Oid,
    /// The tree of which nothing needs to be kept, as a branch has it: usually
    /// the parent's.
    pub known_tree: &'a Oid,
    /// The commit message.
    pub message: &'a str,
    /// Who and when.
    pub signature: &'a CommitSignature,
}

/// What became of a workspace that was to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// It had something of its own, which is now this commit.
    Kept {
        /// What the snapshot's reference is at.
        commit: Oid,
    },
    /// It had nothing that is not known already, or was never ready for use.
    NothingToKeep,
    /// It was gone before: this is a repetition.
    AlreadyGone,
}

impl Workspace {
    /// Keeps what the work tree holds, untracked files included, as a commit
    /// in the user's repository, and removes the workspace. Six processes; two
    /// if there is nothing to keep.
    ///
    /// Ignored files are not kept: they are results of what is. Of a nested
    /// repository the files are kept and the history is not; of a submodule
    /// of the user's, which is never checked out here, nothing is.
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
                commit: self.keep(&tree, snapshot)?,
            },
            None => RemovalOutcome::NothingToKeep,
        };
        self.remove_locked()?;
        Ok(removed)
    }

    /// Removes the workspace with all it holds. No process.
    pub fn remove(&self) -> Result<(), Error> {
        if self.directory.symlink_metadata().is_ok() {
            return self.lock()?.remove_locked();
        }
        files::remove_tree(&self.trash())
    }

    fn remove_locked(&self) -> Result<(), Error> {
        let trash = self.trash();
        loop {
            files::create_dir(&self.root.join(TRASH))?;
            // What a removal that was killed has left is in the way.
            files::remove_tree(&trash)?;
            match fs::rename(&self.directory, &trash) {
                // Whoever has removed the last of others has taken the folder with it.
                Err(error) if error.kind() == ErrorKind::NotFound && self.directory.exists() => {}
                done => break done.map_err(files::io("remove", &self.directory))?,
            }
        }
        files::remove_tree(&trash)
    }

    fn trash(&self) -> PathBuf {
        self.root.join(TRASH).join(&self.name)
    }

    /// Records all files, those of nested repositories as well: nothing of the
    /// work tree is needed any more, so that they can be taken apart.
    fn record_files(&self, before: &Oid) -> Result<Oid, Error> {
        // Nobody will work in it any more, and everything in it is to be gone through.
        self.repair()?;
        files::dissolve_repositories(&self.tree_dir())?;
        self.record(before, SnapshotScope::Everything)
    }

    /// Only this workspace's owner writes the reference, and a repetition
    /// replaces it by its equal.
    fn keep(&self, tree: &Oid, snapshot: &SnapshotRequest<'_>) -> Result<Oid, Error> {
        let SnapshotRequest {
            reference,
            parent,
            message,
            signature,
            ..
        } = *snapshot;
        let diff = self.diff(parent, tree)?;
        self.refuse_filtered(parent, tree, &diff)?;
        self.send(tree, parent, SnapshotScope::Everything)?;
        let commit = self.repo.commit(tree, &[parent], message, signature)?;
        self.repo
            .update_ref(reference, &commit, ExpectedRef::Anywhere)?;
        // A `git gc` of the user's may have come between the objects and the reference to them.
        if self.repo.require_whole(tree, parent).is_err() {
            self.send(tree, parent, SnapshotScope::Everything)?;
        }
        Ok(commit)
    }
}

/// Removes what earlier removals under `root` have left, if they were killed.
/// For the start of codeteam: nothing may be being removed meanwhile.
pub fn empty_trash(root: &Path) -> Result<(), Error> {
    files::remove_tree(&root.join(TRASH))
}

/// Writes a snapshot's files into a directory that must not exist yet, or be
/// empty, and says which folders of it git would take for repositories. Two
/// processes.
pub fn restore(repo: &Repo, snapshot: &Oid, directory: &Path) -> Result<Vec<PathBuf>, Error> {
    files::create_empty(directory)?;
    repo.checkout_into(snapshot, directory)?;
    let files = repo.ls_tree_paths(snapshot)?;
    Ok(bare::repositories(files.iter().map(PathBuf::as_path)))
}
