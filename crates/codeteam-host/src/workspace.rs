//! A private work tree per frame, outside the user's repository.
//!
//! ```text
//! <root>/<name>/tree      the work tree; `tree/.git` is a file pointing to `../git`
//! <root>/<name>/git       a throw-away git directory, for the worker's own use
//! <root>/<name>/collect   codeteam's git directory: index, objects; no worker writes it
//! <root>/<name>/setup     the key of the set-up that was run in `tree`, if any
//! <root>/<name>/included  files of the user's that are in `tree` and never collected
//! <root>/<name>/products  files that set-up created in `tree`; they are not part of a change
//!                         unless git tracks them
//! <root>/<name>/prepared  the index as it was when git had written all files of `tree`; see `verify`
//! <root>/<name>/folders   what the folders of `tree` were like then; see `folder_notes`
//! <root>/<name>/origin    the tree that it was written from
//! <root>/<name>/state     the tree that `tree` is meant to be; written last, so that a
//!                         half-made workspace is recognised and made again
//! ```
//!
//! Both git directories borrow the user's objects and are created with plain writes. The user's
//! `.git` is not touched before [`Workspace::transfer`]. In particular, `git worktree add` is not
//! used: it registers the worktree there, and leaves a locked registration when it is killed.
//!
//! A worker's changes are read from `tree` through `collect` alone. Only one process changes a
//! workspace at a time (see `lock`), so a git lock file that is found in a private git directory
//! belongs to a dead process and is removed.

mod bare_repositories;
mod error;
mod file_stats;
mod files;
mod folder_notes;
mod git_dir;
mod lock;
mod pool;
mod products;
mod repair;
mod reuse;
mod setup;
mod snapshot;
mod stamps;
mod state;
mod verify;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub use error::Error;
pub use error::filtered_files_message;
pub use files::remove_tree;
pub use pool::{AnnouncedRelease, WorktreePool};
pub use products::UnignoredProduct;
pub use snapshot::TRASH;
pub use snapshot::{RemovalOutcome, SnapshotRequest, empty_trash, restore_snapshot};
pub use stamps::FileStamps;

use crate::git::{
    self, BlobReader, DiffEntry, IndexEntry, MergeOutcome, Oid, PrivateGitDir, Repo, SnapshotScope,
    TransferredTree, TreeDiff, TreeEdit, TreeFile, TreeRepairs,
};
use crate::process::CommandLauncher;
use state::WorkspaceState;

/// A handle to a workspace, which may not exist on disk yet.
///
/// The order of calls is: [`Workspace::open`] creates the handle, [`Workspace::confined`] makes git
/// run sandboxed in the work tree, [`Workspace::prepare`] creates the work tree or resets it. Then
/// a worker runs in [`Workspace::tree_dir`]. Afterwards [`Workspace::collect_changes`] records its
/// files as a tree and compares it with the base, and [`Workspace::transfer`] copies an accepted
/// tree into the user's repository. In the end, [`Workspace::snapshot_and_remove`] keeps unfinished
/// work as a commit and ends the workspace. A workspace with a [`WorktreePool`] gives its work tree
/// back there, and a new one starts with it.
///
/// Everything that changes a workspace takes its lock. No worker may be running in the work tree
/// while it is prepared or removed.
#[derive(Debug, Clone)]
pub struct Workspace {
    repo: Repo,
    root: PathBuf,
    name: String,
    directory: PathBuf,
    collector: PrivateGitDir,
    borrowed: Vec<PathBuf>,
    /// Repairs made in the work tree that were not yet reported. Clones share them.
    repairs: Arc<Mutex<TreeRepairs>>,
    /// Where work trees are kept that nobody needs any more.
    pool: Option<WorktreePool>,
}

/// What was recorded of a work tree.
struct RecordedTree {
    tree: Oid,
    /// A description of what git could not record.
    left_out: Option<String>,
    /// What differs from the tree that it was to be compared with, if there was one.
    diff: Option<TreeDiff>,
}

