//! Keeps what set-up commands have made, by what it depends on, for all worktrees of a repository.
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
//! system can do that), so nothing that a worker writes comes back here. An entry is made beside its
//! place and renamed into it, so a crash leaves all of it or nothing.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::CacheUse;
use crate::engine::Engine;
use crate::maintenance::size;
use crate::process::CancelToken;
use crate::workspace::remove_tree;

/// So many results are kept for a repository, the last used ones ...
const MOST: usize = 8;
/// ... and no more than this many bytes, but for the newest.
const MOST_BYTES: u64 = 10 << 30;

/// How often a lock is tried again.
const POLL: Duration = Duration::from_millis(50);

/// The results of set-up commands.
pub(crate) struct SetupCache {
    folder: PathBuf,
}

impl SetupCache {
    pub(crate) fn of(engine: &Engine) -> Self {
        Self {
            folder: engine.workspaces().join(".setups"),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether there is something for a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.files(key).is_dir()
    }

    /// Whether the command has left nothing anywhere but in the worktree.
    pub(super) fn is_self_contained(&self, key: &str) -> bool {
        self.folder.join(key).join("self-contained").exists()
    }

    /// Keeps everybody else from making, copying or removing what belongs to a key.
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

    /// Takes these files and folders out of a worktree and keeps them.
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

    /// Copies what is kept into a worktree in which nothing runs. What is at its place there goes; no
    /// link on the way is followed, since a worker may have put one there.
    /// Gives the files and folders that were copied.
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

    /// Removes everything that nobody is using, and says how many bytes that were.
    pub(crate) fn clear(&self, dry_run: bool) -> u64 {
        let mut bytes = 0;
        for (path, ..) in self.entries() {
            bytes += size(&path);
            if !dry_run && !self.forget(&path) {
                bytes -= size(&path);
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

    /// Removes what was not used for the longest time, if there is too much.
    fn shrink(&self, newest: &str) {
        let mut entries = self.entries();
        entries.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
        let mut bytes = 0;
        for (at, (path, _)) in entries.into_iter().enumerate() {
            bytes += size(&path);
            let is_newest = path.file_name().is_some_and(|name| name == newest);
            if !is_newest && (at >= MOST || bytes > MOST_BYTES) {
                self.forget(&path);
            }
        }
    }

    /// The entries and when each was last used.
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

/// Makes the folders on the way to a file of a worktree. `false` if something else is in the way.
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

/// Copies a file, a link, or a folder with all that is in it, with their times: what was compiled is
/// known by those to be up to date. What is none of these is left out.
fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    let found = from.symlink_metadata()?;
    let kind = found.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if kind.is_file() {
        fs::copy(from, to)?;
        let times = FileTimes::new().set_modified(found.modified()?);
        // One that nobody may write cannot be opened for it; then its time is another one.
        if let Ok(copy) = OpenOptions::new().write(true).open(to) {
            copy.set_times(times)?;
        }
        return Ok(());
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

/// A digest of these files and folders of a tree: names, kinds, modes and contents, but no times.
pub(super) fn digest(tree: &Path, products: &[PathBuf]) -> io::Result<blake3::Hash> {
    let mut hash = blake3::Hasher::new();
    for product in products {
        // A product whose way is blocked is not copied.
        if tree.join(product).symlink_metadata().is_ok() {
            add_to_digest(&mut hash, tree, product)?;
        }
    }
    Ok(hash.finalize())
}

fn add_to_digest(hash: &mut blake3::Hasher, tree: &Path, name: &Path) -> io::Result<()> {
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
        hash.update_reader(File::open(&path)?)?;
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
        cache.clear(false);
        assert!(!cache.has(&newest));
    }
}
