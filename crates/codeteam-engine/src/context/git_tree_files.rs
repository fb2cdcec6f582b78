//! Reads the files of a tree from git's objects.

use codeteam_context::files::{FileContent, FileEntry, FileSet, FileStamp};

use codeteam_host::git::{BlobReader, Oid, Repo, TreeFile};
use codeteam_patterns::FilePatterns;

/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The files of a git tree. Their texts are not kept in memory.
pub(crate) struct GitTreeFiles {
    files: Vec<FileEntry>,
    ids: Vec<Oid>,
    texts: BlobReader,
}

impl GitTreeFiles {
    /// Lists the regular files of a tree, except for hidden ones and those for editors only.
    pub(crate) fn new(repo: &Repo, tree: &Oid, hidden: &[String]) -> Result<Self, super::Error> {
        let hidden = FilePatterns::for_hidden_files(hidden);
        let mut all: Vec<(String, TreeFile)> = repo
            .all_tree_files(tree)?
            .into_iter()
            .filter_map(|file| Some((file.path.to_str()?.to_owned(), file)))
            .filter(|(path, _)| !hidden.matches(path) && !super::is_for_editors(path))
            .collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut objects = Self {
            files: Vec::with_capacity(all.len()),
            ids: Vec::with_capacity(all.len()),
            texts: repo.blob_reader(),
        };
        for (path, file) in all {
            objects.files.push(FileEntry {
                path,
                bytes: file.bytes,
                stamp: Some(FileStamp::Content(file.id.bytes())),
            });
            objects.ids.push(file.id);
        }
        Ok(objects)
    }
}

impl FileSet for GitTreeFiles {
    fn list(&self) -> &[FileEntry] {
        &self.files
    }

    fn read(&self, at: usize) -> FileContent {
        let (Some(file), Some(id)) = (self.files.get(at), self.ids.get(at)) else {
            return FileContent::Gone;
        };
        if file.bytes > MAX_BYTES {
            return FileContent::TooLarge;
        }
        match self.texts.read(id) {
            Ok(Some(bytes)) if bytes.contains(&0) => FileContent::Binary,
            Ok(Some(bytes)) => {
                String::from_utf8(bytes).map_or(FileContent::Binary, FileContent::Text)
            }
            Ok(None) => FileContent::Gone,
            Err(error) => FileContent::Unreadable(std::io::Error::other(error)),
        }
    }
}