/// The state in which [`Workspace::prepare`] found the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareOutcome {
    /// There was nothing, or an unfinished workspace that no worker has seen.
    Fresh,
    /// It already held the wanted tree.
    Same,
    /// It held something else, which was removed from the work tree.
    Rebuilt {
        /// The previous content, kept in the workspace's own objects; `None` if it could not be
        /// recorded.
        found_tree: Option<Oid>,
    },
}

/// The treatment of ignored files (build results, caches) when preparing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredFiles {
    /// Remove them: the work tree is exactly the wanted tree.
    Remove,
    /// Keep them, to make builds fast.
    Keep,
}

/// Returns the folders that git would take for repositories even without a `.git` and that a change
/// creates or modifies. Such folders that the user already has are fine as long as they stay as
/// they are.
pub fn new_bare_repositories<'a>(
    files: impl IntoIterator<Item = &'a Path>,
    diff: &TreeDiff,
) -> Vec<PathBuf> {
    let mut changed = diff.files.iter();
    if !changed.any(|file| bare_repositories::may_be_part(&file.path)) {
        return Vec::new();
    }
    let mut paths = bare_repositories::find_bare_repositories(files);
    paths.retain(|folder| {
        let mut files = diff.files.iter();
        files.any(|file| bare_repositories::is_part_of(&file.path, folder))
    });
    paths
}

/// Refuses changes of the collected tree that create or modify a folder that git would take for a
/// repository.
fn refuse_repositories(entries: &[IndexEntry], diff: &TreeDiff) -> Result<(), Error> {
    let paths = new_bare_repositories(entries.iter().map(|entry| entry.path.as_path()), diff);
    if paths.is_empty() {
        return Ok(());
    }
    Err(Error::NestedRepositories { paths })
}

