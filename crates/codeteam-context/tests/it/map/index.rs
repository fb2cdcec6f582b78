//! An index is the same however it came about.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use codeteam_context::graph::{TaskFocus, rank_by_references};
use codeteam_context::index::{SourceIndex, UpdateCounts};
use codeteam_context::map::{MapOptions, draw_map};
use proptest::prelude::*;

use super::folder::{Made, PROJECTS, sample};

/// Everything an index says, in words.
fn told(index: &SourceIndex) -> String {
    let mut out = String::new();
    for file in 0..index.len() {
        writeln!(out, "{} {:?}", index.path(file), index.outline(file)).unwrap();
        for definition in &index.outline(file).definitions {
            let places: Vec<_> = index.definitions_named(&definition.name).collect();
            writeln!(out, "{} {places:?}", definition.name).unwrap();
        }
    }
    let focus = TaskFocus {
        files: vec!["a.py".to_owned()],
        names: vec!["Order".to_owned()],
    };
    for focus in [TaskFocus::default(), focus] {
        let ranks = rank_by_references(index, &focus, &[]);
        let options = MapOptions::new(300);
        // To the last bit.
        writeln!(out, "{ranks:?}\n{}", draw_map(index, &ranks, &options).text).unwrap();
    }
    out
}

fn built(files: &Made, cache: Option<&Path>) -> (SourceIndex, UpdateCounts) {
    SourceIndex::build_with(files, cache, &|_, _| {})
}

fn everything() -> Made {
    let mut made = Made::default();
    for project in PROJECTS {
        for (path, text) in sample(project) {
            made.write(&format!("{project}/{path}"), &text);
        }
    }
    made
}

#[test]
fn one_edit_reads_and_parses_one_file() {
    let cache = tempfile::tempdir().unwrap();
    let mut files = everything();
    let all = files.paths().count();
    let (mut live, work) = built(&files, Some(cache.path()));
    assert_eq!(
        work,
        UpdateCounts {
            read: all,
            parsed: all
        }
    );
    let (_, work) = built(&files, Some(cache.path()));
    assert_eq!(work, UpdateCounts::default());

    files.write("go/main.go", "package main\n\nfunc NewOne() {}\n");
    files.reads.store(0, Ordering::Relaxed);
    let (index, work) = built(&files, Some(cache.path()));
    assert_eq!(work, UpdateCounts { read: 1, parsed: 1 });
    assert_eq!(files.reads.load(Ordering::Relaxed), 1);
    assert_eq!(index.definitions_named("NewOne").count(), 1);
    assert_eq!(told(&index), told(&built(&files, None).0));

    assert_eq!(
        live.update(&files, &|_, _| {}),
        UpdateCounts { read: 1, parsed: 1 }
    );
    assert_eq!(told(&live), told(&index));
}

#[test]
fn a_moved_file_is_read_but_not_parsed() {
    let cache = tempfile::tempdir().unwrap();
    let mut files = everything();
    built(&files, Some(cache.path()));
    let text = files.remove("go/main.go").unwrap();
    files.write("cmd/main.go", &text);
    let (index, work) = built(&files, Some(cache.path()));
    assert_eq!(work, UpdateCounts { read: 1, parsed: 0 });
    assert!(index.file_number("go/main.go").is_none());
    assert!(index.file_number("cmd/main.go").is_some());
}

#[test]
fn a_young_stamp_is_not_relied_on() {
    let cache = tempfile::tempdir().unwrap();
    let mut files = Made::new([("a.py", "def one(): pass\n"), ("b.py", "def two(): pass\n")]);
    files.touch_later("a.py");
    built(&files, Some(cache.path()));
    files.write_unseen("a.py", "def six(): pass\n");
    let (index, work) = built(&files, Some(cache.path()));
    assert_eq!(work, UpdateCounts { read: 1, parsed: 1 });
    assert_eq!(index.definitions_named("six").count(), 1);
}

#[test]
fn what_is_no_text_is_not_in_it() {
    let files = Made::new([("notes.md", "# Notes\n"), ("a.py", "")]);
    let (index, _) = built(&files, None);
    assert_eq!(index.len(), 1);
    assert!(!index.is_empty());
    assert!(built(&Made::default(), None).0.is_empty());
}

