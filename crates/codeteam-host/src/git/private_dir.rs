//! A git directory that only codeteam writes, for reading a work tree that a worker writes.
//!
//! The work tree's own `.git` is never read: a worker could have replaced it with one whose
//! configuration runs programs. A work tree can still contain other repositories; see
//! [`PrivateGitDir::read_index`] for why they matter.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::UNIX_EPOCH;

use codeteam_sandbox::MountAccess;
use rustix::process::{getegid, geteuid};

use super::command::{GitCall, GitOutput, GitProgram};
use super::loose_objects::ObjectDir;
use super::objects::parse_paths as paths_of;
use super::repo::{OWN_DIRECTORY, parse_oid};
use super::{
    BlobReader, DiffEntry, Error, IndexEntry, MergeOutcome, ObjectFormat, Oid, Repo, TreeDiff,
    TreeFile, diff, index, merge, objects,
};
use crate::process::{CommandLauncher, HostView, WaitLimit};

/// A git directory with its own index and objects, kept apart from the work tree it reads.
///
/// Codeteam uses it to check trees out for workers, to record what workers did, and to compare the
/// results, without ever trusting the `.git` in the work tree. It borrows the objects of the user's
/// repository and writes new objects only to its own store, so the user's repository stays
/// untouched until [`Repo::receive`] copies a tree over.
///
/// [`Repo::private_dir`] creates a handle. [`PrivateGitDir::checkout`] makes the work tree match a
/// tree, [`PrivateGitDir::add_all`] and [`PrivateGitDir::write_tree`] record it as a tree again.
/// Calls that touch the work tree run in a sandbox if the handle was made
/// [`confined`](PrivateGitDir::confined), because a worker decides what is in it. Each method
/// states how many processes it starts.
#[derive(Debug, Clone)]
pub struct PrivateGitDir {
    git: GitProgram,
    format: ObjectFormat,
    git_dir: PathBuf,
    work_tree: PathBuf,
    held: Option<Arc<File>>,
    fence: Option<WorkTreeSandbox>,
    /// The index as it was last parsed. Clones share it.
    parsed_index: Arc<Mutex<Option<ParsedIndex>>>,
}

/// The entries of an index, and what its file was like: git replaces the file to change it.
#[derive(Debug)]
struct ParsedIndex {
    file: [i64; 6],
    entries: Arc<Vec<IndexEntry>>,
}

/// Returns numbers that change with every change of a file.
fn file_numbers(found: &Metadata) -> [i64; 6] {
    [
        found.ino().cast_signed(),
        found.size().cast_signed(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ]
}

/// A change to one file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEdit {
    /// The path of the file.
    pub path: PathBuf,
    /// The new mode and content; `None` to remove the file.
    pub content: Option<(u32, Oid)>,
}

/// The sandbox for git calls in the work tree.
#[derive(Clone)]
struct WorkTreeSandbox {
    launcher: Arc<dyn CommandLauncher>,
    objects: Vec<PathBuf>,
    mark: String,
}

impl std::fmt::Debug for WorkTreeSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.launcher.describe())
    }
}

/// The files of a work tree that are recorded. Ignored files never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotScope {
    /// The changes a worker is asked for: everything but codeteam's own directory, which stays as
    /// the index has it.
    Changes,
    /// Everything, leaving out what cannot be read: for keeping work that is about to be thrown
    /// away.
    Everything,
}

impl Repo {
    /// Creates a handle to a private git directory that borrows this repository's objects. No
    /// process; nothing is created.
    pub fn private_dir(&self, git_dir: &Path, work_tree: &Path) -> PrivateGitDir {
        PrivateGitDir {
            git: self.git.clone(),
            format: self.format,
            git_dir: git_dir.to_owned(),
            work_tree: work_tree.to_owned(),
            held: None,
            fence: None,
            parsed_index: Arc::default(),
        }
    }

    /// Copies the objects of `tree` that `base` does not have over from a private directory,
    /// checking each. Both may be trees or commits. Two processes.
    ///
    /// If the copy is refused half-way, it leaves objects behind that nothing refers to: see
    /// [`PrivateGitDir::check_objects`]. They become loose objects, as if the user had added the
    /// files, so that the user's own git tidies them up as usual.
    pub fn receive(&self, from: &PrivateGitDir, tree: &Oid, base: &Oid) -> Result<(), Error> {
        let pack = from.pack(tree, base);
        unpacked(self.git.pipe(&pack, &unpack(self.plumbing())))
    }

