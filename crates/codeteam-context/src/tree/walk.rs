//! Walks a folder on several threads and lists what is in it.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use rustix::fs::{AtFlags, FileType, RawDir, Stat};
use rustix::io::Errno;

use super::root_folder::{self, RootFolder};
use super::rules::{GIT, IgnorePatterns, IgnoreRules, LONGEST, OWN, PathFilter};
use super::{FileProgress, display_names};
use crate::files::{FileEntry, FileStamp, SkipReason, SkippedPath};
use crate::threads::thread_count;

/// The length limit of a path that is descended into.
const DEEPEST: usize = 32 << 10;
/// The buffer size for reading a folder.
const BUFFER: usize = 32 << 10;

/// A file that was found, and its on-disk name if it is displayed differently.
pub(super) struct WalkedFile {
    pub(super) file: FileEntry,
    pub(super) raw: Option<Vec<u8>>,
}

/// The result of a walk.
#[derive(Default)]
pub(super) struct WalkResult {
    pub(super) found: Vec<WalkedFile>,
    pub(super) skipped: Vec<SkippedPath>,
}

/// The settings of a walk.
pub(super) struct FolderWalk<'w> {
    pub(super) place: &'w RootFolder,
    pub(super) wanted: PathFilter,
    /// Larger files are skipped.
    pub(super) max_bytes: u64,
    /// Files that are treated as missing: device and inode.
    pub(super) excluded_inodes: Vec<(u64, u64)>,
    pub(super) progress: &'w (dyn Fn(FileProgress) + Sync),
    pub(super) walked: AtomicUsize,
}

/// A folder to be walked.
struct FolderJob {
    path: Vec<u8>,
    rules: Arc<IgnoreRules>,
}

