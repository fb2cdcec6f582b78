//! Files for tests: those of a sample, and those that a test makes up.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use codeteam_context::files::{FileContent, FileEntry, FileSet, FileStamp};
use codeteam_context::language::Language;

/// The sample projects.
pub(crate) const PROJECTS: [&str; 6] = ["go", "java", "javascript", "python", "rust", "typescript"];

/// The source files of a sample project, with their texts.
pub(crate) fn sample(project: &str) -> Vec<(String, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/samples")
        .join(project);
    let mut files = Vec::new();
    let mut folders = vec![top.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path
                .strip_prefix(&top)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if Language::from_path(&name).is_some() {
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Files that a test makes up.
#[derive(Debug, Default)]
pub(crate) struct Made {
    list: Vec<FileEntry>,
    texts: Vec<String>,
    /// Stamps count up from here with each change.
    clock: u64,
    /// The number of times that a file was read.
    pub(crate) reads: AtomicUsize,
}

impl Made {
    /// Those of a sample project, and whatever else.
    pub(crate) fn new<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let mut made = Self::default();
        for (path, text) in files {
            made.write(path, text);
        }
        made
    }

    pub(crate) fn sample(project: &str) -> Self {
        let files = sample(project);
        Self::new(files.iter().map(|(path, text)| (&**path, &**text)))
    }

    fn stamp(&mut self) -> FileStamp {
        self.clock += 1;
        FileStamp::Touched {
            modified: i128::from(self.clock),
            changed: i128::from(self.clock),
            inode: self.clock,
        }
    }

    pub(crate) fn write(&mut self, path: &str, text: &str) {
        let file = FileEntry {
            path: path.to_owned(),
            bytes: text.len() as u64,
            stamp: Some(self.stamp()),
        };
        match self.place(path) {
            Ok(at) => {
                self.list[at] = file;
                text.clone_into(&mut self.texts[at]);
            }
            Err(at) => {
                self.list.insert(at, file);
                self.texts.insert(at, text.to_owned());
            }
        }
    }

    pub(crate) fn remove(&mut self, path: &str) -> Option<String> {
        let at = self.place(path).ok()?;
        self.list.remove(at);
        Some(self.texts.remove(at))
    }

    /// Changes a file in a way that its stamp does not tell.
    pub(crate) fn write_unseen(&mut self, path: &str, text: &str) {
        let at = self.place(path).unwrap();
        text.clone_into(&mut self.texts[at]);
    }

    /// Gives a file a stamp from the future.
    pub(crate) fn touch_later(&mut self, path: &str) {
        let at = self.place(path).unwrap();
        let stamp = self.list[at].stamp.as_mut().unwrap();
        let FileStamp::Touched { modified, .. } = stamp else {
            unreachable!("these are files");
        };
        *modified = i128::MAX;
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|file| &*file.path)
    }

    fn place(&self, path: &str) -> Result<usize, usize> {
        self.list.binary_search_by(|file| (*file.path).cmp(path))
    }
}

impl FileSet for Made {
    fn list(&self) -> &[FileEntry] {
        &self.list
    }

    fn read(&self, at: usize) -> FileContent {
        self.reads.fetch_add(1, Ordering::Relaxed);
        FileContent::Text(self.texts[at].clone())
    }
}
