//! The map of a tree of 5,000 files: from scratch, after one edit as a whole process would do it
//! (walking, reading the cache, writing it), and after one edit in memory.
//!
//! `cargo bench -p codeteam-context --bench map` makes the tree; with `-- FOLDER` it takes the files
//! of a folder instead, which is copied.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark that cannot go on has failed, and prints what it found"
)]

#[expect(dead_code, reason = "another benchmark needs the rest")]
#[path = "map/made.rs"]
mod made;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use codeteam_context::files::{FileContent, FileEntry, FileSet as _};
use codeteam_context::graph::{TaskFocus, rank_by_references};
use codeteam_context::index::SourceIndex;
use codeteam_context::language::Language;
use codeteam_context::map::{MapOptions, RepositoryMap, draw_map};
use codeteam_context::tree::{self, FileTree};

/// How many times faster an update is to be than a start from scratch.
const GOAL: f64 = 20.0;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().join("tree");
    match std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
    {
        Some(from) => copy(Path::new(&from), &top),
        None => made::write(&top, 5_000),
    }
    let tree = walk(&top);
    let bytes: u64 = source(&tree).map(|file| file.bytes).sum();
    println!(
        "{} source files, {:.1} MB",
        source(&tree).count(),
        bytes as f64 / 1e6
    );
    // Stamps are relied on when they are some seconds old.
    let edited = source(&tree)
        .nth(source(&tree).count() / 2)
        .unwrap()
        .path
        .clone();
    let edited = top.join(edited);
    let original = fs::read_to_string(&edited).unwrap();
    drop(tree);

    let mut times: Vec<[Duration; 4]> = Vec::new();
    for round in 0..5 {
        let cache = folder.path().join(format!("cache{round}"));
        fs::write(&edited, &original).unwrap();
        let scratch = timed(|| whole(&top, &cache));
        // Once more, so that all stamps are known to be old enough.
        whole(&top, &cache);
        let mut index = SourceIndex::build(&walk(&top), Some(&cache), &|_, _| {});
        fs::write(&edited, format!("{original}\n\n")).unwrap();
        let update = timed(|| whole(&top, &cache));
        let memory = timed(|| {
            index.update(&walk(&top), &|_, _| {});
            drawn(&index)
        });
        let nothing = timed(|| whole(&top, &cache));
        assert_eq!(update.1.text, memory.1.text);
        times.push([scratch.0, update.0, memory.0, nothing.0]);
    }
    let median = |at: usize| {
        let mut all: Vec<_> = times.iter().map(|times| times[at]).collect();
        all.sort_unstable();
        all[all.len() / 2].as_secs_f64()
    };
    let scratch = median(0);
    println!("from scratch          {:8.1} ms", scratch * 1e3);
    for (at, what) in [
        (1, "one edit, from disk  "),
        (2, "one edit, in memory  "),
        (3, "no edit, from disk   "),
    ] {
        let ratio = scratch / median(at);
        let verdict = if ratio >= GOAL { "reached" } else { "missed" };
        println!(
            "{what} {:8.1} ms  {ratio:5.1} times faster (goal {GOAL}: {verdict})",
            median(at) * 1e3
        );
    }
    told(&top, &folder.path().join("cache0"));
    let size =
        |name: &str| fs::metadata(folder.path().join("cache0").join(name)).map_or(0, |it| it.len());
    println!(
        "on disk {:.1} MB + {:.1} MB",
        size("outlines") as f64 / 1e6,
        size("outlines.new") as f64 / 1e6
    );
}

/// Says where the time of an update goes.
fn told(top: &Path, cache: &Path) {
    let start = Instant::now();
    let tree = walk(top);
    let walked = start.elapsed();
    let index = SourceIndex::build(&tree, Some(cache), &|_, _| {});
    let built = start.elapsed();
    let ranks = rank_by_references(&index, &TaskFocus::default(), &[]);
    let ranked = start.elapsed();
    draw_map(&index, &ranks, &MapOptions::new(2_048));
    let all = start.elapsed();
    println!(
        "  walking {:.1?}, index {:.1?}, ranks {:.1?}, map {:.1?}",
        walked,
        built.saturating_sub(walked),
        ranked.saturating_sub(built),
        all.saturating_sub(ranked)
    );
}

/// What `codeteam map` does.
fn whole(top: &Path, cache: &Path) -> RepositoryMap {
    let index = SourceIndex::build(&walk(top), Some(cache), &|_, _| {});
    drawn(&index)
}

fn drawn(index: &SourceIndex) -> RepositoryMap {
    let ranks = rank_by_references(index, &TaskFocus::default(), &[]);
    draw_map(index, &ranks, &MapOptions::new(2_048))
}

fn walk(top: &Path) -> FileTree {
    FileTree::walk(top, &tree::TreeOptions::default(), &|_| {}).unwrap()
}

fn source(tree: &FileTree) -> impl Iterator<Item = &FileEntry> {
    tree.list()
        .iter()
        .filter(|file| Language::from_path(&file.path).is_some())
}

fn timed(work: impl FnOnce() -> RepositoryMap) -> (Duration, RepositoryMap) {
    let start = Instant::now();
    let map = work();
    (start.elapsed(), map)
}

fn copy(from: &Path, to: &Path) {
    let tree = walk(from);
    for (at, file) in tree.list().iter().enumerate() {
        if let FileContent::Text(text) = tree.read(at) {
            let path = to.join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
}
