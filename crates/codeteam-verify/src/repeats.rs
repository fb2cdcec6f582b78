//! Finds the tests that a change adds or edits, and the commands that run only these: together, in
//! another order, and each of them alone.
//!
//! A test that depends on time, chance, order or on what an earlier test has left behind does not
//! prove what it says, and costs everybody who comes later. The engine runs the commands and
//! compares how they end.

mod selection;

pub use self::selection::{SelectedTest, TestSelection, select_tests};

use std::collections::BTreeSet;

use codeteam_context::language::Language;
use codeteam_context::outline::{Outline, outline};

use crate::change::{ChangeSet, ChangedFile};
use crate::proof::TestPatterns;
use crate::test_report::TestReport;

/// A test file that a change adds or edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTestFile {
    /// Its path.
    pub path: String,
    /// Whether the change creates it.
    pub is_new: bool,
    /// The tests in it that were added or edited, where the language names them. If there are none,
    /// the file as a whole is meant.
    pub tests: Vec<ChangedTest>,
}

/// A test that a change adds or edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTest {
    /// Its name and those of what contains it, the outermost first.
    pub names: Vec<String>,
    /// Whether it was not there before.
    pub is_new: bool,
}

impl ChangedTestFile {
    /// Returns true if one of these tests, as a runner names them, is one that the change adds.
    pub fn has_new_test(&self, names: &[String]) -> bool {
        let is_named = |test: &ChangedTest| {
            let own = test.names.last().map_or("", String::as_str);
            names.iter().any(|name| name.contains(own))
        };
        match self.tests.as_slice() {
            [] => self.is_new,
            tests => tests.iter().any(|test| test.is_new && is_named(test)),
        }
    }
}

/// Returns the test programs that a change adds or edits, with their tests.
pub fn changed_tests(change: &ChangeSet, tests: &TestPatterns) -> Vec<ChangedTestFile> {
    let is_meant = |file: &&ChangedFile| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        tests.is_test_program(&file.path)
            && file.after.exists()
            && !file.added.is_empty()
            && !["__init__.py", "conftest.py"].contains(&name)
    };
    let files = change.files.iter().filter(is_meant);
    files
        .map(|file| ChangedTestFile {
            path: file.path.clone(),
            is_new: file.is_new(),
            tests: tests_of(file),
        })
        .collect()
}

fn tests_of(file: &ChangedFile) -> Vec<ChangedTest> {
    let (Some(text), Some(language)) = (file.after.text(), Language::from_path(&file.path)) else {
        return Vec::new();
    };
    let known: BTreeSet<Vec<String>> = match file.before.text() {
        Some(text) => {
            let before = outline(text, language);
            named_tests(&before, text, language)
                .map(|(names, _)| names)
                .collect()
        }
        None => BTreeSet::new(),
    };
    let added: BTreeSet<u32> = file.added.iter().map(|line| line.number).collect();
    let after = outline(text, language);
    named_tests(&after, text, language)
        .filter(|(_, (first, last))| added.range(first..=last).next().is_some())
        .map(|(names, _)| ChangedTest {
            is_new: !known.contains(&names),
            names,
        })
        .collect()
}

/// Returns the tests of a file with their first and last lines, by the conventions of the usual
/// runners.
fn named_tests<'a>(
    outline: &'a Outline,
    text: &'a str,
    language: Language,
) -> impl Iterator<Item = (Vec<String>, (u32, u32))> + 'a {
    let lines: Vec<&str> = match language {
        Language::Rust => text.lines().collect(),
        _ => Vec::new(),
    };
    outline.functions().filter_map(move |function| {
        let mut names = vec![function.name.clone()];
        let mut inside = function.inside;
        while let Some(outer) = inside.and_then(|at| outline.definitions.get(at as usize)) {
            names.push(outer.name.clone());
            inside = outer.inside;
        }
        names.reverse();
        let is_test = match language {
            Language::Python => function.name.starts_with("test"),
            Language::Go => function.name.starts_with("Test") && names.len() == 1,
            Language::Rust => {
                let above = lines.get(..(function.line as usize).saturating_sub(1));
                let above = above.unwrap_or_default().iter().rev();
                let mut attributes = above
                    .map(|line| line.trim_start())
                    .take_while(|line| line.starts_with("#[") || line.starts_with("//"));
                attributes.any(|line| line.starts_with("#[") && line.contains("test"))
            }
            _ => false,
        };
        is_test.then_some((names, (function.line, function.last_line)))
    })
}

