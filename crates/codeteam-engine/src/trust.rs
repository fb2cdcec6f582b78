//! Records what the user trusts repositories with, in the user's own state folder and never in a
//! repository.
//!
//! A record belongs to one repository on this machine, identified by the path of its git directory
//! and when that was created. Another clone in the same place is another repository. The record
//! names every trusted request, to the letter (see `config::access` for what a request is), so any
//! change in a repository's files asks the user again.

mod logs;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use codeteam_core::event::AccessGrant;
use codeteam_core::ids::EpochMillis;
use serde::{Deserialize, Serialize};

pub use self::logs::LogRecords;
use crate::env::Env;

/// The folder of the records, in codeteam's own state folder.
const FOLDER: &str = "codeteam/trust";

/// The maximum length of a record.
const MAX_BYTES: u64 = 1 << 20;

/// The reasons why trust cannot be recorded or revoked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no place for the records.
    #[error(
        "neither `HOME` nor `XDG_STATE_HOME` is set, so there is no place to keep what is trusted"
    )]
    NoHome,
    /// The records would be among the repository's own files.
    #[error("`{}` is inside the repository, so what is trusted cannot be kept there", .0.display())]
    Inside(PathBuf),
    /// The folder is not a repository.
    #[error("`{}` is not a git repository", .0.display())]
    NotARepository(PathBuf),
    /// A record could not be written or removed.
    #[error("could not {doing} `{}`", path.display())]
    Io {
        /// The operation, as a verb for the message.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The record of what the user trusts one repository with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// Its git directory.
    pub repository: PathBuf,
    /// When that was created, in nanoseconds since 1970, if the file system records it.
    #[serde(default)]
    pub born: Option<u64>,
    /// Its inode: clocks are too coarse to distinguish directories created within a few
    /// milliseconds.
    #[serde(default)]
    pub inode: u64,
    /// The top level of the checkout in which it was trusted.
    pub checkout: PathBuf,
    /// The trusted requests.
    pub granted: BTreeSet<AccessGrant>,
    /// A digest of the requests, for people to compare.
    pub digest: String,
    /// When it was trusted.
    pub at: EpochMillis,
    /// The user who trusted it.
    pub by: String,
}

/// The records of all repositories.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: PathBuf,
}

impl TrustStore {
    /// Returns the user's own records.
    pub fn for_user(env: &Env) -> Option<Self> {
        let folder = env.state_home.as_ref()?.join(FOLDER);
        Some(Self { folder })
    }

    /// Returns what the repository with this top level is trusted with; nothing if there is no
    /// readable record, or if the records would be among the repository's own files.
    pub fn granted(&self, root: &Path) -> BTreeSet<AccessGrant> {
        let record = self.record(root);
        record.map(|record| record.granted).unwrap_or_default()
    }

    /// Returns the record of the repository with this top level.
    pub fn record(&self, root: &Path) -> Option<TrustRecord> {
        let (repository, born, inode) = identity(root)?;
        if self.is_inside(root, &repository) {
            return None;
        }
        let record = read(&self.file(&repository))?;
        let same = record.repository == repository && record.born == born && record.inode == inode;
        same.then_some(record)
    }

    /// Trusts a repository with exactly these requests, replacing what it was trusted with before.
    pub fn trust(
        &self,
        root: &Path,
        granted: BTreeSet<AccessGrant>,
        by: &str,
        at: EpochMillis,
    ) -> Result<TrustRecord, Error> {
        let found = identity(root).ok_or_else(|| Error::NotARepository(root.to_owned()))?;
        let (repository, born, inode) = found;
        if self.is_inside(root, &repository) {
            return Err(Error::Inside(self.folder.clone()));
        }
        let record = TrustRecord {
            digest: digest(&granted),
            checkout: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
            by: by.to_owned(),
            repository,
            granted,
            born,
            inode,
            at,
        };
        self.write(&record)?;
        Ok(record)
    }

