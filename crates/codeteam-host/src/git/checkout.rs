//! Reads and moves the user's own checkout, where a session works: records its content as a tree
//! without touching its index, and moves its branch to a commit with exactly the same content.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::objects::parse_paths;
use super::private_dir::{exclude_pathspec, only_names_ignored};
use super::repo::{OWN_DIRECTORY, parse_oid};
use super::{Error, ExpectedRef, Oid, Repo};

/// The files that git leaves in its directory while an operation of several steps is in progress.
const UNDER_WAY: &[&str] = &[
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// How many times the checkout is read if it changes meanwhile.
const SNAPSHOTS: usize = 3;

impl Repo {
    /// Returns the tree that committing everything in the checkout would give, including untracked
    /// files but not ignored ones or codeteam's own directory. It builds a separate index with a
    /// name based on `scratch`; the user's own index is only read. Three processes; six if
    /// something is new.
    ///
    /// The user's configuration applies: their ignore rules decide what is ignored, and their
    /// filters clean the files. New content is compared with the files in the checkout, so that
    /// nothing can be brought in from outside: see `checkout_integrity`.
    pub fn snapshot(&self, scratch: &Path) -> Result<Oid, Error> {
        let mut foreign = None;
        for _ in 0..SNAPSHOTS {
            let tree = self.snapshot_once(scratch)?;
            match self.first_foreign_file(&self.committed_tree()?, &tree)? {
                None => return Ok(tree),
                // Most likely the file was edited in between.
                Some(path) => foreign = Some(path),
            }
        }
        Err(Error::Unsettled {
            path: foreign.unwrap_or_default(),
        })
    }

    /// Returns the tree that is checked out, or the empty tree if there is no commit.
    fn committed_tree(&self) -> Result<Oid, Error> {
        match self.head() {
            Ok(head) => Ok(head.tree),
            Err(Error::NoCommits { .. }) => Ok(self.format.empty_tree()),
            Err(error) => Err(error),
        }
    }

    fn snapshot_once(&self, scratch: &Path) -> Result<Oid, Error> {
        remove_dead_scratch(scratch);
        let scratch = &unique_scratch(scratch);
        let failed = |operation| {
            move |source| Error::Io {
                operation,
                path: scratch.to_owned(),
                source,
            }
        };
        if let Some(folder) = scratch.parent() {
            fs::create_dir_all(folder).map_err(failed("make the folder of"))?;
        }
        match copy_of_index(&self.index_path(), scratch) {
            Ok(()) => {}
            // A repository without an index has nothing staged.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let _ = fs::remove_file(scratch);
            }
            Err(source) => return Err(failed("write")(source)),
        }
        let call = || self.checkout().env("GIT_INDEX_FILE", scratch);
        let add = call()
            .args(["add", "--all", "--", "."])
            .arg(exclude_pathspec(Path::new(OWN_DIRECTORY)))
            .env("GIT_LITERAL_PATHSPECS", "0");
        let tree = self.git.run_with_status(&add).and_then(|output| {
            if !output.status.success() && !only_names_ignored(&output) {
                return Err(add.failure(output));
            }
            let write = call().arg("write-tree");
            parse_oid(&self.git.run(&write)?).ok_or_else(|| write.unexpected_output("no object id"))
        });
        let _ = fs::remove_file(scratch);
        tree
    }

    /// Returns the files of codeteam's own directory that differ from what is committed, and a
    /// configuration that is not committed at all. Two processes.
    pub fn edited_own_files(&self) -> Result<Vec<PathBuf>, Error> {
        let call = self
            .checkout()
            .args(["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"])
            .args(["HEAD", "--", OWN_DIRECTORY]);
        let mut edited = parse_paths(&self.git.run(&call)?);
        let configs = ["config.yml", "config.yaml"].map(|name| Path::new(OWN_DIRECTORY).join(name));
        let call = self
            .checkout()
            .args(["ls-files", "--others", "-z", "--"])
            .args(&configs);
        edited.extend(parse_paths(&self.git.run(&call)?));
        Ok(edited)
    }

    /// Returns the files in which two trees differ. One process.
    pub fn differing_files(&self, one: &Oid, other: &Oid) -> Result<Vec<PathBuf>, Error> {
        let call = self
            .plumbing()
            .args(["diff-tree", "-r", "--name-only", "-z", "--no-renames"])
            .arg(one)
            .arg(other);
        Ok(parse_paths(&self.git.run(&call)?))
    }

    /// Returns the gitlinks (references to other repositories) in `to` for paths where `from` has
    /// nothing or something else. One process.
    pub fn new_gitlinks(&self, from: &Oid, to: &Oid) -> Result<Vec<PathBuf>, Error> {
        let call = self
            .plumbing()
            .args(["diff-tree", "-r", "--raw", "-z", "--no-renames"])
            .arg("--diff-filter=AT")
            .arg(from)
            .arg(to);
        let output = self.git.run(&call)?;
        let parts: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
        // `:<mode before> <mode after> …`, then the path.
        let (changed, _) = parts.as_chunks::<2>();
        let links = changed
            .iter()
            .filter(|[modes, _]| modes.get(8..14) == Some(b"160000"));
        Ok(links
            .map(|[_, path]| PathBuf::from(OsStr::from_bytes(path)))
            .collect())
    }

    /// Updates the files of the checkout that differ between `from`, which it holds, and `to`. If a
    /// file is not as in `from`, this fails before anything is touched. The user's index is not
    /// read. Three processes.
    pub fn update_checkout(&self, from: &Oid, to: &Oid, scratch: &Path) -> Result<(), Error> {
        let scratch = &unique_scratch(scratch);
        let call = || self.checkout().env("GIT_INDEX_FILE", scratch);
        let done = self
            .git
            .run(&call().arg("read-tree").arg(from))
            .and_then(|_| {
                let refresh = call().args(["update-index", "-q", "--refresh"]);
                let _ = self.git.run_with_status(&refresh)?;
                let go = call().args(["read-tree", "-m", "-u"]).arg(from).arg(to);
                self.git.run(&go)
            });
        let _ = fs::remove_file(scratch);
        done.map(drop)
    }

    /// Moves the checked-out branch forward to `target` if the checkout already holds exactly its
    /// tree, so that no file changes. `before` is where the branch must be, and it must be an
    /// ancestor of `target`. Seven processes; four if the tree differs.
    ///
    /// The index is updated first: if codeteam dies in between, the user finds everything staged
    /// and nothing lost.
    pub fn advance_if_same_tree(
        &self,
        branch: &str,
        before: &Oid,
        target: &Oid,
        scratch: &Path,
    ) -> Result<bool, Error> {
        if self.is_operation_in_progress() {
            return Ok(false);
        }
        let same = self.snapshot(scratch)? == self.tree_of(target)?;
        if !same || !self.is_ancestor(before, target)? {
            return Ok(false);
        }
        let index = self.checkout().args(["read-tree", "--reset"]).arg(target);
        self.git.run(&index)?;
        let name = super::reference_name(branch);
        self.update_ref(&name, target, ExpectedRef::At(before))?;
        // This saves the next status from comparing every file. It does no harm if it fails.
        let refresh = self.checkout().args(["update-index", "-q", "--refresh"]);
        let _ = self.git.run_with_status(&refresh);
        Ok(true)
    }

    /// Returns true if the user is in the middle of an operation that git continues from the
    /// current branch and index: a merge, a rebase and the like.
    pub fn is_operation_in_progress(&self) -> bool {
        let mut marks = UNDER_WAY.iter().map(|name| self.git_dir.join(name));
        marks.any(|mark| mark.exists())
    }

    fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }
}

