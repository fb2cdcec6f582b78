//! What people have noted about changes and not sent yet: comments on lines, files that they have
//! looked at. It is kept in files, so that it survives a restart and is the same in every browser.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use codeteam_report::review::LineComment;
use serde::{Deserialize, Serialize};

use crate::state_file::write_private;

/// The most comments on one change.
const MOST_COMMENTS: usize = 500;

/// Names a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftKey {
    /// The key of the project.
    pub(crate) project: String,
    /// The run.
    pub(crate) run: String,
    /// The task, or `run`.
    pub(crate) place: String,
}

/// What was noted about a change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeptDraft {
    /// The number of the last comment.
    last: u64,
    /// Comments on lines.
    pub(crate) comments: Vec<KeptComment>,
    /// The files that were looked at, each with the hash of its part of the patch.
    pub(crate) viewed: Vec<(String, String)>,
    /// The version of the change that was looked at last, and the one before it.
    pub(crate) seen: Vec<String>,
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptComment {
    /// Its number.
    pub(crate) id: u64,
    /// The file.
    pub(crate) path: String,
    /// The number of the first line.
    pub(crate) line: Option<u32>,
    /// The number of the last line.
    pub(crate) last: Option<u32>,
    /// Whether the numbers are those before the change.
    pub(crate) is_old: bool,
    /// The first line itself.
    pub(crate) quoted: String,
    /// What is said about it.
    pub(crate) text: String,
}

impl KeptComment {
    /// Returns the comment as a rejection has it.
    pub(crate) fn to_line_comment(&self) -> LineComment {
        LineComment {
            path: self.path.clone(),
            line: self.line,
            last: self.last,
            is_old: self.is_old,
            quoted: self.quoted.clone(),
            text: self.text.clone(),
        }
    }
}

/// All drafts.
#[derive(Debug)]
pub(crate) struct DraftStore {
    folder: PathBuf,
    /// Held while a draft is changed.
    changing: Mutex<()>,
}

impl DraftStore {
    /// Keeps drafts in this folder.
    pub(crate) fn new(folder: PathBuf) -> Self {
        let changing = Mutex::new(());
        Self { folder, changing }
    }

    /// Returns what was noted about a change.
    pub(crate) fn read(&self, key: &DraftKey) -> KeptDraft {
        let text = fs::read(self.path(key)).ok();
        let read = text.and_then(|text| serde_json::from_slice(&text).ok());
        read.unwrap_or_default()
    }

    /// Adds a comment.
    pub(crate) fn add_comment(&self, key: &DraftKey, comment: KeptComment) -> io::Result<()> {
        self.change(key, |draft| {
            if draft.comments.len() < MOST_COMMENTS {
                draft.last += 1;
                let id = draft.last;
                draft.comments.push(KeptComment { id, ..comment });
            }
        })
    }

    /// Drops a comment.
    pub(crate) fn drop_comment(&self, key: &DraftKey, id: u64) -> io::Result<()> {
        self.change(key, |draft| draft.comments.retain(|kept| kept.id != id))
    }

    /// Notes that a file was looked at, or takes that back if `digest` is `None`.
    pub(crate) fn mark_viewed(
        &self,
        key: &DraftKey,
        path: &str,
        digest: Option<&str>,
    ) -> io::Result<()> {
        self.change(key, |draft| {
            draft.viewed.retain(|(known, _)| known != path);
            let digest = digest.map(|digest| (path.to_owned(), digest.to_owned()));
            draft.viewed.extend(digest);
        })
    }

    /// Notes that a version of the change is looked at.
    pub(crate) fn mark_seen(&self, key: &DraftKey, version: &str) -> io::Result<()> {
        if self
            .read(key)
            .seen
            .last()
            .is_some_and(|last| last == version)
        {
            return Ok(());
        }
        self.change(key, |draft| {
            draft.seen.retain(|known| known != version);
            draft.seen.push(version.to_owned());
            let surplus = draft.seen.len().saturating_sub(2);
            draft.seen.drain(..surplus);
        })
    }

    /// Drops the comments, because they were sent.
    pub(crate) fn drop_comments(&self, key: &DraftKey) -> io::Result<()> {
        self.change(key, |draft| draft.comments.clear())
    }

    fn change(&self, key: &DraftKey, change: impl FnOnce(&mut KeptDraft)) -> io::Result<()> {
        let _held = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut draft = self.read(key);
        change(&mut draft);
        let path = self.path(key);
        if let Some(folder) = path.parent() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o700).create(folder)?;
        }
        write_private(&path, &serde_json::to_vec(&draft)?)
    }

    /// Names of runs and tasks need not be names of files.
    fn path(&self, key: &DraftKey) -> PathBuf {
        let name = format!("{}\0{}\0{}", key.project, key.run, key.place);
        let name = blake3::hash(name.as_bytes()).to_hex();
        self.folder.join(format!("{}.json", &name[..32]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_kept_and_dropped_and_survive() {
        let folder = tempfile::tempdir().unwrap();
        let key = DraftKey {
            project: "p".to_owned(),
            run: "../r".to_owned(),
            place: "task-001".to_owned(),
        };
        let comment = |text: &str| KeptComment {
            id: 0,
            path: "a.rs".to_owned(),
            line: Some(3),
            last: Some(4),
            is_old: false,
            quoted: "x".to_owned(),
            text: text.to_owned(),
        };
        let store = DraftStore::new(folder.path().join("drafts"));
        store.add_comment(&key, comment("one")).unwrap();
        store.add_comment(&key, comment("two")).unwrap();
        store.drop_comment(&key, 1).unwrap();
        store.mark_viewed(&key, "a.rs", Some("00")).unwrap();
        for version in ["v1", "v1", "v2", "v3"] {
            store.mark_seen(&key, version).unwrap();
        }
        let store = DraftStore::new(folder.path().join("drafts"));
        let draft = store.read(&key);
        assert_eq!(draft.comments.len(), 1);
        assert_eq!(
            (draft.comments[0].id, draft.comments[0].text.as_str()),
            (2, "two")
        );
        assert_eq!(draft.viewed, [("a.rs".to_owned(), "00".to_owned())]);
        assert_eq!(draft.seen, ["v2", "v3"]);
        store.mark_viewed(&key, "a.rs", None).unwrap();
        store.drop_comments(&key).unwrap();
        let draft = store.read(&key);
        assert!(draft.comments.is_empty() && draft.viewed.is_empty());
        let other = DraftKey {
            place: "task-002".to_owned(),
            ..key
        };
        assert!(store.read(&other).seen.is_empty());
    }
}
