//! What a work tree has that git does not: files of the user's, and the results of setting it up.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::{Error, Workspace, files};
use crate::bodies;
use crate::git::IndexEntry;

impl Workspace {
    /// Whether the work tree was made ready with what `key` stands for, and still has what that left.
    pub fn is_set_up(&self, key: &str) -> Result<bool, Error> {
        let noted = read(&self.setup_note())?;
        Ok(noted.is_some_and(|noted| noted == key.as_bytes()) && self.has_products()?)
    }

    /// Notes what the work tree was made ready with.
    pub fn set_up(&self, key: &str) -> Result<(), Error> {
        files::replace(&self.setup_note(), key.as_bytes())
    }

    /// Copies files of the user's checkout into the work tree. They are never collected, whatever
    /// becomes of the rules by which git ignores them.
    pub fn include(&self, checkout: &Path, names: &[PathBuf]) -> Result<(), Error> {
        self.note_included(names)?;
        for name in names {
            self.copy_in(&checkout.join(name), name)?;
        }
        Ok(())
    }

    /// The same for files that must hold what was recorded of them. One that does not is not there
    /// afterwards, and is what is returned.
    pub fn include_recorded(
        &self,
        checkout: &Path,
        recorded: &BTreeMap<String, String>,
    ) -> Result<Option<PathBuf>, Error> {
        let names: Vec<PathBuf> = recorded.keys().map(PathBuf::from).collect();
        self.note_included(&names)?;
        for (name, hash) in names.into_iter().zip(recorded.values()) {
            let target = self.tree_dir().join(&name);
            // What the tree has at its place is judged with the tree.
            let was_there = target.symlink_metadata().is_ok();
            if was_there {
                continue;
            }
            self.copy_in(&checkout.join(&name), &name)?;
            // The copy, for the file itself may change meanwhile.
            let found = match bodies::hash_of(&target) {
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                found => Some(found.map_err(files::io("read", &target))?),
            };
            if found.as_ref() != Some(hash) {
                files::remove_file(&target)?;
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn note_included(&self, names: &[PathBuf]) -> Result<(), Error> {
        let mut list = Vec::new();
        for name in names {
            list.extend_from_slice(name.as_os_str().as_bytes());
            list.push(0);
        }
        // First, so that there is no moment in which one could be collected.
        files::replace(&self.directory.join("included"), &list)
    }

    /// The tracked files, as the work tree was prepared or collected. No process, and nothing that a
    /// worker has put into their places is opened.
    pub fn tracked(&self) -> Result<Vec<IndexEntry>, Error> {
        self.entries()
    }

    /// Puts those of these tracked files back that are no longer what the prepared tree has, and names
    /// them. Two processes, or more if there are many.
    pub(crate) fn restore_tracked(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        Ok(self.lock()?.collector.restore(paths)?)
    }

    /// The files of the user's that are in the work tree.
    pub(crate) fn included(&self) -> Result<Vec<PathBuf>, Error> {
        let list = read(&self.directory.join("included"))?.unwrap_or_default();
        let names = list
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names
            .map(|name| std::ffi::OsString::from_vec(name.to_vec()).into())
            .collect())
    }

    pub(super) fn setup_note(&self) -> PathBuf {
        self.directory.join("setup")
    }

    /// Copies one file, unless something is at its place or on the way to it: a worker may have put
    /// a link there.
    fn copy_in(&self, source: &Path, name: &Path) -> Result<(), Error> {
        let is_file = source.symlink_metadata().is_ok_and(|found| found.is_file());
        let (tree, target) = (self.tree_dir(), self.tree_dir().join(name));
        if !is_file || target.symlink_metadata().is_ok() {
            return Ok(());
        }
        let Some(folder) = name.parent() else {
            return Ok(());
        };
        let mut made = PathBuf::new();
        for part in folder.components() {
            made.push(part);
            match fs::create_dir(tree.join(&made)) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(files::io("create", &tree.join(&made))(error));
                }
                _ if !files::is_inside(&tree, &made) => return Ok(()),
                _ => {}
            }
        }
        fs::copy(source, &target)
            .map(drop)
            .map_err(files::io("copy", source))
    }
}

pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(files::io("read", path)(error)),
    }
}
