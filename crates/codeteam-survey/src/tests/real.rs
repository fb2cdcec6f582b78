//! Real projects, as they were published: the names of their files and the manifests that matter,
//! both shortened. `tests/data/survey/README.md` says where they come from.

use std::path::Path;

use expect_test::expect_file;

use super::{SampleRepo, shown};

/// Reads a tree: after `-- path --` the text of a file, after `-- names --` names of others.
fn tree(text: &str) -> SampleRepo {
    let mut repo = SampleRepo::new();
    let mut path = "";
    let mut body = String::new();
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain(["-- end --"]) {
        let head = line
            .strip_prefix("-- ")
            .and_then(|rest| rest.strip_suffix(" --"));
        let Some(head) = head else {
            body.push_str(line);
            body.push('\n');
            continue;
        };
        files.push((path.to_owned(), std::mem::take(&mut body)));
        path = head;
    }
    for (path, body) in files {
        repo = match path.as_str() {
            "" => repo,
            "names" => repo.files(&body.lines().collect::<Vec<_>>()),
            path => repo.file(path, &body),
        };
    }
    repo
}

#[test]
fn real_projects_are_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/survey");
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    names.sort();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let text = std::fs::read_to_string(name.join("tree.txt")).unwrap();
        let survey = tree(&text).survey();
        expect_file![name.join("expected.txt")].assert_eq(&shown(&survey));
    }
}
