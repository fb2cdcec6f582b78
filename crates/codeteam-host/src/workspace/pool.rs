//! Keeps work trees that nobody needs any more for those who need one next.
//!
//! Writing all files of a large repository takes seconds; moving a work tree from one tree to
//! another takes as long as what differs. So the work tree of an ended frame or check is kept here,
//! and the next workspace starts with it:
//!
//! ```text
//! <folder>/<boot>/<tree>.<time>.<bytes>   a kept work tree, made from <tree>: `tree`, `prepared`,
//!                                         `folders` and `origin` of a workspace, and its `collect`
//!                                         without objects and index
//! <folder>/<boot>/.trash.<process>.<n>    one that is being removed
//! ```
//!
//! Giving back and taking are renames, so that two who want the same one get different ones. What
//! does not come from the present boot of the machine is never used.
//!
//! [`Workspace::release`](super::Workspace::release) gives back, after it has removed everything
//! that is not as codeteam's git wrote it. [`Workspace::prepare`](super::Workspace::prepare) takes,
//! lets git write what differs, and uses the result only if every file and folder in it is then as
//! git wrote it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::files;
use super::reuse::PREPARED;
use super::verify::has_trusted_times;
use crate::git::Oid;
use crate::process::WaitLimit;
use crate::walk;

/// The folder of all kept work trees, in the folder of a repository's workspaces.
const FOLDER: &str = ".kept";
/// The prefix of work trees that are being removed.
const TRASH: &str = ".trash.";
/// The most that is kept: work trees, and bytes of the files in them.
const MOST_TREES: usize = 8;
const MOST_BYTES: u64 = 4 << 30;
/// How many are kept between runs.
const IDLE_TREES: usize = 2;
/// From this size of its index on, some two hundred files, a work tree is worth waiting for. Writing
/// that many where as many were removed takes longer on ext4, which does not use their inodes again
/// for a while, and looks at each of them to find that out.
const LARGE_INDEX: u64 = 16 << 10;
/// How long anybody waits for one at most. It may take longer to remove what a worker has left.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How many work trees are being given back in this process, by the folder of the pool.
static COMING: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());
/// Notified when one has come, or does not come.
static HAS_COME: Condvar = Condvar::new();

/// The kept work trees of a repository: one pool for those that only confined processes have used,
/// and one for the others.
#[derive(Debug, Clone)]
pub struct WorktreePool {
    folder: PathBuf,
    is_confined: bool,
    /// Returns true if the times of files in a folder can be trusted.
    has_trusted_times: fn(&Path) -> bool,
    /// The folders in which processes work, if they are looked for once for several work trees.
    used_folders: Option<Arc<OnceLock<Vec<PathBuf>>>>,
}

/// A promise to give back a large work tree. It holds until it is dropped.
#[derive(Debug)]
pub struct AnnouncedRelease {
    folder: PathBuf,
}

impl Drop for AnnouncedRelease {
    fn drop(&mut self) {
        let mut coming = COMING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = coming.get_mut(&self.folder) {
            *count = count.saturating_sub(1);
        }
        HAS_COME.notify_all();
    }
}

/// A kept work tree, by the name of its folder.
struct KeptTree {
    path: PathBuf,
    origin: String,
    time: u128,
    bytes: u64,
}

impl KeptTree {
    fn parse(path: PathBuf) -> Option<KeptTree> {
        let mut parts = path.file_name()?.to_str()?.split('.');
        let (origin, time, bytes) = (parts.next()?, parts.next()?, parts.next()?);
        let (time, bytes) = (time.parse().ok()?, bytes.parse().ok()?);
        let origin = Oid::parse(origin)?.as_str().to_owned();
        Some(KeptTree {
            path,
            origin,
            time,
            bytes,
        })
    }
}

