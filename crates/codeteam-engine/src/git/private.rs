//! A git directory that only codeteam writes, for looking at a work tree that
//! a worker writes.
//!
//! The work tree's own `.git` is never read: a worker could have swapped it
//! for one whose configuration runs programs. What a work tree can still do is
//! contain other repositories; see [`PrivateGitDir::index`] for why they matter.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeteam_sandbox::MountAccess;

use super::command::{GitCall, GitOutput, GitProgram};
use super::objects::paths as paths_of;
use super::repo::{OWN_DIRECTORY, oid};
use super::{
    BlobReader, DiffEntry, Error, IndexEntry, MergeOutcome, ObjectFormat, Oid, Repo, TreeDiff,
    TreeFile, diff, index, merge, objects,
};
use crate::process::{CommandLauncher, HostView};

/// A git directory, its index and its objects, beside a work tree.
#[derive(Debug, Clone)]
pub struct PrivateGitDir {
    git: GitProgram,
    format: ObjectFormat,
    git_dir: PathBuf,
    work_tree: PathBuf,
    held: Option<Arc<File>>,
    fence: Option<WorkTreeSandbox>,
}

/// A file of a tree that is to be otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEdit {
    /// Where.
    pub path: PathBuf,
    /// Its mode and content; `None` if it is to be gone.
    pub content: Option<(u32, Oid)>,
}

/// What keeps git in.
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

/// Which files of a work tree are recorded. Ignored ones never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotScope {
    /// What a worker is asked for: everything but codeteam's own directory,
    /// which stays as the index has it.
    Changes,
    /// Everything, and whatever cannot be read is left out: for keeping what
    /// is about to be thrown away.
    Everything,
}

impl Repo {
    /// A handle to a private git directory that borrows this repository's
    /// objects. No process; nothing is created.
    pub fn private_dir(&self, git_dir: &Path, work_tree: &Path) -> PrivateGitDir {
        PrivateGitDir {
            git: self.git.clone(),
            format: self.format,
            git_dir: git_dir.to_owned(),
            work_tree: work_tree.to_owned(),
            held: None,
            fence: None,
        }
    }

    /// Brings the objects of `tree` that `base` has not (trees, or commits)
    /// over from a private directory, checking each. Two processes.
    ///
    /// What is refused half-way leaves objects behind that nothing refers to:
    /// see [`PrivateGitDir::examine`]. They become loose objects, as if the user had
    /// added the files, so that the user's own git tidies them up as it always
    /// does.
    pub fn receive(&self, from: &PrivateGitDir, tree: &Oid, base: &Oid) -> Result<(), Error> {
        let pack = from.pack(tree, base);
        unpacked(self.git.pipe(&pack, &unpack(self.plumbing())))
    }

    /// Refuses what would harm those who clone it among the objects of `tree` that `base` has not,
    /// where the repository has them already. Two processes; nothing is written.
    pub fn examine(&self, tree: &Oid, base: &Oid) -> Result<(), Error> {
        let pack = pack(self.plumbing(), tree, base);
        unpacked(self.git.pipe(&pack, &unpack(self.plumbing())))
    }
}