/// Copies an index together with its modification time. A file that was edited within the same
/// clock tick looks unchanged to git; only from the time of the index does git know which files to
/// compare more closely.
fn copy_of_index(index: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(index)?;
    let written = from.metadata()?.modified()?;
    let mut copy = File::create(to)?;
    io::copy(&mut from, &mut copy)?;
    copy.set_modified(written)
}

/// Returns a name based on this one that nobody else uses. Others may read the same checkout at the
/// same time, and the leftovers of a killed process must not get in anybody's way.
fn unique_scratch(scratch: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = scratch.as_os_str().to_owned();
    name.push(format!(".{}.{count}", std::process::id()));
    PathBuf::from(name)
}

/// Removes scratch files left by processes that no longer exist.
fn remove_dead_scratch(scratch: &Path) {
    let (Some(folder), Some(name)) = (scratch.parent(), scratch.file_name()) else {
        return;
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let rest = found.as_bytes().strip_prefix(name.as_bytes());
        let mut parts = rest.unwrap_or_default().split(|byte| *byte == b'.');
        let process = match (parts.next(), parts.next(), parts.next()) {
            (Some(b""), Some(process), Some(_)) => std::str::from_utf8(process).ok(),
            _ => None,
        };
        let process = process.and_then(|process| process.parse::<u32>().ok());
        if process.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