    /// Refuses objects of `tree` (but not of `base`) that would harm people who clone them. This is
    /// for objects that the repository already has. Two processes; nothing is written.
    pub fn check_objects(&self, tree: &Oid, base: &Oid) -> Result<(), Error> {
        let pack = pack(self.plumbing(), tree, base);
        unpacked(self.git.pipe(&pack, &unpack(self.plumbing())))
    }
}

fn pack(call: GitCall, tree: &Oid, base: &Oid) -> GitCall {
    // Deltas would take time to compute and would be undone at the other end.
    call.args([
        "pack-objects",
        "--quiet",
        "--revs",
        "--stdout",
        "--window=0",
        "--threads=1",
    ])
    .stdin(format!("{tree}\n^{base}^{{tree}}\n").into_bytes())
}

fn unpack(call: GitCall) -> GitCall {
    call.args(["unpack-objects", "-q", "--strict"])
}

fn unpacked(done: Result<(), Error>) -> Result<(), Error> {
    match done {
        Err(Error::Failed { stderr, .. }) if stderr.contains("fsck error") => {
            Err(Error::Unrecordable { reason: stderr })
        }
        done => done,
    }
}

impl PrivateGitDir {
    /// Makes the tracked files of the work tree match `tree`. One process.
    pub fn checkout(&self, tree: &Oid) -> Result<(), Error> {
        self.git
            .run(
                &self
                    .work_tree_call(MountAccess::Writable)
                    .args(["read-tree", "--reset", "-u"])
                    .arg(tree),
            )
            .map(drop)
    }

    /// Refuses objects of `tree` (but not of `base`) that would harm people who clone them. Two
    /// processes; nothing is written, because all objects exist already.
    pub fn check_objects(&self, tree: &Oid, base: &Oid) -> Result<(), Error> {
        unpacked(self.git.pipe(&self.pack(tree, base), &unpack(self.call())))
    }

    fn pack(&self, tree: &Oid, base: &Oid) -> GitCall {
        pack(self.call(), tree, base)
    }

    /// Does the same for a work tree that no worker has used yet. One process.
    pub fn checkout_first(&self, tree: &Oid) -> Result<(), Error> {
        let call = self.call().untouched_work_tree(&self.work_tree);
        let call = call.args(["read-tree", "--reset", "-u"]).arg(tree);
        self.git.run(&call).map(drop)
    }

    /// Moves a work tree that no worker can reach from the index to `tree`. Only files that differ
    /// between the two are looked at: a file that is there must be as the index says, and whatever is
    /// missing from the work tree must be missing from the index. One process.
    pub fn move_first(&self, tree: &Oid) -> Result<(), Error> {
        let call = self.call().untouched_work_tree(&self.work_tree);
        let call = call.args(["read-tree", "-m", "-u"]).arg(tree);
        self.git.run(&call).map(drop)
    }

    /// Makes the index match `tree` without touching the work tree. One process.
    pub fn load_index(&self, tree: &Oid) -> Result<(), Error> {
        self.git
            .run(&self.call().arg("read-tree").arg(tree))
            .map(drop)
    }

    /// Makes another index match `tree`, keeping the cached state of files that stay the same. One
    /// process.
    pub fn move_index(&self, index: &Path, tree: &Oid) -> Result<(), Error> {
        let call = self.call().env("GIT_INDEX_FILE", index);
        let call = call.args(["read-tree", "-m", "-i"]).arg(tree);
        self.git.run(&call).map(drop)
    }

