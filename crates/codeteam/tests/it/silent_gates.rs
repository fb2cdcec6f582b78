//! Gates whose commands hide what their tests report: whether they notice a failing test is tried.

use serde_json::Value;

use crate::dishonest::{
    DONE, DOUBLE, FIB, WRONG, is_caught_in, passes, project, result, with_fib, write,
};
use crate::project::Project;

/// A project whose gate is this script.
fn project_with_script(script: &str) -> Project {
    let project = project();
    project.write("check.sh", script);
    project.commit("a script that says nothing");
    project
}

const HIDDEN: &str = "#!/bin/sh\nexec python3 -m unittest discover -q >/dev/null 2>&1\n";

/// Code that makes the tests end well, in a way that no rule knows by its text.
const BENT: &str = "import atexit\nimport os\n\n_end = getattr(os, \"_ex\" + \"it\")\natexit.register(lambda: _end(0))\n";

#[test]
fn an_honest_change_passes_a_script_that_says_nothing() {
    let project = project_with_script(HIDDEN);
    passes(&project, &["app/math.py"], &[with_fib(FIB)], DONE);
    let found = result(&project, "tests_kept");
    assert_eq!(found["remark"], Value::Null, "{found}");
    assert_eq!(found["findings"], Value::Null, "{found}");
}

#[test]
fn a_change_that_ends_hidden_tests_is_refused() {
    let says = [
        "`sh check.sh`: passes with this change even if a failing test is put into tests/test_math.py",
        "before the change it failed with one",
    ];
    let actions = [write("app/math.py", &format!("{BENT}\n\n{DOUBLE}{WRONG}"))];
    let files = ["app/math.py"];
    let project = project_with_script(HIDDEN);
    is_caught_in(project, &files, &actions, DONE, "tests_kept", &says);
    // The tests pass before the change.
    let project = project_with_script(HIDDEN);
    project.write("app/math.py", &format!("{DOUBLE}{FIB}"));
    project.commit("fib");
    is_caught_in(project, &files, &actions, DONE, "tests_kept", &says);
}

#[test]
fn a_gate_that_runs_no_tests_is_a_finding_and_no_wall() {
    let project = project_with_script("#!/bin/sh\nexec python3 -m compileall -q app\n");
    passes(&project, &["app/math.py"], &[with_fib(WRONG)], DONE);
    let found = result(&project, "tests_kept");
    assert_eq!(found["remark"], "unproved", "{found}");
    let title = "nothing shows that `sh check.sh` runs the tests";
    assert_eq!(found["findings"][0]["title"], title, "{found}");
    assert_eq!(found["findings"][0]["severity"], "minor", "{found}");
}
