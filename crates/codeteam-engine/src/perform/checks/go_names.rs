//! Asks `go test` to name each test that it runs, through its variable and without changing the project.
//!
//! Without the names, a program that ends well before its first test looks like one whose tests have
//! all passed: `go test` prints the same line for both. There is no file that Go could write besides its
//! output, so the lines about tests that run and pass are left out of what people and workers read
//! first; the whole output has them.

use std::ffi::OsString;

use codeteam_host::workspace::Workspace;

/// Returns the variable that asks for the names, if a command may run Go's tests.
pub(super) fn variable(workspace: &Workspace, command: &str) -> Option<(OsString, OsString)> {
    let is_module = || super::read(&workspace.tree_dir(), "go.mod").is_some();
    may_run_tests(command, is_module).then(|| ("GOFLAGS".into(), "-v".into()))
}

/// Returns true if a command runs Go's tests, or something that may run them (`make test`) in a module.
fn may_run_tests(command: &str, is_module: impl Fn() -> bool) -> bool {
    let says_flags = command.contains("GOFLAGS");
    !says_flags && (command.contains("go test") || (command.contains("test") && is_module()))
}

/// Returns true if a line only says that a test runs, or has passed.
pub(super) fn is_progress(line: &str) -> bool {
    const MARKS: [&str; 6] = [
        "=== RUN ",
        "=== PAUSE ",
        "=== CONT ",
        "=== NAME ",
        "--- PASS: ",
        "--- SKIP: ",
    ];
    let line = line.trim_start();
    MARKS.iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_may_run_gos_tests_are_asked() {
        assert!(may_run_tests("cd api && go test ./...", || false));
        assert!(may_run_tests("make test", || true));
        assert!(!may_run_tests("make test", || false));
        assert!(!may_run_tests("go vet ./...", || true));
        assert!(!may_run_tests("GOFLAGS=-mod=mod go test ./...", || true));
    }

    #[test]
    fn what_runs_and_passes_is_progress() {
        for line in [
            "=== RUN   TestA",
            "--- PASS: TestA (0.00s)",
            "    --- PASS: TestA/one (0.00s)",
            "    --- SKIP: TestA/two (0.00s)",
        ] {
            assert!(is_progress(line), "{line}");
        }
        for line in [
            "--- FAIL: TestA (0.00s)",
            "FAIL",
            "ok  \texample.com/a\t0.004s",
        ] {
            assert!(!is_progress(line), "{line}");
        }
    }
}
