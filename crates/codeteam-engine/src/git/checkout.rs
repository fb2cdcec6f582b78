//! The user's own checkout, where a session works: what it holds, as a tree, without touching its
//! index; and moving its branch to a commit that holds exactly the same.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::objects::paths;
use super::private::{excluded, only_names_ignored};
use super::repo::{OWN_DIRECTORY, oid};
use super::{Error, ExpectedRef, Oid, Repo};

/// What git leaves in its directory while something of several steps is under way.
const UNDER_WAY: &[&str] = &[
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// How often the checkout is looked at if it changes meanwhile.
const SNAPSHOTS: usize = 3;

impl Repo {
    /// The tree that the checkout would be if everything in it were committed: untracked files too,
    /// what is ignored and codeteam's own directory not. An index named like `scratch` is made for it;
    /// the user's is only read. Three processes; six if
    /// something is new.
    ///
    /// The user's configuration applies: what they ignore is ignored, and their filters clean. What is
    /// new is compared with what lies in the checkout, so that nothing is brought in from outside:
    /// see `verified`.
    pub fn snapshot(&self, scratch: &Path) -> Result<Oid, Error> {
        let mut foreign = None;
        for _ in 0..SNAPSHOTS {
            let tree = self.snapshot_once(scratch)?;
            match self.foreign_file(&self.committed_tree()?, &tree)? {
                None => return Ok(tree),
                // Most likely it was edited in between.
                Some(path) => foreign = Some(path),
            }
        }
        Err(Error::Unsettled {
            path: foreign.unwrap_or_default(),
        })
    }

    /// The tree that is checked out; the empty one if there is no commit.
    fn committed_tree(&self) -> Result<Oid, Error> {
        match self.head() {
            Ok(head) => Ok(head.tree),
            Err(Error::NoCommits { .. }) => Ok(self.format.empty_tree()),
            Err(error) => Err(error),
        }
    }

    fn snapshot_once(&self, scratch: &Path) -> Result<Oid, Error> {
        forget_dead(scratch);
        let scratch = &unshared(scratch);
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
            .arg(excluded(Path::new(OWN_DIRECTORY)))
            .env("GIT_LITERAL_PATHSPECS", "0");
        let tree = self.git.attempt(&add).and_then(|output| {
            if !output.status.success() && !only_names_ignored(&output) {
                return Err(add.failed(output));
            }
            let write = call().arg("write-tree");
            oid(&self.git.run(&write)?).ok_or_else(|| write.unexpected("no object id"))
        });
        let _ = fs::remove_file(scratch);
        tree
    }

    /// The files of codeteam's own directory that are not as they are committed, and a configuration
    /// that is not committed at all. Two processes.
    pub fn edited_own(&self) -> Result<Vec<PathBuf>, Error> {
        let call = self
            .checkout()
            .args(["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"])
            .args(["HEAD", "--", OWN_DIRECTORY]);
        let mut edited = paths(&self.git.run(&call)?);
        let configs = ["config.yml", "config.yaml"].map(|name| Path::new(OWN_DIRECTORY).join(name));
        let call = self
            .checkout()
            .args(["ls-files", "--others", "-z", "--"])
            .args(&configs);
        edited.extend(paths(&self.git.run(&call)?));
        Ok(edited)
    }

    /// The files in which two trees differ. One process.
    pub fn differing(&self, one: &Oid, other: &Oid) -> Result<Vec<PathBuf>, Error> {
        let call = self
            .plumbing()
            .args(["diff-tree", "-r", "--name-only", "-z", "--no-renames"])
            .arg(one)
            .arg(other);
        Ok(paths(&self.git.run(&call)?))
    }

    /// Other repositories that `to` refers to where `from` has nothing, or something else. One process.
    pub fn new_links(&self, from: &Oid, to: &Oid) -> Result<Vec<PathBuf>, Error> {
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

    /// Makes the files of the checkout that differ between `from`, which it holds, and `to` be those
    /// of `to`. A file that is not as `from` has it stops it before anything is touched. The user's
    /// index is not looked at. Three processes.
    pub fn bring(&self, from: &Oid, to: &Oid, scratch: &Path) -> Result<(), Error> {
        let scratch = &unshared(scratch);
        let call = || self.checkout().env("GIT_INDEX_FILE", scratch);
        let done = self
            .git
            .run(&call().arg("read-tree").arg(from))
            .and_then(|_| {
                let refresh = call().args(["update-index", "-q", "--refresh"]);
                let _ = self.git.attempt(&refresh)?;
                let go = call().args(["read-tree", "-m", "-u"]).arg(from).arg(to);
                self.git.run(&go)
            });
        let _ = fs::remove_file(scratch);
        done.map(drop)
    }

    /// Moves the checked-out branch forward to `target` if the checkout holds exactly its tree
    /// already, so that no file changes. `before` is where the branch must be; it must be behind.
    /// Seven processes, four if it does not.
    ///
    /// The index follows first: if codeteam dies in between, the user finds everything staged and
    /// nothing lost.
    pub fn advance_to_same(
        &self,
        branch: &str,
        before: &Oid,
        target: &Oid,
        scratch: &Path,
    ) -> Result<bool, Error> {
        if self.is_under_way() {
            return Ok(false);
        }
        let same = self.snapshot(scratch)? == self.tree_of(target)?;
        if !same || !self.is_ancestor(before, target)? {
            return Ok(false);
        }
        let index = self.checkout().args(["read-tree", "--reset"]).arg(target);
        self.git.run(&index)?;
        let name = super::reference(branch);
        self.update_ref(&name, target, ExpectedRef::At(before))?;
        // So that the next look at it need not compare every file. It does no harm if it cannot be.
        let refresh = self.checkout().args(["update-index", "-q", "--refresh"]);
        let _ = self.git.attempt(&refresh);
        Ok(true)
    }

    /// Whether the user is in the middle of something that git goes on with from where the branch
    /// is, and with what the index holds: a merge, a rebase and the like.
    pub fn is_under_way(&self) -> bool {
        let mut marks = UNDER_WAY.iter().map(|name| self.git_dir.join(name));
        marks.any(|mark| mark.exists())
    }

    fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }
}

/// Copies an index, with the time at which it was written. What was edited since looks to git as it did
/// before, if it happened within the clock's tick; only by that time does it know where to look closer.
fn copy_of_index(index: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(index)?;
    let written = from.metadata()?.modified()?;
    let mut copy = File::create(to)?;
    io::copy(&mut from, &mut copy)?;
    copy.set_modified(written)
}

/// A name like this one that nobody else uses: others may look at the same checkout at the same time,
/// and what one that was killed has left behind is in nobody's way.
fn unshared(scratch: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = scratch.as_os_str().to_owned();
    name.push(format!(".{}.{count}", std::process::id()));
    PathBuf::from(name)
}

/// Removes what processes that are gone have left under such names.
fn forget_dead(scratch: &Path) {
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
