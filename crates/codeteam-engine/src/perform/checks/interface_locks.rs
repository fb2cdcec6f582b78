//! Finds out whether a change leaves the files of locked interfaces as they are, and whether the
//! functions that it defines have the parameters that the interfaces give them.

use std::path::Path;

use codeteam_core::locks::InterfaceLock;

use super::JudgedChange;
use crate::perform::{Error, oid};
use codeteam_host::git::{Oid, TreeEdit};
use codeteam_verify::interface::find_deviations;

/// The mode of a regular file that cannot be executed.
const PLAIN_FILE: u32 = 0o100_644;
/// The longest file of which the diff is shown, in bytes.
const LONGEST: usize = 64 << 10;
/// The most lines of a diff that are shown.
const DIFF_LINES: usize = 60;

impl JudgedChange<'_> {
    /// Returns what the change does to the files of locked interfaces, or which of their functions it
    /// defines otherwise, in words for its author; `None` if neither.
    pub(super) fn changed_interfaces(
        &self,
        locks: &[InterfaceLock],
    ) -> Result<Option<String>, Error> {
        let (mut changed, mut said) = (Vec::new(), Vec::new());
        for lock in locks {
            let path = Path::new(&lock.file.path);
            let mut entries = self.files()?.iter();
            let Some(entry) = entries.find(|entry| entry.path == path) else {
                continue;
            };
            let is_kept = entry.new.as_ref().map(Oid::as_str) == Some(lock.file.blob.as_str())
                && entry.new_mode == PLAIN_FILE;
            if is_kept {
                continue;
            }
            let does = match &entry.new {
                Some(_) => "changes",
                None => "removes",
            };
            said.push(format!(
                "the change {does} `{}`, the interface `{}` of phase `{}`, which is locked until the \
                 phase ends: put it back as it was, and build against it",
                lock.file.path, lock.file.name, lock.phase
            ));
            if let Some(blob) = Oid::parse(&lock.file.blob) {
                changed.push(TreeEdit {
                    path: path.to_owned(),
                    content: Some((PLAIN_FILE, blob)),
                });
            }
        }
        if said.is_empty() {
            return self.deviations(locks);
        }
        let tree = oid(&self.tree.0)?;
        let locked = self.workspace.tree_with(&tree, &changed)?;
        let diff = self.workspace.diff_lines(&locked, &tree, LONGEST)?;
        let diff = String::from_utf8_lossy(&diff);
        let diff: Vec<&str> = diff.lines().take(DIFF_LINES).collect();
        said.push(format!(
            "what differs from the locked files:\n{}",
            diff.join("\n")
        ));
        Ok(Some(said.join("\n")))
    }

    /// Returns where the change defines functions of locked interfaces with other parameters.
    fn deviations(&self, locks: &[InterfaceLock]) -> Result<Option<String>, Error> {
        let ids = locks.iter().filter_map(|lock| Oid::parse(&lock.file.blob));
        let ids: Vec<Oid> = ids.collect();
        let blobs = self.workspace.read_blobs(&ids.iter().collect::<Vec<_>>())?;
        let mut found = Vec::new();
        for lock in locks {
            let blob = Oid::parse(&lock.file.blob);
            let Some(text) = blob.and_then(|id| blobs.get(&id)) else {
                continue;
            };
            let text = String::from_utf8_lossy(text);
            found.extend(find_deviations(self.change()?, &lock.file.path, &text));
        }
        if found.is_empty() {
            return Ok(None);
        }
        found.truncate(DIFF_LINES);
        Ok(Some(format!(
            "the change defines functions otherwise than the locked interfaces do (compared by names and \
             parameters, not by a compiler):\n{}",
            found.join("\n")
        )))
    }
}
