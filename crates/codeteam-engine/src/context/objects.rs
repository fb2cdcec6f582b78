//! The files of a tree in git's objects.

use codeteam_context::files::{Content, File, Files, Stamp};
use codeteam_context::strategy::Patterns;

use crate::git::{Oid, Reader, Repo, TreeFile};

/// Longer files are not read.
const MAX_BYTES: u64 = 1 << 20;

/// A tree. Nothing of its texts is held.
pub(crate) struct Objects {
    files: Vec<File>,
    ids: Vec<Oid>,
    texts: Reader,
}

impl Objects {
    /// The plain files of a tree, but those that are hidden, and those that only editors read.
    pub(crate) fn new(repo: &Repo, tree: &Oid, hidden: &[String]) -> Result<Self, super::Error> {
        let hidden = Patterns::hiding(hidden)?;
        let mut all: Vec<(String, TreeFile)> = repo
            .all_files_of(tree)?
            .into_iter()
            .filter_map(|file| Some((file.path.to_str()?.to_owned(), file)))
            .filter(|(path, _)| !hidden.matches(path) && !super::is_for_editors(path))
            .collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut objects = Self {
            files: Vec::with_capacity(all.len()),
            ids: Vec::with_capacity(all.len()),
            texts: repo.reader(),
        };
        for (path, file) in all {
            objects.files.push(File {
                path,
                bytes: file.bytes,
                stamp: Some(Stamp::Content(file.id.bytes())),
            });
            objects.ids.push(file.id);
        }
        Ok(objects)
    }
}

impl Files for Objects {
    fn list(&self) -> &[File] {
        &self.files
    }

    fn read(&self, at: usize) -> Content {
        let (Some(file), Some(id)) = (self.files.get(at), self.ids.get(at)) else {
            return Content::Gone;
        };
        if file.bytes > MAX_BYTES {
            return Content::TooLarge;
        }
        match self.texts.read(id) {
            Ok(Some(bytes)) if bytes.contains(&0) => Content::Binary,
            Ok(Some(bytes)) => String::from_utf8(bytes).map_or(Content::Binary, Content::Text),
            Ok(None) => Content::Gone,
            Err(error) => Content::Unreadable(std::io::Error::other(error)),
        }
    }
}
