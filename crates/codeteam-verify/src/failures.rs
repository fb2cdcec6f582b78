//! Extracts the names of failed tests from the output of a command, for test runners that print
//! them.
//!
//! This separates new failures from those that were there before. Only what a runner prints itself
//! counts; the output of a command that names no test this way cannot be compared.

use std::collections::BTreeSet;

/// Returns the names of the failed tests. The set is empty if the output names none, or if the
/// runner says that it stopped at a failure: the tests that it did not reach may fail as well.
pub fn failed_tests(output: &str) -> BTreeSet<String> {
    if output.lines().any(says_that_it_stopped) {
        return BTreeSet::new();
    }
    let mut found = BTreeSet::new();
    let mut suite = String::new();
    for line in output.lines() {
        let line = line.trim_end();
        if let Some(path) = line.strip_prefix(" FAIL ").or(line.strip_prefix("FAIL ")) {
            // Jest and Vitest print the file of a suite, Go the package.
            path.trim().clone_into(&mut suite);
        }
        let name = pytest(line)
            .or_else(|| unittest(line))
            .or_else(|| cargo(line))
            .or_else(|| go(line))
            .or_else(|| tap(line))
            .or_else(|| maven(line));
        if let Some(name) = name {
            found.insert(name);
        } else if let Some(name) = jest(line) {
            found.insert(format!("{suite} {name}").trim().to_owned());
        }
    }
    found
}

/// Returns true if a runner says in this line that it did not run all tests: cargo without
/// `--no-fail-fast`, nextest, pytest with `-x` or after `pytest.exit`, Jest with `--bail`, Vitest
/// with `--bail`.
fn says_that_it_stopped(line: &str) -> bool {
    let line = line.trim();
    let is_pytest = line.starts_with("!!!") && line.ends_with("!!!");
    line.starts_with("error: test failed, to rerun pass")
        || (is_pytest && (line.contains("stopping after") || line.contains("Exit:")))
        || (is_pytest && line.contains("Interrupted"))
        || line.starts_with("Cancelling due to test failure")
        || line.starts_with("Canceling due to test failure")
        || line.starts_with("error: test run aborted")
        || line.contains("--bail flag") && line.contains("skipped")
}

/// Parses `FAILED tests/test_a.py::test_b - assert …` and `ERROR tests/test_a.py`.
fn pytest(line: &str) -> Option<String> {
    let rest = line
        .strip_prefix("FAILED ")
        .or_else(|| line.strip_prefix("ERROR "))?;
    let name = rest.split(" - ").next()?.trim();
    let is_test = name.contains("::") || has_end(name, "py");
    is_test.then(|| name.to_owned())
}

/// Parses `FAIL: test_b (tests.test_a.TestA.test_b)`.
fn unittest(line: &str) -> Option<String> {
    let rest = line
        .strip_prefix("FAIL: ")
        .or_else(|| line.strip_prefix("ERROR: "))?;
    let is_test = rest.contains(" (") && rest.ends_with(')');
    is_test.then(|| rest.to_owned())
}

/// Parses `test a::b ... FAILED` of cargo's own runner and `FAIL [   0.1s] crate a::b` of nextest.
fn cargo(line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix("test ") {
        return name.strip_suffix(" ... FAILED").map(str::to_owned);
    }
    let (_, name) = line.trim_start().strip_prefix("FAIL [")?.split_once(']')?;
    Some(name.trim().to_owned())
}

/// Parses `--- FAIL: TestA/case (0.00s)`.
fn go(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("--- FAIL: ")?;
    Some(rest.split(" (").next()?.to_owned())
}

/// Parses `not ok 3 - the name`, which `node --test` and others print.
fn tap(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("not ok ")?;
    let (_, name) = rest.split_once(' ')?;
    let name = name.trim_start_matches("- ");
    let is_expected = name.contains("# TODO") || name.contains("# SKIP");
    (!is_expected && !name.is_empty()).then(|| name.to_owned())
}

