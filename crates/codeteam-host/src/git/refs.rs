//! References: compare-and-swap, listing, deleting. Every write of a reference states where the
//! reference is expected to be.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::GitOutput;
use super::repo::parse_oid;
use super::{Error, Oid, Repo};

/// The expected state of a reference before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedRef<'a> {
    /// It must not exist.
    Missing,
    /// It must point exactly here.
    At(&'a Oid),
    /// It may point anywhere: for references that have only one writer.
    Anywhere,
}

impl Repo {
    /// Moves the reference `name` to `new` if it is where it is expected. One process; one more if
    /// it is not.
    pub fn update_ref(
        &self,
        name: &str,
        new: &Oid,
        expected: ExpectedRef<'_>,
    ) -> Result<(), Error> {
        check_ref_name(name)?;
        let call = self
            .plumbing()
            .args(["update-ref", "--no-deref", name])
            .arg(new);
        self.compare_and_swap(name, call, expected)
    }

    /// Deletes the reference `name` if it is where it is expected. One process; one more if it is
    /// not.
    pub fn delete_ref(&self, name: &str, expected: &Oid) -> Result<(), Error> {
        check_ref_name(name)?;
        let call = self
            .plumbing()
            .args(["update-ref", "--no-deref", "-d", name]);
        self.compare_and_swap(name, call, ExpectedRef::At(expected))
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

    /// Returns the commit that the reference `name` points to, if it exists. One process.
    pub fn read_ref(&self, name: &str) -> Result<Option<Oid>, Error> {
        check_ref_name(name)?;
        let call = self
            .plumbing()
            .args(["rev-parse", "--verify", "--quiet", name]);
        Ok(parse_oid(&self.git.run_with_status(&call)?.stdout))
    }

    /// Returns the references under `prefix` (`refs/codeteam/…`), by name. One process.
    pub fn refs_under(&self, prefix: &str) -> Result<Vec<(String, Oid)>, Error> {
        check_ref_name(prefix)?;
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
            .map(|line| entry(line).ok_or_else(|| call.unexpected_output(line)))
            .collect()
    }

    /// Returns the checkout that has the branch `name` (a short name) checked out, if there is one
    /// and it still exists. No process if references are files: this is called before every commit.
    pub fn checkout_of(&self, name: &str) -> Result<Option<PathBuf>, Error> {
        let wanted = format!("ref: refs/heads/{name}");
        let has_it = |head: &Path| match fs::read_to_string(head) {
            // A repository that keeps its references elsewhere has this entry.
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

    /// Removes a stale lock of one of codeteam's own references. Nobody else writes those, and
    /// codeteam's own git holds such a lock only for a moment.
    fn remove_stale_lock(&self, lock: &Path) -> bool {
        let is_own = lock.starts_with(self.common_dir().join("refs/codeteam"));
        let age = fs::symlink_metadata(lock).and_then(|found| found.modified());
        let age = age.ok().and_then(|modified| modified.elapsed().ok());
        is_own && age.is_some_and(|age| age >= LOCK_AGE) && fs::remove_file(lock).is_ok()
    }

    fn compare_and_swap(
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
        let mut output = self.git.run_with_status(&call)?;
        for _ in 0..LOCK_TRIES {
            let Some(lock) = held_lock(&output) else {
                break;
            };
            if !self.remove_stale_lock(&lock) {
                std::thread::sleep(LOCK_PAUSE);
            }
            output = self.git.run_with_status(&call)?;
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
        // Git is asked, because its message has many forms.
        let found = self.read_ref(name)?;
        if found == expected {
            return Err(call.failure(output));
        }
        Err(Error::RefMoved {
            name: name.to_owned(),
            expected,
            found,
        })
    }
}

/// How often a locked reference is tried again, and the pause between the tries: a git that holds a
/// lock releases it in a moment.
pub(super) const LOCK_TRIES: u32 = 4;
pub(super) const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A lock of one of codeteam's own references that is older than this was left by a git that was
/// killed.
const LOCK_AGE: Duration = Duration::from_secs(10);

/// Returns the lock file that kept git from changing a reference, if that was the reason.
fn held_lock(output: &GitOutput) -> Option<PathBuf> {
    let (before, _) = output.stderr.split_once(".lock': File exists")?;
    let (_, path) = before.rsplit_once('\'')?;
    Some(PathBuf::from(format!("{path}.lock")))
}

/// Returns the full name of a run's branch, or of the reference that keeps its commits if it has no
/// branch.
pub fn reference_name(branch: &str) -> String {
    if branch.starts_with("refs/") {
        branch.to_owned()
    } else {
        format!("refs/heads/{branch}")
    }
}

/// Refuses a name that git would take for an option or for a short name.
fn check_ref_name(name: &str) -> Result<(), Error> {
    if name.starts_with("refs/") {
        Ok(())
    } else {
        Err(Error::BadRef {
            name: name.to_owned(),
        })
    }
}
