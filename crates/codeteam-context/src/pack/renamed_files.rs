//! Presents files whose names contain secrets under names that do not.

use crate::files::{FileContent, FileEntry, FileSet, SkippedPath};
use crate::redact::Redactor;

/// Files under redacted names, sorted by these.
pub(super) struct RenamedFiles<'f, F> {
    files: &'f F,
    list: Vec<FileEntry>,
    /// The index of each file in the original list.
    places: Vec<usize>,
    skipped: Vec<SkippedPath>,
}

impl<'f, F: FileSet> RenamedFiles<'f, F> {
    /// Returns the renamed files, if any name contains a secret.
    pub(super) fn new(files: &'f F, redactor: &Redactor) -> Option<Self> {
        // All names are checked together first; most repositories need no more.
        let mut all = String::new();
        let listed = files.list().iter().map(|file| &file.path);
        for path in listed.chain(files.skipped().iter().map(|skipped| &skipped.path)) {
            all.push_str(path);
            all.push('\n');
        }
        if redactor.redact(&all).hits.is_empty() {
            return None;
        }
        let clean = |path: &str| redactor.redact(path).text.into_owned();
        let renamed = files.list().iter().enumerate().map(|(place, file)| {
            let path = clean(&file.path);
            (
                FileEntry {
                    path,
                    ..file.clone()
                },
                place,
            )
        });
        let mut renamed: Vec<(FileEntry, usize)> = renamed.collect();
        renamed.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        let (list, places) = renamed.into_iter().unzip();
        let mut skipped = files.skipped().to_vec();
        for one in &mut skipped {
            one.path = clean(&one.path);
        }
        skipped.sort_unstable();
        Some(Self {
            files,
            list,
            places,
            skipped,
        })
    }
}

impl<F: FileSet> FileSet for RenamedFiles<'_, F> {
    fn list(&self) -> &[FileEntry] {
        &self.list
    }

    fn read(&self, at: usize) -> FileContent {
        match self.places.get(at) {
            Some(place) => self.files.read(*place),
            None => FileContent::Gone,
        }
    }

    fn skipped(&self) -> &[SkippedPath] {
        &self.skipped
    }
}