    /// Adds the work tree's files to the index, except those in `but`, and returns a description of
    /// the folders that git could not read and skipped. One process, or two.
    ///
    /// `git add` considers a file changed if it was written in the same second as the index, or if
    /// its owner has another number inside a sandbox, and stores it again: right after a checkout
    /// that is every file. Where there is such a file, the index is refreshed first.
    pub fn add_all(&self, scope: SnapshotScope, but: &[PathBuf]) -> Result<Option<String>, Error> {
        let mut call = self.work_tree_call(MountAccess::ReadOnly);
        if self.has_stale_index() {
            call = call.prepared_by(["update-index", "-q", "--refresh", "--force-write-index"]);
        }
        call = call.args(["add", "--all"]);
        if scope == SnapshotScope::Everything {
            call = call.arg("--ignore-errors");
        }
        call = call.args(["--", "."]);
        if scope == SnapshotScope::Changes {
            call = call.arg(exclude_pathspec(Path::new(OWN_DIRECTORY)));
        }
        let call = call
            // Pathspec magic is used only for the exclusions built here.
            .env("GIT_LITERAL_PATHSPECS", "0")
            .args(but.iter().map(|path| exclude_pathspec(path)));
        let output = self.git.run_with_status(&call)?;
        if output.status.success() || only_names_ignored(&output) {
            return Ok(skipped_by_add(&output.stderr));
        }
        let files_only = is_about_files(&output.stderr);
        if scope == SnapshotScope::Everything && output.status.code() == Some(1) && files_only {
            return Ok(Some(reasons_of_add(&output.stderr)));
        }
        Err(match nested_repository(&output.stderr) {
            Some(path) => Error::NestedRepository { path },
            None if files_only => Error::Unrecordable {
                reason: reasons_of_add(&output.stderr),
            },
            None => call.failure(output),
        })
    }

    /// Restores those of these files that are missing from the work tree or differ from the index,
    /// and returns their names. Two processes, or more if there are many.
    pub fn restore(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let wanted: BTreeSet<&PathBuf> = paths.iter().collect();
        let list = self.work_tree_call(MountAccess::ReadOnly);
        let list = list.args(["ls-files", "-z", "--modified", "--deleted", "--deduplicate"]);
        let changed: Vec<PathBuf> = paths_of(&self.git.run(&list)?)
            .into_iter()
            .filter(|path| wanted.contains(path))
            .collect();
        if changed.is_empty() {
            return Ok(changed);
        }
        // Confined commands cannot read standard input, so the paths are arguments.
        for some in changed.chunks(MOST_ARGUMENTS) {
            let put = self.work_tree_call(MountAccess::Writable);
            let put = put.args(["checkout-index", "--force", "--"]).args(some);
            self.git.run(&put)?;
        }
        Ok(changed)
    }

    /// Applies a patch, in the format of [`TreeDiff`], to a tree and returns the resulting tree.
    /// Three processes; neither the index nor the work tree is touched.
    pub fn apply_patch(&self, tree: &Oid, patch: &[u8]) -> Result<Oid, Error> {
        let index = self.git_dir.join("index.patched");
        let call = || self.call().env("GIT_INDEX_FILE", &index);
        let made = self
            .git
            .run(&call().arg("read-tree").arg(tree))
            .and_then(|_| {
                let apply = call().args(["apply", "--cached", "--binary", "--whitespace=nowarn"]);
                self.git.run(&apply.stdin(patch.to_vec()))
            })
            .and_then(|_| {
                let write = call().arg("write-tree");
                parse_oid(&self.git.run(&write)?)
                    .ok_or_else(|| write.unexpected_output("no object id"))
            });
        let _ = std::fs::remove_file(&index);
        made
    }

    /// Writes the index as a tree. One process.
    pub fn write_tree(&self) -> Result<Oid, Error> {
        let call = self.call().arg("write-tree");
        parse_oid(&self.git.run(&call)?).ok_or_else(|| call.unexpected_output("no object id"))
    }

    /// Writes the index as a tree, and compares it with the tree `base` meanwhile. Two processes, at
    /// the same time.
    pub fn write_tree_and_diff(&self, base: &Oid) -> Result<(Oid, TreeDiff), Error> {
        let (patience, span) = (WaitLimit::current(), tracing::Span::current());
        let (tree, diff) = thread::scope(|scope| {
            let comparing = scope.spawn(|| {
                let (_same, _inside) = (patience.enter(), span.enter());
                diff::diff_index(&self.git, self.call(), base)
            });
            (self.write_tree(), comparing.join())
        });
        let died = |_| {
            let call = self.call().args(["diff-index", "--cached"]);
            call.unexpected_output("a panic of its reader")
        };
        Ok((tree?, diff.map_err(died)??))
    }