/// Parses `[ERROR]   CalculatorTest.adds:12 expected: <2>`.
fn maven(line: &str) -> Option<String> {
    let rest = line.strip_prefix("[ERROR]   ")?;
    let (name, after) = rest.split_once(':')?;
    let is_test = name.contains('.')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "._$".contains(c))
        && after.starts_with(|c: char| c.is_ascii_digit());
    is_test.then(|| name.to_owned())
}

/// Parses `  ● suite › name` of Jest, and ` × name 3ms` and ` ✕ name` of Vitest and others.
fn jest(line: &str) -> Option<String> {
    let line = line.trim_start();
    let name = ["● ", "✕ ", "× ", "✖ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))?;
    let name = name.trim();
    // The time at the end differs from run to run.
    let name = match name.rsplit_once(' ') {
        Some((name, time)) if is_time(time) => name.trim_end(),
        _ => name,
    };
    (!name.is_empty() && !name.starts_with("Console")).then(|| name.to_owned())
}

fn is_time(word: &str) -> bool {
    let word = word.trim_matches(['(', ')']);
    let digits = word.trim_end_matches(char::is_alphabetic);
    digits.len() < word.len() && !digits.is_empty() && digits.parse::<f64>().is_ok()
}

fn has_end(name: &str, end: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found == end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_stops_at_a_failure_names_no_tests() {
        for end in [
            "error: test failed, to rerun pass `--lib`",
            "!!!!!!!!!!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!!!!!!!!!!!",
            "!!!!!!!!!!!!!!!! _pytest.outcomes.Exit: enough !!!!!!!!!!!!!!!!",
            "!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!",
            "  Cancelling due to test failure: 3 tests still running",
        ] {
            check(&format!("test a::b ... FAILED\n{end}\n"), &[]);
        }
        check(
            "test a::b ... FAILED\nerror: 1 target failed:\n    `--lib`\n",
            &["a::b"],
        );
    }

    #[track_caller]
    fn check(output: &str, expected: &[&str]) {
        let found = failed_tests(output);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, expected, "{output}");
    }

    #[test]
    fn runners_name_what_failed() {
        check(
            "F..\n=== short test summary info ===\nFAILED tests/test_a.py::test_b[1-2] - assert 1 == 2\n\
             ERROR tests/test_c.py - ImportError: x\n1 failed, 2 passed, 1 error in 0.1s\n",
            &["tests/test_a.py::test_b[1-2]", "tests/test_c.py"],
        );
        check(
            "FAIL: test_b (tests.test_a.TestA.test_b)\n----\nRan 3 tests\n\nFAILED (failures=1)\n",
            &["test_b (tests.test_a.TestA.test_b)"],
        );
        check(
            "test a::b ... FAILED\ntest a::c ... ok\n\nfailures:\n    a::b\n\ntest result: FAILED. 1 passed\n",
            &["a::b"],
        );
        check(
            "        FAIL [   0.012s] app::it people::ask\n",
            &["app::it people::ask"],
        );
        check(
            "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/case (0.00s)\nFAIL\nFAIL\texample.com/a\t0.01s\n",
            &["TestA", "TestA/case"],
        );
        check(
            "ok 1 - adds\nnot ok 2 - divides\nnot ok 3 - later # TODO\n",
            &["divides"],
        );
        check(
            " FAIL src/a.test.js\n  ● math › adds\n\n  ● Console\n",
            &["src/a.test.js math › adds"],
        );
        check(
            " FAIL  src/a.test.ts\n   × adds 12ms\n",
            &["src/a.test.ts adds"],
        );
        check(
            "[ERROR]   CalculatorTest.adds:12 expected: <2> but was: <3>\n",
            &["CalculatorTest.adds"],
        );
    }

    #[test]
    fn what_names_no_tests_is_not_guessed() {
        check("src/a.py:3: error: bad type\nFound 1 error\n", &[]);
        check("make: *** [test] Error 1\n", &[]);
        check("FAILED\nERROR: something\n", &[]);
    }
}
