//! Tests of how files and tests are described, by examples.

use super::*;

struct FakeFiles(Vec<FileEntry>, Vec<String>);

impl FakeFiles {
    fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| FileEntry {
            path: (*path).to_owned(),
            bytes: text.len() as u64,
            stamp: None,
        };
        let texts = files.iter().map(|(_, text)| (*text).to_owned());
        Self(files.iter().map(file).collect(), texts.collect())
    }
}

impl FileSet for FakeFiles {
    fn list(&self) -> &[FileEntry] {
        &self.0
    }

    fn read(&self, at: usize) -> FileContent {
        match self.1[at].as_str() {
            "\0" => FileContent::Binary,
            text => FileContent::Text(text.to_owned()),
        }
    }
}

fn check(name: &str, exit: Option<i32>, passed: bool) -> CheckResult {
    CheckResult {
        name: name.to_owned(),
        exit,
        passed,
        ..CheckResult::default()
    }
}

#[test]
fn a_repository_is_told_line_by_line() {
    let files = FakeFiles::of(&[
        (".codeteam/config.yml", "workflow: x\n"),
        ("Makefile", "all:\n"),
        ("README.md", "\n# Statistics of users\n\nMore.\n"),
        ("logo.png", "\0"),
        (
            "src/stats.py",
            "#!/usr/bin/env python3\n\"\"\"\nSummary statistics.\n\"\"\"\nx = 1\n",
        ),
        ("src/stats.rs", "//! Statistics, too.\nfn f() {}\n"),
        ("tests/test_stats.py", "import stats\n"),
    ]);
    assert_eq!(
        summarize_files(&files, None),
        "Makefile - text, 1 line\n\
         README.md - markdown, 4 lines - Statistics of users\n\
         logo.png - no text\n\
         src/stats.py - python, 5 lines - Summary statistics.\n\
         src/stats.rs - rust, 2 lines - Statistics, too.\n\
         tests/test_stats.py - python, 1 line"
    );
    assert_eq!(
        summarize_files(&files, Some("src")),
        "stats.py - python, 5 lines - Summary statistics.\n\
         stats.rs - rust, 2 lines - Statistics, too."
    );
    assert_eq!(summarize_files(&files, Some("no")), "");
}

#[test]
fn where_there_is_no_room_less_is_told() {
    let words = format!("# {}\n", "w".repeat(200));
    let made = |n: usize| {
        let names: Vec<String> = (0..n).map(|i| format!("src/file_{i:05}.py")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), words.as_str())).collect();
        summarize_files(&FakeFiles::of(&files), None)
    };
    assert!(made(30).starts_with("src/file_00000.py - python, 1 line - www"));
    assert!(made(60).starts_with("src/file_00000.py - python, 203 bytes\n"));
    let names = made(200);
    assert!(names.starts_with("src/file_00000.py\n") && names.ends_with("src/file_00199.py"));
    let many = made(1_000);
    let (shown, more) = many.rsplit_once('\n').unwrap();
    let left = 1_000 - shown.lines().count();
    assert_eq!(more, format!("... and {left} more files"));
    for n in [30, 60, 200, 222, 223, 1_000] {
        let length = made(n).chars().count();
        assert!(length <= 4_000, "{n}: {length}");
    }
}

#[test]
fn what_tests_say_is_told_as_it_is() {
    let output = |text: &str| Some(text.to_owned());
    let passed = check("tests", Some(0), true);
    assert_eq!(
        combine_check_results(std::slice::from_ref(&passed), &[output("1 passed\n")]),
        (0, "1 passed\n".to_owned())
    );
    let failed = check("tests", Some(2), false);
    assert_eq!(
        combine_check_results(&[passed.clone(), failed], &[output("ok"), output("F\n")]),
        (2, "$ tests\nok\n$ tests\nF\n".to_owned())
    );
    let mut ended = check("tests", Some(124), false);
    ended.summary = "…\n(did not end within 2 s)".to_owned();
    assert_eq!(
        combine_check_results(&[ended], &[output("collecting")]),
        (124, "collecting\n(did not end within 2 s)\n".to_owned())
    );
    let mut unmet = check("file", None, false);
    unmet.summary = "`a` does not exist".to_owned();
    assert_eq!(
        combine_check_results(&[unmet], &[]),
        (1, "`a` does not exist\n".to_owned())
    );
    assert_eq!(combine_check_results(&[], &[]), (0, String::new()));
    // What was counted and is well has nothing to say.
    let counted = check("File Length", None, true);
    assert_eq!(
        combine_check_results(&[passed.clone(), counted], &[output("ok\n"), None]),
        (0, "ok\n".to_owned())
    );

    let lines: Vec<String> = (0..20_000).map(|i| format!("line {i} ü\n")).collect();
    let long = lines.concat();
    let (_, told) = combine_check_results(&[passed], &[Some(long.clone())]);
    assert!(told.chars().count() < 50_100);
    assert_eq!(strict::shorten_report(&told), strict::shorten_report(&long));
}
