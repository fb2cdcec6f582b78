//! Reads and replaces credential files: the user's, and a worker's copy of it.
//!
//! The user's file may be a symbolic link, as dotfile managers create them; then the target of the
//! link is read and replaced. The copy's directory is writable by a worker, so codeteam follows no
//! links in it, never blocks on anything in it, and reads no file beyond a size limit.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};

use super::error::{Error, io};
use crate::worker_clis::WorkerCli;

/// The maximum size of a credential file, more than any login needs.
const MAX_BYTES: u64 = 1024 * 1024;

/// Metadata that changes when a file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// The reason why a file has no usable content.
pub(super) enum CredentialReadError {
    System(io::Error),
    Kind(&'static str),
}

/// The user's credential file, as it was read.
pub(super) struct UserCredentialFile {
    /// Its path, with every symbolic link resolved.
    path: PathBuf,
    metadata: Metadata,
    pub(super) bytes: Vec<u8>,
}

/// Whether a file was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReplaceOutcome {
    Yes,
    /// Somebody else has written it in the meantime, and their version stays.
    Overtaken,
}

/// A worker's copy: a file in a directory of its own, below a base directory that the worker cannot
/// see.
#[derive(Debug)]
pub(super) struct CredentialCopy {
    base: PathBuf,
    cli: &'static WorkerCli,
}

impl FileStamp {
    pub(super) fn from_path(path: &Path) -> Option<FileStamp> {
        fs::metadata(path).ok().as_ref().map(FileStamp::from)
    }
}

impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> FileStamp {
        FileStamp {
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl From<io::Error> for CredentialReadError {
    fn from(error: io::Error) -> CredentialReadError {
        CredentialReadError::System(error)
    }
}

impl UserCredentialFile {
    /// Reads the file at `path`; `None` if there is none.
    pub(super) fn read(path: &Path) -> Result<Option<UserCredentialFile>, CredentialReadError> {
        let read = || -> Result<UserCredentialFile, CredentialReadError> {
            let path = fs::canonicalize(path)?;
            let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
            let file =
                File::from(rustix::fs::open(&path, flags, Mode::empty()).map_err(io::Error::from)?);
            let (metadata, bytes) = content(&file)?;
            Ok(UserCredentialFile {
                path,
                metadata,
                bytes,
            })
        };
        match read() {
            Err(CredentialReadError::System(error)) if error.kind() == ErrorKind::NotFound => {
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Replaces the file atomically, with the mode and the owner it had.
    pub(super) fn replace(&self, bytes: &[u8]) -> Result<ReplaceOutcome, Error> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        self.check_writable(directory)?;
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".codeteam-new");
        let new = directory.join(name);
        let replaced = self.stage(&new, bytes).and_then(|()| self.install(&new));
        if !matches!(replaced, Ok(ReplaceOutcome::Yes)) {
            // In either case there is something better to report.
            let _ = fs::remove_file(&new);
        }
        let replaced = replaced.map_err(io("write", &self.path))?;
        sync(directory).map_err(io("sync", directory))?;
        Ok(replaced)
    }

    /// Checks the permissions explicitly: a rename does not check those of the file, and root
    /// passes every check.
    fn check_writable(&self, directory: &Path) -> Result<(), Error> {
        let above = fs::metadata(directory).map_err(io("inspect", directory))?;
        for (what, metadata) in [(&*self.path, &self.metadata), (directory, &above)] {
            if metadata.mode() & 0o222 == 0 {
                return Err(Error::ReadOnly {
                    path: self.path.clone(),
                    what: what.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn stage(&self, new: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = create(new, bytes)?;
        let (owner, group) = (self.metadata.uid(), self.metadata.gid());
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (owner, group) {
            fchown(&file, Some(owner), Some(group))?;
        }
        file.set_permissions(fs::Permissions::from_mode(self.metadata.mode() & 0o7777))?;
        file.sync_all()
    }

    fn install(&self, new: &Path) -> io::Result<ReplaceOutcome> {
        if FileStamp::from_path(&self.path) != Some(FileStamp::from(&self.metadata)) {
            return Ok(ReplaceOutcome::Overtaken);
        }
        fs::rename(new, &self.path)?;
        Ok(ReplaceOutcome::Yes)
    }
}

impl CredentialCopy {
    pub(super) fn new(base: &Path, cli: &'static WorkerCli) -> CredentialCopy {
        CredentialCopy {
            base: base.to_owned(),
            cli,
        }
    }

    /// Returns the directory that the worker sees.
    pub(super) fn directory(&self) -> PathBuf {
        self.base.join(self.cli.directory)
    }

    pub(super) fn create_directory(&self) -> Result<(), Error> {
        let path = self.directory();
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&path);
        made.map_err(io("create", &path))
    }

    /// Reads the copy without following any link that the worker may have put there.
    pub(super) fn read(&self) -> Result<Vec<u8>, CredentialReadError> {
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let how = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        let file = rustix::fs::openat2(self.open()?, self.name(), flags, Mode::empty(), how)
            .map_err(io::Error::from)?;
        let (_, bytes) = content(&File::from(file))?;
        Ok(bytes)
    }

    /// Returns the stamp of the copy, without following links.
    pub(super) fn stamp(&self) -> Option<FileStamp> {
        let directory = self.open().ok()?;
        let stat = rustix::fs::statat(directory, self.name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileStamp {
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).ok()?,
            modified: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).ok()?),
        })
    }

    /// Replaces the copy by a file that is created where the worker cannot reach it.
    pub(super) fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let new = self.base.join(format!("{}.copy", self.cli.name));
        let replaced = create(&new, bytes)
            .and_then(|_| self.open())
            .and_then(|into| Ok(rustix::fs::renameat(CWD, &new, into, self.name())?));
        if replaced.is_err() {
            // The first error is the one worth reporting.
            let _ = fs::remove_file(&new);
        }
        replaced
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        rustix::fs::unlinkat(self.open()?, self.name(), AtFlags::empty())?;
        Ok(())
    }

    fn name(&self) -> &'static str {
        self.cli.credentials.file
    }

    fn open(&self) -> io::Result<File> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::open(self.directory(), flags, Mode::empty())?;
        Ok(File::from(directory))
    }
}

/// Writes a small file of codeteam's own, durably and atomically.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let new = path.with_extension("new");
    let written = create(&new, bytes)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&new, path))
        .and_then(|()| sync(path.parent().unwrap_or(path)));
    written.map_err(io("write", path))
}

/// Locks the file at `path` until the result is dropped.
pub(super) fn lock(path: &Path) -> Result<File, Error> {
    let open = || {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        file.lock()?;
        Ok::<_, io::Error>(file)
    };
    open().map_err(io("lock", path))
}

/// Creates a file that only its owner can read, replacing one that a killed process has left.
fn create(path: &Path, bytes: &[u8]) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

fn content(file: &File) -> Result<(Metadata, Vec<u8>), CredentialReadError> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(CredentialReadError::Kind("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CredentialReadError::Kind("it is too large"));
    }
    Ok((metadata, bytes))
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
