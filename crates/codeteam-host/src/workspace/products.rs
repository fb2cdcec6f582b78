//! Keeps files that set-up created in a work tree out of changes.
//!
//! A project whose `.gitignore` does not list `node_modules` must not have all of it reviewed and
//! committed. The products of set-up are written to `info/exclude` of both private git directories,
//! so that git ignores them there as if the project did. This never affects a file that git tracks,
//! and a single file becomes part of the change again as soon as somebody has changed it.

use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::setup::read_optional;
use super::{Error, Workspace, files};
use crate::bodies;

/// A file or folder that set-up created.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SetupProduct {
    path: PathBuf,
    /// The hash of its content at the time; empty for a folder.
    content: String,
}

/// A product of set-up in the repository that no `.gitignore` lists.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct UnignoredProduct {
    /// The path of the file, or of the folder with a `/` at its end.
    pub path: String,
    /// The number of files in it.
    pub files: usize,
}

impl Workspace {
    /// Records what set-up has just created in the work tree.
    pub fn note_products(&self, paths: &[PathBuf]) -> Result<(), Error> {
        let mut list = Vec::new();
        for path in paths {
            let Some(content) = self.content_of(path)? else {
                continue;
            };
            list.extend_from_slice(path.as_os_str().as_bytes());
            list.push(0);
            list.extend_from_slice(content.as_bytes());
            list.push(0);
        }
        files::write_atomically(&self.products_note(), &list)?;
        self.exclude_products()?;
        self.exclude_from(&self.git_dir())
    }

    /// Returns the products of set-up that git would add if they were not excluded here, by file or
    /// folder. One process.
    pub fn unignored_products(&self) -> Result<Vec<UnignoredProduct>, Error> {
        let products = self.products()?;
        if products.is_empty() {
            return Ok(Vec::new());
        }
        let untracked = self.collector.untracked()?;
        let counted = products.into_iter().map(|product| {
            let below = untracked
                .iter()
                .filter(|file| file.starts_with(&product.path));
            let slash = if product.content.is_empty() { "/" } else { "" };
            UnignoredProduct {
                path: format!("{}{slash}", product.path.display()),
                files: below.count(),
            }
        });
        Ok(counted.filter(|product| product.files > 0).collect())
    }

    pub(super) fn products_note(&self) -> PathBuf {
        self.directory.join("products")
    }

    /// Returns true if everything that set-up created still exists.
    pub(super) fn has_products(&self) -> Result<bool, Error> {
        let tree = self.tree_dir();
        let products = self.products()?;
        let mut paths = products.iter().map(|product| tree.join(&product.path));
        Ok(paths.all(|path| path.symlink_metadata().is_ok()))
    }

    /// Keeps the products of set-up out of the next collection.
    pub(super) fn exclude_products(&self) -> Result<(), Error> {
        self.exclude_from(&self.directory.join("collect"))
    }

    /// Makes a git directory ignore the products of set-up that are still unchanged.
    pub(super) fn exclude_from(&self, git_dir: &Path) -> Result<(), Error> {
        let mut text = Vec::new();
        for product in self.products()? {
            let now = self.content_of(&product.path)?;
            let bytes = product.path.as_os_str().as_bytes();
            // A pattern must be on one line.
            if now.as_ref() != Some(&product.content) || bytes.contains(&b'\n') {
                continue;
            }
            write_pattern(bytes, product.content.is_empty(), &mut text);
        }
        let folder = git_dir.join("info");
        if text.is_empty() && folder.symlink_metadata().is_err() {
            return Ok(());
        }
        // A worker may have put a link there.
        files::remove_tree(&folder)?;
        files::create_dir(&folder)?;
        let path = folder.join("exclude");
        fs::write(&path, text).map_err(files::io_error("write", &path))
    }

    fn products(&self) -> Result<Vec<SetupProduct>, Error> {
        let list = read_optional(&self.products_note())?.unwrap_or_default();
        let mut parts = list.split(|&byte| byte == 0);
        let mut products = Vec::new();
        while let (Some(path), Some(content)) = (parts.next(), parts.next()) {
            products.push(SetupProduct {
                path: std::ffi::OsString::from_vec(path.to_vec()).into(),
                content: String::from_utf8_lossy(content).into_owned(),
            });
        }
        Ok(products)
    }

    /// Returns a description of a file or folder by which changes are recognised; `None` if it does
    /// not exist.
    fn content_of(&self, path: &Path) -> Result<Option<String>, Error> {
        let folder = path.parent().unwrap_or(Path::new(""));
        // A worker may have put a link on the way.
        if !files::is_inside(&self.tree_dir(), folder) {
            return Ok(None);
        }
        let path = self.tree_dir().join(path);
        let Ok(found) = path.symlink_metadata() else {
            return Ok(None);
        };
        if found.is_dir() {
            return Ok(Some(String::new()));
        }
        if found.is_file() {
            // A file that cannot be read cannot be recorded either.
            let hash = bodies::hash_file(&path).unwrap_or_default();
            return Ok(Some(format!("file {hash}")));
        }
        if !found.is_symlink() {
            return Ok(None);
        }
        let target = fs::read_link(&path).map_err(files::io_error("read", &path))?;
        let hash = blake3::hash(target.as_os_str().as_bytes());
        Ok(Some(format!("link {hash}")))
    }
}

/// Writes the line of an exclude file that matches exactly this path.
fn write_pattern(path: &[u8], is_folder: bool, text: &mut Vec<u8>) {
    text.push(b'/');
    for &byte in path {
        if matches!(byte, b'*' | b'?' | b'[' | b'\\' | b' ') {
            text.push(b'\\');
        }
        text.push(byte);
    }
    if is_folder {
        text.push(b'/');
    }
    text.push(b'\n');
}
