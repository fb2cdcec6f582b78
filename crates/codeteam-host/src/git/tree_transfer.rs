//! Copies a collected tree into the user's repository, file by file where that is possible.
//!
//! What a step adds is a few objects, each in a file of its own, so two git processes to pack them
//! and to unpack them again cost far more than the objects. The repository's other ways of storing
//! objects, and whatever git has to check, stay with git: see [`Repo::receive`].

use super::loose_objects::{FOLDER, LooseObject, ObjectDir, ObjectKind, TreeEntry, parse_tree};
use super::{Error, Oid, PrivateGitDir, Repo};

/// A tree that was copied into the user's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferredTree {
    /// The objects that were copied as files. `None` if git has copied them.
    files: Option<Vec<Oid>>,
}

impl Repo {
    /// Copies the objects of `tree` that `base` does not have over from a private directory. Both
    /// may be trees or commits. No process but the one that reads objects; two if git has to do it.
    pub fn receive_tree(
        &self,
        from: &PrivateGitDir,
        tree: &Oid,
        base: &Oid,
    ) -> Result<TransferredTree, Error> {
        if let Some(files) = self.receive_files(from, tree, base)? {
            return Ok(TransferredTree { files: Some(files) });
        }
        self.receive(from, tree, base)?;
        Ok(TransferredTree { files: None })
    }

    /// Fails if an object of a tree that was copied is missing, although something refers to it by
    /// now. No process if all are where they were put.
    pub fn require_transferred(
        &self,
        copied: &TransferredTree,
        tree: &Oid,
        base: &Oid,
    ) -> Result<(), Error> {
        let own = self.own_objects();
        match &copied.files {
            Some(files) if files.iter().all(|id| own.has(id)) => Ok(()),
            _ => self.require_whole(tree, base),
        }
    }

    fn receive_files(
        &self,
        from: &PrivateGitDir,
        tree: &Oid,
        base: &Oid,
    ) -> Result<Option<Vec<Oid>>, Error> {
        if !self.stores_plain_files()? {
            return Ok(None);
        }
        let mut copy = TreeCopy {
            repo: self,
            from: from.own_objects(),
            to: self.own_objects(),
            copied: Vec::new(),
        };
        Ok(copy.copy_tree(tree, Some(base))?.then_some(copy.copied))
    }
}

/// A copy that is under way.
struct TreeCopy<'a> {
    repo: &'a Repo,
    from: ObjectDir,
    to: ObjectDir,
    copied: Vec<Oid>,
}

impl TreeCopy<'_> {
    /// Copies what differs from `base`, which the repository has. Returns false, and may have copied
    /// some objects, if git has to do it: where an object is no file of its own, or where git has to
    /// look at a name.
    fn copy_tree(&mut self, tree: &Oid, base: Option<&Oid>) -> Result<bool, Error> {
        let format = self.repo.format;
        let Some(object) = self.from.read(tree, ObjectKind::Tree) else {
            return Ok(false);
        };
        let before = match base {
            None => Vec::new(),
            Some(base) => match self.repo.read_tree(base)? {
                Some(content) => content,
                None => return Ok(false),
            },
        };
        let entries = parse_tree(object.content(), format);
        let (Some(entries), Some(before)) = (entries, parse_tree(&before, format)) else {
            return Ok(false);
        };
        for entry in &entries {
            let known = before.iter().find(|known| known.name == entry.name);
            if known != Some(entry) && !self.copy_entry(entry, known)? {
                return Ok(false);
            }
        }
        // A tree comes after everything in it, so that one that is there is complete.
        Ok(self.copy(tree, &object))
    }

    fn copy_entry(
        &mut self,
        entry: &TreeEntry<'_>,
        known: Option<&TreeEntry<'_>>,
    ) -> Result<bool, Error> {
        if known.is_some_and(|known| known.id == entry.id) && entry.mode != FOLDER {
            // Only its mode has changed.
            return Ok(!resembles_git_name(entry.name));
        }
        if resembles_git_name(entry.name) {
            return Ok(false);
        }
        if entry.mode == FOLDER {
            let known = known.filter(|known| known.mode == FOLDER);
            return self.copy_tree(&entry.id, known.map(|known| &known.id));
        }
        // A reference to another repository is no object here.
        let object = self.from.read(&entry.id, ObjectKind::Blob);
        Ok(object.is_some_and(|object| self.copy(&entry.id, &object)))
    }

    /// Returns false if that failed; git says why.
    fn copy(&mut self, id: &Oid, object: &LooseObject) -> bool {
        let is_copied = self.to.copy(id, object).is_ok();
        if is_copied {
            self.copied.push(id.clone());
        }
        is_copied
    }
}

/// Returns true if git, here or on another system, may take a name for one of its own.
fn resembles_git_name(name: &[u8]) -> bool {
    let mut parts = name.windows(3);
    let says_git = parts.any(|part| part.eq_ignore_ascii_case(b"git"));
    says_git || name.iter().any(|&byte| byte == b'~' || !byte.is_ascii())
}
