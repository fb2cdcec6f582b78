//! A private work tree per frame, outside the user's repository.
//!
//! ```text
//! <root>/<name>/tree      the work tree; `tree/.git` is a file naming `../git`
//! <root>/<name>/git       a throw-away git directory, for the worker's own use
//! <root>/<name>/collect   codeteam's git directory: index, objects; no worker writes it
//! <root>/<name>/setup     what `tree` was made ready with, if it was
//! <root>/<name>/included  files of the user's that are in `tree` and never collected
//! <root>/<name>/products  what set-up has left in `tree`: nobody's change as long as git does not
//!                         track it
//! <root>/<name>/state     what `tree` is meant to be; written last, so that a
//!                         half-made workspace is recognised and made again
//! ```
//!
//! Both git directories borrow the user's objects and are made with plain
//! writes. The user's `.git` is not touched before [`Workspace::transfer`]:
//! not `git worktree add`, which registers there, and which leaves a locked
//! registration when it is killed.
//!
//! What a worker has done is read from `tree` through `collect` alone. One
//! process changes a workspace at a time (see `lock`), so a lock file of git's
//! that is found in a private git directory is a dead process's and is removed.

mod bare;
mod error;
mod files;
mod git_dir;
mod lock;
mod products;
mod repair;
mod setup;
mod snapshot;
mod state;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub use error::Error;
pub(crate) use error::must_be_filtered;
pub(crate) use files::remove_tree;
pub use products::UnignoredProduct;
pub(crate) use snapshot::TRASH;
pub use snapshot::{RemovalOutcome, SnapshotRequest, empty_trash, restore};

use crate::git::{
    self, BlobReader, DiffEntry, IndexEntry, MergeOutcome, Oid, PrivateGitDir, Repo, SnapshotScope,
    TreeDiff, TreeEdit, TreeFile, TreeRepairs,
};
use crate::process::CommandLauncher;
use state::WorkspaceState;

/// A workspace, which may not exist on disk yet.
#[derive(Debug, Clone)]
pub struct Workspace {
    repo: Repo,
    root: PathBuf,
    name: String,
    directory: PathBuf,
    collector: PrivateGitDir,
    borrowed: Vec<PathBuf>,
    /// What had to be put right in the work tree, until somebody asks. Clones share it.
    repairs: Arc<Mutex<TreeRepairs>>,
}

/// What [`Workspace::prepare`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareOutcome {
    /// Nothing, or only the beginnings of a workspace that no worker has seen.
    Fresh,
    /// The wanted tree already.
    Same,
    /// Something else, which is gone from the work tree.
    Rebuilt {
        /// What was there, kept in the workspace's own objects; `None` if it
        /// could not be recorded.
        found_tree: Option<Oid>,
    },
}

/// What becomes of ignored files (build results, caches) on preparing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredFiles {
    /// They go: the work tree is exactly the wanted tree.
    Remove,
    /// They stay, for the sake of fast builds.
    Keep,
}

/// The folders among files that git would take for repositories though there is no `.git`, and that a
/// change makes or changes. What the user keeps of that kind is the user's, as long as it stays as it
/// is.
pub(crate) fn repositories<'a>(
    files: impl IntoIterator<Item = &'a Path>,
    diff: &TreeDiff,
) -> Vec<PathBuf> {
    let mut paths = bare::repositories(files);
    paths.retain(|folder| {
        let mut files = diff.files.iter();
        files.any(|file| bare::is_part(&file.path, folder))
    });
    paths
}