impl FolderWalk<'_> {
    /// Finds everything below the root folder.
    pub(super) fn run(&self, rules: Arc<IgnoreRules>) -> io::Result<WalkResult> {
        // If the top cannot be opened, the whole walk fails.
        let top = self.place.open_folder(b"")?;
        let mut all = WalkResult::default();
        let job = FolderJob {
            path: Vec::new(),
            rules,
        };
        let queue = FolderQueue::new(self.walk_folder(&job, &top, &mut all)?);
        let threads = thread_count().min(8);
        let others = thread::scope(|scope| {
            let work = || scope.spawn(|| self.run_worker(&queue));
            let others: Vec<_> = (1..threads).map(|_| work()).collect();
            let own = self.run_worker(&queue);
            let ended = others.into_iter().map(|other| match other.join() {
                Ok(all) => all,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.chain([own]).collect::<Vec<_>>()
        });
        for other in others {
            all.found.extend(other.found);
            all.skipped.extend(other.skipped);
        }
        all.found
            .sort_unstable_by(|a, b| a.file.path.cmp(&b.file.path));
        all.skipped.sort_unstable();
        Ok(all)
    }

    fn run_worker(&self, queue: &FolderQueue) -> WalkResult {
        let mut all = WalkResult::default();
        while let Some(job) = queue.next() {
            let opened = self.place.open_folder(&job.path);
            let found = opened.and_then(|folder| self.walk_folder(&job, &folder, &mut all));
            let more = found.unwrap_or_else(|error| {
                let why = match Errno::from_io_error(&error) {
                    Some(Errno::NOENT) => SkipReason::Gone,
                    Some(Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => SkipReason::Changed,
                    _ => SkipReason::Unreadable(error.to_string()),
                };
                all.skip_folder(&job.path, why);
                Vec::new()
            });
            queue.done(more);
        }
        all
    }

    /// Walks one folder, and returns the folders in it.
    fn walk_folder(
        &self,
        job: &FolderJob,
        folder: &OwnedFd,
        all: &mut WalkResult,
    ) -> io::Result<Vec<FolderJob>> {
        let entries = entries(folder)?;
        let named = |name: &[u8]| entries.iter().any(|(entry, _)| entry.as_bytes() == name);
        if !job.path.is_empty() && named(b".git") {
            all.skip_folder(&job.path, SkipReason::Repository);
            return Ok(Vec::new());
        }
        let mut patterns = |name: &str| {
            if !named(name.as_bytes()) {
                return IgnorePatterns::default();
            }
            match root_folder::read_in(folder.as_fd(), name, LONGEST) {
                Ok(bytes) => IgnorePatterns::parse(&bytes),
                // A link, a pipe, or too large a file: its patterns are not used, and that is
                // reported.
                Err(error) => {
                    let path = join(&job.path, name.as_bytes());
                    all.skip(
                        &path,
                        SkipReason::Unreadable(format!("its patterns are not used: {error}")),
                    );
                    IgnorePatterns::default()
                }
            }
        };
        let rules = if named(GIT.as_bytes()) || named(OWN.as_bytes()) {
            let (git, own) = (patterns(GIT), patterns(OWN));
            Arc::new(IgnoreRules::for_subfolder(&job.rules, &job.path, git, own))
        } else {
            Arc::clone(&job.rules)
        };
        let mut below = Vec::new();
        let before = all.found.len();
        for (name, kind) in &entries {
            let path = join(&job.path, name.as_bytes());
            if path == b".git" {
                continue;
            }
            let (kind, stat) = match file_type(folder, name, *kind) {
                Ok(looked) => looked,
                Err(why) => {
                    all.skip(&path, why);
                    continue;
                }
            };
            if kind == FileType::Directory {
                if rules.ignores(&path, true) || self.wanted.excludes_folder(&path) {
                } else if path.len() > DEEPEST {
                    all.skip_folder(&path, SkipReason::TooDeep);
                } else {
                    let rules = Arc::clone(&rules);
                    below.push(FolderJob { path, rules });
                }
            } else if !rules.ignores(&path, false) && self.wanted.wants_file(&path) {
                self.take_entry(path, kind, stat, all);
            }
        }
        let files = all.found.len() - before;
        let files = files + self.walked.fetch_add(files, Ordering::Relaxed);
        (self.progress)(FileProgress::Walked { files });
        Ok(below)
    }

    /// Adds a file, or records why it was skipped.
    fn take_entry(&self, path: Vec<u8>, kind: FileType, stat: Option<Stat>, all: &mut WalkResult) {
        let why = match (kind, stat) {
            (FileType::RegularFile, Some(stat)) => {
                let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
                if self.excluded_inodes.contains(&(stat.st_dev, stat.st_ino)) {
                    return;
                }
                if bytes <= self.max_bytes {
                    all.found.push(walked_file(path, bytes, &stat));
                    return;
                }
                SkipReason::TooLarge
            }
            (FileType::Symlink, _) => SkipReason::Link,
            _ => SkipReason::Special,
        };
        all.skip(&path, why);
    }
}

/// Determines the type of an entry. Only possible regular files need a `stat` call.
fn file_type(
    folder: &OwnedFd,
    name: &CString,
    kind: FileType,
) -> Result<(FileType, Option<Stat>), SkipReason> {
    if !matches!(kind, FileType::RegularFile | FileType::Unknown) {
        return Ok((kind, None));
    }
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok((FileType::from_raw_mode(stat.st_mode), Some(stat))),
        Err(Errno::NOENT) => Err(SkipReason::Gone),
        Err(error) => Err(SkipReason::Unreadable(io::Error::from(error).to_string())),
    }
}

/// Creates the list entry of a file.
pub(super) fn walked_file(raw: Vec<u8>, bytes: u64, stat: &Stat) -> WalkedFile {
    let path = display_names::display_path(&raw);
    let nanos = |seconds, nanos| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    #[allow(clippy::useless_conversion, reason = "these differ by machine")]
    let stamp = FileStamp::Touched {
        modified: nanos(
            i64::from(stat.st_mtime),
            i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
        ),
        changed: nanos(
            i64::from(stat.st_ctime),
            i64::try_from(stat.st_ctime_nsec).unwrap_or(0),
        ),
        inode: stat.st_ino,
    };
    WalkedFile {
        raw: (path.as_bytes() != raw).then_some(raw),
        file: FileEntry {
            path,
            bytes,
            stamp: Some(stamp),
        },
    }
}

impl WalkResult {
    fn skip(&mut self, path: &[u8], why: SkipReason) {
        let path = display_names::display_path(path);
        self.skipped.push(SkippedPath { path, reason: why });
    }

    fn skip_folder(&mut self, path: &[u8], why: SkipReason) {
        self.skip(&join(path, b""), why);
    }
}

/// Returns the names in a folder, with the types that the system reports.
fn entries(folder: &OwnedFd) -> io::Result<Vec<(CString, FileType)>> {
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut entries = RawDir::new(folder, buffer.spare_capacity_mut());
    let mut all = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            all.push((name.to_owned(), entry.file_type()));
        }
    }
    Ok(all)
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        return name.to_vec();
    }
    let mut path = Vec::with_capacity(folder.len() + 1 + name.len());
    path.extend_from_slice(folder);
    path.push(b'/');
    path.extend_from_slice(name);
    path
}