    /// Removes the record of a repository. Returns whether there was one.
    pub fn revoke(&self, root: &Path) -> Result<bool, Error> {
        let found = identity(root).ok_or_else(|| Error::NotARepository(root.to_owned()))?;
        let path = self.file(&found.0);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(failed("remove", path)(source)),
        }
    }

    /// Returns all records, sorted by repository.
    pub fn list(&self) -> Vec<TrustRecord> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let files = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut records: Vec<TrustRecord> = files.filter_map(|path| read(&path)).collect();
        records.sort_by(|a, b| a.repository.cmp(&b.repository));
        records
    }

    fn write(&self, record: &TrustRecord) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(record).unwrap_or_default();
        write_record(&self.folder, &self.file(&record.repository), &text)
    }

    fn file(&self, repository: &Path) -> PathBuf {
        let hash = blake3::hash(repository.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{}.json", &hash.to_hex()[..24]))
    }

    /// Returns true if the records are inside the repository, so that files it brings along could
    /// be taken for the user's decisions.
    fn is_inside(&self, root: &Path, repository: &Path) -> bool {
        is_inside(&self.folder, root) || is_inside(&self.folder, repository)
    }
}

/// Returns true if a folder, which need not exist yet, is below another one.
fn is_inside(folder: &Path, root: &Path) -> bool {
    let existing = folder.ancestors().find_map(|at| at.canonicalize().ok());
    let folder = existing.unwrap_or_else(|| folder.to_owned());
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    folder.starts_with(root)
}

