//! Content-addressed files: prompts, transcripts, diffs and reports.
//!
//! A body is named by the blake3 hash of its bytes and is never changed. When
//! [`BodyStore::put`] or [`BodyStore::adopt`] returns, the body survives a power cut,
//! so the event that names it may be appended. This module knows nothing about
//! events: `packs` moves many bodies into one file, `removal` removes those that
//! the caller names.

mod packs;
mod removal;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::fstatfs;

/// Where bodies under construction live. It is inside the store's directory so
/// that a rename into place never crosses a filesystem.
const STAGING: &str = "staging";

/// The file systems whose journal keeps the order of changes, so that syncing a file makes its rename
/// durable too, and the creation of the directories above it: ext4 (and its elders), XFS and Btrfs.
const ORDERED: [u64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

/// How many ids of durable bodies are remembered: enough for those that come again and again, such
/// as an empty output.
const MOST_DURABLE: usize = 1_000;

/// The reason a body could not be stored or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The id is not 64 lower-case hexadecimal digits; nothing was touched.
    #[error("`{id}` is not the id of a body")]
    InvalidId {
        /// The invalid id.
        id: String,
    },
    /// No body with this id is stored.
    #[error("body `{id}` is missing: `{path}` does not exist")]
    Missing {
        /// The id that was requested.
        id: String,
        /// Where the body would be.
        path: PathBuf,
    },
    /// The stored bytes are not the ones the id was made from.
    #[error("body `{id}` is corrupt: the content of `{path}` hashes to `{found}`")]
    Corrupt {
        /// The id that was requested.
        id: String,
        /// The damaged file.
        path: PathBuf,
        /// The hash of the file's current content.
        found: String,
    },
    /// Only a regular file can be adopted; a link could change behind our back.
    #[error("cannot adopt `{path}`: it is not a regular file")]
    NotAFile {
        /// The path that is not a regular file.
        path: PathBuf,
    },
    /// The filesystem refused.
    #[error("could not {doing} `{path}`")]
    Io {
        /// The operation, as a verb.
        doing: &'static str,
        /// The file or directory of the operation.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
}

/// Returns the blake3 hash of a file's content, in hexadecimal.
pub fn hash_file(path: &Path) -> io::Result<String> {
    let mut hash = blake3::Hasher::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hash.finalize().to_hex().to_string())
}

/// A directory of bodies, each in a file named by the blake3 hash of its content.
///
/// [`BodyStore::put`] stores bytes and [`BodyStore::adopt`] moves a finished file in. New content
/// is written to a staging directory and renamed into place, and an adopted file is renamed (or
/// copied through the staging directory if it is on another filesystem), so a body is either
/// complete or absent; after a power cut, one that nobody was told of may be damaged, and is
/// replaced when it is stored again. On file systems that keep the order of changes, one sync
/// after the rename makes the file durable with its name; elsewhere the directories above it are
/// synced too. [`BodyStore::get`] checks the content against the hash on every read. [`BodyStore::pack`] moves what has accumulated into packs, from
/// which it is read in the same way. Bodies are never changed. Any number of threads
/// and processes may share one directory.
#[derive(Debug)]
pub struct BodyStore {
    dir: PathBuf,
    staged: AtomicU64,
    /// Whether syncing a file also makes everything durable that has happened to its name before.
    syncs_names: bool,
    /// The ids of bodies that this process has made durable.
    durable: Mutex<HashSet<String>>,
}

