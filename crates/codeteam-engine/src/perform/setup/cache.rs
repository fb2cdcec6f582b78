//! Caches the products of set-up commands, keyed by their inputs, for all worktrees of a
//! repository.
//!
//! ```text
//! <folder>/<key>/files    what the command left behind, at the paths it has in a worktree
//! <folder>/<key>/products the files and folders of that which are copied as a whole
//! <folder>/<key>/used     touched whenever it is copied
//! <folder>/<key>/self-contained   it left nothing in the run's copies of caches
//! <folder>/<key>.lock     held by whoever makes, copies or removes it
//! <folder>/half-…         not finished; its maker was killed
//! ```
//!
//! No confined command sees this folder: worktrees get copies (which share blocks where the file
//! system supports that), so nothing that a worker writes gets back here. An entry is written next
//! to its final place and then renamed, so a crash leaves all of it or nothing.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::CacheUse;
use crate::engine::Engine;
use codeteam_host::limited_io::{LimitedReader, copy_file};
use codeteam_host::process::{CancelToken, WaitLimit};
use codeteam_host::walk::size_on_disk;
use codeteam_host::workspace::remove_tree;

/// The maximum number of results kept for a repository; the least recently used go first.
const MOST: usize = 8;
/// The maximum size of all results in bytes. The newest one is kept even if it is larger.
const MOST_BYTES: u64 = 10 << 30;

/// The interval at which a lock is tried again.
const POLL: Duration = Duration::from_millis(50);

/// The cached results of set-up commands.
pub(crate) struct SetupCache {
    folder: PathBuf,
}

impl SetupCache {
    pub(crate) fn open(engine: &Engine) -> Self {
        Self {
            folder: engine.workspaces_folder().join(".setups"),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns true if there is an entry for a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.files(key).is_dir()
    }

    /// Returns true if the command has left nothing outside the worktree.
    pub(super) fn is_self_contained(&self, key: &str) -> bool {
        self.folder.join(key).join("self-contained").exists()
    }

    /// Locks a key, so that nobody else creates, copies or removes its entry.
    pub(super) fn lock(&self, key: &str, cancel: &CancelToken) -> io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(format!("{key}.lock"));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        while let Err(error) = file.try_lock() {
            match error {
                fs::TryLockError::Error(error) => return Err(error),
                fs::TryLockError::WouldBlock if cancel.is_cancelled() => break,
                fs::TryLockError::WouldBlock => std::thread::sleep(POLL),
            }
        }
        Ok(file)
    }

    /// Moves these files and folders out of a worktree into the cache.
    pub(super) fn keep(
        &self,
        key: &str,
        tree: &Path,
        products: &[PathBuf],
        writes: CacheUse,
    ) -> io::Result<()> {
        let half = self.folder.join(format!("half-{key}"));
        remove(&half)?;
        let files = half.join("files");
        fs::create_dir_all(&files)?;
        for product in products {
            let target = files.join(product);
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            let source = tree.join(product);
            if fs::rename(&source, &target).is_err() {
                duplicate(&source, &target)?;
            }
        }
        let mut list = Vec::new();
        for product in products {
            list.extend_from_slice(product.as_os_str().as_bytes());
            list.push(0);
        }
        fs::write(half.join("products"), list)?;
        fs::write(half.join("used"), "")?;
        if writes == CacheUse::None {
            fs::write(half.join("self-contained"), "")?;
        }
        let entry = self.folder.join(key);
        remove(&entry)?;
        fs::rename(&half, &entry)?;
        self.shrink(key);
        Ok(())
    }

    /// Copies an entry into a worktree in which nothing runs, replacing what is there. No link on
    /// the way is followed, since a worker may have put one there. Returns the files and folders
    /// that were copied.
    pub(super) fn copy_into(&self, key: &str, tree: &Path) -> io::Result<Vec<PathBuf>> {
        let files = self.files(key);
        let list = fs::read(self.folder.join(key).join("products"))?;
        let names = list
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        let products: Vec<PathBuf> = names
            .map(|name| PathBuf::from(OsStr::from_bytes(name)))
            .collect();
        for product in &products {
            let target = tree.join(product);
            if make_way(tree, product.parent().unwrap_or(Path::new("")))? {
                remove(&target)?;
                duplicate(&files.join(product), &target)?;
            }
        }
        fs::write(self.folder.join(key).join("used"), "")?;
        Ok(products)
    }