    /// Returns those of these paths of the work tree that git does not ignore. One process.
    pub fn without_ignored(&self, paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, Error> {
        if paths.is_empty() {
            return Ok(paths);
        }
        let call = self
            .work_tree_call(MountAccess::ReadOnly)
            .args(["check-ignore", "-z"]);
        let call = call.arg("--").args(&paths);
        let output = self.git.run_with_status(&call)?;
        // Exit code 1 means that none is ignored.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(call.failure(output));
        }
        let ignored = objects::parse_paths(&output.stdout);
        Ok(paths
            .into_iter()
            .filter(|path| !ignored.contains(path))
            .collect())
    }

    /// Returns the untracked files of the work tree that no `.gitignore` in it matches, whatever
    /// else is ignored here. One process.
    pub fn untracked(&self) -> Result<Vec<PathBuf>, Error> {
        let call = self.work_tree_call(MountAccess::ReadOnly);
        let call = call.args(["ls-files", "-z", "--others"]);
        let output = self
            .git
            .run(&call.arg("--exclude-per-directory=.gitignore"))?;
        Ok(objects::parse_paths(&output).into_iter().collect())
    }

    /// Removes untracked files that are not ignored. One process.
    pub fn remove_untracked(&self) -> Result<(), Error> {
        self.git
            .run(
                &self
                    .work_tree_call(MountAccess::Writable)
                    .args(["clean", "-ffdq"]),
            )
            .map(drop)
    }