/// Returns the tests that did not end in the same way in all of these runs, as far as the runner
/// names its tests.
pub fn differing_tests(reports: &[&TestReport]) -> Vec<String> {
    let Some((first, rest)) = reports.split_first() else {
        return Vec::new();
    };
    let differs = |name: &&String| {
        let outcome = first.names.get(*name);
        rest.iter().any(|report| {
            report
                .names
                .get(*name)
                .is_some_and(|other| Some(other) != outcome)
        })
    };
    first.names.keys().filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, before: Option<&str>, after: &str) -> Vec<(String, bool)> {
        let change = ChangeSet::between_texts(&[(path, before, Some(after))]);
        let found = changed_tests(&change, &TestPatterns::new(&["**/*test*".to_owned()]));
        let tests = found.iter().flat_map(|file| &file.tests);
        tests
            .map(|test| (test.names.join("."), test.is_new))
            .collect()
    }

    #[test]
    fn tests_are_known_by_their_names_and_lines() {
        let before = "def test_a():\n    assert 1\n\nclass TestB:\n    def test_c(self):\n        assert 1\n";
        let after = "def test_a():\n    assert 1\n\nclass TestB:\n    def test_c(self):\n        assert 2\n    def test_d(self):\n        helper()\n\ndef helper():\n    pass\n";
        assert_eq!(
            changed("test_a.py", Some(before), after),
            [
                ("TestB.test_c".to_owned(), false),
                ("TestB.test_d".to_owned(), true)
            ]
        );
        assert_eq!(
            changed(
                "a_test.go",
                None,
                "package a\nfunc TestA(t *testing.T) {}\nfunc help() {}\n"
            ),
            [("TestA".to_owned(), true)]
        );
        assert_eq!(
            changed(
                "tests/a.rs",
                None,
                "mod sub {\n    #[test]\n    fn works() {}\n}\nfn help() {}\n"
            ),
            [("sub.works".to_owned(), true)]
        );
        assert_eq!(changed("a.test.js", None, "test('a', () => {});\n"), []);
    }

    #[test]
    fn helpers_and_what_was_only_cut_are_left_out() {
        let tests = TestPatterns::new(&["tests/**".to_owned()]);
        let change = ChangeSet::between_texts(&[
            ("a.py", None, Some("x = 1\n")),
            ("tests/__init__.py", None, Some("x = 1\n")),
            ("tests/conftest.py", None, Some("x = 1\n")),
            ("tests/data.json", None, Some("{}\n")),
            ("tests/test_cut.py", Some("a = 1\nb = 2\n"), Some("a = 1\n")),
            ("tests/test_gone.py", Some("a = 1\n"), None),
            ("tests/run.sh", None, Some("exit 0\n")),
        ]);
        let found = changed_tests(&change, &tests);
        let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["tests/run.sh"]);
    }

    #[test]
    fn tests_that_end_in_another_way_are_named() {
        let report = |text: &str| TestReport::read(text, None).unwrap();
        let end = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let first = report(&format!("test a ... ok\ntest b ... ok\n{end}"));
        let second = report(&format!("test a ... ok\ntest b ... ignored\n{end}"));
        let fewer = report(&format!("test a ... ok\n{end}"));
        assert_eq!(differing_tests(&[&first, &second, &fewer]), ["b"]);
        assert_eq!(differing_tests(&[&first, &fewer]), [""; 0]);
        assert_eq!(differing_tests(&[]), [""; 0]);
    }
}
