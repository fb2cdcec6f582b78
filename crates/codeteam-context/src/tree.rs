//! Lists the files of a folder as git sees it, without running git.
//!
//! - Files excluded by `.gitignore`, `.git/info/exclude` or the user's own excludes are left out,
//!   tracked or not; so are those that `.codeteamignore` names, which is consulted first and can
//!   also re-include files. Hidden files count as files. The folder need not be a repository.
//! - **Nothing outside the folder is read**, whatever links are in it or are put there meanwhile:
//!   links are never followed, and each file is opened by a path that stays below the folder.
//! - **It waits for nothing but the disk**: only regular files are read.

mod display_names;
mod root_folder;
mod rules;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use rustix::fs::{AtFlags, Mode, OFlags};

use self::root_folder::RootFolder;
use self::rules::PathFilter;
use self::walk::{FolderWalk, WalkResult};
use crate::files::{FileContent, FileEntry, FileSet, SkippedPath};

/// Which files are wanted.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// If not empty, only files that match one of these. Written as in `.gitignore`; a folder means
    /// everything below it.
    pub include: Vec<String>,
    /// Files that match one of these are left out.
    pub exclude: Vec<String>,
    /// Larger files are skipped.
    pub max_file_bytes: u64,
    /// Whether the user's own excludes apply: git's `core.excludesFile`.
    pub user_excludes: bool,
    /// Files that are treated as missing, such as the one that is about to be written.
    pub never: Vec<PathBuf>,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            max_file_bytes: 1 << 20,
            user_excludes: true,
            never: Vec::new(),
        }
    }
}

/// The progress of a walk or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileProgress {
    /// Files are being listed.
    Walked {
        /// The number of files so far.
        files: usize,
    },
    /// Files are being read.
    Read {
        /// The number of files read so far.
        files: usize,
        /// The total number of files.
        of: usize,
        /// Their total size so far, in bytes.
        bytes: u64,
    },
}

/// The files of a folder cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder does not exist or cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The path of the folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A pattern is invalid.
    #[error("`{pattern}` is not a valid pattern")]
    Pattern {
        /// The pattern as it is written.
        pattern: String,
        /// What is wrong with it.
        source: ignore::Error,
    },
}

/// The files of a folder, as a [`FileSet`].
///
/// The list is taken once by [`walk`](Self::walk) or [`from_paths`](Self::from_paths); contents are
/// read later through the open folder, so that no link that appears in between can lead out of it.
#[derive(Debug)]
pub struct FileTree {
    place: RootFolder,
    files: Vec<FileEntry>,
    skipped: Vec<SkippedPath>,
    /// The on-disk names of files that are displayed differently, by index.
    raw: BTreeMap<usize, Vec<u8>>,
    max_file_bytes: u64,
}

impl FileTree {
    /// Lists the files of a folder, or the single file that `root` names, regardless of patterns.
    pub fn walk(
        root: &Path,
        options: &TreeOptions,
        progress: &(dyn Fn(FileProgress) + Sync),
    ) -> Result<Self, Error> {
        let wanted = PathFilter::new(&options.include, &options.exclude)
            .map_err(|(pattern, source)| Error::Pattern { pattern, source })?;
        let failed = |source| Error::Read {
            path: root.to_owned(),
            source,
        };
        let real = fs::canonicalize(root).map_err(failed)?;
        if !real.is_dir() {
            return Self::from_single_file(&real, options).map_err(failed);
        }
        let place = RootFolder::new(open_folder(&real).map_err(failed)?);
        let never = options.never.iter();
        let never =
            never.filter_map(|path| Some(path.metadata().ok()?).map(|it| (it.dev(), it.ino())));
        let walk = FolderWalk {
            place: &place,
            wanted,
            max_bytes: options.max_file_bytes,
            excluded_inodes: never.collect(),
            progress,
            walked: AtomicUsize::new(0),
        };
        let all = walk
            .run(walk::load_outer_rules(&real, options.user_excludes))
            .map_err(failed)?;
        Ok(Self::new(place, all, options))
    }

    /// Creates a tree from paths that are already known. Paths that do not exist or are not regular
    /// files are left out.
    pub fn from_paths(
        root: &Path,
        paths: impl IntoIterator<Item = PathBuf>,
        max_file_bytes: u64,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Read {
            path: root.to_owned(),
            source,
        };
        let folder = open_folder(root).map_err(failed)?;
        let found = paths.into_iter().filter_map(|path| {
            let stat = rustix::fs::statat(&folder, &path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
            let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
            is_file.then(|| walk::walked_file(path.into_os_string().into_vec(), bytes, &stat))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by(|a, b| a.file.path.cmp(&b.file.path));
        let all = WalkResult {
            found,
            skipped: Vec::new(),
        };
        let options = TreeOptions {
            max_file_bytes,
            ..TreeOptions::default()
        };
        Ok(Self::new(RootFolder::new(folder), all, &options))
    }

    fn new(place: RootFolder, all: WalkResult, options: &TreeOptions) -> Self {
        let (mut files, mut raw) = (Vec::with_capacity(all.found.len()), BTreeMap::new());
        for (at, found) in all.found.into_iter().enumerate() {
            files.push(found.file);
            raw.extend(found.raw.map(|name| (at, name)));
        }
        Self {
            place,
            files,
            skipped: all.skipped,
            raw,
            max_file_bytes: options.max_file_bytes,
        }
    }

    /// Creates a tree of a single file.
    fn from_single_file(path: &Path, options: &TreeOptions) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let folder = open_folder(path.parent().unwrap_or(Path::new("/")))?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        let all = WalkResult {
            found: vec![walk::walked_file(name.as_bytes().to_vec(), bytes, &stat)],
            skipped: Vec::new(),
        };
        Ok(Self::new(RootFolder::new(folder), all, options))
    }
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

impl FileSet for FileTree {
    fn list(&self) -> &[FileEntry] {
        &self.files
    }

    fn read(&self, at: usize) -> FileContent {
        let Some(file) = self.files.get(at) else {
            return FileContent::Gone;
        };
        let path = self
            .raw
            .get(&at)
            .map_or(file.path.as_bytes(), Vec::as_slice);
        self.place.read(path, self.max_file_bytes)
    }

    fn skipped(&self) -> &[SkippedPath] {
        &self.skipped
    }
}
