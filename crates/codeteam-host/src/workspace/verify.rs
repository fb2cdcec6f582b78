//! Verifies that a work tree consists of files that codeteam's own git has written, and that nobody
//! has touched since.
//!
//! What is trusted is the time at which an inode was last changed (`ctime`). On the file systems of
//! `TRUSTED` the kernel sets it on every change of content, permissions, owner, links and extended
//! attributes, and no process can set it. The exceptions are two requests (`ioctl`) that exchange
//! the content of two files; the sandbox refuses them. The time of the content (`mtime`) is
//! compared too, but proves nothing. So a file that has the inode, the times and the size that git
//! noted when it wrote it is the file that git wrote.
//!
//! Folders change their time whenever an entry comes or goes, so their state is compared with that
//! of a folder that no worker could reach: permissions, owner, flags and attributes. Folders whose
//! time has not changed since it was noted are not read again; see
//! [`folder_notes`](super::folder_notes).

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawMode, ResolveFlags, Stat, fgetxattr, flistxattr,
    fstat, fstatfs, ioctl_getflags, openat, openat2, unlinkat,
};
use rustix::io::Errno;

use super::file_stats::stat_all;
use super::folder_notes::{FolderNotes, is_folder, stat_below};
use crate::git::{IndexEntry, IndexStat};
use crate::walk::{self, WalkEntry, WalkVisitor};

/// What happens to everything that is not as git wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignFiles {
    /// It is removed, and permissions of folders are set right. What remains is as git wrote it, but
    /// files may be missing.
    Remove,
    /// It is an error, and so is a missing file.
    Refuse,
}

/// The files that a work tree must consist of.
pub(super) struct TreeExpectation<'a> {
    /// A folder that no worker could reach, made by the same process as those of the work tree.
    pub(super) sample: &'a Path,
    /// The index as git wrote it when it wrote the files.
    pub(super) entries: &'a [IndexEntry],
    /// Files that were written at this time or later are not trusted: a change right after it could
    /// have the same time. Seconds and nanoseconds.
    pub(super) noted_at: Option<(u32, u32)>,
}

