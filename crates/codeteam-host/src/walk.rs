//! Walks a folder that others have written to, using descriptors and no recursion.
//!
//! No link is followed, no depth and no path length is too much, and the walk ends with the
//! [`WaitLimit`] of its thread. Folders are opened relative to each other, never by a path from the
//! top, so replacing a folder with a link during the walk leads nowhere.

use std::ffi::{CStr, CString, OsStr};
use std::fmt;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, StatxAttributes, StatxFlags, chmod, fstat,
    openat, statat, statx, unlinkat,
};
use rustix::io::Errno;

use crate::wait_limit::{WaitError, WaitLimit};

/// How many folders on the way down are kept open. The ones above are reopened on the way up.
const OPEN_FOLDERS: usize = 64;

/// How many entries are visited between two checks of the clock.
const LOOK_EVERY: u32 = 256;

/// The flags with which folders are opened.
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The permissions that a folder's owner needs to use it.
const OWNER: Mode = Mode::RWXU;

/// An entry in a folder.
pub struct WalkEntry<'a> {
    folder: BorrowedFd<'a>,
    name: &'a CStr,
    /// The path relative to the top of the walk.
    pub(crate) path: &'a Path,
    /// The type of the entry; links are not followed.
    pub(crate) kind: FileType,
}

impl WalkEntry<'_> {
    /// Returns the entry's own name, without the folders above it.
    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.name.to_bytes())
    }

    /// Reads the entry's metadata without following links.
    pub fn stat(&self) -> io::Result<Stat> {
        Ok(statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the permissions of a folder.
    pub(crate) fn set_folder_mode(&self, mode: Mode) -> io::Result<()> {
        let flags = OFlags::PATH | FOLDER;
        let opened = openat(self.folder, self.name, flags, Mode::empty())?;
        // This goes through the descriptor: the name could lead elsewhere by now.
        Ok(chmod(
            format!("/proc/self/fd/{}", opened.as_raw_fd()),
            mode,
        )?)
    }

    /// Removes the entry; a folder is removed with everything in it, whatever its permissions are.
    pub fn remove(&self) -> io::Result<()> {
        if self.kind != FileType::Directory {
            return absent_is_fine(unlinkat(self.folder, self.name, AtFlags::empty()));
        }
        unlock(self.folder, self.name)?;
        let folder = openat(self.folder, self.name, FOLDER, Mode::empty())?;
        walk_from(folder, &mut TreeRemover)?;
        self.remove_folder()
    }

    fn remove_folder(&self) -> io::Result<()> {
        absent_is_fine(unlinkat(self.folder, self.name, AtFlags::REMOVEDIR))
    }

    /// Returns true for pipes, sockets and devices: reading one could block git or codeteam for
    /// ever, or return something that is not file content.
    pub fn is_special(&self) -> bool {
        !matches!(
            self.kind,
            FileType::RegularFile | FileType::Directory | FileType::Symlink
        )
    }
}

/// The actions of a walk. The callbacks come in depth-first order: [`enter`](Self::enter) before a
/// folder's entries, [`leave`](Self::leave) after them.
pub trait WalkVisitor {
    /// Called for a folder before anything in it. Return true to descend into it.
    fn enter(&mut self, _folder: &WalkEntry<'_>) -> io::Result<bool> {
        Ok(true)
    }

    /// Called for every folder that was opened, also for the top, whose path is empty.
    fn opened(&mut self, _path: &Path, _folder: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Called for everything that is not a folder.
    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()>;

    /// Called for a folder after everything in it.
    fn leave(&mut self, _folder: &WalkEntry<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if each folder should be walked from its last entry to its first.
    fn goes_backwards(&self) -> bool {
        false
    }

    /// Called for a folder that cannot be opened or read. By default this ends the walk.
    fn unreadable(&mut self, _path: &Path, error: io::Error) -> io::Result<()> {
        Err(error)
    }
}

/// A folder on the way down to the current entry.
struct WalkLevel {
    /// Closed (`None`) if the way down is long.
    folder: Option<OwnedFd>,
    identity: (u64, u64),
    name: CString,
    /// The entries that have not been visited yet.
    rest: Vec<(CString, FileType)>,
}

/// Visits everything below `top`, which must be a folder; `top` itself is not visited.
pub(crate) fn walk_tree(top: &Path, visitor: &mut impl WalkVisitor) -> io::Result<()> {
    walk_from(openat(CWD, top, FOLDER, Mode::empty())?, visitor)
}

/// Calls `each` for the entries of one folder, whose path below the top is `path`.
pub(crate) fn each_entry(
    folder: OwnedFd,
    path: &Path,
    mut each: impl FnMut(&WalkEntry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let level = WalkLevel::read(folder, CString::default(), false)?;
    let folder = level.folder.as_ref().ok_or(Errno::BADF)?;
    for (name, kind) in &level.rest {
        each(&WalkEntry {
            folder: folder.as_fd(),
            name,
            path: &path.join(OsStr::from_bytes(name.to_bytes())),
            kind: *kind,
        })?;
    }
    Ok(())
}

fn walk_from(folder: OwnedFd, visitor: &mut impl WalkVisitor) -> io::Result<()> {
    let patience = WaitLimit::current();
    visitor.opened(Path::new(""), folder.as_fd())?;
    let mut walk = TreeWalk {
        levels: vec![WalkLevel::read(
            folder,
            CString::default(),
            visitor.goes_backwards(),
        )?],
        path: PathBuf::new(),
    };
    let mut count = 0;
    loop {
        count += 1;
        if count % LOOK_EVERY == 1 {
            patience.check().map_err(WaitError::into_io)?;
        }
        if !walk.visit_next(visitor)? {
            return Ok(());
        }
    }
}

struct TreeWalk {
    levels: Vec<WalkLevel>,
    path: PathBuf,
}

impl TreeWalk {
    /// Visits the next entry, or goes up a level. Returns false at the end.
    fn visit_next(&mut self, visitor: &mut impl WalkVisitor) -> io::Result<bool> {
        let Some(level) = self.levels.last_mut() else {
            return Ok(false);
        };
        let Some((name, kind)) = level.rest.pop() else {
            return self.leave_folder(visitor);
        };
        let folder = level.folder.as_ref().ok_or(Errno::BADF)?;
        self.path.push(OsStr::from_bytes(name.to_bytes()));
        let entry = WalkEntry {
            folder: folder.as_fd(),
            name: &name,
            path: &self.path,
            kind,
        };
        if kind != FileType::Directory {
            visitor.visit(&entry)?;
            self.path.pop();
            return Ok(true);
        }
        if !visitor.enter(&entry)? {
            self.path.pop();
            return Ok(true);
        }
        let opened = openat(folder, &*name, FOLDER, Mode::empty());
        match opened
            .map_err(io::Error::from)
            .and_then(|fd| WalkLevel::read(fd, name, visitor.goes_backwards()))
        {
            Ok(level) => {
                if let Some(folder) = &level.folder {
                    visitor.opened(&self.path, folder.as_fd())?;
                }
                self.levels.push(level);
                if let Some(far) = self.levels.len().checked_sub(OPEN_FOLDERS + 1) {
                    self.levels[far].folder = None;
                }
            }
            Err(error) => {
                let gone = error.kind() == io::ErrorKind::NotFound;
                if !gone {
                    visitor.unreadable(&self.path, error)?;
                }
                self.path.pop();
            }
        }
        Ok(true)
    }

    /// Goes back to the folder above.
    fn leave_folder(&mut self, visitor: &mut impl WalkVisitor) -> io::Result<bool> {
        let Some(done) = self.levels.pop() else {
            return Ok(false);
        };
        let Some(above) = self.levels.last_mut() else {
            return Ok(false);
        };
        if above.folder.is_none() {
            let from = done.folder.as_ref().ok_or(Errno::BADF)?;
            let folder = openat(from, "..", FOLDER, Mode::empty())?;
            if folder_identity(&folder)? != above.identity {
                return Err(io::Error::other(
                    "a folder was moved while it was walked through",
                ));
            }
            above.folder = Some(folder);
        }
        let folder = above.folder.as_ref().ok_or(Errno::BADF)?;
        visitor.leave(&WalkEntry {
            folder: folder.as_fd(),
            name: &done.name,
            path: &self.path,
            kind: FileType::Directory,
        })?;
        self.path.pop();
        Ok(true)
    }
}

impl WalkLevel {
    fn read(folder: OwnedFd, name: CString, backwards: bool) -> io::Result<Self> {
        let mut rest = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                },
                known => known,
            };
            rest.push((name.to_owned(), kind));
        }
        if backwards {
            rest.reverse();
        }
        Ok(Self {
            identity: folder_identity(&folder)?,
            folder: Some(folder),
            name,
            rest,
        })
    }
}

fn folder_identity(folder: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(folder)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn absent_is_fine(done: Result<(), Errno>) -> io::Result<()> {
    match done {
        Err(Errno::NOENT) => Ok(()),
        done => Ok(done?),
    }
}

/// Gives a folder's owner permission to read, write and enter it. Returns true if any of these was
/// missing.
fn unlock(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(folder, name, flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode);
    if mode.contains(OWNER) {
        return Ok(false);
    }
    // This goes through the descriptor: the name could lead elsewhere by now.
    chmod(
        format!("/proc/self/fd/{}", opened.as_raw_fd()),
        (mode | OWNER) & (Mode::RWXU | Mode::RWXG | Mode::RWXO),
    )?;
    Ok(true)
}

/// Does the same for the top of a walk.
fn unlock_top(top: &Path) -> io::Result<bool> {
    let name = CString::new(top.as_os_str().as_bytes())?;
    unlock(CWD, &name)
}

/// The kind of a special file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpecialKind {
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

impl SpecialKind {
    fn from_file_type(kind: FileType) -> Self {
        match kind {
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            _ => Self::Device,
        }
    }
}

impl fmt::Display for SpecialKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}

/// A file that is neither a regular file nor a folder nor a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialFile {
    /// The path below the top of the walk.
    pub(crate) path: PathBuf,
    /// The kind of file.
    pub(crate) kind: SpecialKind,
}

