//! The files of a tree in git's objects.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use codeteam_context::files::{Content, File, Files};
use codeteam_context::strategy::Patterns;

use crate::git::{Oid, Repo, TreeFile};

/// Longer files are not read.
const MAX_BYTES: u64 = 1 << 20;

/// A tree. All of its texts are read at once, when the first is asked for.
pub(crate) struct Objects<'a> {
    repo: &'a Repo,
    files: Vec<File>,
    ids: Vec<Oid>,
    texts: OnceLock<BTreeMap<Oid, Vec<u8>>>,
}

impl<'a> Objects<'a> {
    /// The plain files of a tree, but those that are hidden, and those that only editors read.
    pub(crate) fn new(repo: &'a Repo, tree: &Oid, hidden: &[String]) -> Result<Self, super::Error> {
        let hidden = Patterns::hiding(hidden)?;
        let mut all: Vec<(String, TreeFile)> = repo
            .all_files_of(tree)?
            .into_iter()
            .filter_map(|file| Some((file.path.to_str()?.to_owned(), file)))
            .filter(|(path, _)| !hidden.matches(path) && !super::is_for_editors(path))
            .collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut objects = Self {
            repo,
            files: Vec::with_capacity(all.len()),
            ids: Vec::with_capacity(all.len()),
            texts: OnceLock::new(),
        };
        for (path, file) in all {
            objects.files.push(File {
                path,
                bytes: file.bytes,
                stamp: None,
            });
            objects.ids.push(file.id);
        }
        Ok(objects)
    }

    fn texts(&self) -> &BTreeMap<Oid, Vec<u8>> {
        self.texts.get_or_init(|| {
            let all = self.files.iter().zip(&self.ids);
            let wanted = all.filter(|(file, _)| file.bytes <= MAX_BYTES);
            let wanted: Vec<&Oid> = wanted.map(|(_, id)| id).collect();
            // What cannot be read is not shown.
            self.repo.blobs(&wanted).unwrap_or_default()
        })
    }
}

impl Files for Objects<'_> {
    fn list(&self) -> &[File] {
        &self.files
    }

    fn read(&self, at: usize) -> Content {
        let Some(id) = self.ids.get(at) else {
            return Content::Gone;
        };
        match self.texts().get(id) {
            Some(bytes) if bytes.contains(&0) => Content::Binary,
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Content::Text(text.to_owned()),
                Err(_) => Content::Binary,
            },
            None => Content::TooLarge,
        }
    }
}