impl<'a> TreeExpectation<'a> {
    /// Compares the work tree with what is expected, reading all of it. An error means that it cannot
    /// be used. Returns the paths of the files that are as git wrote them.
    pub(super) fn verify(
        &self,
        tree: &Path,
        foreign: ForeignFiles,
    ) -> io::Result<HashSet<&'a Path>> {
        let files = self.entries.iter().filter(|entry| self.is_trusted(entry));
        let sample = FolderState::read(File::open(self.sample)?.as_fd())?;
        let mut verifier = TreeVerifier {
            files: files.map(|entry| (entry.path.as_path(), entry)).collect(),
            folders: self.folders(),
            sample,
            foreign,
            found: HashSet::new(),
        };
        walk::walk_tree(tree, &mut verifier)?;
        if foreign == ForeignFiles::Refuse && verifier.found.len() != self.entries.len() {
            return Err(io::Error::other("files are missing"));
        }
        Ok(verifier.found)
    }

    /// Does the same for a work tree that git has just moved, and reads only the folders that have
    /// changed since they were noted. Returns what the folders are like now.
    pub(super) fn verify_moved(&self, tree: &Path, notes: &FolderNotes) -> io::Result<FolderNotes> {
        let top = open_top(tree)?;
        let sample = FolderState::read(File::open(self.sample)?.as_fd())?;
        let folders = self.folders();
        let mut now = FolderNotes::default();
        let paths: Vec<&Path> = folders.iter().copied().collect();
        for (path, found) in paths.iter().zip(stat_all(&top, &paths)?) {
            let found = found.filter(is_folder);
            let found = found.ok_or_else(|| unexpected(path))?;
            if !notes.is_unchanged(path, &found) {
                self.verify_folder(&top, path, (&folders, &sample))?;
            }
            now.insert(path, &found);
        }
        for (entry, found) in self.entries.iter().zip(stat_all(&top, &self.paths())?) {
            let found = found.ok_or_else(|| unexpected(&entry.path))?;
            if entry.is_gitlink() {
                // The folder of a submodule stays empty.
                self.verify_folder(&top, &entry.path, (&folders, &sample))?;
                now.insert(&entry.path, &found);
            } else if !is_same_file(entry, &found) {
                return Err(unexpected(&entry.path));
            }
        }
        // A folder whose parent has not changed would not be seen otherwise.
        for path in notes.paths() {
            let is_expected = folders.contains(path) || self.find(path).is_some();
            if !is_expected && stat_below(&top, path)?.is_some() {
                return Err(unexpected(path));
            }
        }
        Ok(now)
    }

    /// Compares one folder and the names of its entries with what is expected.
    fn verify_folder(
        &self,
        top: &OwnedFd,
        path: &Path,
        (folders, sample): (&HashSet<&Path>, &FolderState),
    ) -> io::Result<()> {
        let folder = open_below(top, path)?;
        if FolderState::read(folder.as_fd())? != *sample {
            return Err(unexpected(path));
        }
        let mut foreign = None;
        walk::each_entry(folder, path, |entry| {
            if !self.is_expected(entry, folders) && foreign.is_none() {
                foreign = Some(entry.path.to_owned());
            }
            Ok(())
        })?;
        foreign.map_or(Ok(()), |path| Err(unexpected(&path)))
    }

    /// Removes everything that is not as git wrote it, reading only the folders that have changed
    /// since they were noted. Returns the paths of the files that remain. An error means that the work
    /// tree needs more than that: [`TreeExpectation::verify`] reads all of it.
    pub(super) fn clean_changed_folders(
        &self,
        tree: &Path,
        notes: &FolderNotes,
    ) -> io::Result<HashSet<&'a Path>> {
        let top = open_top(tree)?;
        let sample = FolderState::read(File::open(self.sample)?.as_fd())?;
        let folders = self.folders();
        let mut sorted: Vec<&Path> = folders.iter().copied().collect();
        let submodules = self.entries.iter().filter(|entry| entry.is_gitlink());
        sorted.extend(submodules.map(|entry| entry.path.as_path()));
        // A folder comes before what is in it.
        sorted.sort_unstable();
        for path in &sorted {
            let Some(found) = stat_below(&top, path)? else {
                continue;
            };
            if notes.is_unchanged(path, &found) {
                continue;
            }
            let folder = open_below(&top, path)?;
            if FolderState::read(folder.as_fd())? != sample {
                return Err(unexpected(path));
            }
            walk::each_entry(folder, path, |entry| {
                if self.is_expected(entry, &folders) {
                    Ok(())
                } else {
                    entry.remove()
                }
            })?;
        }
        let mut left = HashSet::with_capacity(self.entries.len());
        for (entry, found) in self.entries.iter().zip(stat_all(&top, &self.paths())?) {
            let path = entry.path.as_path();
            let Some(found) = found else {
                continue;
            };
            let is_whole = if entry.is_gitlink() {
                is_folder(&found)
            } else {
                self.is_trusted(entry) && is_same_file(entry, &found)
            };
            if is_whole {
                left.insert(path);
                continue;
            }
            let folder = open_below(&top, path.parent().unwrap_or(Path::new("")))?;
            let name = path.file_name().ok_or_else(|| unexpected(path))?;
            unlinkat(folder, name, AtFlags::empty())?;
        }
        if left.len() < self.entries.len() {
            remove_empty_folders(&top, &sorted, &left);
        }
        Ok(left)
    }

    fn paths(&self) -> Vec<&'a Path> {
        let entries = self.entries.iter();
        entries.map(|entry| entry.path.as_path()).collect()
    }

    fn is_trusted(&self, entry: &IndexEntry) -> bool {
        let noted_at = self.noted_at;
        entry.is_gitlink() || noted_at.is_none_or(|noted| entry.stat.changed < noted)
    }

    /// Returns the folders of all files.
    fn folders(&self) -> HashSet<&'a Path> {
        let mut folders = HashSet::from([Path::new("")]);
        let mut last = None;
        for entry in self.entries {
            let parent = entry.path.parent();
            if parent == last {
                continue;
            }
            last = parent;
            for ancestor in entry.path.ancestors().skip(1) {
                // Its own ancestors have been added by then, too.
                if !folders.insert(ancestor) {
                    break;
                }
            }
        }
        folders
    }

    /// Returns true if an entry of a folder may have this name and this kind.
    fn is_expected(&self, found: &WalkEntry<'_>, folders: &HashSet<&Path>) -> bool {
        let entry = self.find(found.path);
        if found.kind == FileType::Directory {
            return folders.contains(found.path) || entry.is_some_and(IndexEntry::is_gitlink);
        }
        entry.is_some_and(|entry| !entry.is_gitlink())
    }

    /// Returns the entry of a path. The index is sorted by the bytes of paths.
    fn find(&self, path: &Path) -> Option<&'a IndexEntry> {
        let wanted = path.as_os_str().as_encoded_bytes();
        let at = self
            .entries
            .binary_search_by(|entry| entry.path.as_os_str().as_encoded_bytes().cmp(wanted));
        self.entries.get(at.ok()?)
    }

    /// Notes what the folders of a work tree are like that git has just written.
    pub(super) fn note_folders(&self, tree: &Path) -> io::Result<FolderNotes> {
        let top = open_top(tree)?;
        let mut now = FolderNotes::default();
        let submodules = self.entries.iter().filter(|entry| entry.is_gitlink());
        let submodules = submodules.map(|entry| entry.path.as_path());
        for path in self.folders().into_iter().chain(submodules) {
            if let Some(found) = stat_below(&top, path)? {
                now.insert(path, &found);
            }
        }
        Ok(now)
    }
}