fn pack(call: GitCall, tree: &Oid, base: &Oid) -> GitCall {
    // Deltas would cost time to make and be undone at the other end.
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
    /// Makes the tracked files of the work tree be those of `tree`. One process.
    pub fn checkout(&self, tree: &Oid) -> Result<(), Error> {
        self.git
            .run(
                &self
                    .in_tree(MountAccess::Writable)
                    .args(["read-tree", "--reset", "-u"])
                    .arg(tree),
            )
            .map(drop)
    }

    /// Refuses what would harm those who clone it among the objects of `tree`
    /// that `base` has not. Two processes; nothing is written, as all of it is
    /// there.
    pub fn examine(&self, tree: &Oid, base: &Oid) -> Result<(), Error> {
        unpacked(self.git.pipe(&self.pack(tree, base), &unpack(self.call())))
    }

    fn pack(&self, tree: &Oid, base: &Oid) -> GitCall {
        pack(self.call(), tree, base)
    }

    /// The same for a work tree in which nobody has been yet. One process.
    pub fn checkout_first(&self, tree: &Oid) -> Result<(), Error> {
        let call = self.call().work_tree(&self.work_tree);
        let call = call.args(["read-tree", "--reset", "-u"]).arg(tree);
        self.git.run(&call).map(drop)
    }

    /// Makes the index be `tree`, leaving the work tree alone. One process.
    pub fn load_index(&self, tree: &Oid) -> Result<(), Error> {
        self.git
            .run(&self.call().arg("read-tree").arg(tree))
            .map(drop)
    }

    /// Makes another index be `tree`, and lets it keep what it knows of files that stay the same. One
    /// process.
    pub fn move_index(&self, index: &Path, tree: &Oid) -> Result<(), Error> {
        let call = self.call().env("GIT_INDEX_FILE", index);
        let call = call.args(["read-tree", "-m", "-i"]).arg(tree);
        self.git.run(&call).map(drop)
    }

    /// Puts the work tree's files into the index, but for those named, and says what git could not
    /// look into and left out. One process.
    pub fn add_all(&self, scope: SnapshotScope, but: &[PathBuf]) -> Result<Option<String>, Error> {
        let mut call = self.in_tree(MountAccess::ReadOnly).args(["add", "--all"]);
        if scope == SnapshotScope::Everything {
            call = call.arg("--ignore-errors");
        }
        call = call.args(["--", "."]);
        if scope == SnapshotScope::Changes {
            call = call.arg(excluded(Path::new(OWN_DIRECTORY)));
        }
        let call = call
            // Nothing but what is said here is magic.
            .env("GIT_LITERAL_PATHSPECS", "0")
            .args(but.iter().map(|path| excluded(path)));
        let output = self.git.attempt(&call)?;
        if output.status.success() || only_names_ignored(&output) {
            return Ok(left_out(&output.stderr));
        }
        let files_only = is_about_files(&output.stderr);
        if scope == SnapshotScope::Everything && output.status.code() == Some(1) && files_only {
            return Ok(Some(output.stderr));
        }
        Err(match nested(&output.stderr) {
            Some(path) => Error::NestedRepository { path },
            None if files_only => Error::Unrecordable {
                reason: output.stderr,
            },
            None => call.failed(output),
        })
    }

    /// Puts those of these files of the index back that the work tree has otherwise, or not at all, and
    /// names them. Two processes, or more if there are many.
    pub fn restore(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let wanted: BTreeSet<&PathBuf> = paths.iter().collect();
        let list = self.in_tree(MountAccess::ReadOnly);
        let list = list.args(["ls-files", "-z", "--modified", "--deleted", "--deduplicate"]);
        let changed: Vec<PathBuf> = paths_of(&self.git.run(&list)?)
            .into_iter()
            .filter(|path| wanted.contains(path))
            .collect();
        if changed.is_empty() {
            return Ok(changed);
        }
        // Confined commands read nothing from standard input.
        for some in changed.chunks(MOST_ARGUMENTS) {
            let put = self.in_tree(MountAccess::Writable);
            let put = put.args(["checkout-index", "--force", "--"]).args(some);
            self.git.run(&put)?;
        }
        Ok(changed)
    }

    /// The tree that a patch, as [`TreeDiff`] carries it, makes of another one. Three processes; neither
    /// the index nor the work tree is touched.
    pub fn tree_by_patch(&self, tree: &Oid, patch: &[u8]) -> Result<Oid, Error> {
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
                oid(&self.git.run(&write)?).ok_or_else(|| write.unexpected("no object id"))
            });
        let _ = std::fs::remove_file(&index);
        made
    }

    /// The tree that the index is. One process.
    pub fn write_tree(&self) -> Result<Oid, Error> {
        let call = self.call().arg("write-tree");
        oid(&self.git.run(&call)?).ok_or_else(|| call.unexpected("no object id"))
    }

    /// Those of these paths of the work tree that git does not ignore. One process.
    pub fn unignored(&self, paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, Error> {
        if paths.is_empty() {
            return Ok(paths);
        }
        let call = self
            .in_tree(MountAccess::ReadOnly)
            .args(["check-ignore", "-z"]);
        let call = call.arg("--").args(&paths);
        let output = self.git.attempt(&call)?;
        // 1 says that none is.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(call.failed(output));
        }
        let ignored = objects::paths(&output.stdout);
        Ok(paths
            .into_iter()
            .filter(|path| !ignored.contains(path))
            .collect())
    }

    /// The files of the work tree that git does not track and that no `.gitignore` in it names,
    /// whatever else is ignored here. One process.
    pub fn untracked(&self) -> Result<Vec<PathBuf>, Error> {
        let call = self.in_tree(MountAccess::ReadOnly);
        let call = call.args(["ls-files", "-z", "--others"]);
        let output = self
            .git
            .run(&call.arg("--exclude-per-directory=.gitignore"))?;
        Ok(objects::paths(&output).into_iter().collect())
    }

    /// Removes untracked files that are not ignored. One process.
    pub fn remove_untracked(&self) -> Result<(), Error> {
        self.git
            .run(&self.in_tree(MountAccess::Writable).args(["clean", "-ffdq"]))
            .map(drop)
    }

    /// What changed between two trees. One process.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<TreeDiff, Error> {
        diff::run(&self.git, self.call(), from, to)
    }

    /// Which files differ between two trees, without a patch. One process.
    pub fn differing(&self, from: &Oid, to: &Oid) -> Result<Vec<DiffEntry>, Error> {
        diff::files(&self.git, self.call(), from, to)
    }

    /// The lines that differ between two trees, as a patch that cannot be applied: of bytes, and of
    /// files longer than `longest`, it says no more than that they differ. One process.
    pub fn lines(&self, from: &Oid, to: &Oid, longest: usize) -> Result<Vec<u8>, Error> {
        diff::lines(&self.git, self.call(), from, to, longest)
    }

    /// The lengths of blobs, those that are there. One process for a thousand.
    pub fn sizes(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, u64>, Error> {
        objects::sizes(&self.git, &self.call(), ids)
    }

    /// All plain files of a tree. One process.
    pub fn all_files_of(&self, tree: &Oid) -> Result<Vec<TreeFile>, Error> {
        objects::all_files(&self.git, self.call(), tree)
    }

    /// The contents of blobs, those that are there. One process for a thousand.
    pub fn blobs(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, Vec<u8>>, Error> {
        objects::blobs(&self.git, &self.call(), ids)
    }

    /// Reads blobs one by one. One process for all, when the first is asked for.
    pub fn reader(&self) -> BlobReader {
        BlobReader::new(&self.git, self.call())
    }

    /// Merges `ours` and `theirs`, which came from `base`, into a tree among this directory's own
    /// objects: nothing tidies up there, while in the user's repository a tree that no reference
    /// leads to may be gone with the next `git gc`. One process; four with an old git.
    pub fn merge_trees(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<MergeOutcome, Error> {
        merge::merge_trees(&self.git, &self.call(), base, ours, theirs)
    }

    /// A tree like another, but for some files: each with its mode and content, or gone. Three
    /// processes; the index stays as it is.
    pub fn tree_with(&self, tree: &Oid, files: &[TreeEdit]) -> Result<Oid, Error> {
        let index = self.git_dir.join("index.made");
        let call = || self.call().env("GIT_INDEX_FILE", &index);
        let zero = self.format.zero();
        let mut lines = Vec::new();
        // What goes makes room first: a folder may come where a file was.
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
                oid(&self.git.run(&write)?).ok_or_else(|| write.unexpected("no object id"))
            });
        // It is made anew each time.
        let _ = std::fs::remove_file(&index);
        made
    }

    /// The first file of the work tree whose bytes are not what `tree` names, where the index is `tree`;
    /// an empty path if a tree itself is not. An object is not believed to be what its name says: whoever
    /// can write to the repository can write anything under any name. Two processes, and one more for
    /// each thousand files; a work tree that nobody has been in.
    pub fn untrue(&self, tree: &Oid) -> Result<Option<PathBuf>, Error> {
        let entries = self.index()?.unwrap_or_default();
        let plain = |entry: &&IndexEntry| matches!(entry.mode, 0o100_644 | 0o100_755);
        let files: Vec<&IndexEntry> = entries.iter().filter(plain).collect();
        let links: Vec<&IndexEntry> = entries.iter().filter(|e| e.mode == 0o120_000).collect();
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let mut found = self.hashes(&paths)?;
        // Git would hash what a link leads to.
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
        let laid = lay_out(says.iter().map(Vec::as_slice), &beside);
        let hashed = laid.and_then(|files| self.hashes(&files));
        let _ = std::fs::remove_dir_all(&beside);
        found.extend(hashed?);
        let mut claimed = files.into_iter().chain(links).zip(&found);
        if let Some((entry, _)) = claimed.find(|(entry, found)| hex(&entry.id) != found.as_str()) {
            return Ok(Some(entry.path.clone()));
        }
        let mut listed = Vec::new();
        for entry in &entries {
            listed.extend_from_slice(format!("{:o} {}\t", entry.mode, hex(&entry.id)).as_bytes());
            listed.extend_from_slice(entry.path.as_os_str().as_bytes());
            listed.push(0);
        }
        Ok((self.tree_by(listed)? != *tree).then(PathBuf::new))
    }

    /// Whether the objects of a tree and of all folders in it are what their names say; those of files are
    /// not looked at. Three processes.
    pub fn is_true(&self, tree: &Oid) -> Result<bool, Error> {
        let call = self.call().args(["ls-tree", "-r", "-z", "--full-tree"]);
        let call = call.arg(tree);
        let output = self.git.attempt(&call)?;
        if output.status.success() {
            return Ok(self.tree_by(output.stdout)? == *tree);
        }
        // Git itself looks at the first, and at no other.
        if output.stderr.contains("hash mismatch") {
            return Ok(false);
        }
        Err(call.failed(output))
    }

    /// The first of these contents that is not what its name says. One process for a thousand.
    pub fn untrue_blob(&self, blobs: &BTreeMap<Oid, Vec<u8>>) -> Result<Option<Oid>, Error> {
        let beside = self.git_dir.join("blobs");
        let laid = lay_out(blobs.values().map(Vec::as_slice), &beside);
        let found = laid.and_then(|files| self.hashes(&files));
        let _ = std::fs::remove_dir_all(&beside);
        let found = found?;
        let mut claimed = blobs.keys().zip(&found);
        let wrong = claimed.find(|(id, found)| id.as_str() != found.as_str());
        Ok(wrong.map(|(id, _)| id.clone()))
    }

    /// The tree of entries as `ls-tree` or an index have them, by an index that has read no tree, so that
    /// it remembers none. Two processes.
    fn tree_by(&self, lines: Vec<u8>) -> Result<Oid, Error> {
        let index = self.git_dir.join("index.true");
        let call = || self.call().env("GIT_INDEX_FILE", &index);
        let update = call().args(["update-index", "-z", "--add", "--index-info"]);
        let made = self.git.run(&update.stdin(lines)).and_then(|_| {
            let write = call().args(["write-tree", "--missing-ok"]);
            oid(&self.git.run(&write)?).ok_or_else(|| write.unexpected("no object id"))
        });
        let _ = std::fs::remove_file(&index);
        made
    }

    /// What git would call the contents of files, as they are.
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
                return Err(call.unexpected("too few object ids"));
            }
        }
        Ok(all)
    }

    /// What the index tracks, or `None` if there is none, or a broken one.
    /// No process.
    ///
    /// Callers need it to keep git out of other repositories in the work tree:
    /// for every gitlink in the index whose directory is a repository,
    /// `git add` runs `git status` *there*, with the configuration found there.
    pub fn index(&self) -> Result<Option<Vec<IndexEntry>>, Error> {
        let path = self.index_path();
        match std::fs::read(&path) {
            Ok(bytes) => Ok(index::parse(&bytes, self.format)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Io {
                operation: "read",
                path,
                source,
            }),
        }
    }

    /// Where the index is.
    pub fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Where the objects are.
    pub fn objects(&self) -> PathBuf {
        self.git_dir.join("objects")
    }

    /// Writes a tree into another, empty directory, with an index that is gone
    /// afterwards. One process.
    pub fn checkout_into(&self, tree: &Oid, directory: &Path) -> Result<(), Error> {
        objects::checkout_into(&self.git, self.call(), tree, directory)
    }

    /// The same, whose processes hold `file` open for as long as they live.
    #[must_use]
    pub fn holding(mut self, file: File) -> PrivateGitDir {
        self.held = Some(Arc::new(file));
        self
    }

    /// The program.
    pub(super) fn git(&self) -> &GitProgram {
        &self.git
    }

    /// A call on this directory's objects, and on those it borrows.
    pub(super) fn objects_call(&self) -> GitCall {
        self.call()
    }

    fn call(&self) -> GitCall {
        GitCall::plumbing(&self.git_dir, self.format).holding(self.held.as_ref())
    }

    /// The same, whose processes in the work tree are confined and see, beside it and this
    /// directory, only these objects. They carry `mark`.
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

    /// Lets confined processes read more objects.
    pub fn also_reads(&mut self, objects: &Path) {
        if let Some(fence) = &mut self.fence {
            fence.objects.push(objects.to_owned());
        }
    }

    /// A call on the work tree, which a worker has written.
    fn in_tree(&self, access: MountAccess) -> GitCall {
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

/// Files of these contents, in their order.
fn lay_out<'a>(
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

/// A name on a line of its own, as git reads it.
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

/// So many paths fit on any command line.
const MOST_ARGUMENTS: usize = 200;

/// The pathspec that leaves exactly this path out.
pub(super) fn excluded(path: &Path) -> OsString {
    let mut spec = OsString::from(":(top,exclude,literal)");
    spec.push(path);
    spec
}

/// Whether `git add` did its work and failed only because a path that was to be left out is ignored
/// anyway, as `.codeteam` often is.
pub(super) fn only_names_ignored(output: &GitOutput) -> bool {
    const HEADER: &str = "The following paths are ignored by one of your .gitignore files:";
    let mut lines = output.stderr.lines();
    let is_trouble = |line: &str| line.starts_with("error:") || line.starts_with("fatal:");
    output.status.code() == Some(1)
        && output.stderr.lines().any(|line| line == HEADER)
        && !lines.any(is_trouble)
}

/// What `git add` has passed over with a warning alone: folders that cannot be opened, because of
/// their rights or because the way to them is too long.
fn left_out(stderr: &str) -> Option<String> {
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

/// The nested repository that `git add` stumbled over, if that was it.
fn nested(stderr: &str) -> Option<PathBuf> {
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

/// Whether `git add` complained only about files that are there, and not, say,
/// about a full disk: what is left out for that reason must not be thrown away.
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
