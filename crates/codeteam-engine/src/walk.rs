//! Walks through a folder that others have written to, by descriptors and without recursion.
//!
//! No link is followed, no depth and no length of a path is too much, and the walk ends with the
//! [`WaitLimit`] of its thread. Folders are opened below each other, never by a path from the top, so
//! that one that is swapped for a link while the walk goes on leads nowhere.

use std::ffi::{CStr, CString, OsStr};
use std::fmt;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmod, fstat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::process::WaitLimit;

/// How many folders of the way down are kept open. Those above are opened again on the way up.
const OPEN_FOLDERS: usize = 64;

/// How many entries are visited between two looks at the clock.
const LOOK_EVERY: u32 = 256;

/// How folders are opened.
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// What keeps a folder's owner from using it, where it is missing.
const OWNER: Mode = Mode::RWXU;

/// Something in a folder.
pub(crate) struct WalkEntry<'a> {
    folder: BorrowedFd<'a>,
    name: &'a CStr,
    /// Where it is, below the top of the walk.
    pub(crate) path: &'a Path,
    /// What it is; a link is a link.
    pub(crate) kind: FileType,
}

impl WalkEntry<'_> {
    pub(crate) fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.name.to_bytes())
    }

    /// What the system knows of it.
    pub(crate) fn stat(&self) -> io::Result<Stat> {
        Ok(statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Removes it; a folder with everything in it, whatever its rights are.
    pub(crate) fn remove(&self) -> io::Result<()> {
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

    /// Whether git, and codeteam, could wait for ever on reading it, or read what is no file.
    pub(crate) fn is_special(&self) -> bool {
        !matches!(
            self.kind,
            FileType::RegularFile | FileType::Directory | FileType::Symlink
        )
    }
}

/// What is done in a walk.
pub(crate) trait WalkVisitor {
    /// A folder, before anything in it; whether to go into it.
    fn enter(&mut self, _folder: &WalkEntry<'_>) -> io::Result<bool> {
        Ok(true)
    }

    /// Anything but a folder.
    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()>;

    /// A folder, after everything in it.
    fn leave(&mut self, _folder: &WalkEntry<'_>) -> io::Result<()> {
        Ok(())
    }

    /// A folder that cannot be looked into.
    fn unreadable(&mut self, _path: &Path, error: io::Error) -> io::Result<()> {
        Err(error)
    }
}

/// A folder on the way down.
struct WalkLevel {
    /// Closed where the way is long.
    folder: Option<OwnedFd>,
    identity: (u64, u64),
    name: CString,
    /// What is still to be visited in it.
    rest: Vec<(CString, FileType)>,
}

/// Visits everything below `top`, which must be a folder; `top` itself is not visited.
pub(crate) fn walk(top: &Path, visitor: &mut impl WalkVisitor) -> io::Result<()> {
    walk_from(openat(CWD, top, FOLDER, Mode::empty())?, visitor)
}

fn walk_from(folder: OwnedFd, visitor: &mut impl WalkVisitor) -> io::Result<()> {
    let patience = WaitLimit::current();
    let mut walk = TreeWalk {
        levels: vec![WalkLevel::read(folder, CString::default())?],
        path: PathBuf::new(),
    };
    let mut count = 0;
    loop {
        count += 1;
        if count % LOOK_EVERY == 1 {
            patience
                .check()
                .map_err(crate::process::WaitError::into_io)?;
        }
        if !walk.step(visitor)? {
            return Ok(());
        }
    }
}

struct TreeWalk {
    levels: Vec<WalkLevel>,
    path: PathBuf,
}

impl TreeWalk {
    /// Visits the next entry, or goes up; `false` at the end.
    fn step(&mut self, visitor: &mut impl WalkVisitor) -> io::Result<bool> {
        let Some(level) = self.levels.last_mut() else {
            return Ok(false);
        };
        let Some((name, kind)) = level.rest.pop() else {
            return self.up(visitor);
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
            .and_then(|fd| WalkLevel::read(fd, name))
        {
            Ok(level) => {
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
    fn up(&mut self, visitor: &mut impl WalkVisitor) -> io::Result<bool> {
        let Some(done) = self.levels.pop() else {
            return Ok(false);
        };
        let Some(above) = self.levels.last_mut() else {
            return Ok(false);
        };
        if above.folder.is_none() {
            let from = done.folder.as_ref().ok_or(Errno::BADF)?;
            let folder = openat(from, "..", FOLDER, Mode::empty())?;
            if identity(&folder)? != above.identity {
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
    fn read(folder: OwnedFd, name: CString) -> io::Result<Self> {
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
        Ok(Self {
            identity: identity(&folder)?,
            folder: Some(folder),
            name,
            rest,
        })
    }
}

fn identity(folder: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(folder)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn absent_is_fine(done: Result<(), Errno>) -> io::Result<()> {
    match done {
        Err(Errno::NOENT) => Ok(()),
        done => Ok(done?),
    }
}

/// Lets a folder's owner read, write and enter it. Whether that was missing.
fn unlock(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(folder, name, flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode);
    if mode.contains(OWNER) {
        return Ok(false);
    }
    // By its descriptor: the name could lead elsewhere by now.
    chmod(
        format!("/proc/self/fd/{}", opened.as_raw_fd()),
        (mode | OWNER) & (Mode::RWXU | Mode::RWXG | Mode::RWXO),
    )?;
    Ok(true)
}

/// The same for the top of a walk.
fn unlock_top(top: &Path) -> io::Result<bool> {
    let name = CString::new(top.as_os_str().as_bytes())?;
    unlock(CWD, &name)
}

/// What kind of special file something is, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialKind {
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

impl SpecialKind {
    fn of(kind: FileType) -> Self {
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

/// A file that is neither a plain file nor a folder nor a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: SpecialKind,
}

impl fmt::Display for SpecialFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.path.display(), self.kind)
    }
}

/// The files that git reads in every folder of a work tree, and would wait for.
const READ_BY_GIT: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];

struct SpecialFileFinder(Option<SpecialFile>);

impl WalkVisitor for SpecialFileFinder {
    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        // Git does not look for such files in there, and there is no end of objects.
        Ok(self.0.is_none() && folder.name() != "objects")
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        let is_read =
            READ_BY_GIT.iter().any(|name| entry.name() == *name) || entry.path.starts_with(".git");
        if self.0.is_none() && entry.is_special() && is_read {
            self.0 = Some(SpecialFile {
                path: entry.path.to_owned(),
                kind: SpecialKind::of(entry.kind),
            });
        }
        Ok(())
    }

    fn unreadable(&mut self, _: &Path, _: io::Error) -> io::Result<()> {
        Ok(())
    }
}

/// The first special file below `top` that git would read. What cannot be looked into is left out.
pub(crate) fn find_blocking(top: &Path) -> io::Result<Option<SpecialFile>> {
    let mut finder = SpecialFileFinder(None);
    walk(top, &mut finder)?;
    Ok(finder.0)
}

/// What was put right in a folder so that git can go through it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeRepairs {
    /// Pipes, sockets and devices, which were removed.
    pub removed: Vec<SpecialFile>,
    /// Folders that their owner could not read, write or enter, and now can.
    pub unlocked: Vec<PathBuf>,
}

impl TreeRepairs {
    /// Whether there was nothing to repair.
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
                kind: SpecialKind::of(entry.kind),
            });
        }
        Ok(())
    }
}

/// Removes special files below `top` and lets the owner into every folder.
pub(crate) fn repair(top: &Path) -> io::Result<TreeRepairs> {
    let mut repairs = TreeRepairs::default();
    if unlock_top(top)? {
        repairs.unlocked.push(PathBuf::from("."));
    }
    walk(top, &mut repairs)?;
    Ok(repairs)
}

struct TreeRemover;

impl WalkVisitor for TreeRemover {
    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        unlock(folder.folder, folder.name)?;
        Ok(true)
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        entry.remove()
    }

    fn leave(&mut self, folder: &WalkEntry<'_>) -> io::Result<()> {
        folder.remove_folder()
    }
}

