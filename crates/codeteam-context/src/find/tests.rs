//! A small web framework with a history, and what is found in it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::{Expect, expect};

use super::*;
use crate::files::{FileContent, FileEntry, FileSet, FileStamp};
use crate::tree::{self, FileTree};

/// The files of the project.
const FILES: [(&str, &str); 9] = [
    (
        "web/router.py",
        "from web.pattern import compile_pattern\n\nclass Router:\n    def match_route(self, path):\n        return compile_pattern(path)\n",
    ),
    (
        "web/pattern.py",
        "import re\n\ndef compile_pattern(text):\n    return re.compile(text)\n",
    ),
    (
        "web/session.py",
        "class Session:\n    def load_cookie(self, request):\n        return request.cookies['session']\n",
    ),
    (
        "web/signing.py",
        "def sign(value, key):\n    return value + key\n\ndef unsign(value, key):\n    return value\n",
    ),
    (
        "tests/test_router.py",
        "from web.router import Router\n\ndef test_static():\n    assert Router()\n",
    ),
    (
        "tests/test_session.py",
        "from web.session import Session\n\ndef test_load():\n    assert Session()\n",
    ),
    ("CHANGES.md", "# Changes\n\n- Something else.\n"),
    ("README.md", "# A small web framework\n"),
    (
        "package-lock.json",
        "{\"router\": \"router router router\"}\n",
    ),
];

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn commit(message: &str, files: &[&str]) -> Commit {
    let touched = |path: &&str| TouchedFile {
        path: (*path).to_owned(),
        before: None,
        added: false,
    };
    Commit {
        id: String::new(),
        parents: Vec::new(),
        time: 0,
        subject: message.lines().next().unwrap_or_default().to_owned(),
        words: words::WordBag::from_text(message),
        files: files.iter().map(touched).collect(),
    }
}

/// Newest first.
fn commits() -> Vec<Commit> {
    vec![
        commit(
            "Reject tampered login tokens",
            &["web/signing.py", "CHANGES.md"],
        ),
        commit(
            "Faster matching of static paths",
            &["web/router.py", "tests/test_router.py"],
        ),
        commit(
            "Sessions last longer",
            &["web/session.py", "web/signing.py"],
        ),
        commit(
            "Sessions can be cleared",
            &["web/session.py", "web/signing.py"],
        ),
        commit("Write the readme", &["README.md"]),
    ]
}

fn find(folder: &Path, commits: &[Commit], text: &str, cache: Option<&Path>) -> Vec<RankedFile> {
    let tree = FileTree::walk(folder, &tree::TreeOptions::default(), &|_| {}).unwrap();
    let sketches = SketchIndex::build(&tree, cache);
    let files: Vec<CandidateFile<'_>> = sketches.candidates().collect();
    let history = CommitHistory::new(commits, files.iter().map(|file| file.path));
    let corpus = SearchCorpus {
        files,
        lookup: Some(&sketches),
        history: Some(&history),
    };
    let found = rank_files(text, &corpus, &RankingOptions::default());
    sketches.save().unwrap();
    found
}

fn paths(found: &[RankedFile]) -> Vec<&str> {
    found.iter().map(|found| found.path.as_str()).collect()
}

fn check(text: &str, commits: &[Commit], expected: &Expect) {
    let folder = project();
    let mut shown = String::new();
    for found in find(folder.path(), commits, text, None).iter().take(4) {
        let _ = writeln!(shown, "{} {:.2}", found.path, found.score);
        for reason in &found.reasons {
            let _ = writeln!(shown, "  {reason}");
        }
    }
    expected.assert_eq(&shown);
}