impl WorktreePool {
    /// Returns the pool in the folder of a repository's workspaces. Nothing is created.
    pub fn open(workspaces: &Path, is_confined: bool) -> WorktreePool {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let kind = if is_confined { "confined" } else { "bare" };
        WorktreePool {
            folder: workspaces.join(FOLDER).join(kind).join(boot.trim()),
            is_confined,
            has_trusted_times,
            used_folders: None,
        }
    }

    /// Returns this pool for giving back several work trees whose processes have all ended: whoever
    /// still works in one of them is looked for only once.
    #[must_use]
    pub fn for_ended_processes(mut self) -> WorktreePool {
        self.used_folders = Some(Arc::default());
        self
    }

    /// Returns this pool with work trees of any file system, for tests in temporary folders.
    #[cfg(test)]
    pub(super) fn on_any_file_system(mut self) -> WorktreePool {
        self.has_trusted_times = |_| true;
        self
    }

    /// Announces that the work tree of a workspace is about to be given back, if it is so large that
    /// another one should rather wait for it than be written. `directory` is the workspace's.
    pub fn announce_release(&self, directory: &Path) -> Option<AnnouncedRelease> {
        let index = fs::metadata(directory.join(PREPARED)).ok()?;
        if index.len() < LARGE_INDEX {
            return None;
        }
        let mut coming = COMING.lock().unwrap_or_else(PoisonError::into_inner);
        *coming.entry(self.folder.clone()).or_default() += 1;
        Some(AnnouncedRelease {
            folder: self.folder.clone(),
        })
    }

    /// Removes the kept work trees that are too many while nothing runs, and those of earlier boots.
    pub fn trim_idle(&self) {
        self.trim(IDLE_TREES);
        let Some(others) = self.folder.parent().map(read_folder) else {
            return;
        };
        for other in others.into_iter().filter(|other| *other != self.folder) {
            let _ = walk::remove_tree(&other);
        }
    }

    /// Removes all kept work trees of a repository, whatever is being taken meanwhile. Returns the
    /// number of bytes in them.
    pub fn clear(workspaces: &Path, dry_run: bool) -> u64 {
        let folder = workspaces.join(FOLDER);
        let bytes = walk::size_on_disk(&folder);
        if dry_run {
            return bytes;
        }
        for is_confined in [true, false] {
            let pool = WorktreePool::open(workspaces, is_confined);
            pool.trim_idle();
            pool.trim(0);
        }
        // The folders stay if somebody has given something back meanwhile.
        for kind in read_folder(&folder) {
            for boot in read_folder(&kind) {
                let _ = fs::remove_dir(boot);
            }
            let _ = fs::remove_dir(kind);
        }
        let _ = fs::remove_dir(folder);
        bytes
    }