impl fmt::Display for SpecialFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.path.display(), self.kind)
    }
}

/// The files that git reads in every folder of a work tree, and on which it would block.
const READ_BY_GIT: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];

struct SpecialFileFinder(Option<SpecialFile>);

impl WalkVisitor for SpecialFileFinder {
    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        // Git does not look for such files there, and there may be a great many objects.
        Ok(self.0.is_none() && folder.name() != "objects")
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        let is_read =
            READ_BY_GIT.iter().any(|name| entry.name() == *name) || entry.path.starts_with(".git");
        if self.0.is_none() && entry.is_special() && is_read {
            self.0 = Some(SpecialFile {
                path: entry.path.to_owned(),
                kind: SpecialKind::from_file_type(entry.kind),
            });
        }
        Ok(())
    }

    fn unreadable(&mut self, _: &Path, _: io::Error) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the first special file below `top` that git would read. Folders that cannot be read are
/// skipped.
pub(crate) fn find_blocking(top: &Path) -> io::Result<Option<SpecialFile>> {
    let mut finder = SpecialFileFinder(None);
    walk_tree(top, &mut finder)?;
    Ok(finder.0)
}

/// The repairs that were made in a folder so that git can walk it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeRepairs {
    /// Pipes, sockets and devices that were removed.
    pub removed: Vec<SpecialFile>,
    /// Folders whose owner could not read, write or enter them, and now can.
    pub unlocked: Vec<PathBuf>,
}

