//! Manages the content of a work tree that git does not have: files of the user's, and the results
//! of set-up.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::{Error, Workspace, files};
use crate::bodies;
use crate::git::IndexEntry;

impl Workspace {
    /// Returns true if the work tree was set up with `key` and still has the files that set-up
    /// created.
    pub fn is_set_up(&self, key: &str) -> Result<bool, Error> {
        let noted = read_optional(&self.setup_key_path())?;
        Ok(noted.is_some_and(|noted| noted == key.as_bytes()) && self.has_products()?)
    }

    /// Records the key with which the work tree was set up.
    pub fn mark_set_up(&self, key: &str) -> Result<(), Error> {
        files::write_atomically(&self.setup_key_path(), key.as_bytes())
    }

    /// Copies files of the user's checkout into the work tree. They are never collected, even if
    /// git's ignore rules change.
    pub fn include_files(&self, checkout: &Path, names: &[PathBuf]) -> Result<(), Error> {
        self.record_included(names)?;
        for name in names {
            self.copy_in(&checkout.join(name), name)?;
        }
        Ok(())
    }

    /// Puts a text of codeteam's own into the work tree, below `.codeteam`, of which no change
    /// includes anything. Returns false if something else is at its place or on the way to it.
    pub fn write_own_text(&self, name: &Path, text: &str) -> Result<bool, Error> {
        if !name.starts_with(".codeteam") || !self.make_folder_for(name)? {
            return Ok(false);
        }
        let target = self.tree_dir().join(name);
        if target
            .symlink_metadata()
            .is_ok_and(|found| !found.is_file())
        {
            return Ok(false);
        }
        files::write_atomically(&target, text.as_bytes())?;
        Ok(true)
    }

    /// Does the same for files whose content must match a recorded hash. The first file that does
    /// not match is removed again and returned.
    pub fn include_recorded_files(
        &self,
        checkout: &Path,
        recorded: &BTreeMap<String, String>,
    ) -> Result<Option<PathBuf>, Error> {
        let names: Vec<PathBuf> = recorded.keys().map(PathBuf::from).collect();
        self.record_included(&names)?;
        for (name, hash) in names.into_iter().zip(recorded.values()) {
            let target = self.tree_dir().join(&name);
            // A file that the tree itself has at this place is judged with the tree.
            let was_there = target.symlink_metadata().is_ok();
            if was_there {
                continue;
            }
            self.copy_in(&checkout.join(&name), &name)?;
            // The copy is hashed, because the file itself may change meanwhile.
            let found = match bodies::hash_file(&target) {
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                found => Some(found.map_err(files::io_error("read", &target))?),
            };
            if found.as_ref() != Some(hash) {
                files::remove_file(&target)?;
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn record_included(&self, names: &[PathBuf]) -> Result<(), Error> {
        let mut list = Vec::new();
        for name in names {
            list.extend_from_slice(name.as_os_str().as_bytes());
            list.push(0);
        }
        // The list is written first, so that no included file can ever be collected.
        files::write_atomically(&self.directory.join("included"), &list)
    }

    /// Returns the tracked files, as the work tree was prepared or collected. No process, and
    /// nothing that a worker has put in their place is opened.
    pub fn tracked_files(&self) -> Result<Vec<IndexEntry>, Error> {
        Ok(self.index_entries()?.to_vec())
    }

    /// Restores those of these tracked files that no longer match the prepared tree, and returns
    /// their names. Two processes, or more if there are many.
    pub fn restore_tracked(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        Ok(self.lock()?.collector.restore(paths)?)
    }

    /// Returns the files of the user's that are in the work tree.
    pub fn included_files(&self) -> Result<Vec<PathBuf>, Error> {
        let list = read_optional(&self.directory.join("included"))?.unwrap_or_default();
        let names = list
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names
            .map(|name| std::ffi::OsString::from_vec(name.to_vec()).into())
            .collect())
    }

    pub(super) fn setup_key_path(&self) -> PathBuf {
        self.directory.join("setup")
    }

    /// Copies one file, unless something is at its place or on the way to it: a worker may have put
    /// a link there.
    fn copy_in(&self, source: &Path, name: &Path) -> Result<(), Error> {
        let is_file = source.symlink_metadata().is_ok_and(|found| found.is_file());
        let target = self.tree_dir().join(name);
        if !is_file || target.symlink_metadata().is_ok() || !self.make_folder_for(name)? {
            return Ok(());
        }
        fs::copy(source, &target)
            .map(drop)
            .map_err(files::io_error("copy", source))
    }

    /// Creates the folders that a file needs. Returns false if one of them is a link that leads out
    /// of the work tree.
    fn make_folder_for(&self, name: &Path) -> Result<bool, Error> {
        let tree = self.tree_dir();
        let Some(folder) = name.parent() else {
            return Ok(false);
        };
        let mut made = PathBuf::new();
        for part in folder.components() {
            made.push(part);
            match fs::create_dir(tree.join(&made)) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(files::io_error("create", &tree.join(&made))(error));
                }
                _ if !files::is_inside(&tree, &made) => return Ok(false),
                _ => {}
            }
        }
        Ok(true)
    }
}

pub(super) fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(files::io_error("read", path)(error)),
    }
}
