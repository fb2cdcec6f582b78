//! Everything that is computed on several threads is the same on one.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use crate::files::{FileContent, FileEntry, FileSet, FileStamp};
use crate::find::{CandidateFile, RankingOptions, SearchCorpus, SketchIndex, rank_files};
use crate::graph::{TaskFocus, rank_by_references};
use crate::index::SourceIndex;
use crate::map::{MapOptions, draw_map};
use crate::pack::{PackOptions, write_pack};
use crate::redact::Redactor;

thread_local! {
    /// Stands in for the number of cores, for work that this thread starts.
    pub(super) static COUNT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Files that refer to each other, some of them with the same content.
struct LinkedFiles(Vec<(FileEntry, String)>, Vec<FileEntry>);

impl LinkedFiles {
    fn new(count: usize) -> Self {
        let file = |n: usize| {
            let (own, other) = (n % 97, (n * 7 + 3) % 97);
            let (end, text) = match n % 3 {
                0 => (
                    "py",
                    format!("class Part{own}(Part{other}):\n    def step_{n}(self): ...\n"),
                ),
                1 => (
                    "rs",
                    format!(
                        "pub struct Node{own}(Node{other});\npub fn walk_{own}() {{ walk_{other}() }}\n"
                    ),
                ),
                _ => (
                    "go",
                    format!("package x\n\nfunc Find{own}() int {{ return Find{other}() }}\n"),
                ),
            };
            // Long and short ones, so that threads end out of order.
            let text = text.repeat(1 + (n * 31) % 40);
            let entry = FileEntry {
                path: format!("src/{:02}/file{n:04}.{end}", n % 11),
                bytes: text.len() as u64,
                stamp: Some(FileStamp::Content(
                    *blake3::hash(text.as_bytes()).as_bytes(),
                )),
            };
            (entry, text)
        };
        let mut files: Vec<_> = (0..count).map(file).collect();
        files.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        let list = files.iter().map(|(entry, _)| entry.clone()).collect();
        Self(files, list)
    }
}

impl FileSet for LinkedFiles {
    fn list(&self) -> &[FileEntry] {
        &self.1
    }

    fn read(&self, at: usize) -> FileContent {
        FileContent::Text(self.0[at].1.clone())
    }
}

/// The map, a search and a pack, and what they leave in the cache.
fn outputs(files: &LinkedFiles, cache: &Path) -> Vec<Vec<u8>> {
    let index = SourceIndex::build(files, Some(cache), &|_, _| {});
    let ranks = rank_by_references(&index, &TaskFocus::default(), &[]);
    let map = draw_map(&index, &ranks, &MapOptions::new(2_048));
    assert!(map.files.len() > 10, "{}", map.text);
    let sketches = SketchIndex::build(files, Some(cache));
    let candidates: Vec<CandidateFile<'_>> = sketches.candidates().collect();
    let corpus = SearchCorpus {
        files: candidates,
        lookup: Some(&sketches),
        history: None,
    };
    let found = rank_files("walk_5 of the parts", &corpus, &RankingOptions::default());
    assert!(!found.is_empty());
    sketches.save().unwrap();
    let mut packed = Vec::new();
    let redactor = Redactor::new([]);
    let options = PackOptions::default();
    write_pack(
        files,
        &options,
        &redactor,
        Some(cache),
        &mut packed,
        &|_| {},
    )
    .unwrap();
    let kept = ["outlines", "sketches", "counts"].map(|name| fs::read(cache.join(name)).unwrap());
    let shown = [
        format!("{ranks:?}").into_bytes(),
        map.text.into_bytes(),
        format!("{found:?}").into_bytes(),
        packed,
    ];
    shown.into_iter().chain(kept).collect()
}

#[test]
fn nothing_depends_on_the_number_of_threads() {
    let files = LinkedFiles::new(700);
    let on = |threads: usize| {
        let cache = tempfile::tempdir().unwrap();
        COUNT.set(Some(threads));
        let first = outputs(&files, cache.path());
        let again = outputs(&files, cache.path());
        COUNT.set(None);
        assert!(first == again, "{threads} threads, from the cache");
        first
    };
    let one = on(1);
    for threads in [2, 3, 16] {
        for (at, (one, many)) in one.iter().zip(on(threads)).enumerate() {
            assert!(*one == many, "{threads} threads, output {at}");
        }
    }
}