    /// Moves the kept work tree that is nearest to `tree` to `directory`, where nothing may be. If
    /// there is none, but one was announced, this waits for it. Returns false if there is none.
    pub(super) fn take(&self, tree: &Oid, directory: &Path) -> bool {
        let (patience, begun) = (WaitLimit::current(), Instant::now());
        let mut coming = COMING.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.take_now(tree, directory) {
                return true;
            }
            let is_announced = coming.get(&self.folder).is_some_and(|count| *count > 0);
            let left = LONGEST_WAIT.saturating_sub(begun.elapsed());
            if !is_announced || left.is_zero() || patience.check().is_err() {
                return false;
            }
            // Not for long: the patience may come to its end meanwhile.
            let short = left.min(LONGEST_WAIT / 10);
            let waited = HAS_COME.wait_timeout(coming, short);
            coming = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn take_now(&self, tree: &Oid, directory: &Path) -> bool {
        let mut kept = self.kept();
        kept.sort_by_key(|kept| (kept.origin == tree.as_str(), kept.time));
        kept.iter()
            .rev()
            .any(|kept| fs::rename(&kept.path, directory).is_ok())
    }

    /// Keeps the work tree of a workspace's directory, in which nothing else is left. `bytes` is the
    /// size of its files.
    pub(super) fn keep(&self, directory: &Path, origin: &Oid, bytes: u64) -> io::Result<()> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.folder)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_micros());
        // Two of the same moment have different names.
        let count = LAST.fetch_add(1, Ordering::Relaxed) % 1_000;
        let time = now * 1_000 + u128::from(count);
        let name = format!("{origin}.{time}.{bytes}.{}", std::process::id());
        fs::rename(directory, self.folder.join(name))?;
        // Whoever has just looked waits by now.
        drop(COMING.lock());
        HAS_COME.notify_all();
        self.trim(MOST_TREES);
        Ok(())
    }

    /// Returns true if a work tree of this size is worth keeping, and no process that could still
    /// change it is left. Confined processes have ended with their sandbox.
    pub(super) fn accepts(&self, tree: &Path, bytes: u64) -> bool {
        let is_wanted = bytes <= MOST_BYTES && (self.has_trusted_times)(tree);
        is_wanted && tree.canonicalize().is_ok_and(|tree| self.is_free(&tree))
    }

    fn is_free(&self, tree: &Path) -> bool {
        let is_outside = |used: &Vec<PathBuf>| !used.iter().any(|path| path.starts_with(tree));
        match &self.used_folders {
            None => is_outside(&used_folders(tree, self.is_confined)),
            Some(known) => {
                // All workspaces are in one folder.
                let all = self
                    .folder
                    .ancestors()
                    .nth(3)
                    .and_then(|p| p.canonicalize().ok());
                let all = all.as_deref().filter(|all| tree.starts_with(all));
                let Some(all) = all else {
                    return is_outside(&used_folders(tree, self.is_confined));
                };
                is_outside(known.get_or_init(|| used_folders(all, self.is_confined)))
            }
        }
    }

    fn kept(&self) -> Vec<KeptTree> {
        let entries = read_folder(&self.folder).into_iter();
        entries.filter_map(KeptTree::parse).collect()
    }

    /// Removes the oldest work trees until no more than `most` are left, and what was not removed to
    /// the end.
    fn trim(&self, most: usize) {
        let mut kept = self.kept();
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.time));
        let mut bytes = 0_u64;
        for (at, kept) in kept.iter().enumerate() {
            bytes = bytes.saturating_add(kept.bytes);
            if at >= most || bytes > MOST_BYTES {
                self.discard(&kept.path);
            }
        }
        for path in read_folder(&self.folder) {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let owner = name
                .strip_prefix(TRASH)
                .and_then(|name| name.split_once('.'));
            if owner.is_some_and(|(owner, _)| !Path::new("/proc").join(owner).exists()) {
                let _ = files::remove_tree(&path);
            }
        }
    }

    /// Removes one work tree. It is moved away first, so that nobody takes it half-way.
    fn discard(&self, path: &Path) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TRASH}{}.{count}", std::process::id());
        let trash = self.folder.join(name);
        if fs::rename(path, &trash).is_ok() {
            let _ = files::remove_large_tree(&trash);
        }
    }
}

fn read_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Returns the folders in `top` in which processes of this machine work, say a shell that somebody
/// has left there; with `only_folders` false, also the files in it that they have open.
fn used_folders(top: &Path, only_folders: bool) -> Vec<PathBuf> {
    let mut used = Vec::new();
    let mut look = |link: PathBuf| match fs::read_link(link) {
        Ok(target) if target.starts_with(top) => used.push(target),
        // It is elsewhere, has ended, or belongs to somebody else.
        _ => {}
    };
    for process in read_folder(Path::new("/proc")) {
        let name = process.file_name().and_then(OsStr::to_str);
        if !name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            continue;
        }
        look(process.join("cwd"));
        look(process.join("root"));
        if !only_folders {
            read_folder(&process.join("fd"))
                .into_iter()
                .for_each(&mut look);
        }
    }
    used
}