impl Workspace {
    /// A handle to the workspace `name` under `root`, which must be an absolute
    /// path. Nothing is created.
    pub fn open(repo: &Repo, root: &Path, name: &str) -> Result<Workspace, Error> {
        let plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'@')
        };
        if !name.bytes().all(plain) || !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(Error::BadName {
                name: name.to_owned(),
            });
        }
        if !root.is_absolute() {
            return Err(Error::RelativeRoot {
                path: root.to_owned(),
            });
        }
        let directory = root.join(name);
        Ok(Workspace {
            collector: repo.private_dir(&directory.join("collect"), &directory.join("tree")),
            repo: repo.clone(),
            root: root.to_owned(),
            name: name.to_owned(),
            directory,
            borrowed: Vec::new(),
            repairs: Arc::default(),
        })
    }

    /// The same, whose work tree is only touched by confined processes, which carry `mark`.
    pub fn confined(
        mut self,
        launcher: &Arc<dyn CommandLauncher>,
        mark: &str,
    ) -> Result<Workspace, Error> {
        let objects = self.borrowed_dirs()?;
        self.collector = self.collector.confined(Arc::clone(launcher), objects, mark);
        Ok(self)
    }

    /// The same, which also knows what was collected in `other`, if that is there.
    #[must_use]
    pub fn borrowing(mut self, other: &Workspace) -> Workspace {
        let objects = other.collector.objects();
        if objects.is_dir() {
            self.collector.also_reads(&objects);
            self.borrowed.push(objects);
        }
        self
    }

    /// The work tree.
    pub fn tree_dir(&self) -> PathBuf {
        self.directory.join("tree")
    }

    /// The worker's git directory.
    pub fn git_dir(&self) -> PathBuf {
        self.directory.join("git")
    }

    /// The directories the worker's git directory borrows objects from, which
    /// a sandbox has to let it read.
    pub fn object_dirs(&self) -> Result<Vec<PathBuf>, Error> {
        let mut directories = vec![self.collector.objects()];
        directories.extend(self.borrowed_dirs()?);
        Ok(directories)
    }

    fn borrowed_dirs(&self) -> Result<Vec<PathBuf>, Error> {
        let mut directories = self.borrowed.clone();
        directories.extend(self.repo.object_dirs()?);
        Ok(directories)
    }

    /// Makes the work tree be exactly `tree`, for a worker that is told it
    /// stands on `head`. No worker may be running in it.
    ///
    /// One process if nothing is there, two if it is as wanted, three or four
    /// if it has to be changed.
    pub fn prepare(
        &self,
        tree: &Oid,
        head: &Oid,
        ignored: IgnoredFiles,
    ) -> Result<PrepareOutcome, Error> {
        files::create_dir(&self.directory)?;
        self.lock()?.prepare_locked(tree, head, ignored)
    }

    fn prepare_locked(
        &self,
        tree: &Oid,
        head: &Oid,
        ignored: IgnoredFiles,
    ) -> Result<PrepareOutcome, Error> {
        let prepared = match self.state()? {
            Some(WorkspaceState::Ready { tree: before }) if self.is_whole() => {
                self.prepare_again(&before, tree, ignored)?
            }
            Some(WorkspaceState::Ready { .. }) => {
                self.rebuild(tree, None)?;
                PrepareOutcome::Rebuilt { found_tree: None }
            }
            // Killed while rebuilding: what was found then is still known.
            Some(WorkspaceState::Rebuilding { found }) => {
                self.rebuild(tree, found.as_ref())?;
                PrepareOutcome::Rebuilt { found_tree: found }
            }
            None => {
                self.build(tree)?;
                PrepareOutcome::Fresh
            }
        };
        self.write_git_dir(head)?;
        self.set_state(&WorkspaceState::Ready { tree: tree.clone() })?;
        Ok(prepared)
    }

    /// Makes the worker's git directory anew where the work tree is as wanted:
    /// what one worker has configured there must not run for the next one. No
    /// process.
    pub fn renew_git_dir(&self, head: &Oid) -> Result<(), Error> {
        self.lock()?.write_git_dir(head)
    }

    /// Takes what differs from `head` out of the worker's index, so that `git diff` shows it and
    /// `git checkout` takes it back to where the work began. One process.
    pub fn unstage(&self, head: &Oid) -> Result<(), Error> {
        let locked = self.lock()?;
        let index = self.git_dir().join("index");
        Ok(locked.collector.move_index(&index, head)?)
    }

    /// Records the work tree as a tree, in the workspace's own objects. Two
    /// processes.
    ///
    /// Ignored files are left out, and codeteam's own directory is as it was.
    /// No filter runs, whatever the work tree's attributes say: what is
    /// recorded is what is on disk. A repository inside the work tree, whose
    /// content nobody could review, is an [`Error::NestedRepositories`]; a file
    /// git cannot record is an [`Error::Unrecordable`]. Both are the worker's
    /// doing, and what it should be told.
    pub fn collect(&self) -> Result<Oid, Error> {
        self.lock()?.collect_locked()
    }

    /// Collects the work tree and compares it with `base`. What would harm those
    /// who clone it is an [`Error::Unrecordable`] too, and a repository without a
    /// `.git` among the changes an [`Error::NestedRepositories`]. Three processes; five if a
    /// name has to do with git.
    pub fn changes(&self, base: &Oid) -> Result<(Oid, TreeDiff), Error> {
        let tree = self.collect()?;
        let diff = self.diff(base, &tree)?;
        if diff.has_to_do_with_git() {
            self.collector.examine(&tree, base)?;
        }
        self.refuse_repositories(&diff)?;
        self.refuse_filtered(base, &tree, &diff)?;
        Ok((tree, diff))
    }

    /// Refuses files that git must put through a filter and that have not been, as they were just
    /// collected.
    fn refuse_filtered(&self, base: &Oid, tree: &Oid, diff: &TreeDiff) -> Result<(), Error> {
        let is_attributes = |path: &Path| path.ends_with(".gitattributes");
        let has_attributes = self.entries()?.iter().any(|e| is_attributes(&e.path))
            || diff.files.iter().any(|file| is_attributes(&file.path));
        let files = self
            .repo
            .unfiltered(&self.collector, base, tree, diff, has_attributes)?;
        if files.is_empty() {
            return Ok(());
        }
        Err(Error::Filtered { files })
    }

    /// Refuses what makes or changes a folder that git would take for a repository, as it was just
    /// collected.
    fn refuse_repositories(&self, diff: &TreeDiff) -> Result<(), Error> {
        let entries = self.entries()?;
        let paths = repositories(entries.iter().map(|entry| entry.path.as_path()), diff);
        if paths.is_empty() {
            return Ok(());
        }
        Err(Error::NestedRepositories { paths })
    }

    fn collect_locked(&self) -> Result<Oid, Error> {
        let before = self.ready()?;
        self.unlock()?;
        let known = self.gitlinks(&before)?;
        let populated: Vec<PathBuf> = known
            .iter()
            .filter(|path| self.is_repository(path))
            .cloned()
            .collect();
        if !populated.is_empty() {
            return Err(Error::NestedRepositories { paths: populated });
        }
        let tree = self.record(&before, SnapshotScope::Changes)?;
        let now = self.gitlinks(&before)?;
        let new: Vec<PathBuf> = now
            .into_iter()
            .filter(|path| !known.contains(path))
            .collect();
        if new.is_empty() {
            return Ok(tree);
        }
        // Left in the index, they would make the next `git add` look into them.
        files::remove_file(&self.collector.index_path())?;
        Err(Error::NestedRepositories { paths: new })
    }

    /// What changed between two trees, collected ones or the repository's.
    /// One process.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<TreeDiff, Error> {
        Ok(self.collector.diff(from, to)?)
    }

    /// The first file that is not what `tree` says, where the work tree was just made from it; an empty
    /// path if the tree itself is not. See [`PrivateGitDir::untrue`].
    pub fn untrue(&self, tree: &Oid) -> Result<Option<PathBuf>, Error> {
        Ok(self.collector.untrue(tree)?)
    }

    /// Whether the objects of a tree and of its folders are what their names say.
    pub fn is_true(&self, tree: &Oid) -> Result<bool, Error> {
        Ok(self.collector.is_true(tree)?)
    }

    /// The first of these contents that is not what its name says.
    pub fn untrue_blob(&self, blobs: &BTreeMap<Oid, Vec<u8>>) -> Result<Option<Oid>, Error> {
        Ok(self.collector.untrue_blob(blobs)?)
    }

    /// Which files differ between two trees, without a patch. One process.
    pub fn differing(&self, from: &Oid, to: &Oid) -> Result<Vec<DiffEntry>, Error> {
        Ok(self.collector.differing(from, to)?)
    }

    /// The lines that differ between two trees, for those who look at them: of bytes, and of files
    /// longer than `longest`, it is only said that they differ. One process.
    pub fn lines(&self, from: &Oid, to: &Oid, longest: usize) -> Result<Vec<u8>, Error> {
        Ok(self.collector.lines(from, to, longest)?)
    }

    /// The lengths of blobs, those that are there. One process for a thousand.
    pub fn sizes(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, u64>, Error> {
        Ok(self.collector.sizes(ids)?)
    }

    /// The plain files of a tree, a collected one or the repository's. One process.
    pub fn files_of(&self, tree: &Oid) -> Result<Vec<TreeFile>, Error> {
        Ok(self.collector.all_files_of(tree)?)
    }

    /// The contents of blobs, those that are there. One process for a thousand.
    pub fn blobs(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, Vec<u8>>, Error> {
        Ok(self.collector.blobs(ids)?)
    }

    /// Reads blobs one by one. One process for all, when the first is asked for.
    pub fn reader(&self) -> BlobReader {
        self.collector.reader()
    }

    /// Makes a tree like another, but for some files. It is kept among the workspace's own objects;
    /// the work tree stays as it is. Three processes.
    pub fn tree_with(&self, tree: &Oid, files: &[TreeEdit]) -> Result<Oid, Error> {
        Ok(self.lock()?.collector.tree_with(tree, files)?)
    }

    /// Brings a collected tree into the user's repository, which has `base`
    /// (a tree or a commit). Two processes. Every object is checked; a tree that
    /// would harm those who clone it is an [`Error::Unrecordable`].
    ///
    /// A blob that the user's repository happened to have, in no commit, was
    /// not copied on collecting, and may have been pruned since. Then the work
    /// tree is collected once more, in full; it must still be what it was.
    pub fn transfer(&self, tree: &Oid, base: &Oid) -> Result<(), Error> {
        self.lock()?.send(tree, base, SnapshotScope::Changes)
    }

    /// Whether there is nothing of the workspace on disk.
    pub fn is_missing(&self) -> bool {
        !self.tree_dir().exists()
    }

    /// Makes the objects of a tree again from the commit it is based on and the
    /// patch that leads to it: for a workspace that was lost with all it held,
    /// or one whose objects were those of the user's repository and are gone
    /// from there. The work tree stays as it is, if there is one.
    pub fn remake(&self, base: &Oid, base_tree: &Oid, patch: &[u8]) -> Result<Oid, Error> {
        if self.is_missing() {
            self.prepare(base_tree, base, IgnoredFiles::Keep)?;
        }
        let locked = self.lock()?;
        // The user's repository may have moved since.
        locked.write_collector()?;
        Ok(locked.collector.tree_by_patch(base_tree, patch)?)
    }

    /// Writes a tree into another directory, which must not exist or be empty,
    /// for what must not write in the work tree. It is no repository. One
    /// process.
    pub fn scratch(&self, tree: &Oid, directory: &Path) -> Result<(), Error> {
        files::create_empty(directory)?;
        Ok(self.collector.checkout_into(tree, directory)?)
    }

    fn prepare_again(
        &self,
        before: &Oid,
        tree: &Oid,
        ignored: IgnoredFiles,
    ) -> Result<PrepareOutcome, Error> {
        // The user's repository may have moved since.
        self.write_collector()?;
        self.unlock()?;
        // Content of the user's submodules is not part of any tree here, and
        // a repository there must be gone before git looks.
        for path in self.gitlinks(before)? {
            if self.is_repository(&path) {
                files::empty(&self.tree_dir().join(path))?;
            }
        }
        let found = match self.record(before, SnapshotScope::Everything) {
            // Git will not look at it; it goes unrecorded.
            Err(Error::NestedRepositories { .. }) => None,
            // Anything else (a full disk) must not cost the worker's work.
            recorded => Some(recorded?),
        };
        if found.as_ref() == Some(tree) {
            if ignored == IgnoredFiles::Remove {
                self.sweep()?;
            }
            return Ok(PrepareOutcome::Same);
        }
        self.set_state(&WorkspaceState::Rebuilding {
            found: found.clone(),
        })?;
        // The index now is the work tree, so that git can move from one to the
        // other; should that fail, starting from nothing cannot.
        let moved = match found {
            None => false,
            Some(_) => self.move_to(tree, ignored)?,
        };
        if !moved {
            self.build(tree)?;
        }
        Ok(PrepareOutcome::Rebuilt { found_tree: found })
    }

    /// Makes the work tree, which is as the index has it, be `tree`. Whether that could be done.
    fn move_to(&self, tree: &Oid, ignored: IgnoredFiles) -> Result<bool, Error> {
        let moved = self.mending(|| {
            self.collector.checkout(tree)?;
            match ignored {
                IgnoredFiles::Remove => Ok(()),
                IgnoredFiles::Keep => self.collector.remove_untracked(),
            }
        });
        match moved {
            Ok(()) if ignored == IgnoredFiles::Remove => self.sweep().map(|()| true),
            Ok(()) => Ok(true),
            Err(error @ git::Error::Cancelled { .. }) => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    fn rebuild(&self, tree: &Oid, found: Option<&Oid>) -> Result<(), Error> {
        self.set_state(&WorkspaceState::Rebuilding {
            found: found.cloned(),
        })?;
        self.build(tree)
    }

    /// Makes everything but the worker's git directory, whatever is there. The
    /// objects stay: the tree that is wanted may be nowhere else.
    fn build(&self, tree: &Oid) -> Result<(), Error> {
        files::remove_file(&self.setup_note())?;
        files::remove_file(&self.products_note())?;
        files::remove_tree(&self.tree_dir())?;
        files::create_dir(&self.tree_dir())?;
        self.write_collector()?;
        self.exclude_products()?;
        self.unlock()?;
        files::remove_file(&self.collector.index_path())?;
        Ok(self.collector.checkout_first(tree)?)
    }

    /// The work tree as a tree. An index that is missing or broken, or that
    /// names objects which are gone, is made again from the tree that was
    /// prepared: without one, a tracked file that is also ignored would be lost.
    fn record(&self, before: &Oid, scope: SnapshotScope) -> Result<Oid, Error> {
        if self.collector.index()?.is_some() {
            match self.record_mending(scope) {
                Err(Error::Git(git::Error::Failed { .. })) => {}
                recorded => return recorded,
            }
        }
        self.reload_index(before)?;
        self.record_mending(scope)
    }

    fn reload_index(&self, before: &Oid) -> Result<(), Error> {
        self.unlock()?;
        files::remove_file(&self.collector.index_path())?;
        Ok(self.collector.load_index(before)?)
    }

    fn send(&self, tree: &Oid, base: &Oid, scope: SnapshotScope) -> Result<(), Error> {
        let receive = || {
            // What was collected was examined then.
            if scope == SnapshotScope::Everything {
                self.collector.examine(tree, base)?;
            }
            self.repo.receive(&self.collector, tree, base)
        };
        let first = match receive() {
            Err(error @ git::Error::Failed { .. }) => error,
            done => return Ok(done?),
        };
        let Some(WorkspaceState::Ready { tree: before }) = self.state()? else {
            return Err(first.into());
        };
        files::remove_file(&self.collector.index_path())?;
        if self.record(&before, scope)? != *tree {
            return Err(first.into());
        }
        Ok(receive()?)
    }

    /// Removes everything from the work tree that the index does not track.
    fn sweep(&self) -> Result<(), Error> {
        files::sweep(&self.tree_dir(), &self.entries()?)
    }

    fn entries(&self) -> Result<Vec<IndexEntry>, Error> {
        let path = self.collector.index_path();
        self.collector.index()?.ok_or(Error::BrokenIndex { path })
    }

    /// The references to other repositories that the index has.
    fn gitlinks(&self, before: &Oid) -> Result<Vec<PathBuf>, Error> {
        if self.collector.index()?.is_none() {
            self.reload_index(before)?;
        }
        let entries = self.entries()?;
        Ok(entries
            .into_iter()
            .filter(IndexEntry::is_gitlink)
            .map(|entry| entry.path)
            .collect())
    }

    /// Whether a directory of the work tree itself, not one behind a symbolic
    /// link, holds a repository.
    fn is_repository(&self, path: &Path) -> bool {
        files::is_inside(&self.tree_dir(), path)
            && self
                .tree_dir()
                .join(path)
                .join(".git")
                .symlink_metadata()
                .is_ok()
    }

    fn is_whole(&self) -> bool {
        let is_directory = |path: PathBuf| {
            path.symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir())
        };
        is_directory(self.tree_dir()) && is_directory(self.collector.objects())
    }

    /// The tree that the work tree was last prepared as.
    pub fn prepared_tree(&self) -> Result<Oid, Error> {
        self.ready()
    }

    /// Merges two trees that came from `base` into one among the workspace's own objects. Each may
    /// be a commit. One process.
    pub fn merge_trees(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<MergeOutcome, Error> {
        Ok(self.lock()?.collector.merge_trees(base, ours, theirs)?)
    }

    fn ready(&self) -> Result<Oid, Error> {
        match self.state()? {
            Some(WorkspaceState::Ready { tree }) if self.is_whole() => Ok(tree),
            _ => Err(Error::NotPrepared {
                path: self.directory.clone(),
            }),
        }
    }
}