impl TreeRepairs {
    /// Returns true if there was nothing to repair.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.unlocked.is_empty()
    }
}

impl WalkVisitor for TreeRepairs {
    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        if unlock(folder.folder, folder.name)? {
            self.unlocked.push(folder.path.to_owned());
        }
        Ok(true)
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        if entry.is_special() {
            entry.remove()?;
            self.removed.push(SpecialFile {
                path: entry.path.to_owned(),
                kind: SpecialKind::from_file_type(entry.kind),
            });
        }
        Ok(())
    }
}

/// Removes special files below `top` and gives the owner access to every folder.
pub(crate) fn repair_tree(top: &Path) -> io::Result<TreeRepairs> {
    let mut repairs = TreeRepairs::default();
    if unlock_top(top)? {
        repairs.unlocked.push(PathBuf::from("."));
    }
    walk_tree(top, &mut repairs)?;
    Ok(repairs)
}

/// Returns true if something is mounted on a folder.
pub(crate) fn is_mount(folder: BorrowedFd<'_>) -> io::Result<bool> {
    let found = statx(folder, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
    Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Refuses a folder on which something is mounted: what is in it belongs elsewhere, and must not be
/// removed with what is in a work tree.
pub(crate) fn refuse_mount(path: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
    match is_mount(folder) {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        // An old kernel, or a container that does not let anybody ask.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
        Err(error) => return Err(error),
    }
    let path = path.display();
    Err(io::Error::other(format!(
        "something is mounted on `{path}`, and nothing in it is removed; unmount it first"
    )))
}

struct TreeRemover;

impl WalkVisitor for TreeRemover {
    fn opened(&mut self, path: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
        refuse_mount(path, folder)
    }

    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        match unlock(folder.folder, folder.name) {
            // Somebody else has removed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            unlocked => unlocked.map(|_| true),
        }
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        entry.remove()
    }

    fn leave(&mut self, folder: &WalkEntry<'_>) -> io::Result<()> {
        folder.remove_folder()
    }
}

/// Removes everything below `top`, whatever its permissions are, and `top` itself.
pub fn remove_tree(top: &Path) -> io::Result<()> {
    unlock_top(top)?;
    walk_tree(top, &mut TreeRemover)?;
    std::fs::remove_dir(top)
}

/// Removes entries in the opposite order of another walk through the same folders, and leaves the
/// rest to that walk.
struct RemovalHelper;

impl WalkVisitor for RemovalHelper {
    fn opened(&mut self, path: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
        refuse_mount(path, folder)
    }

    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        // The other walk may have to find its way up from far down, which needs the folders there.
        Ok(folder.path.components().count() < OPEN_FOLDERS / 2)
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        entry.remove()
    }

    fn leave(&mut self, folder: &WalkEntry<'_>) -> io::Result<()> {
        // The other walk may still be in this folder.
        let _ = folder.remove_folder();
        Ok(())
    }

    fn unreadable(&mut self, _: &Path, _: io::Error) -> io::Result<()> {
        Ok(())
    }

    fn goes_backwards(&self) -> bool {
        true
    }
}