impl Workspace {
    /// Creates a handle to the workspace `name` under `root`, which must be an absolute path.
    /// Nothing is created on disk.
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
            pool: None,
        })
    }

    /// Returns this workspace with only confined processes, which carry `mark`, touching its work
    /// tree.
    pub fn confined(
        mut self,
        launcher: &Arc<dyn CommandLauncher>,
        mark: &str,
    ) -> Result<Workspace, Error> {
        let objects = self.borrowed_dirs()?;
        self.collector = self.collector.confined(Arc::clone(launcher), objects, mark);
        Ok(self)
    }

    /// Returns this workspace with access to the objects collected in `other`, if it exists.
    #[must_use]
    pub fn borrowing_objects(mut self, other: &Workspace) -> Workspace {
        let objects = other.collector.objects_dir();
        if objects.is_dir() {
            self.collector.allow_objects(&objects);
            self.borrowed.push(objects);
        }
        self
    }

    /// Returns the work tree's directory.
    pub fn tree_dir(&self) -> PathBuf {
        self.directory.join("tree")
    }

    /// Returns the worker's git directory.
    pub fn git_dir(&self) -> PathBuf {
        self.directory.join("git")
    }

    /// Returns the directories from which the worker's git directory borrows objects, and which a
    /// sandbox has to let it read.
    pub fn object_dirs(&self) -> Result<Vec<PathBuf>, Error> {
        let mut directories = vec![self.collector.objects_dir()];
        directories.extend(self.borrowed_dirs()?);
        Ok(directories)
    }

    fn borrowed_dirs(&self) -> Result<Vec<PathBuf>, Error> {
        let mut directories = self.borrowed.clone();
        directories.extend(self.repo.object_dirs()?);
        Ok(directories)
    }

    /// Makes the work tree exactly `tree`, with `head` as the commit the worker starts from. No
    /// worker may be running in it.
    ///
    /// One process if nothing is there, two if it is already as wanted, three or four if it has to
    /// be changed.
    pub fn prepare(
        &self,
        tree: &Oid,
        head: &Oid,
        ignored: IgnoredFiles,
    ) -> Result<PrepareOutcome, Error> {
        self.take_kept_tree(tree)?;
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
            // A rebuild was killed: what it found is still recorded.
            Some(WorkspaceState::Rebuilding { found }) => {
                self.rebuild(tree, found.as_ref())?;
                PrepareOutcome::Rebuilt { found_tree: found }
            }
            None => {
                match self.move_kept_tree(tree)? {
                    Some(folders) => self.note_prepared(tree, Some(folders))?,
                    None => self.build_work_tree(tree)?,
                }
                PrepareOutcome::Fresh
            }
        };
        self.write_git_dir(head)?;
        self.set_state(&WorkspaceState::Ready { tree: tree.clone() })?;
        Ok(prepared)
    }

    /// Recreates the worker's git directory for a work tree that is already as wanted: what one
    /// worker has configured there must not affect the next one. No process.
    pub fn renew_git_dir(&self, head: &Oid) -> Result<(), Error> {
        self.lock()?.write_git_dir(head)
    }

    /// Resets the worker's index to `head`, so that `git diff` shows the changes and `git checkout`
    /// reverts them to where the work began. One process.
    pub fn unstage(&self, head: &Oid) -> Result<(), Error> {
        let locked = self.lock()?;
        let index = self.git_dir().join("index");
        Ok(locked.collector.move_index(&index, head)?)
    }

    /// Records the work tree as a tree, in the workspace's own objects. Two processes.
    ///
    /// Ignored files are left out, and codeteam's own directory is as it was. No filter runs,
    /// whatever the work tree's attributes say: the files are recorded as they are on disk. A
    /// repository inside the work tree, whose content nobody could review, is an
    /// [`Error::NestedRepositories`]; a file git cannot record is an [`Error::Unrecordable`]. The
    /// worker caused both, and should be told about them.
    pub fn collect(&self) -> Result<Oid, Error> {
        Ok(self.lock()?.collect_locked(None)?.tree)
    }

    /// Collects the work tree and compares it with `base`. Content that would harm people who clone
    /// it is also an [`Error::Unrecordable`], and a repository without a `.git` among the changes
    /// is an [`Error::NestedRepositories`]. Three processes; five if a name resembles one of git's.
    pub fn collect_changes(&self, base: &Oid) -> Result<(Oid, TreeDiff), Error> {
        let recorded = self.lock()?.collect_locked(Some(base))?;
        let tree = recorded.tree;
        let diff = match recorded.diff {
            Some(diff) => diff,
            None => self.diff(base, &tree)?,
        };
        if diff.touches_git_names() {
            self.collector.check_objects(&tree, base)?;
        }
        let entries = self.index_entries()?;
        refuse_repositories(&entries, &diff)?;
        self.refuse_filtered(base, &tree, &diff, &entries)?;
        Ok((tree, diff))
    }

    /// Refuses files of the collected tree that must pass through a git filter and have not.
    fn refuse_filtered(
        &self,
        base: &Oid,
        tree: &Oid,
        diff: &TreeDiff,
        entries: &[IndexEntry],
    ) -> Result<(), Error> {
        let is_attributes = |path: &Path| path.ends_with(".gitattributes");
        let has_attributes = entries.iter().any(|e| is_attributes(&e.path))
            || diff.files.iter().any(|file| is_attributes(&file.path));
        let files =
            self.repo
                .unfiltered_files(&self.collector, base, tree, diff, has_attributes)?;
        if files.is_empty() {
            return Ok(());
        }
        Err(Error::Filtered { files })
    }

    /// Collects the work tree, and compares it with the tree `base`, if there is one.
    fn collect_locked(&self, base: Option<&Oid>) -> Result<RecordedTree, Error> {
        let before = self.ready_tree()?;
        self.remove_stale_locks()?;
        let known = self.gitlinks(&before)?;
        let populated: Vec<PathBuf> = known
            .iter()
            .filter(|path| self.is_repository(path))
            .cloned()
            .collect();
        if !populated.is_empty() {
            return Err(Error::NestedRepositories { paths: populated });
        }
        let recorded = self.record(&before, SnapshotScope::Changes, base);
        if let Err(Error::Unrecordable { .. }) = recorded {
            // Git may have added the rest, nested repositories among it: as links in the index they
            // would hide their files from whoever records the work tree next.
            files::remove_file(&self.collector.index_path())?;
        }
        let recorded = recorded?;
        let now = self.gitlinks(&before)?;
        let new: Vec<PathBuf> = now
            .into_iter()
            .filter(|path| !known.contains(path))
            .collect();
        if new.is_empty() {
            return Ok(recorded);
        }
        // If they stayed in the index, the next `git add` would look into them.
        files::remove_file(&self.collector.index_path())?;
        Err(Error::NestedRepositories { paths: new })
    }

    /// Returns the difference between two trees, collected ones or the repository's. One process.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<TreeDiff, Error> {
        Ok(self.collector.diff(from, to)?)
    }

    /// Returns the first file that does not match `tree`, from which the work tree was just made,
    /// or an empty path if the tree itself does not match. See
    /// [`PrivateGitDir::first_altered_file`].
    pub fn first_altered_file(&self, tree: &Oid) -> Result<Option<PathBuf>, Error> {
        Ok(self.collector.first_altered_file(tree)?)
    }

    /// Returns true if the objects of a tree and of its folders match their names.
    pub fn are_trees_intact(&self, tree: &Oid) -> Result<bool, Error> {
        Ok(self.collector.are_trees_intact(tree)?)
    }

    /// Returns the first of these contents that does not match its name.
    pub fn first_altered_blob(&self, blobs: &BTreeMap<Oid, Vec<u8>>) -> Result<Option<Oid>, Error> {
        Ok(self.collector.first_altered_blob(blobs)?)
    }

    /// Returns the files that differ between two trees, without a patch. One process.
    pub fn differing_files(&self, from: &Oid, to: &Oid) -> Result<Vec<DiffEntry>, Error> {
        Ok(self.collector.differing_files(from, to)?)
    }

    /// Returns the lines that differ between two trees, for display: for binary files, and for
    /// files longer than `longest`, it says only that they differ. One process.
    pub fn diff_lines(&self, from: &Oid, to: &Oid, longest: usize) -> Result<Vec<u8>, Error> {
        Ok(self.collector.diff_lines(from, to, longest)?)
    }

    /// Returns the lengths of the blobs that exist. One process per thousand.
    pub fn blob_sizes(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, u64>, Error> {
        Ok(self.collector.blob_sizes(ids)?)
    }

    /// Returns the regular files of a tree, a collected one or the repository's. One process.
    pub fn tree_files(&self, tree: &Oid) -> Result<Vec<TreeFile>, Error> {
        Ok(self.collector.all_tree_files(tree)?)
    }

    /// Returns the contents of the blobs that exist. One process per thousand.
    pub fn read_blobs(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, Vec<u8>>, Error> {
        Ok(self.collector.read_blobs(ids)?)
    }

    /// Returns a reader that reads blobs one by one. One process for all, started by the first
    /// request.
    pub fn blob_reader(&self) -> BlobReader {
        self.collector.blob_reader()
    }

    /// Stores a text as a blob that trees can contain. One process.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid, Error> {
        Ok(self.lock()?.collector.write_blob(bytes)?)
    }

    /// Creates a tree like another one with some files changed. It is kept among the workspace's
    /// own objects; the work tree stays as it is. Three processes.
    pub fn tree_with(&self, tree: &Oid, files: &[TreeEdit]) -> Result<Oid, Error> {
        Ok(self.lock()?.collector.tree_with(tree, files)?)
    }

    /// Copies a collected tree into the user's repository, which has `base` (a tree or a commit). No
    /// process, or two if git has to copy it. Every object is checked; a tree that would harm people
    /// who clone it is an [`Error::Unrecordable`].
    ///
    /// A blob that the user's repository happened to have, in no commit, was not copied when
    /// collecting, and may have been pruned since. In that case the work tree is collected once
    /// more, in full; it must still be what it was.
    pub fn transfer(&self, tree: &Oid, base: &Oid) -> Result<TransferredTree, Error> {
        self.lock()?
            .send_to_repository(tree, base, SnapshotScope::Changes)
    }

    /// Returns true if the workspace has no work tree on disk.
    pub fn is_missing(&self) -> bool {
        !self.tree_dir().exists()
    }

    /// Recreates the objects of a tree from the commit it is based on and the patch that leads to
    /// it. This is for a workspace that was lost with everything in it, or whose objects were those
    /// of the user's repository and are gone from there. An existing work tree stays as it is.
    pub fn rebuild_tree(&self, base: &Oid, base_tree: &Oid, patch: &[u8]) -> Result<Oid, Error> {
        if self.is_missing() {
            self.prepare(base_tree, base, IgnoredFiles::Keep)?;
        }
        let locked = self.lock()?;
        // The user's repository may have been moved since.
        locked.write_collector()?;
        Ok(locked.collector.apply_patch(base_tree, patch)?)
    }

    /// Writes a tree into another directory, which must be absent or empty, for commands that must
    /// not write in the work tree. The directory is not a repository. One process.
    pub fn checkout_into(&self, tree: &Oid, directory: &Path) -> Result<(), Error> {
        files::create_empty(directory)?;
        Ok(self.collector.checkout_into(tree, directory)?)
    }

    fn prepare_again(
        &self,
        before: &Oid,
        tree: &Oid,
        ignored: IgnoredFiles,
    ) -> Result<PrepareOutcome, Error> {
        // The user's repository may have been moved since.
        self.write_collector()?;
        self.remove_stale_locks()?;
        // Content of the user's submodules is not part of any tree here, and a repository there
        // must be removed before git looks at it.
        for path in self.gitlinks(before)? {
            if self.is_repository(&path) {
                files::empty_directory(&self.tree_dir().join(path))?;
            }
        }
        let found = match self.record_tree(before, SnapshotScope::Everything) {
            // Git refuses to read it; it is not recorded.
            Err(Error::NestedRepositories { .. }) => None,
            // Any other failure (a full disk) must not lose the worker's changes.
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
        // The index now matches the work tree, so git can move from one tree to the other. If that
        // fails, the work tree is rebuilt from scratch, which cannot fail for that reason.
        let moved = match found {
            None => false,
            Some(_) => self.move_to(tree, ignored)?,
        };
        if !moved {
            self.build_work_tree(tree)?;
        }
        Ok(PrepareOutcome::Rebuilt { found_tree: found })
    }

    /// Moves the work tree, which matches the index, to `tree`. Returns false if git could not do
    /// it.
    fn move_to(&self, tree: &Oid, ignored: IgnoredFiles) -> Result<bool, Error> {
        let moved = self.with_repair(|| {
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
        self.build_work_tree(tree)
    }

    /// Creates everything but the worker's git directory, whatever is there. The objects stay: they
    /// may be the only copy of the wanted tree.
    fn build_work_tree(&self, tree: &Oid) -> Result<(), Error> {
        self.forget_prepared()?;
        files::remove_file(&self.setup_key_path())?;
        files::remove_file(&self.products_note())?;
        files::remove_tree(&self.tree_dir())?;
        files::create_dir(&self.tree_dir())?;
        self.write_collector()?;
        self.exclude_products()?;
        self.remove_stale_locks()?;
        files::remove_file(&self.collector.index_path())?;
        self.collector.checkout_first(tree)?;
        self.note_prepared(tree, None)
    }

    /// Records the work tree as a tree.
    fn record_tree(&self, before: &Oid, scope: SnapshotScope) -> Result<Oid, Error> {
        Ok(self.record(before, scope, None)?.tree)
    }

    /// Does the same, and compares it with the tree `base`, if there is one. An index that is missing
    /// or broken, or that refers to objects which no longer exist, is recreated from the prepared
    /// tree: without one, a tracked file that is also ignored would be lost.
    fn record(
        &self,
        before: &Oid,
        scope: SnapshotScope,
        base: Option<&Oid>,
    ) -> Result<RecordedTree, Error> {
        if self.collector.read_index()?.is_some() {
            match self.record_with_repair(scope, base) {
                Err(Error::Git(git::Error::Failed { .. })) => {}
                recorded => return recorded,
            }
        }
        self.reload_index(before)?;
        self.record_with_repair(scope, base)
    }

    fn reload_index(&self, before: &Oid) -> Result<(), Error> {
        self.remove_stale_locks()?;
        files::remove_file(&self.collector.index_path())?;
        Ok(self.collector.load_index(before)?)
    }

    fn send_to_repository(
        &self,
        tree: &Oid,
        base: &Oid,
        scope: SnapshotScope,
    ) -> Result<TransferredTree, Error> {
        let receive = || {
            // Collected changes were checked when they were collected.
            if scope == SnapshotScope::Everything {
                self.collector.check_objects(tree, base)?;
            }
            self.repo.receive_tree(&self.collector, tree, base)
        };
        let first = match receive() {
            Err(error @ git::Error::Failed { .. }) => error,
            done => return Ok(done?),
        };
        let Some(WorkspaceState::Ready { tree: before }) = self.state()? else {
            return Err(first.into());
        };
        files::remove_file(&self.collector.index_path())?;
        if self.record_tree(&before, scope)? != *tree {
            return Err(first.into());
        }
        Ok(receive()?)
    }

    /// Removes everything from the work tree that the index does not track.
    fn sweep(&self) -> Result<(), Error> {
        files::remove_untracked(&self.tree_dir(), &self.index_entries()?)
    }

    fn index_entries(&self) -> Result<Arc<Vec<IndexEntry>>, Error> {
        let path = self.collector.index_path();
        self.collector
            .read_index()?
            .ok_or(Error::BrokenIndex { path })
    }

    /// Returns the references to other repositories in the index.
    fn gitlinks(&self, before: &Oid) -> Result<Vec<PathBuf>, Error> {
        if self.collector.read_index()?.is_none() {
            self.reload_index(before)?;
        }
        let entries = self.index_entries()?;
        let links = entries.iter().filter(|entry| entry.is_gitlink());
        Ok(links.map(|entry| entry.path.clone()).collect())
    }

    /// Returns those of these files that exist in the work tree inside a submodule, of which nothing
    /// is collected, and the submodule of each. No process.
    pub fn submodule_files(&self, files: &[String]) -> Result<Vec<(PathBuf, PathBuf)>, Error> {
        let entries = self.index_entries()?;
        let modules = entries.iter().filter(|entry| entry.is_gitlink());
        let modules: Vec<&Path> = modules.map(|entry| entry.path.as_path()).collect();
        let named = files.iter().filter_map(|file| {
            let file = PathBuf::from(file.trim_start_matches("./"));
            let module = modules.iter().find(|module| file.starts_with(module))?;
            Some((file.clone(), module.to_path_buf()))
        });
        let exists = |file: &Path| {
            let path = self.tree_dir().join(file);
            let folder = file.parent().unwrap_or(Path::new(""));
            files::is_inside(&self.tree_dir(), folder)
                && path.symlink_metadata().is_ok_and(|found| !found.is_dir())
        };
        Ok(named.filter(|(file, _)| exists(file)).collect())
    }

    /// Returns true if a directory of the work tree itself, not one behind a symbolic link, holds a
    /// repository.
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
        is_directory(self.tree_dir()) && is_directory(self.collector.objects_dir())
    }

    /// Returns the tree that the work tree was last prepared as.
    pub fn prepared_tree(&self) -> Result<Oid, Error> {
        self.ready_tree()
    }

    /// Merges two trees that came from `base` into a tree among the workspace's own objects. Each
    /// may be a commit. One process.
    pub fn merge_trees(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<MergeOutcome, Error> {
        Ok(self.lock()?.collector.merge_trees(base, ours, theirs)?)
    }

    fn ready_tree(&self) -> Result<Oid, Error> {
        match self.state()? {
            Some(WorkspaceState::Ready { tree }) if self.is_whole() => Ok(tree),
            _ => Err(Error::NotPrepared {
                path: self.directory.clone(),
            }),
        }
    }
}
