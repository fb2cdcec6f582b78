//! What a rule sees and cannot judge is a finding for reviewers.

use super::*;
use crate::test_report::{TestReport, check_tests_ran};

#[test]
fn merged_assertions_are_for_reviewers_where_the_old_tests_are_run() {
    let before = "def test_a():\n    assert a == 1\n    assert b == 2\n";
    let after = "def test_a():\n    assert (a, b) == (1, 2)\n";
    let mut case = case(&[("tests/a.py", Some(before), Some(after))]);
    case.wrong(HonestyRule::TestsKept, "it had 2 assertions and has 1");
    case.runs_old_tests = true;
    let found = case.look(HonestyRule::TestsKept);
    assert_eq!(found.failures, Vec::<String>::new());
    let [finding] = &found.findings[..] else {
        panic!("{found:?}");
    };
    assert_eq!(finding.severity, Severity::Minor);
    assert_eq!(finding.file.as_deref(), Some("tests/a.py"));
    // What takes a test away is still a failure.
    case.change = ChangeSet::between_texts(&[("tests/a.py", Some(before), Some("\n"))]);
    case.wrong(HonestyRule::TestsKept, "gone: ");
}

#[test]
fn a_change_that_leaves_its_tasks_files_alone_is_told() {
    let files: &[FileCase<'_>] = &[("notes.md", None, Some("1"))];
    let told = |case: HonestyCase| {
        let found = case.look(HonestyRule::Scope);
        assert_eq!(found.failures, Vec::<String>::new());
        let mut titles = found.findings.iter().map(|finding| &finding.title);
        titles.any(|title| title.contains("touches no file of its task"))
    };
    assert!(told(case(files).task(&["src/a.py"])));
    assert!(!told(case(files).task(&["notes.md"])));
    assert!(!told(case(files)));
    let both: &[FileCase<'_>] = &[
        ("notes.md", None, Some("1")),
        ("src/a.py", Some("1"), Some("2")),
    ];
    assert!(!told(case(both).task(&["src/a.py"])));
}

/// With the names of Go's tests, an early end of the program is seen.
#[test]
fn tests_of_go_are_known_by_name_and_by_case() {
    let report = |output: &str| TestReport::read(output, None).unwrap();
    let before = report(
        "--- PASS: TestA (0.00s)\n    --- PASS: TestA/one (0.00s)\n    --- PASS: TestA/two (0.00s)\n\
         --- PASS: TestB (0.00s)\nPASS\nok  \texample.com/a\t0.004s\n",
    );
    let case = case(&[("a.go", Some("1"), Some("2"))]);
    let look = |now| check_tests_ran(&case.subject(), "go test ./...", &before, Some(&now));
    let ended = look(report("ok  \texample.com/a\t0.004s\n"));
    assert!(
        ended.failures.iter().any(|line| line.contains("`TestB`")),
        "{ended:?}"
    );
    // A row of a table is a case and no test.
    let fewer = look(report(
        "--- PASS: TestA (0.00s)\n    --- PASS: TestA/one (0.00s)\n--- PASS: TestB (0.00s)\n\
         ok  \texample.com/a\t0.004s\n",
    ));
    assert_eq!((fewer.failures.len(), fewer.findings.len()), (0, 1));
    assert_eq!(
        fewer.findings[0].title,
        "`TestA` runs with 2 cases, 3 before the change"
    );
}

#[test]
fn tests_in_a_module_of_rust_that_test_less_are_told() {
    let before = "pub fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert!(1 > 0);\n        \
                  assert!(2 > 0);\n    }\n}\n";
    let told = |after: &str| {
        let case = case(&[("src/a.rs", Some(before), Some(after))]).task(&["src/a.rs"]);
        let found = case.look(HonestyRule::TestsKept);
        assert_eq!(found.failures, Vec::<String>::new());
        let details = found.findings.into_iter().map(|finding| finding.detail);
        details.collect::<String>()
    };
    let fewer = before.replace("        assert!(2 > 0);\n", "");
    assert!(told(&fewer).contains("it had 2 assertions and has 1"));
    let gone = before.replace("fn one()", "fn other()");
    assert!(told(&gone).contains("gone: `one`"));
    for mark in ["#[ignore]", "#[cfg(any())]"] {
        let skipped = before.replace("    fn one()", &format!("    {mark}\n    fn one()"));
        assert!(told(&skipped).contains("no longer run"), "{mark}");
    }
    let more = before.replace("pub fn a() {}", "pub fn a() {}\n\npub fn b() {}");
    assert_eq!(told(&more), "");
}