/// Removes everything below `top`, and `top` itself, from both ends at once. On file systems that
/// make a thread wait for each folder they free, two threads wait less than half as long.
pub(crate) fn remove_large_tree(top: &Path) -> io::Result<()> {
    unlock_top(top)?;
    let patience = WaitLimit::current();
    std::thread::scope(|scope| {
        let help = || {
            let _same = patience.enter();
            // Whatever this walk fails to remove, the other one removes or reports.
            let _ = walk_tree(top, &mut RemovalHelper);
        };
        let _ = std::thread::Builder::new().spawn_scoped(scope, help);
        walk_tree(top, &mut TreeRemover)
    })?;
    std::fs::remove_dir(top)
}

/// Finds the largest files below `top`, measured by the cost of reading them, which for a sparse
/// file is more than it takes on the disk. Returns at most `most` files of at least `least` bytes
/// each, largest first.
pub(crate) fn find_largest(top: &Path, least: u64, most: usize) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut finder = LargestFiles {
        least,
        found: Vec::new(),
    };
    walk_tree(top, &mut finder)?;
    let mut found = finder.found;
    found.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    found.truncate(most);
    Ok(found)
}

struct LargestFiles {
    least: u64,
    found: Vec<(PathBuf, u64)>,
}

impl WalkVisitor for LargestFiles {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        if entry.kind == FileType::RegularFile
            && let Ok(stat) = entry.stat()
            && let Ok(bytes) = u64::try_from(stat.st_size)
            && bytes >= self.least
        {
            self.found.push((entry.path.to_owned(), bytes));
        }
        Ok(())
    }

    fn unreadable(&mut self, _: &Path, _: io::Error) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the size in bytes of a file, or of everything in a folder. Links are not followed, and