    /// Returns the difference between two trees. One process.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<TreeDiff, Error> {
        diff::diff_trees(&self.git, self.call(), from, to)
    }

    /// Returns the files that differ between two trees, without a patch. One process.
    pub fn differing_files(&self, from: &Oid, to: &Oid) -> Result<Vec<DiffEntry>, Error> {
        diff::diff_entries(&self.git, self.call(), from, to)
    }

    /// Returns the lines that differ between two trees, as a patch that cannot be applied: for
    /// binary files, and for files longer than `longest`, it says only that they differ. One
    /// process.
    pub fn diff_lines(&self, from: &Oid, to: &Oid, longest: usize) -> Result<Vec<u8>, Error> {
        diff::diff_lines(&self.git, self.call(), from, to, longest)
    }

    /// Returns the lengths of the blobs that exist. One process per thousand.
    pub fn blob_sizes(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, u64>, Error> {
        objects::blob_sizes(&self.git, &self.call(), ids)
    }

    /// Returns all regular files of a tree. One process.
    pub fn all_tree_files(&self, tree: &Oid) -> Result<Vec<TreeFile>, Error> {
        objects::all_files(&self.git, self.call(), tree)
    }

    /// Returns the contents of the blobs that exist. One process per thousand.
    pub fn read_blobs(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, Vec<u8>>, Error> {
        objects::read_blobs(&self.git, &self.call(), ids)
    }

    /// Returns a reader that reads blobs one by one. One process for all, started by the first
    /// request.
    pub fn blob_reader(&self) -> BlobReader {
        BlobReader::new(&self.git, self.call())
    }

    /// Merges `ours` and `theirs`, which came from `base`, into a tree among this directory's own
    /// objects. Nothing is garbage-collected there, whereas in the user's repository the next `git
    /// gc` may remove a tree that no reference leads to. One process; four with an old git.
    pub fn merge_trees(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<MergeOutcome, Error> {
        merge::merge_trees(&self.git, &self.call(), base, ours, theirs)
    }

    /// Stores a text as a blob. One process.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid, Error> {
        let call = self
            .call()
            .args(["hash-object", "-w", "--no-filters", "--stdin"])
            .stdin(bytes.to_vec());
        parse_oid(&self.git.run(&call)?).ok_or_else(|| call.unexpected_output("no object id"))
    }

    /// Returns a tree like another one with some files changed or removed. Three processes; the
    /// index stays as it is.
    pub fn tree_with(&self, tree: &Oid, files: &[TreeEdit]) -> Result<Oid, Error> {
        let index = self.git_dir.join("index.made");
        let call = || self.call().env("GIT_INDEX_FILE", &index);
        let zero = self.format.zero();
        let mut lines = Vec::new();
        // Removals come first: a folder may take the place of a file.
        let (gone, there): (Vec<_>, Vec<_>) = files.iter().partition(|f| f.content.is_none());
        for file in gone.into_iter().chain(there) {
            let (mode, id) = match &file.content {
                Some((mode, id)) => (*mode, id),
                None => (0, &zero),
            };
            lines.extend_from_slice(format!("{mode:o} {id}\t").as_bytes());
            lines.extend_from_slice(file.path.as_os_str().as_bytes());
            lines.push(0);
        }
        let made = self
            .git
            .run(&call().arg("read-tree").arg(tree))
            .and_then(|_| {
                let update = call().args(["update-index", "-z", "--add", "--replace"]);
                self.git.run(&update.arg("--index-info").stdin(lines))
            })
            .and_then(|_| {
                let write = call().arg("write-tree");
                parse_oid(&self.git.run(&write)?)
                    .ok_or_else(|| write.unexpected_output("no object id"))
            });
        // The index is built anew each time.
        let _ = std::fs::remove_file(&index);
        made
    }

    /// Returns the first file of the work tree whose bytes do not match `tree`, or an empty path if
    /// a tree object itself does not match. The index must be `tree`, and no worker may have used
    /// the work tree. An object is not trusted to be what its name says: whoever can write to the
    /// repository can write anything under any name. Two processes, and one more per thousand
    /// files.
    pub fn first_altered_file(&self, tree: &Oid) -> Result<Option<PathBuf>, Error> {
        let entries = self.read_index()?.unwrap_or_default();
        let plain = |entry: &&IndexEntry| matches!(entry.mode, 0o100_644 | 0o100_755);
        let files: Vec<&IndexEntry> = entries.iter().filter(plain).collect();
        let links: Vec<&IndexEntry> = entries.iter().filter(|e| e.mode == 0o120_000).collect();
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let mut found = self.hashes(&paths)?;
        // Git would hash the file that a link points to.
        let mut says = Vec::new();
        for link in &links {
            let path = self.work_tree.join(&link.path);
            let read = std::fs::read_link(&path).map_err(|source| Error::Io {
                operation: "read",
                path,
                source,
            });
            says.push(read?.into_os_string().into_vec());
        }
        let beside = self.git_dir.join("links");
        let laid = write_contents(says.iter().map(Vec::as_slice), &beside);
        let hashed = laid.and_then(|files| self.hashes(&files));
        let _ = std::fs::remove_dir_all(&beside);
        found.extend(hashed?);
        let mut claimed = files.into_iter().chain(links).zip(&found);
        if let Some((entry, _)) = claimed.find(|(entry, found)| hex(&entry.id) != found.as_str()) {
            return Ok(Some(entry.path.clone()));
        }
        let mut listed = Vec::new();
        for entry in entries.as_slice() {
            listed.extend_from_slice(format!("{:o} {}\t", entry.mode, hex(&entry.id)).as_bytes());
            listed.extend_from_slice(entry.path.as_os_str().as_bytes());
            listed.push(0);
        }
        Ok((self.tree_from_entries(listed)? != *tree).then(PathBuf::new))
    }

    /// Returns true if the objects of a tree and of all folders in it match their names; the
    /// objects of files are not checked. Three processes.
    pub fn are_trees_intact(&self, tree: &Oid) -> Result<bool, Error> {
        let call = self.call().args(["ls-tree", "-r", "-z", "--full-tree"]);
        let call = call.arg(tree);
        let output = self.git.run_with_status(&call)?;
        if output.status.success() {
            return Ok(self.tree_from_entries(output.stdout)? == *tree);
        }
        // Git itself checks the first tree, and no other.
        if output.stderr.contains("hash mismatch") {
            return Ok(false);
        }
        Err(call.failure(output))
    }

    /// Returns the first of these contents that does not match its name. One process per thousand.
    pub fn first_altered_blob(&self, blobs: &BTreeMap<Oid, Vec<u8>>) -> Result<Option<Oid>, Error> {
        let beside = self.git_dir.join("blobs");
        let laid = write_contents(blobs.values().map(Vec::as_slice), &beside);
        let found = laid.and_then(|files| self.hashes(&files));
        let _ = std::fs::remove_dir_all(&beside);
        let found = found?;
        let mut claimed = blobs.keys().zip(&found);
        let wrong = claimed.find(|(id, found)| id.as_str() != found.as_str());
        Ok(wrong.map(|(id, _)| id.clone()))
    }

    /// Builds the tree of entries in the format of `ls-tree` or of an index. It uses an index that
    /// has not read any tree, so that it has none cached. Two processes.
    fn tree_from_entries(&self, lines: Vec<u8>) -> Result<Oid, Error> {
        let index = self.git_dir.join("index.true");
        let call = || self.call().env("GIT_INDEX_FILE", &index);
        let update = call().args(["update-index", "-z", "--add", "--index-info"]);
        let made = self.git.run(&update.stdin(lines)).and_then(|_| {
            let write = call().args(["write-tree", "--missing-ok"]);
            parse_oid(&self.git.run(&write)?).ok_or_else(|| write.unexpected_output("no object id"))
        });
        let _ = std::fs::remove_file(&index);
        made
    }

    /// Returns the ids that git would give the contents of files, unfiltered.
    fn hashes(&self, files: &[PathBuf]) -> Result<Vec<String>, Error> {
        let mut all = Vec::with_capacity(files.len());
        for files in files.chunks(objects::ASKED) {
            let mut names = Vec::new();
            for file in files {
                names.extend(quoted(file.as_os_str().as_bytes()));
                names.push(b'\n');
            }
            let call = self.call().work_tree(&self.work_tree);
            let call = call.args(["hash-object", "--no-filters", "--stdin-paths"]);
            let call = call.stdin(names);
            let output = self.git.run(&call)?;
            let before = all.len();
            all.extend(String::from_utf8_lossy(&output).lines().map(str::to_owned));
            if all.len() != before + files.len() {
                return Err(call.unexpected_output("too few object ids"));
            }
        }
        Ok(all)
    }

    /// Returns the tracked paths, or `None` if there is no index or it is broken. No process.
    ///
    /// Callers need this to keep git out of other repositories in the work tree: for every gitlink
    /// in the index whose directory is a repository, `git add` runs `git status` *there*, with the
    /// configuration found there.
    ///
    /// Collecting a work tree needs them many times, so they are parsed once for each index.
    pub fn read_index(&self) -> Result<Option<Arc<Vec<IndexEntry>>>, Error> {
        let path = self.index_path();
        let failed = |source| Error::Io {
            operation: "read",
            path: path.clone(),
            source,
        };
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let numbers = file_numbers(&file.metadata().map_err(failed)?);
        let mut parsed = self
            .parsed_index
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = parsed.as_ref().filter(|known| known.file == numbers) {
            return Ok(Some(Arc::clone(&known.entries)));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let entries = index::parse_index(&bytes, self.format).map(Arc::new);
        *parsed = entries.clone().map(|entries| ParsedIndex {
            file: numbers,
            entries,
        });
        Ok(entries)
    }

    /// Reads an index that codeteam has kept elsewhere. Returns `None` if it is broken. No process.
    pub fn parse_kept_index(&self, bytes: &[u8]) -> Option<Vec<IndexEntry>> {
        index::parse_index(bytes, self.format)
    }

    /// Returns a kept index with only those entries that `keep` accepts, or `None` if it is broken. No
    /// process.
    pub fn retain_in_kept_index(
        &self,
        bytes: &[u8],
        keep: impl FnMut(&IndexEntry) -> bool,
    ) -> Option<Vec<u8>> {
        index::retain_entries(bytes, self.format, keep)
    }

    /// Returns true if git would take files for changed that are not, and store them again:
    /// those written in the second of the index or later, and those of another owner.
    fn has_stale_index(&self) -> bool {
        let Ok(Some(entries)) = self.read_index() else {
            return true;
        };
        let written = std::fs::metadata(self.index_path()).and_then(|found| found.modified());
        let since = written
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let seconds = since.map_or(0, |since| since.as_secs());
        let outside = (geteuid().as_raw(), getegid().as_raw());
        let owner = self.owner_in_sandbox().unwrap_or(outside);
        let is_stale = |entry: &&IndexEntry| {
            u64::from(entry.stat.modified.0) >= seconds || entry.stat.owner != owner
        };
        entries.iter().any(|entry| is_stale(&entry))
    }

    /// Makes the index say that the files belong to whom they belong to inside the sandbox of this
    /// handle. Git would otherwise take every file for changed and read all of them. No process.
    ///
    /// The time of the index stays: from it git knows which files may have been written since
    /// without that being visible in their own times.
    pub fn align_owner(&self) -> Result<(), Error> {
        let Some(owner) = self.owner_in_sandbox() else {
            return Ok(());
        };
        let path = self.index_path();
        let failed = |source| Error::Io {
            operation: "write",
            path: path.clone(),
            source,
        };
        let written = std::fs::metadata(&path).and_then(|found| found.modified());
        let written = written.map_err(failed)?;
        let mut bytes = std::fs::read(&path).map_err(failed)?;
        if !index::replace_owner(&mut bytes, self.format, owner) {
            return Ok(());
        }
        let new = path.with_extension("owned");
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(&bytes)?;
            file.set_modified(written)?;
            std::fs::rename(&new, &path)
        };
        write().map_err(failed)
    }

    /// Returns the user and the group to whom the user's own files belong inside the sandbox, if
    /// they are others than outside.
    fn owner_in_sandbox(&self) -> Option<(u32, u32)> {
        let inside = self.fence.as_ref()?.launcher.file_owner()?;
        let outside = (geteuid().as_raw(), getegid().as_raw());
        (outside != (inside, inside)).then_some((inside, inside))
    }

    /// Returns the path of the index.
    pub fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Returns the directory of the objects.
    pub fn objects_dir(&self) -> PathBuf {
        self.git_dir.join("objects")
    }

    /// Writes a tree into another, empty directory, using an index that is removed afterwards. One
    /// process.
    pub fn checkout_into(&self, tree: &Oid, directory: &Path) -> Result<(), Error> {
        objects::checkout_into(&self.git, self.call(), tree, directory)
    }

    /// Returns the directory's own objects.
    pub(super) fn own_objects(&self) -> ObjectDir {
        ObjectDir::new(&self.objects_dir(), self.format)
    }

    /// Returns this handle with its processes holding `file` open for as long as they live.
    #[must_use]
    pub fn holding(mut self, file: File) -> PrivateGitDir {
        self.held = Some(Arc::new(file));
        self
    }

    /// Returns the git program.
    pub(super) fn git(&self) -> &GitProgram {
        &self.git
    }

    /// Creates a call on this directory's objects, and on those it borrows.
    pub(super) fn objects_call(&self) -> GitCall {
        self.call()
    }

    fn call(&self) -> GitCall {
        GitCall::plumbing(&self.git_dir, self.format).hold_open(self.held.as_ref())
    }

    /// Returns this handle with its processes in the work tree confined. In addition to the work
    /// tree and this directory, they see only these objects. They carry `mark`.
    #[must_use]
    pub fn confined(
        mut self,
        launcher: Arc<dyn CommandLauncher>,
        objects: Vec<PathBuf>,
        mark: &str,
    ) -> PrivateGitDir {
        self.fence = Some(WorkTreeSandbox {
            launcher,
            objects,
            mark: mark.to_owned(),
        });
        self
    }

    /// Lets confined processes read another object directory.
    pub fn allow_objects(&mut self, objects: &Path) {
        if let Some(fence) = &mut self.fence {
            fence.objects.push(objects.to_owned());
        }
    }

    /// Creates a call on the work tree, which a worker has written.
    fn work_tree_call(&self, access: MountAccess) -> GitCall {
        let call = self.call().work_tree(&self.work_tree);
        let Some(WorkTreeSandbox {
            launcher,
            objects,
            mark,
        }) = &self.fence
        else {
            return call;
        };
        let mut view = HostView::default();
        view.show(self.work_tree.clone(), access);
        view.show(self.git_dir.clone(), MountAccess::Writable);
        for directory in objects {
            view.show(directory.clone(), MountAccess::ReadOnly);
        }
        call.confined(Arc::clone(launcher), view, mark.clone())
    }
}

/// Writes these contents to files and returns their paths, in the same order.
fn write_contents<'a>(
    contents: impl Iterator<Item = &'a [u8]>,
    folder: &Path,
) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Io {
        operation: "write into",
        path: folder.to_owned(),
        source,
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut files = Vec::new();
    for (at, content) in contents.enumerate() {
        let file = folder.join(at.to_string());
        std::fs::write(&file, content).map_err(failed)?;
        files.push(file);
    }
    Ok(files)
}