/// Loads the patterns that come from above a folder: the user's, the repository's own, and those of
/// the folders between its top and here.
pub(super) fn load_outer_rules(root: &Path, user: bool) -> Arc<IgnoreRules> {
    let read = |path: &Path| {
        let bytes = root_folder::read_at(path, LONGEST).unwrap_or_default();
        IgnorePatterns::parse(&bytes)
    };
    let mut above = root.ancestors();
    let top = above.find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let prefix = |from: &Path| {
        let below = root.strip_prefix(from).unwrap_or(Path::new(""));
        below.as_os_str().as_encoded_bytes().to_vec()
    };
    let from = prefix(top.unwrap_or(root));
    let users = user
        .then(ignore::gitignore::gitconfig_excludes_path)
        .flatten();
    let users = users.map_or_else(IgnorePatterns::default, |path| read(&path));
    let mut rules = Arc::new(IgnoreRules::for_outer_folder(
        None,
        &from,
        users,
        IgnorePatterns::default(),
    ));
    let Some(top) = top else { return rules };
    let exclude = read(&git_folder(top).join("info/exclude"));
    rules = Arc::new(IgnoreRules::for_outer_folder(
        Some(rules),
        &from,
        exclude,
        IgnorePatterns::default(),
    ));
    let between = root
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(top));
    for folder in between.collect::<Vec<_>>().into_iter().rev() {
        let read = |name: &str| {
            let opened = std::fs::File::open(folder);
            let bytes =
                opened.and_then(|folder| root_folder::read_in(folder.as_fd(), name, LONGEST));
            IgnorePatterns::parse(&bytes.unwrap_or_default())
        };
        let (git, own) = (read(GIT), read(OWN));
        rules = Arc::new(IgnoreRules::for_outer_folder(
            Some(rules),
            &prefix(folder),
            git,
            own,
        ));
    }
    rules
}

/// Returns the git folder shared by all worktrees of a repository.
fn git_folder(top: &Path) -> PathBuf {
    let own = top.join(".git");
    let first_line = |path: &Path| {
        let bytes = root_folder::read_at(path, 64 << 10).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.lines().next()?.to_owned())
    };
    let Some(line) = first_line(&own) else {
        return own;
    };
    let Some(linked) = line.strip_prefix("gitdir: ") else {
        return own;
    };
    let linked = top.join(linked);
    match first_line(&linked.join("commondir")) {
        Some(common) => linked.join(common),
        None => linked,
    }
}

/// The folders still to be walked.
struct FolderQueue {
    inner: Mutex<FolderQueueState>,
    changed: Condvar,
}

struct FolderQueueState {
    jobs: Vec<FolderJob>,
    /// The number of threads that are walking a folder and may find more.
    busy: usize,
}

impl FolderQueue {
    fn new(jobs: Vec<FolderJob>) -> Self {
        Self {
            inner: Mutex::new(FolderQueueState { jobs, busy: 0 }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, FolderQueueState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next folder; `None` if there will be no more.
    fn next(&self) -> Option<FolderJob> {
        let mut inner = self.lock();
        loop {
            if let Some(job) = inner.jobs.pop() {
                inner.busy += 1;
                return Some(job);
            }
            if inner.busy == 0 {
                return None;
            }
            inner = self
                .changed
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Finishes a folder and adds the folders found in it.
    fn done(&self, found: Vec<FolderJob>) {
        let mut inner = self.lock();
        inner.busy -= 1;
        inner.jobs.extend(found);
        drop(inner);
        self.changed.notify_all();
    }
}
