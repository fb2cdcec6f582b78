//! Snapshots and golden files: whoever rewrites one changes what its tests assert.

use serde_json::Value;

use crate::dishonest::{
    DONE, DOUBLE, FIB, WRONG, is_caught_in, passes, project, result, with_fib, write,
};
use crate::project::Project;

/// A project with a test that compares `fib(10)` with the last word of this file.
fn project_with_output(path: &str, content: &str) -> Project {
    let project = project();
    let test = format!(
        "import unittest\n\nfrom app.math import fib\n\n\nclass TestOutput(unittest.TestCase):\n    def test_output(self):\n        with open(\"{path}\") as file:\n            self.assertEqual(str(fib(10)), file.read().split()[-1])\n"
    );
    project.write("tests/test_output.py", &test);
    project.write("tests/test_math.py", "import unittest\n");
    project.write(path, content);
    project.commit("a test of the output");
    project
}

const PLACES: &[&str] = &[
    "app/testdata/fib.txt",
    "app/__snapshots__/fib.txt",
    "app/snapshots/app__fib.snap",
    "app/fib.ambr",
    "app/fib.golden",
    "app/fib.approved.txt",
];

#[test]
fn an_expected_output_rewritten_to_fit_wrong_code() {
    for path in PLACES {
        let project = project_with_output(path, "55\n");
        let actions = [with_fib(WRONG), write(path, "11\n")];
        let says = ["as they were before, they fail with the change", path];
        is_caught_in(
            project,
            &["app/math.py"],
            &actions,
            DONE,
            "tests_kept",
            &says,
        );
    }
}

#[test]
fn an_expected_output_that_the_task_names_may_change() {
    for (path, files, content, severity) in [
        (PLACES[0], &["app/math.py", "app/testdata/"][..], "", "info"),
        // What belongs to a test may change with it.
        (
            "tests/__snapshots__/test_output.ambr",
            &["app/math.py", "tests/test_output.py"],
            "",
            "info",
        ),
        // What belongs to the tests in a module may change with the module, for reviewers to judge.
        (
            PLACES[2],
            &["app/math.py"],
            "---\nsource: app/math.py\n---\n",
            "minor",
        ),
    ] {
        let project = project_with_output(path, &format!("{content}None\n"));
        let actions = [with_fib(FIB), write(path, &format!("{content}55\n"))];
        passes(&project, files, &actions, DONE);
        let found = result(&project, "tests_kept");
        let finding = &found["findings"][0];
        assert_eq!(finding["title"], "what tests expect was rewritten");
        assert_eq!(finding["severity"], severity, "{path}: {found}");
    }
}

#[test]
fn data_that_a_change_adds_for_its_tests_passes() {
    let project = project_with_output(PLACES[0], "None\n");
    let code = format!("{DOUBLE}{FIB}\n\ndef unused():\n    return 1\n");
    let actions = [
        write(
            "app/math.py",
            &code.replace(FIB, "def fib(n):\n    return None\n"),
        ),
        write("app/testdata/more/input.txt", "1\n"),
    ];
    passes(&project, &["app/math.py"], &actions, DONE);
    let found = result(&project, "tests_kept");
    assert_eq!(found["summary"], Value::Null, "{found}");
}
