//! Content-addressed files: prompts, transcripts, diffs and reports.
//!
//! A body is named by the blake3 hash of its bytes and is never changed. When
//! [`BodyStore::put`] or [`BodyStore::adopt`] returns, the body survives a power cut,
//! so the event that names it may be appended. This module knows nothing about
//! events and never deletes a body.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where bodies under construction live. It is inside the store's directory so
/// that a rename into place never crosses a filesystem.
const STAGING: &str = "staging";

/// Why a body could not be stored or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The id is not 64 lower-case hexadecimal digits; nothing was touched.
    #[error("`{id}` is not the id of a body")]
    InvalidId {
        /// What was given.
        id: String,
    },
    /// No body with this id is stored.
    #[error("body `{id}` is missing: `{path}` does not exist")]
    Missing {
        /// The id that was asked for.
        id: String,
        /// Where the body would be.
        path: PathBuf,
    },
    /// The stored bytes are not the ones the id was made from.
    #[error("body `{id}` is corrupt: the content of `{path}` hashes to `{found}`")]
    Corrupt {
        /// The id that was asked for.
        id: String,
        /// The damaged file.
        path: PathBuf,
        /// The hash of what the file holds now.
        found: String,
    },
    /// Only a regular file can be adopted; a link could change behind our back.
    #[error("cannot adopt `{path}`: it is not a regular file")]
    NotAFile {
        /// What was given.
        path: PathBuf,
    },
    /// The filesystem refused.
    #[error("could not {doing} `{path}`")]
    Io {
        /// The operation, as a verb.
        doing: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// The cause.
        source: Arc<io::Error>,
    },
}

/// The hash of a file's content.
pub(crate) fn hash_of(path: &Path) -> io::Result<String> {
    let mut hash = blake3::Hasher::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hash.finalize().to_hex().to_string())
}

/// A directory of bodies. Any number of threads and processes may share it.
#[derive(Debug)]
pub struct BodyStore {
    dir: PathBuf,
    staged: AtomicU64,
}

impl BodyStore {
    /// Opens the store at `dir`, creating the directory if it is absent.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let staging = dir.join(STAGING);
        fs::create_dir_all(&staging).map_err(io_error("create", &staging))?;
        Ok(Self {
            dir,
            staged: AtomicU64::new(0),
        })
    }

    /// Stores `bytes` durably and returns their id. Storing the same bytes
    /// again is cheap and gives the same id.
    pub fn put(&self, bytes: &[u8]) -> Result<String, Error> {
        let id = blake3::hash(bytes).to_hex().to_string();
        let path = self.path(&id)?;
        if self.keep_existing(&path, bytes.len() as u64)? {
            return Ok(id);
        }
        let staged = self.stage(&mut &*bytes)?;
        self.install(&staged, &path)?;
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
        if self.keep_existing(&target, metadata.len())? {
            fs::remove_file(path).map_err(io_error("remove", path))?;
            return Ok(id);
        }
        file.sync_all().map_err(io_error("sync", path))?;
        match self.install(path, &target) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::CrossesDevices => {
                let mut file = File::open(path).map_err(io_error("open", path))?;
                let staged = self.stage(&mut file)?;
                self.install(&staged, &target)?;
                fs::remove_file(path).map_err(io_error("remove", path))?;
            }
            other => other?,
        }
        Ok(id)
    }

    /// Reads a body and checks that it is what its id says.
    pub fn get(&self, id: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(id)?;
        let bytes = fs::read(&path).map_err(read_error(id, &path))?;
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
        let file = File::open(&path).map_err(read_error(id, &path))?;
        let mut bytes = Vec::new();
        file.take(max)
            .read_to_end(&mut bytes)
            .map_err(io_error("read", &path))?;
        Ok(bytes)
    }

    /// Where the body with this id is, or would be. Only a well-formed id has a
    /// path, so an id from outside cannot name a file elsewhere.
    pub fn path(&self, id: &str) -> Result<PathBuf, Error> {
        let well_formed = id.len() == blake3::OUT_LEN * 2
            && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !well_formed {
            return Err(Error::InvalidId { id: id.into() });
        }
        let (shard, rest) = id.split_at(2);
        Ok(self.dir.join(shard).join(rest))
    }

    /// Whether a body of this length is already in place. A file of another
    /// length was damaged, and is replaced.
    fn keep_existing(&self, path: &Path, len: u64) -> Result<bool, Error> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() && metadata.len() == len => {
                // Another writer may have renamed it into place and not yet
                // synced the directory; the caller is about to rely on it.
                sync_dir(path.parent().unwrap_or(&self.dir))?;
                Ok(true)
            }
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_error("inspect", path)(error)),
        }
    }

    /// Writes `content` to a new synced file and returns its path.
    fn stage(&self, content: &mut dyn Read) -> Result<PathBuf, Error> {
        let (mut file, path) = self.staging_file()?;
        let written = io::copy(content, &mut file)
            .and_then(|_| file.flush())
            .and_then(|()| file.sync_all());
        if let Err(error) = written {
            // The first error is the one worth reporting.
            let _ = fs::remove_file(&path);
            return Err(io_error("write", &path)(error));
        }
        Ok(path)
    }

    fn staging_file(&self) -> Result<(File, PathBuf), Error> {
        loop {
            let n = self.staged.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{n}", std::process::id());
            let path = self.dir.join(STAGING).join(name);
            match File::create_new(&path) {
                Ok(file) => return Ok((file, path)),
                // Left by a dead process with our pid, or in use by another
                // handle of this one: either way not ours.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        }
    }

    /// Renames a synced file into place and syncs the directories above it.
    fn install(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let shard = to.parent().unwrap_or(&self.dir);
        match fs::create_dir(shard) {
            Ok(()) => sync_dir(&self.dir)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("create", shard)(error)),
        }
        fs::rename(from, to).map_err(io_error("move into the store", from))?;
        sync_dir(shard)
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