/// Removes the folders of which no file is left: git has no reason to, and the next tree may be without
/// them. If one cannot be removed, the work tree does not become what is wanted, and is made anew.
fn remove_empty_folders(top: &OwnedFd, folders: &[&Path], left: &HashSet<&Path>) {
    let mut needed = HashSet::new();
    for file in left {
        for path in file.ancestors() {
            if !needed.insert(path) {
                break;
            }
        }
    }
    for path in folders.iter().rev().filter(|path| !needed.contains(*path)) {
        let parent = path.parent().map(|parent| open_below(top, parent));
        if let (Some(Ok(parent)), Some(name)) = (parent, path.file_name()) {
            let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }
}

/// Opens the top of a work tree.
pub(super) fn open_top(tree: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, tree, flags, Mode::empty())?)
}

/// Opens a folder of a work tree. No link on the way is followed, and nothing that is mounted there is
/// entered.
fn open_below(top: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    Ok(openat2(top, path, flags, Mode::empty(), within)?)
}

struct TreeVerifier<'a> {
    files: HashMap<&'a Path, &'a IndexEntry>,
    folders: HashSet<&'a Path>,
    sample: FolderState,
    foreign: ForeignFiles,
    /// The files of the index that were found as git wrote them.
    found: HashSet<&'a Path>,
}

impl TreeVerifier<'_> {
    fn reject(&self, entry: &WalkEntry<'_>) -> io::Result<()> {
        match self.foreign {
            ForeignFiles::Remove => entry.remove(),
            ForeignFiles::Refuse => Err(unexpected(entry.path)),
        }
    }
}

impl WalkVisitor for TreeVerifier<'_> {
    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        // A folder that git tracks itself is a submodule, which stays empty.
        let tracked = self.files.get(folder.path);
        let submodule = tracked.filter(|entry| entry.is_gitlink());
        let is_submodule = submodule.is_some();
        if !is_submodule && !self.folders.contains(folder.path) {
            self.reject(folder)?;
            return Ok(false);
        }
        self.found
            .extend(submodule.map(|entry| entry.path.as_path()));
        if self.foreign == ForeignFiles::Remove {
            let mode = folder.stat()?.st_mode & PERMISSIONS;
            if mode != self.sample.permissions {
                folder.set_folder_mode(Mode::from_raw_mode(self.sample.permissions))?;
            }
        }
        Ok(true)
    }

    fn opened(&mut self, path: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
        if FolderState::read(folder)? == self.sample {
            return Ok(());
        }
        Err(unexpected(path))
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        if let Some(known) = self.files.get(entry.path)
            && is_same_file(known, &entry.stat()?)
        {
            self.found.insert(&known.path);
            return Ok(());
        }
        self.reject(entry)
    }
}