fn hex(id: &[u8]) -> String {
    use std::fmt::Write as _;
    id.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Quotes a name as git reads it on a line.
fn quoted(name: &[u8]) -> Vec<u8> {
    let mut line = vec![b'"'];
    for &byte in name {
        if byte < b' ' || matches!(byte, b'"' | b'\\') {
            line.extend(format!("\\{byte:03o}").into_bytes());
        } else {
            line.push(byte);
        }
    }
    line.push(b'"');
    line
}

/// The number of paths that fit on any command line.
const MOST_ARGUMENTS: usize = 200;

/// Returns the pathspec that excludes exactly this path.
pub(super) fn exclude_pathspec(path: &Path) -> OsString {
    let mut spec = OsString::from(":(top,exclude,literal)");
    spec.push(path);
    spec
}

/// Returns true if `git add` did its work and failed only because an excluded path is ignored
/// anyway, as `.codeteam` often is.
pub(super) fn only_names_ignored(output: &GitOutput) -> bool {
    const HEADER: &str = "The following paths are ignored by one of your .gitignore files:";
    let mut lines = output.stderr.lines();
    let is_trouble = |line: &str| line.starts_with("error:") || line.starts_with("fatal:");
    output.status.code() == Some(1)
        && output.stderr.lines().any(|line| line == HEADER)
        && !lines.any(is_trouble)
}

/// Returns the lines in which `git add` names the files it refused, and the folders it skipped. Its
/// other warnings, such as the one about a nested repository, are not the reason.
fn reasons_of_add(stderr: &str) -> String {
    let errors = stderr.lines().filter(|line| line.starts_with("error:"));
    let errors: Vec<&str> = errors.collect();
    let mut reasons = errors.join("\n");
    if let Some(skipped) = skipped_by_add(stderr) {
        reasons.push('\n');
        reasons.push_str(&skipped);
    }
    reasons
}

/// Returns what `git add` skipped with only a warning: folders that cannot be opened, because of
/// their permissions or because their path is too long.
fn skipped_by_add(stderr: &str) -> Option<String> {
    const SHOWN: usize = 200;
    let prefix = "warning: ";
    let lines = stderr.lines().filter_map(|line| line.strip_prefix(prefix));
    let lines = lines.filter(|line| {
        line.starts_with("could not open directory") || line.starts_with("unable to access")
    });
    let shorten = |line: &str| match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    let lines: Vec<String> = lines.take(5).map(shorten).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Returns the nested repository on which `git add` failed, if that was the reason.
fn nested_repository(stderr: &str) -> Option<PathBuf> {
    let quoted = |line: &str| {
        Some(PathBuf::from(
            line.split('\'').nth(1)?.trim_end_matches('/'),
        ))
    };
    stderr.lines().find_map(|line| {
        if line.ends_with("does not have a commit checked out") {
            quoted(line)
        } else {
            line.split_once(" in submodule ")
                .map(|(_, path)| PathBuf::from(path))
        }
    })
}

/// Returns true if `git add` complained only about files that exist and not, say, about a full
/// disk: files that are skipped for such a reason must not be thrown away.
fn is_about_files(stderr: &str) -> bool {
    let mut errors = stderr
        .lines()
        .filter(|line| line.starts_with("error:"))
        .peekable();
    errors.peek().is_some()
        && errors.all(|line| {
            line.starts_with("error: open(\"")
                || line.starts_with("error: unable to index file")
                || line.starts_with("error: unable to add '")
                || line.starts_with("error: invalid path")
                || line.ends_with("does not have a commit checked out")
                || line.contains(": can only add regular files")
        })
}