#[test]
fn words_lead_to_paths_names_and_texts() {
    check(
        "Match routes with trailing slashes",
        &[],
        &expect![["
            web/router.py 2.64
              the text has `match`, `routes`
              the path has `routes`
              imported by tests/test_router.py
              defines `match_route`, `Router`
            tests/test_router.py 2.23
              the text has `routes`
              imports web/router.py
              the path has `routes`
              the test of web/router.py
            web/pattern.py 0.61
              imported by web/router.py
        "]],
    );
}

#[test]
fn past_commits_lead_where_words_do_not() {
    // No file has `tampered` or `login`.
    check(
        "Tampered login is not noticed",
        &commits(),
        &expect![["
            web/signing.py 1.35
              a past commit with similar words changed it: “Reject tampered login tokens”
              changed in 3 commits
              changed together with CHANGES.md in 1 of 1 commits
            CHANGES.md 1.15
              a past commit with similar words changed it: “Reject tampered login tokens”
              changed together with web/signing.py in 1 of 3 commits
              changed lately
            web/session.py 0.54
              changed together with web/signing.py in 2 of 3 commits
              changed in 2 commits
        "]],
    );
}

#[test]
fn an_identifier_or_a_path_is_taken_at_its_word() {
    check(
        "`load_cookie` fails",
        &[],
        &expect![["
            web/session.py 2.53
              the text has `cookie`, `load`
              `load_cookie` is defined here
              defines `load_cookie`
              `load_cookie` is in it
            tests/test_session.py 1.79
              imports web/session.py
              the text has `load`
              the test of web/session.py
        "]],
    );
    check(
        "rename things in web/pattern.py",
        &[],
        &expect![["
            web/pattern.py 6.71
              the task names it
              the text has `pattern`
              the path has `py`, `pattern`, `web`
            web/router.py 2.13
              the text has `pattern`, `web`
              imports web/pattern.py
              the path has `py`, `web`
            tests/test_router.py 0.64
              the text has `web`
              imports web/router.py
              the test of web/router.py
              the path has `py`
            README.md 0.51
              the text has `web`
        "]],
    );
}

#[test]
fn files_that_were_changed_together_are_found_together() {
    let folder = project();
    let found = find(folder.path(), &commits(), "session cookie", None);
    let of = |path: &str| found.iter().find(|found| found.path == path).unwrap();
    let together = MatchReason::Together {
        path: "web/session.py".to_owned(),
        times: 2,
        of: 2,
    };
    assert_eq!(found[0].path, "web/session.py");
    assert!(
        of("web/signing.py").reasons.contains(&together),
        "{found:#?}"
    );
}

/// The least that finding must do, as a figure: all of these in the first three.
#[test]
fn tasks_find_their_files() {
    let folder = project();
    for (text, wanted) in [
        (
            "Routing: match longer static routes first",
            vec!["web/router.py", "tests/test_router.py"],
        ),
        ("Compiled patterns are cached", vec!["web/pattern.py"]),
        ("Cookies of sessions are read once", vec!["web/session.py"]),
        (
            "Tokens: refuse what was tampered with",
            vec!["web/signing.py"],
        ),
        ("sign() takes several keys", vec!["web/signing.py"]),
    ] {
        let found = find(folder.path(), &commits(), text, None);
        let first = &paths(&found)[..3];
        for path in wanted {
            assert!(first.contains(&path), "{text}: {first:?}");
        }
    }
}

#[test]
fn a_file_that_was_moved_keeps_its_past() {
    let folder = project();
    let mut commits = commits();
    let moved = Commit {
        files: vec![TouchedFile {
            path: "web/signing.py".to_owned(),
            before: Some("web/crypto.py".to_owned()),
            added: false,
        }],
        ..commit("Better names", &[])
    };
    commits.insert(0, moved);
    commits.push(commit(
        "Constant time comparison of digests",
        &["web/crypto.py"],
    ));
    // Another file had the name before.
    commits.push(commit("Zebra crossing", &["web/signing.py"]));
    let found = find(folder.path(), &commits, "comparison in constant time", None);
    assert_eq!(found[0].path, "web/signing.py");
    let found = find(folder.path(), &commits, "zebra", None);
    assert!(
        found
            .iter()
            .all(|found| found.signals[RankingSignal::Message as usize] == 0.0)
    );
}

#[test]
fn what_programs_write_is_never_found() {
    let folder = project();
    let found = find(folder.path(), &[], "router", None);
    assert!(!paths(&found).contains(&"package-lock.json"));
}

#[test]
fn commits_that_touch_very_many_files_say_nothing() {
    let folder = project();
    let mut all: Vec<String> = (0..60).map(|n| format!("gone/{n}.py")).collect();
    all.push("README.md".to_owned());
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let found = find(folder.path(), &[commit("Zebra", &all)], "zebra", None);
    assert_eq!(found, []);
}

#[test]
fn nothing_to_go_by_finds_nothing() {
    let folder = project();
    for text in ["", "   ", "the of and", "ααα", "\0\u{feff}", "............"] {
        assert_eq!(find(folder.path(), &[], text, None), [], "{text:?}");
    }
    let empty = rank_files(
        "router",
        &SearchCorpus::default(),
        &RankingOptions::default(),
    );
    assert_eq!(empty, []);
}

#[test]
fn a_cache_changes_nothing() {
    let (folder, cache) = (project(), tempfile::tempdir().unwrap());
    let kept = cache.path().join("sketches");
    let cache = Some(cache.path());
    let text = "match routes of a session";
    let plain = find(folder.path(), &commits(), text, None);
    for _ in 0..3 {
        assert_eq!(find(folder.path(), &commits(), text, cache), plain);
    }
    // Another text asks for a closer look at other files.
    let other = find(folder.path(), &commits(), "sign", None);
    assert_eq!(find(folder.path(), &commits(), "sign", cache), other);
    fs::write(folder.path().join("web/pattern.py"), "def zebra(): pass\n").unwrap();
    fs::remove_file(folder.path().join("web/router.py")).unwrap();
    let after = find(folder.path(), &commits(), "zebra", None);
    assert_eq!(after[0].path, "web/pattern.py");
    assert_eq!(find(folder.path(), &commits(), "zebra", cache), after);
    fs::write(kept, "damaged").unwrap();
    assert_eq!(find(folder.path(), &commits(), "zebra", cache), after);
}

/// Files that are known by what is in them, as those of git are; some cannot be read.
struct HashedFiles {
    list: Vec<FileEntry>,
    broken: bool,
    reads: AtomicUsize,
}

impl HashedFiles {
    fn new(contents: &[(&str, u8)], broken: bool) -> Self {
        let list = contents.iter().map(|(path, content)| FileEntry {
            path: (*path).to_owned(),
            bytes: 1,
            stamp: Some(FileStamp::Content([*content; 32])),
        });
        Self {
            list: list.collect(),
            broken,
            reads: AtomicUsize::new(0),
        }
    }

    /// The files that are found by a word, and how many were read for it.
    fn found(&self, text: &str, cache: &Path) -> (Vec<String>, usize) {
        self.reads.store(0, Ordering::Relaxed);
        let sketches = SketchIndex::build(self, Some(cache));
        let corpus = SearchCorpus {
            files: sketches.candidates().collect(),
            ..SearchCorpus::default()
        };
        let found = rank_files(text, &corpus, &RankingOptions::default());
        sketches.save().unwrap();
        let found = found.into_iter().map(|found| found.path).collect();
        (found, self.reads.load(Ordering::Relaxed))
    }
}

impl FileSet for HashedFiles {
    fn list(&self) -> &[FileEntry] {
        &self.list
    }

    fn read(&self, at: usize) -> FileContent {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match self.list[at].stamp {
            Some(FileStamp::Content([content, ..])) if !self.broken => {
                FileContent::Text(format!("zebra{}\n", char::from(content)))
            }
            _ => FileContent::Unreadable(std::io::Error::other("no")),
        }
    }
}

#[test]
fn a_content_that_is_known_is_not_read_again() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path();
    let found = |path: &str, reads| (vec![path.to_owned()], reads);
    // What could not be read is no other content.
    let broken = HashedFiles::new(&[("one", b'a'), ("two", b'b')], true);
    assert_eq!(broken.found("zebraa", cache), (Vec::new(), 2));
    let files = HashedFiles::new(&[("one", b'a'), ("two", b'b')], false);
    assert_eq!(files.found("zebraa", cache), found("one", 2));
    assert_eq!(files.found("zebrab", cache), found("two", 0));
    let files = HashedFiles::new(&[("0", b'd'), ("one", b'c'), ("two", b'b')], false);
    assert_eq!(files.found("zebrac", cache), found("one", 2));
    assert_eq!(files.found("zebrab", cache), found("two", 0));
    let fewer = HashedFiles::new(&[("two", b'b')], false);
    assert_eq!(fewer.found("zebrab", cache), found("two", 0));
    assert_eq!(fewer.found("zebrac", cache), (Vec::new(), 0));
}

#[test]
fn messages_are_cleaned() {
    let message = "Fix the router (#123)\n\nSee https://example.org/x and #7.\n\nSigned-off-by: A <a@b.c>\nFixes: 12\n";
    assert_eq!(history::clean_message(message), "Fix the router\n\nSee and");
}
