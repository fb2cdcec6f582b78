//! References: compare-and-swap, listing, deleting. A reference is never
//! written without saying where it is expected to be.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::GitOutput;
use super::repo::oid;
use super::{Error, Oid, Repo};

/// Where a reference must be for a change of it to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedRef<'a> {
    /// It must not exist.
    Missing,
    /// It must be exactly here.
    At(&'a Oid),
    /// Anywhere: for references that only one writer ever writes.
    Anywhere,
}

impl Repo {
    /// Moves the reference `name` to `new`, if it is where it is expected.
    /// One process; one more when it is not.
    pub fn update_ref(
        &self,
        name: &str,
        new: &Oid,
        expected: ExpectedRef<'_>,
    ) -> Result<(), Error> {
        checked(name)?;
        let call = self
            .plumbing()
            .args(["update-ref", "--no-deref", name])
            .arg(new);
        self.swap(name, call, expected)
    }

    /// Deletes the reference `name`, if it is where it is expected.
    /// One process; one more when it is not.
    pub fn delete_ref(&self, name: &str, expected: &Oid) -> Result<(), Error> {
        checked(name)?;
        let call = self
            .plumbing()
            .args(["update-ref", "--no-deref", "-d", name]);
        self.swap(name, call, ExpectedRef::At(expected))
    }

    /// Creates the branch `name` (a short name) at `commit`. One process.
    pub fn create_branch(&self, name: &str, commit: &Oid) -> Result<(), Error> {
        match self.update_ref(&format!("refs/heads/{name}"), commit, ExpectedRef::Missing) {
            Err(Error::RefMoved {
                found: Some(found), ..
            }) => Err(Error::BranchExists {
                name: name.to_owned(),
                found,
            }),
            done => done,
        }
    }

    /// Where the reference `name` is, if it exists. One process.
    pub fn read_ref(&self, name: &str) -> Result<Option<Oid>, Error> {
        checked(name)?;
        let call = self
            .plumbing()
            .args(["rev-parse", "--verify", "--quiet", name]);
        Ok(oid(&self.git.attempt(&call)?.stdout))
    }

    /// The references under `prefix` (`refs/codeteam/…`), by name. One process.
    pub fn refs_under(&self, prefix: &str) -> Result<Vec<(String, Oid)>, Error> {
        checked(prefix)?;
        let call =
            self.plumbing()
                .args(["for-each-ref", "--format=%(objectname) %(refname)", prefix]);
        let output = self.git.run(&call)?;
        let text = String::from_utf8_lossy(&output);
        let entry = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            Some((name.to_owned(), Oid::parse(id)?))
        };
        text.lines()
            .map(|line| entry(line).ok_or_else(|| call.unexpected(line)))
            .collect()
    }

    /// The checkout that has the branch `name` (a short name) checked out, if one has and is
    /// still there. No process, where references are files: this is asked before every commit.
    pub fn checkout_of(&self, name: &str) -> Result<Option<PathBuf>, Error> {
        let wanted = format!("ref: refs/heads/{name}");
        let has_it = |head: &Path| match fs::read_to_string(head) {
            // So says a repository that keeps its references elsewhere.
            Ok(text) if text.contains("refs/heads/.invalid") => None,
            Ok(text) => Some(text.trim_end() == wanted),
            Err(_) => Some(false),
        };
        match has_it(&self.common_dir().join("HEAD")) {
            None => return self.ask_for_checkout_of(name),
            Some(true) => return Ok(self.common_dir().parent().map(Path::to_owned)),
            Some(false) => {}
        }
        let linked = fs::read_dir(self.common_dir().join("worktrees"));
        for entry in linked.into_iter().flatten().filter_map(Result::ok) {
            if has_it(&entry.path().join("HEAD")) == Some(true) {
                let file = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
                let folder = Path::new(file.trim_end()).parent().map(Path::to_owned);
                return Ok(folder.filter(|folder| folder.exists()));
            }
        }
        Ok(None)
    }

    fn ask_for_checkout_of(&self, name: &str) -> Result<Option<PathBuf>, Error> {
        let call = self
            .plumbing()
            .args(["worktree", "list", "--porcelain", "-z"]);
        let output = self.git.run(&call)?;
        let wanted = format!("branch refs/heads/{name}");
        let mut folder = None;
        for line in output.split(|byte| *byte == 0) {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                folder = Some(PathBuf::from(OsStr::from_bytes(path)));
            } else if line == wanted.as_bytes() {
                return Ok(folder.filter(|folder| folder.exists()));
            }
        }
        Ok(None)
    }

    /// Removes the lock of a reference of codeteam's own, if it was left behind. Nobody else writes
    /// those, and codeteam's own git does so in a moment.
    fn forget_lock(&self, lock: &Path) -> bool {
        let is_own = lock.starts_with(self.common_dir().join("refs/codeteam"));
        let age = fs::symlink_metadata(lock).and_then(|found| found.modified());
        let age = age.ok().and_then(|modified| modified.elapsed().ok());
        is_own && age.is_some_and(|age| age >= LOCK_AGE) && fs::remove_file(lock).is_ok()
    }

    fn swap(
        &self,
        name: &str,
        mut call: super::command::GitCall,
        expected: ExpectedRef<'_>,
    ) -> Result<(), Error> {
        let wanted = match expected {
            ExpectedRef::Missing => Some(self.format.zero()),
            ExpectedRef::At(oid) => Some(oid.clone()),
            ExpectedRef::Anywhere => None,
        };
        if let Some(wanted) = &wanted {
            call = call.arg(wanted);
        }
        let mut output = self.git.attempt(&call)?;
        for _ in 0..LOCK_TRIES {
            let Some(lock) = held_lock(&output) else {
                break;
            };
            if !self.forget_lock(&lock) {
                std::thread::sleep(LOCK_PAUSE);
            }
            output = self.git.attempt(&call)?;
        }
        if output.status.success() {
            return Ok(());
        }
        if let Some(lock) = held_lock(&output) {
            return Err(Error::RefLocked {
                name: name.to_owned(),
                lock,
            });
        }
        let expected = wanted.filter(|oid| !oid.is_zero());
        // Asked of git rather than read from its message, which has many forms.
        let found = self.read_ref(name)?;
        if found == expected {
            return Err(call.failed(output));
        }
        Err(Error::RefMoved {
            name: name.to_owned(),
            expected,
            found,
        })
    }
}

/// How often a locked reference is tried again, and how long after the last time: a git that holds
/// a lock does so for a moment.
const LOCK_TRIES: u32 = 4;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A lock of a reference of codeteam's own that is older was left by a git that was killed.
const LOCK_AGE: Duration = Duration::from_secs(10);

/// The lock file that kept git from changing a reference, if one did.
fn held_lock(output: &GitOutput) -> Option<PathBuf> {
    let (before, _) = output.stderr.split_once(".lock': File exists")?;
    let (_, path) = before.rsplit_once('\'')?;
    Some(PathBuf::from(format!("{path}.lock")))
}

/// The full name of a run's branch, or of what keeps its commits where there is none.
pub fn reference(branch: &str) -> String {
    if branch.starts_with("refs/") {
        branch.to_owned()
    } else {
        format!("refs/heads/{branch}")
    }
}

/// Refuses what git would take for an option, or for a short name.
fn checked(name: &str) -> Result<(), Error> {
    if name.starts_with("refs/") {
        Ok(())
    } else {
        Err(Error::BadRef {
            name: name.to_owned(),
        })
    }
}