    /// Removes every entry that nobody is using, and returns their size in bytes.
    pub(crate) fn clear(&self, dry_run: bool) -> u64 {
        let mut bytes = 0;
        for (path, ..) in self.entries() {
            bytes += size_on_disk(&path);
            if !dry_run && !self.forget(&path) {
                bytes -= size_on_disk(&path);
            }
        }
        if !dry_run {
            let _ = fs::remove_dir(&self.folder);
        }
        bytes
    }

    fn files(&self, key: &str) -> PathBuf {
        self.folder.join(key).join("files")
    }

    /// Removes the least recently used entries, if there are too many.
    fn shrink(&self, newest: &str) {
        let mut entries = self.entries();
        entries.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
        let mut bytes = 0;
        for (at, (path, _)) in entries.into_iter().enumerate() {
            bytes += size_on_disk(&path);
            let is_newest = path.file_name().is_some_and(|name| name == newest);
            if !is_newest && (at >= MOST || bytes > MOST_BYTES) {
                self.forget(&path);
            }
        }
    }

    /// Returns the entries and when each was last used.
    fn entries(&self) -> Vec<(PathBuf, SystemTime)> {
        let found = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let folders = found.map(|entry| entry.path()).filter(|path| path.is_dir());
        folders
            .map(|path| {
                let used = path.join("used").metadata().and_then(|m| m.modified());
                (path, used.unwrap_or(SystemTime::UNIX_EPOCH))
            })
            .collect()
    }

    /// Removes an entry, unless somebody is using it.
    fn forget(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let key = name.strip_prefix("half-").unwrap_or(&name);
        let lock = self.folder.join(format!("{key}.lock"));
        let Ok(file) = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock)
        else {
            return false;
        };
        if file.try_lock().is_err() {
            return false;
        }
        let gone = remove(path).is_ok();
        let _ = fs::remove_file(lock);
        gone
    }
}

/// Creates the parent folders of a file in a worktree. Returns `false` if something else is in the
/// way.
fn make_way(tree: &Path, folder: &Path) -> io::Result<bool> {
    let mut made = tree.to_owned();
    for part in folder.components() {
        made.push(part);
        match made.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Ok(false),
            Err(_) => fs::create_dir(&made)?,
        }
    }
    Ok(true)
}

fn remove(path: &Path) -> io::Result<()> {
    remove_tree(path).map_err(io::Error::other)
}

/// Copies a file, a link, or a folder with everything in it, with modification times: build tools
/// use these to see what is up to date. Anything else is left out.
fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    WaitLimit::current().check_io()?;
    let found = from.symlink_metadata()?;
    let kind = found.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if kind.is_file() {
        let times = FileTimes::new().set_modified(found.modified()?);
        return copy_file(from, to)?.set_times(times);
    }
    if !kind.is_dir() {
        return Ok(());
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        duplicate(&entry.path(), &to.join(entry.file_name()))?;
    }
    fs::set_permissions(to, Permissions::from_mode(found.permissions().mode()))
}

/// Computes a digest of these files and folders of a tree: names, kinds, modes and contents, but no
/// times.
pub(super) fn digest(tree: &Path, products: &[PathBuf]) -> io::Result<blake3::Hash> {
    let mut hash = blake3::Hasher::new();
    for product in products {
        // A product whose parent folder is blocked was not copied.
        if tree.join(product).symlink_metadata().is_ok() {
            add_to_digest(&mut hash, tree, product)?;
        }
    }
    Ok(hash.finalize())
}