fn unexpected(path: &Path) -> io::Error {
    let path = path.display();
    io::Error::other(format!("`{path}` is not as git wrote it"))
}

/// The bits of a mode that are not the type.
const PERMISSIONS: RawMode = 0o7777;

/// Returns true if a file is the one that the index describes.
fn is_same_file(entry: &IndexEntry, found: &Stat) -> bool {
    let is_executable = found.st_mode & 0o100 != 0;
    let mode = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile if is_executable => 0o100_755,
        FileType::RegularFile => 0o100_644,
        FileType::Symlink => 0o120_000,
        _ => return false,
    };
    mode == entry.mode && read_stat(found) == entry.stat
}

/// Returns the metadata of a file as the index keeps it.
pub(super) fn read_stat(found: &Stat) -> IndexStat {
    let seconds = |time: i64| u64::try_from(time).map_or(u32::MAX, low_bits);
    IndexStat {
        changed: (seconds(found.st_ctime), low_bits(found.st_ctime_nsec)),
        modified: (seconds(found.st_mtime), low_bits(found.st_mtime_nsec)),
        inode: (low_bits(found.st_dev), low_bits(found.st_ino)),
        owner: (found.st_uid, found.st_gid),
        size: seconds(found.st_size),
    }
}

/// The index keeps 32 bits of every number.
fn low_bits(number: u64) -> u32 {
    let [.., a, b, c, d] = number.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// The state of a folder, apart from its entries.
#[derive(Debug, PartialEq, Eq)]
struct FolderState {
    permissions: RawMode,
    owner: (u32, u32),
    /// The flags that a file's owner can set, such as `+i` and `+F` of `chattr`.
    flags: u32,
    /// Names and values; access lists are among them.
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    is_mount: bool,
}

/// The flags of `chattr` that change what a folder does. The others say how it is stored.
const FLAGS: u32 = 0x6081_40ff;

impl FolderState {
    fn read(folder: BorrowedFd<'_>) -> io::Result<Self> {
        let found = fstat(folder)?;
        let flags = match ioctl_getflags(folder) {
            Ok(flags) => flags.bits() & FLAGS,
            Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            permissions: found.st_mode & PERMISSIONS,
            owner: (found.st_uid, found.st_gid),
            flags,
            attributes: read_attributes(folder)?,
            is_mount: walk::is_mount(folder)?,
        })
    }
}

/// Reads the extended attributes, except those that only the system can set.
fn read_attributes(folder: BorrowedFd<'_>) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut names = [0; 4096];
    let length = match flistxattr(folder, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        Err(error) => return Err(error.into()),
    };
    let mut attributes = Vec::new();
    for name in names[..length].split_inclusive(|&byte| byte == 0) {
        if name.starts_with(b"security.") || name.starts_with(b"trusted.") {
            continue;
        }
        let name = CStr::from_bytes_with_nul(name).map_err(io::Error::other)?;
        let mut value = [0; 4096];
        let length = fgetxattr(folder, name, &mut value[..])?;
        attributes.push((name.to_bytes().to_vec(), value[..length].to_vec()));
    }
    attributes.sort();
    Ok(attributes)
}

/// The magic numbers of the file systems whose times can be trusted: ext2 to ext4, XFS and Btrfs.
///
/// On tmpfs, a write through a mapping does not change any time. What lies below an overlay is not
/// known. The times of shared and network file systems are set by another machine.
const TRUSTED: [u64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

/// Returns true if every change of a file in a folder changes its time.
pub(super) fn has_trusted_times(folder: &Path) -> bool {
    let kind = File::open(folder).and_then(|folder| Ok(fstatfs(folder)?));
    kind.is_ok_and(|kind| TRUSTED.contains(&kind.f_type.cast_unsigned()))
}