#[test]
fn a_damaged_cache_changes_nothing() {
    let cache = tempfile::tempdir().unwrap();
    let mut files = everything();
    built(&files, Some(cache.path()));
    files.write("rust/src/lib.rs", "pub fn changed() {}\n");
    built(&files, Some(cache.path()));
    let expected = told(&built(&files, None).0);
    for name in ["outlines", "outlines.new"] {
        let path = cache.path().join(name);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        for damaged in [&whole[..whole.len() / 2], &flipped, b"", b"nonsense"] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(told(&built(&files, Some(cache.path())).0), expected);
            fs::write(&path, &whole).unwrap();
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(told(&built(&files, Some(cache.path())).0), expected);
        fs::write(&path, &whole).unwrap();
    }
    // A folder where a file should be cannot be written to, which is no reason to fail.
    fs::remove_file(cache.path().join("outlines")).unwrap();
    fs::create_dir(cache.path().join("outlines")).unwrap();
    assert_eq!(told(&built(&files, Some(cache.path())).0), expected);
}

#[test]
fn a_second_file_of_another_first_counts_for_nothing() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut files = everything();
    built(&files, Some(one.path()));
    files.write("rust/src/lib.rs", "pub fn changed() {}\n");
    built(&files, Some(one.path()));
    // The same contents, but each in another file: the same numbers of everything.
    let mut turned = everything();
    let all: Vec<_> = PROJECTS.into_iter().flat_map(sample).collect();
    let paths: Vec<_> = turned.paths().map(str::to_owned).collect();
    for (path, (_, text)) in paths.iter().zip(all.iter().cycle().skip(1)) {
        turned.write(path, text);
    }
    built(&turned, Some(other.path()));
    fs::copy(other.path().join("outlines"), one.path().join("outlines")).unwrap();
    let expected = told(&built(&files, None).0);
    assert_eq!(told(&built(&files, Some(one.path())).0), expected);
}

#[test]
fn the_order_in_which_names_were_met_does_not_show() {
    let text = |names: &mut dyn Iterator<Item = u32>| {
        let mut text = String::new();
        for name in names {
            writeln!(text, "def function_{}(): pass", name * 7 % 40).unwrap();
        }
        text
    };
    let mut files = Made::new([("z.py", &*text(&mut (0..40).rev()))]);
    let mut live = SourceIndex::default();
    live.update(&files, &|_, _| {});
    files.remove("z.py");
    files.write("a.py", &text(&mut (0..40)));
    for user in 0..40 {
        let calls: String = (0..=user)
            .map(|name| "function_N()\n".replace('N', &name.to_string()))
            .collect();
        files.write(&format!("user{user}.py"), &calls);
    }
    live.update(&files, &|_, _| {});
    assert_eq!(told(&live), told(&built(&files, None).0));
}

/// A person's change of files.
#[derive(Clone, Debug)]
enum Edit {
    Write(usize, usize),
    Remove(usize),
    Rename(usize, usize),
}

const PATHS: [&str; 8] = [
    "a.py",
    "b.py",
    "c/d.py",
    "e.ts",
    "f.ts",
    "g.rs",
    "h.go",
    "README.md",
];

fn text(of: usize) -> String {
    let other = (of + 1) % 5;
    format!(
        "class Order{of}:\n    def total_price(self):\n        return Order{other}().pay_{of}()\n\n\
         def pay_{other}(): pass\n\nfn start_{of}() {{ start_{other}() }}\n"
    )
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let path = 0..PATHS.len();
    let edit = prop_oneof![
        3 => (path.clone(), 0..5_usize).prop_map(|(path, text)| Edit::Write(path, text)),
        1 => path.clone().prop_map(Edit::Remove),
        1 => (path.clone(), path).prop_map(|(from, to)| Edit::Rename(from, to)),
    ];
    prop::collection::vec(edit, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn however_files_came_about(edits in edits()) {
        let cache = tempfile::tempdir().unwrap();
        let mut files = Made::default();
        let mut live = SourceIndex::default();
        for edit in edits {
            match edit {
                Edit::Write(path, of) => files.write(PATHS[path], &text(of)),
                Edit::Remove(path) => drop(files.remove(PATHS[path])),
                Edit::Rename(from, to) => {
                    if let Some(text) = files.remove(PATHS[from]) {
                        files.write(PATHS[to], &text);
                    }
                }
            }
            let scratch = told(&built(&files, None).0);
            live.update(&files, &|_, _| {});
            prop_assert_eq!(&told(&live), &scratch);
            prop_assert_eq!(&told(&built(&files, Some(cache.path())).0), &scratch);
        }
    }
}