impl BodyStore {
    /// Opens the store at `dir`, creating the directory if it is absent.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let staging = dir.join(STAGING);
        fs::create_dir_all(&staging).map_err(io_error("create", &staging))?;
        let kind = File::open(&dir).and_then(|dir| Ok(fstatfs(dir)?.f_type));
        let syncs_names = kind.is_ok_and(|kind| ORDERED.contains(&kind.cast_unsigned()));
        Ok(Self {
            dir,
            staged: AtomicU64::new(0),
            syncs_names,
            durable: Mutex::default(),
        })
    }

    /// Stores `bytes` durably and returns their id. Storing the same bytes
    /// again is cheap and gives the same id.
    pub fn put(&self, bytes: &[u8]) -> Result<String, Error> {
        let id = blake3::hash(bytes).to_hex().to_string();
        let path = self.path(&id)?;
        if self.keep_existing(&id, &path, bytes.len() as u64)? {
            return Ok(id);
        }
        let (file, staged) = self.stage(&mut &*bytes)?;
        self.install(&file, &staged, &path)?;
        self.note_durable(&id);
        Ok(id)
    }

    /// Moves the file at `path` into the store and returns its id. Nobody may
    /// be writing to it any more; afterwards `path` no longer exists.
    pub fn adopt(&self, path: &Path) -> Result<String, Error> {
        let metadata = fs::symlink_metadata(path).map_err(io_error("inspect", path))?;
        if !metadata.is_file() {
            return Err(Error::NotAFile { path: path.into() });
        }
        let mut file = File::open(path).map_err(io_error("open", path))?;
        let mut hasher = blake3::Hasher::new();
        hasher
            .update_reader(&mut file)
            .map_err(io_error("read", path))?;
        let id = hasher.finalize().to_hex().to_string();
        let target = self.path(&id)?;
        if self.keep_existing(&id, &target, metadata.len())? {
            fs::remove_file(path).map_err(io_error("remove", path))?;
            return Ok(id);
        }
        match self.install(&file, path, &target) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::CrossesDevices => {
                let mut file = File::open(path).map_err(io_error("open", path))?;
                let (file, staged) = self.stage(&mut file)?;
                self.install(&file, &staged, &target)?;
                fs::remove_file(path).map_err(io_error("remove", path))?;
            }
            other => other?,
        }
        self.note_durable(&id);
        Ok(id)
    }

    /// Reads a body and checks its content against its id.
    pub fn get(&self, id: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(id)?;
        let (bytes, path) = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self
                .read_packed(id, u64::MAX)?
                .ok_or_else(|| read_error(id, &path)(error))?,
            read => (read.map_err(read_error(id, &path))?, path),
        };
        let found = blake3::hash(&bytes).to_hex();
        if found.as_str() == id {
            return Ok(bytes);
        }
        Err(Error::Corrupt {
            id: id.into(),
            path,
            found: found.to_string(),
        })
    }

    /// Reads at most the first `max` bytes of a body, for a preview. A part
    /// cannot be checked against the hash of the whole, so it is not.
    pub fn get_prefix(&self, id: &str, max: u64) -> Result<Vec<u8>, Error> {
        let path = self.path(id)?;
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let packed = self.read_packed(id, max)?.map(|(bytes, _)| bytes);
                return packed.ok_or_else(|| read_error(id, &path)(error));
            }
            opened => opened.map_err(read_error(id, &path))?,
        };
        let mut bytes = Vec::new();
        file.take(max)
            .read_to_end(&mut bytes)
            .map_err(io_error("read", &path))?;
        Ok(bytes)
    }

    /// Returns the path of the file that this body has for itself until it is packed, whether it
    /// exists or not. Only a well-formed id has a path, so an id from outside cannot name a file
    /// elsewhere.
    pub fn path(&self, id: &str) -> Result<PathBuf, Error> {
        let well_formed = id.len() == blake3::OUT_LEN * 2
            && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !well_formed {
            return Err(Error::InvalidId { id: id.into() });
        }
        let (shard, rest) = id.split_at(2);
        Ok(self.dir.join(shard).join(rest))
    }

    /// Returns true if a body of this length is already in place. A file of a different length was
    /// damaged and is replaced.
    fn keep_existing(&self, id: &str, path: &Path, len: u64) -> Result<bool, Error> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() && metadata.len() == len => {
                // Another writer may have renamed it into place and not yet synced it; the caller
                // is about to rely on it.
                let durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
                let is_durable = durable.contains(id);
                drop(durable);
                if !is_durable {
                    let file = File::open(path).map_err(io_error("open", path))?;
                    self.sync(&file, path)?;
                    self.note_durable(id);
                }
                Ok(true)
            }
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_error("inspect", path)(error)),
        }
    }

    /// Writes `content` to a new file.
    fn stage(&self, content: &mut dyn Read) -> Result<(File, PathBuf), Error> {
        let (mut file, path) = self.staging_file()?;
        let written = io::copy(content, &mut file).and_then(|_| file.flush());
        if let Err(error) = written {
            // The first error is the one worth reporting.
            let _ = fs::remove_file(&path);
            return Err(io_error("write", &path)(error));
        }
        Ok((file, path))
    }

    fn staging_file(&self) -> Result<(File, PathBuf), Error> {
        loop {
            let n = self.staged.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{n}", std::process::id());
            let path = self.dir.join(STAGING).join(name);
            match File::create_new(&path) {
                Ok(file) => return Ok((file, path)),
                // It was left by a dead process with our pid, or is in use by another handle of
                // this one: either way it is not ours.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        }
    }

    /// Renames a file into place and makes it durable there.
    fn install(&self, file: &File, from: &Path, to: &Path) -> Result<(), Error> {
        if !self.syncs_names {
            // Otherwise the name could become durable before the content.
            file.sync_all().map_err(io_error("sync", from))?;
        }
        let shard = to.parent().unwrap_or(&self.dir);
        match fs::create_dir(shard) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(io_error("create", shard)(error));
            }
            _ => {}
        }
        fs::rename(from, to).map_err(io_error("move into the store", from))?;
        self.sync(file, to)
    }

    /// Makes a file durable, with its name and the directories above it.
    fn sync(&self, file: &File, path: &Path) -> Result<(), Error> {
        file.sync_all().map_err(io_error("sync", path))?;
        if !self.syncs_names {
            sync_dir(path.parent().unwrap_or(&self.dir))?;
            sync_dir(&self.dir)?;
        }
        Ok(())
    }

    fn note_durable(&self, id: &str) {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if durable.len() >= MOST_DURABLE {
            durable.clear();
        }
        durable.insert(id.to_owned());
    }
}

fn sync_dir(dir: &Path) -> Result<(), Error> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(io_error("sync", dir))
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io {
        doing,
        path: path.into(),
        source: Arc::new(source),
    }
}

fn read_error(id: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => Error::Missing {
            id: id.into(),
            path: path.into(),
        },
        _ => io_error("read", path)(source),
    }
}

#[cfg(test)]
mod tests;