/// Removes everything below `top`, whatever its rights are, and `top` itself.
pub(crate) fn remove(top: &Path) -> io::Result<()> {
    unlock_top(top)?;
    walk(top, &mut TreeRemover)?;
    std::fs::remove_dir(top)
}

/// The largest files below `top` by what reading them costs, which for one with holes is more than it
/// takes on the disk: at most `most`, the largest first, and only those of at least `least` bytes.
pub(crate) fn find_largest(top: &Path, least: u64, most: usize) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut finder = LargestFiles {
        least,
        found: Vec::new(),
    };
    walk(top, &mut finder)?;
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
        let repairs = repair(&top).unwrap();
        assert_eq!(repairs.removed.len(), 2);
        assert_eq!(repairs.unlocked.len(), 4);
        assert!(repair(&top).unwrap().is_empty());
        fs::set_permissions(top.join("a/b"), fs::Permissions::from_mode(0o555)).unwrap();
        remove(&top).unwrap();
        assert!(!top.exists() && outside.path().join("kept").exists());
    }

    #[test]
    fn a_walk_ends_with_the_patience_of_its_thread() {
        let top = tempfile::tempdir().unwrap();
        let _limit = WaitLimit::within(Duration::ZERO);
        let error = repair(top.path()).unwrap_err();
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