fn add_to_digest(hash: &mut blake3::Hasher, tree: &Path, name: &Path) -> io::Result<()> {
    WaitLimit::current().check_io()?;
    let path = tree.join(name);
    let found = path.symlink_metadata()?;
    let kind = found.file_type();
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    if kind.is_symlink() {
        add(b"link");
        add(name.as_os_str().as_bytes());
        add(fs::read_link(&path)?.as_os_str().as_bytes());
    } else if kind.is_file() {
        add(b"file");
        add(name.as_os_str().as_bytes());
        add(&found.permissions().mode().to_le_bytes());
        add(&found.len().to_le_bytes());
        hash.update_reader(LimitedReader(File::open(&path)?))?;
    } else if kind.is_dir() {
        add(b"folder");
        add(name.as_os_str().as_bytes());
        add(&found.permissions().mode().to_le_bytes());
        let entries = fs::read_dir(&path)?.map(|entry| entry.map(|entry| entry.file_name()));
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        for entry in entries {
            add_to_digest(hash, tree, &name.join(entry))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn cache(root: &Path) -> SetupCache {
        SetupCache {
            folder: root.join("cache"),
        }
    }

    fn tree(root: &Path, name: &str) -> PathBuf {
        let tree = root.join(name);
        fs::create_dir_all(tree.join(".venv/bin")).unwrap();
        fs::write(tree.join(".venv/bin/python"), "3.11").unwrap();
        symlink("python", tree.join(".venv/bin/python3")).unwrap();
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::write(tree.join("src/_version.py"), "1").unwrap();
        tree
    }

    #[test]
    fn copying_and_comparing_end_with_the_limit() {
        let root = tempfile::tempdir().unwrap();
        let (made, other) = (tree(root.path(), "made"), root.path().join("other"));
        fs::create_dir(&other).unwrap();
        let cache = cache(root.path());
        cache.keep("a", &made, &products(), CacheUse::None).unwrap();
        let _limit = WaitLimit::limit_to(Duration::ZERO);
        let late = cache.copy_into("a", &other).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        let late = digest(&made, &["src".into()]).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    }

    fn products() -> Vec<PathBuf> {
        vec![".venv".into(), "src/_version.py".into()]
    }

    #[test]
    fn what_is_kept_is_copied_and_copies_are_their_own() {
        let root = tempfile::tempdir().unwrap();
        let cache = cache(root.path());
        let _lock = cache.lock("k", &CancelToken::new()).unwrap();
        assert!(!cache.has("k"));
        cache
            .keep("k", &tree(root.path(), "made"), &products(), CacheUse::None)
            .unwrap();
        for name in ["one", "two"] {
            let other = root.path().join(name);
            fs::create_dir_all(other.join("src")).unwrap();
            fs::write(other.join("src/a.py"), "a").unwrap();
            cache.copy_into("k", &other).unwrap();
            let python = fs::read_to_string(other.join(".venv/bin/python3")).unwrap();
            assert_eq!(python, "3.11", "a worker's writes do not reach the cache");
            fs::write(other.join(".venv/bin/python"), "evil").unwrap();
            assert_eq!(fs::read_to_string(other.join("src/a.py")).unwrap(), "a");
        }
    }

    #[test]
    fn links_that_a_worker_has_put_in_the_way_lead_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let cache = cache(root.path());
        cache
            .lock("k", &CancelToken::new())
            .and_then(|_lock| {
                cache.keep("k", &tree(root.path(), "made"), &products(), CacheUse::None)
            })
            .unwrap();
        let outside = root.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let trap = root.path().join("trap");
        fs::create_dir(&trap).unwrap();
        symlink(&outside, trap.join(".venv")).unwrap();
        symlink(&outside, trap.join("src")).unwrap();
        cache.copy_into("k", &trap).unwrap();
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert!(trap.join(".venv/bin/python").is_file());
    }

    #[test]
    fn only_so_many_are_kept_and_clearing_leaves_what_is_in_use() {
        let root = tempfile::tempdir().unwrap();
        let cache = cache(root.path());
        for n in 0..MOST + 3 {
            let key = format!("k{n}");
            let _lock = cache.lock(&key, &CancelToken::new()).unwrap();
            let made = tree(root.path(), &format!("made{n}"));
            cache
                .keep(&key, &made, &products(), CacheUse::None)
                .unwrap();
        }
        assert_eq!(cache.entries().len(), MOST);
        let newest = format!("k{}", MOST + 2);
        let lock = cache.lock(&newest, &CancelToken::new()).unwrap();
        assert!(cache.clear(false) > 0);
        assert!(cache.has(&newest));
        drop(lock);
        // A program that another test starts at this moment has the lock too, until it is executed.
        let until = Instant::now() + Duration::from_mins(1);
        while cache.has(&newest) && Instant::now() < until {
            cache.clear(false);
            std::thread::yield_now();
        }
        assert!(!cache.has(&newest));
    }
}
