//! Checks that what git read from the user's checkout is really what lies in it.
//!
//! A session has a shell in that checkout. If a folder were replaced with a link while git walks
//! through it, git would bring in files from outside, and the tree would look like any other. So
//! everything new in the tree is read again, through descriptors that follow no link, and compared.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;

use super::repo::parse_oid;
use super::{DiffEntry, Error, Oid, Repo, diff};

/// Longer files are compared by git, which does not hold them in memory.
const COMPARED_BYTES: u64 = 8 << 20;

impl Repo {
    /// Returns the first file of `tree`, which was just taken from the checkout, that is new since
    /// `before` and differs from the file in the checkout. Three processes, and one for each file
    /// that git stores in another form than on disk; one if nothing is new.
    pub(super) fn first_foreign_file(
        &self,
        before: &Oid,
        tree: &Oid,
    ) -> Result<Option<PathBuf>, Error> {
        if before == tree {
            return Ok(None);
        }
        let changed = diff::diff_entries(&self.git, self.plumbing(), before, tree)?;
        let new: Vec<(&DiffEntry, &Oid)> = changed
            .iter()
            .filter_map(|file| Some((file, file.new.as_ref()?)))
            .collect();
        let failed = |source: Errno| Error::Io {
            operation: "read",
            path: self.top_level.clone(),
            source: source.into(),
        };
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = openat(CWD, &self.top_level, flags, Mode::empty()).map_err(failed)?;
        for some in new.chunks(super::objects::ASKED) {
            let ids: Vec<&Oid> = some.iter().map(|(_, id)| *id).collect();
            let sizes = super::objects::blob_sizes(&self.git, &self.plumbing(), &ids)?;
            let is_short = |id: &&&Oid| sizes.get(**id).is_some_and(|size| *size <= COMPARED_BYTES);
            let short: Vec<&Oid> = ids.iter().filter(is_short).copied().collect();
            let blobs = self.read_blobs(&short)?;
            for (file, id) in some {
                let stored = blobs.get(*id).map(Vec::as_slice);
                if !self.matches_stored(&top, file, id, stored)? {
                    return Ok(Some(file.path.clone()));
                }
            }
        }
        Ok(None)
    }

    /// Returns true if a file or link of the checkout matches what git has stored for it.
    fn matches_stored(
        &self,
        top: &OwnedFd,
        file: &DiffEntry,
        id: &Oid,
        stored: Option<&[u8]>,
    ) -> Result<bool, Error> {
        match file.new_mode {
            // The content of a link is its target.
            0o120_000 => Ok(read_link(top, &file.path).as_deref() == stored),
            0o100_644 | 0o100_755 => {
                let Some(mut found) = open_file(top, &file.path) else {
                    return Ok(false);
                };
                if let Some(stored) = stored {
                    let mut bytes = Vec::new();
                    let read = found.read_to_end(&mut bytes);
                    if read.is_ok() && bytes == stored {
                        return Ok(true);
                    }
                    let Some(again) = open_file(top, &file.path) else {
                        return Ok(false);
                    };
                    found = again;
                }
                // Git computes the form it would store, with the user's filters and line endings.
                let mut option = std::ffi::OsString::from("--path=");
                option.push(&file.path);
                let call = self.checkout().args(["hash-object", "--stdin"]).arg(option);
                let output = self.git.run(&call.hold_open(Some(&Arc::new(found))))?;
                Ok(parse_oid(&output).as_ref() == Some(id))
            }
            _ => Ok(true),
        }
    }
}

/// Opens a regular file below a folder. No part of the path may be a link.
fn open_file(top: &OwnedFd, path: &Path) -> Option<File> {
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat2(top, path, flags, Mode::empty(), how).ok()?;
    let kind = FileType::from_raw_mode(fstat(&file).ok()?.st_mode);
    (kind == FileType::RegularFile).then(|| file.into())
}

/// Reads the target of a link below a folder. No other part of the path may be a link.
fn read_link(top: &OwnedFd, path: &Path) -> Option<Vec<u8>> {
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let folder = openat2(top, folder, flags, Mode::empty(), how).ok()?;
    let target = readlinkat(&folder, path.file_name()?, Vec::new()).ok()?;
    Some(target.into_bytes())
}