/// Writes a file that only the user can read, atomically.
fn write_record(folder: &Path, path: &Path, text: &str) -> Result<(), Error> {
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(failed("make the folder", folder.to_owned()))?;
    let half = path.with_extension(format!("half-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(&half).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let written = written.and_then(|()| fs::rename(&half, path));
    written.map_err(failed("write", path.to_owned()))
}

/// Returns when a file was created, in nanoseconds since 1970, if the file system records it.
fn birth_of(found: &fs::Metadata) -> Option<u64> {
    let born = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(born.as_nanos()).ok()
}

/// Returns a digest of the trusted requests.
pub fn digest(granted: &BTreeSet<AccessGrant>) -> String {
    let text = serde_json::to_string(granted).unwrap_or_default();
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns the git directory that all worktrees of a repository share, with its creation time and
/// inode. A folder that only claims to be a worktree of some repository, through a link or a file
/// that the repository does not know, is treated as a repository of its own: whoever made it must
/// not inherit what that repository is trusted with.
fn identity(root: &Path) -> Option<(PathBuf, Option<u64>, u64)> {
    let root = root.canonicalize().ok()?;
    let own = root.join(".git");
    let found = own.symlink_metadata().ok()?;
    let git = if found.is_dir() {
        own
    } else {
        linked_git_dir(&own).unwrap_or(own)
    };
    let found = git.symlink_metadata().ok()?;
    Some((git, birth_of(&found), found.ino()))
}

/// Returns the shared git directory of a linked worktree whose `.git` is this file, if that
/// directory knows the worktree.
fn linked_git_dir(file: &Path) -> Option<PathBuf> {
    let text = read_text(file)?;
    let own = file.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let back = own.join(read_text(&own.join("gitdir"))?.trim());
    let common = own.join(read_text(&own.join("commondir"))?.trim());
    let is_known = back.canonicalize().ok()? == file;
    common.canonicalize().ok().filter(|_| is_known)
}

fn read(path: &Path) -> Option<TrustRecord> {
    serde_json::from_str(&read_text(path)?).ok()
}

fn read_text(path: &Path) -> Option<String> {
    let found = path.symlink_metadata().ok()?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    fs::read_to_string(path).ok()
}

fn failed(doing: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io {
        doing,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn grant(value: &str) -> BTreeSet<AccessGrant> {
        BTreeSet::from([AccessGrant {
            key: "sandbox.backend".to_owned(),
            value: value.to_owned(),
        }])
    }

    fn repository(folder: &Path, name: &str) -> PathBuf {
        let root = folder.join(name);
        fs::create_dir_all(root.join(".git")).unwrap();
        root
    }

    #[test]
    fn a_record_is_of_one_repository_and_of_one_content() {
        let folder = tempfile::tempdir().unwrap();
        let store = TrustStore {
            folder: folder.path().join("state/trust"),
        };
        let (a, b) = (
            repository(folder.path(), "a"),
            repository(folder.path(), "b"),
        );
        assert!(store.granted(&a).is_empty() && !store.revoke(&a).unwrap());
        let record = store
            .trust(&a, grant("none"), "ada", EpochMillis(1))
            .unwrap();
        assert_eq!(store.granted(&a), grant("none"));
        assert!(store.granted(&b).is_empty());
        assert_eq!(store.list(), std::slice::from_ref(&record));
        assert_ne!(record.digest, digest(&grant("container")));
        // What it was trusted with before no longer counts.
        store
            .trust(&a, grant("container"), "ada", EpochMillis(2))
            .unwrap();
        assert_eq!(store.granted(&a), grant("container"));
        let file = fs::read_dir(&store.folder).unwrap().next().unwrap();
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // A damaged record trusts nobody.
        fs::write(file.path(), "{").unwrap();
        assert!(store.granted(&a).is_empty());
        assert!(store.revoke(&a).unwrap() && store.list().is_empty());
    }

    #[test]
    fn another_clone_in_the_same_place_is_another_repository() {
        let folder = tempfile::tempdir().unwrap();
        let store = TrustStore {
            folder: folder.path().join("state"),
        };
        let root = repository(folder.path(), "a");
        store
            .trust(&root, grant("none"), "ada", EpochMillis(1))
            .unwrap();
        fs::rename(&root, folder.path().join("old")).unwrap();
        repository(folder.path(), "a");
        assert!(store.granted(&root).is_empty());
    }

    #[test]
    fn linked_work_trees_share_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let store = TrustStore {
            folder: folder.path().join("state"),
        };
        let root = repository(folder.path(), "a");
        let own = root.join(".git/worktrees/b");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let tree = |name: &str| {
            let tree = folder.path().join(name);
            fs::create_dir(&tree).unwrap();
            let text = format!("gitdir: {}\n", own.display());
            fs::write(tree.join(".git"), text).unwrap();
            tree
        };
        let linked = tree("b");
        let back = format!("{}\n", linked.join(".git").display());
        fs::write(own.join("gitdir"), back).unwrap();
        store
            .trust(&root, grant("none"), "ada", EpochMillis(1))
            .unwrap();
        assert_eq!(store.granted(&linked), grant("none"));
        // Who only says so does not.
        let claims = tree("c");
        assert!(store.granted(&claims).is_empty());
        let links = folder.path().join("d");
        fs::create_dir(&links).unwrap();
        std::os::unix::fs::symlink(root.join(".git"), links.join(".git")).unwrap();
        assert!(store.granted(&links).is_empty());
        store
            .trust(&links, grant("none"), "ada", EpochMillis(2))
            .unwrap();
        assert_eq!(store.granted(&links), grant("none"));
        assert!(store.granted(&claims).is_empty());
    }

    #[test]
    fn nothing_in_the_repository_is_the_users_word() {
        let folder = tempfile::tempdir().unwrap();
        let root = repository(folder.path(), "a");
        for inside in ["state", ".git/state"] {
            let store = TrustStore {
                folder: root.join(inside),
            };
            let refused = store.trust(&root, grant("none"), "ada", EpochMillis(1));
            assert!(matches!(refused, Err(Error::Inside(_))), "{refused:?}");
            // Nor if somebody has put it there already.
            let elsewhere = TrustStore {
                folder: folder.path().join("elsewhere"),
            };
            elsewhere
                .trust(&root, grant("none"), "eve", EpochMillis(1))
                .unwrap();
            let file = fs::read_dir(&elsewhere.folder).unwrap().next().unwrap();
            let file = file.unwrap();
            fs::create_dir_all(&store.folder).unwrap();
            fs::copy(file.path(), store.folder.join(file.file_name())).unwrap();
            assert!(store.granted(&root).is_empty());
        }
    }
}