/// whatever cannot be read counts as zero.
pub fn size_on_disk(path: &Path) -> u64 {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let mut sum = SizeSum(0);
            let _ = walk_tree(path, &mut sum);
            sum.0
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}

struct SizeSum(u64);

impl WalkVisitor for SizeSum {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        let bytes = entry.stat().ok().map(|stat| stat.st_size);
        self.0 += bytes
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0);
        Ok(())
    }

    fn unreadable(&mut self, _: &Path, _: io::Error) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::Duration;

    use rustix::fs::{CWD, mkdirat, mknodat};

    use super::*;

    fn pipe(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    }

    /// Folders in each other, deeper than any path can say.
    fn deep(top: &Path, levels: usize) {
        let mut folder = openat(CWD, top, FOLDER, Mode::empty()).unwrap();
        for _ in 0..levels {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = openat(&folder, "d", FOLDER, Mode::empty()).unwrap();
        }
        mknodat(&folder, "pipe", FileType::Fifo, Mode::RWXU, 0).unwrap();
    }

    #[test]
    fn a_folder_of_any_depth_and_rights_is_repaired_and_removed() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "").unwrap();
        let parent = tempfile::tempdir().unwrap();
        let top = parent.path().join("top");
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        symlink(outside.path(), top.join("a/link")).unwrap();
        pipe(&top.join("a/b/.gitignore"));
        deep(&top, 5_000);
        for folder in ["a/b/c", "a/b", "a", "."] {
            fs::set_permissions(top.join(folder), fs::Permissions::from_mode(0o000)).unwrap();
        }
        let repairs = repair_tree(&top).unwrap();
        assert_eq!(repairs.removed.len(), 2);
        assert_eq!(repairs.unlocked.len(), 4);
        assert!(repair_tree(&top).unwrap().is_empty());
        fs::set_permissions(top.join("a/b"), fs::Permissions::from_mode(0o555)).unwrap();
        remove_tree(&top).unwrap();
        assert!(!top.exists() && outside.path().join("kept").exists());
    }

    #[test]
    fn two_walks_remove_a_folder_and_nothing_else() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "").unwrap();
        let parent = tempfile::tempdir().unwrap();
        for round in 0..8 {
            let top = parent.path().join("top");
            for folder in 0..40 {
                let folder = top.join(format!("{}/{folder}/inner", folder % 3));
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("file"), "x").unwrap();
                symlink(outside.path(), folder.join("link")).unwrap();
                pipe(&folder.join("pipe"));
            }
            deep(&top, 200 + round);
            for locked in ["0/0", "1/1/inner", "2"] {
                let rights = fs::Permissions::from_mode(0o000);
                fs::set_permissions(top.join(locked), rights).unwrap();
            }
            remove_large_tree(&top).unwrap();
            assert!(!top.exists());
        }
        assert!(outside.path().join("kept").exists());
    }

    #[test]
    fn a_walk_ends_with_the_patience_of_its_thread() {
        let top = tempfile::tempdir().unwrap();
        let _limit = WaitLimit::limit_to(Duration::ZERO);
        let error = repair_tree(top.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn only_what_git_would_wait_for_is_found() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        pipe(&top.path().join("a/plain"));
        assert_eq!(find_blocking(top.path()).unwrap(), None);
        pipe(&top.path().join("a/b/.gitattributes"));
        let found = find_blocking(top.path()).unwrap().unwrap();
        assert_eq!(found.to_string(), "`a/b/.gitattributes` is a named pipe");
    }
}
