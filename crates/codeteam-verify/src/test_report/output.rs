//! Reads the summaries that test runners print, and the names of tests where a runner prints one
//! line for each.
//!
//! Only the exact form of a runner's own summary counts. Output of anything else is no report.

use super::{TestOutcome, TestReport};

/// Reads what runners report in an output. Returns `None` if it has no summary.
pub(super) fn read_output(output: &str) -> Option<TestReport> {
    let mut reading = OutputReading::default();
    for line in output.lines() {
        let plain = without_colors(line);
        reading.read_line(plain.trim_end());
    }
    (!reading.report.runners.is_empty()).then_some(reading.report)
}

/// What was read of an output so far.
#[derive(Default)]
struct OutputReading {
    report: TestReport,
    /// The number of tests of unittest, whose outcome is on a later line.
    unittest: Option<u64>,
}

impl OutputReading {
    fn read_line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(ran) = unittest_count(text) {
            self.unittest = Some(ran);
            return;
        }
        if let Some(ran) = self.unittest
            && let Some((failed, skipped)) = unittest_outcome(text)
        {
            self.unittest = None;
            let passed = ran.saturating_sub(failed.saturating_add(skipped));
            self.add("unittest", [passed, failed, skipped]);
            return;
        }
        let known: [RunnerParser; 8] = [
            ("pytest", pytest_summary),
            ("cargo test", cargo_summary),
            ("nextest", nextest_summary),
            ("jest", jest_summary),
            ("vitest", vitest_summary),
            ("mocha", mocha_summary),
            ("node:test", node_summary),
            ("maven", maven_summary),
        ];
        let summary = known
            .iter()
            .find_map(|(runner, read)| Some((*runner, read(text)?)));
        if let Some((runner, counts)) = summary {
            self.add(runner, counts);
        } else if let Some((name, outcome)) = go_package(line) {
            self.add("go test", OutcomeCounts::default());
            match outcome {
                TestOutcome::Passed => self.report.passed += 1,
                TestOutcome::Failed => self.report.failed += 1,
                TestOutcome::Skipped => {}
            }
            self.report.add_test(name, outcome);
        } else if let Some((name, outcome)) = listed_test(text) {
            self.report.add_test(name, outcome);
        }
    }

    fn add(&mut self, runner: &str, [passed, failed, skipped]: OutcomeCounts) {
        self.report.add_runner(runner);
        self.report.passed = self.report.passed.saturating_add(passed);
        self.report.failed = self.report.failed.saturating_add(failed);
        self.report.skipped = self.report.skipped.saturating_add(skipped);
    }
}

/// The numbers of tests that passed, failed and were skipped.
type OutcomeCounts = [u64; 3];

/// The name of a runner, and what reads the line in which it sums up.
type RunnerParser = (&'static str, fn(&str) -> Option<OutcomeCounts>);

const PASSED: usize = 0;
const FAILED: usize = 1;
const SKIPPED: usize = 2;
/// What is neither of these, and does not count.
const OTHER: usize = 3;

/// Parses parts such as `26 passed`, of which each must be of a known kind.
fn count_parts<'a>(
    parts: impl Iterator<Item = &'a str>,
    kind: impl Fn(&str) -> Option<usize>,
) -> Option<OutcomeCounts> {
    let mut counts = [0; 4];
    for part in parts {
        let (number, word) = part.trim().split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        let count = &mut counts[kind(word.trim())?];
        *count = number.saturating_add(*count);
    }
    let [passed, failed, skipped, _] = counts;
    Some([passed, failed, skipped])
}

/// Parses `=== 1 failed, 26 passed in 0.15s ===` and `no tests ran in 0.01s`.
fn pytest_summary(text: &str) -> Option<OutcomeCounts> {
    let text = text.trim_matches('=').trim();
    let (counts, time) = text.rsplit_once(" in ")?;
    let time = time.split(' ').next()?.strip_suffix('s')?;
    time.parse::<f64>().ok()?;
    if counts == "no tests ran" {
        return Some(OutcomeCounts::default());
    }
    count_parts(counts.split(','), |word| {
        Some(match word {
            "passed" | "xfailed" | "xpassed" => PASSED,
            "failed" | "error" | "errors" => FAILED,
            "skipped" => SKIPPED,
            "warning" | "warnings" | "deselected" | "rerun" | "subtests passed" => OTHER,
            _ => return None,
        })
    })
}

/// Parses `Ran 27 tests in 0.001s`.
fn unittest_count(text: &str) -> Option<u64> {
    let rest = text.strip_prefix("Ran ")?;
    let (count, rest) = rest.split_once(' ')?;
    let time = rest
        .strip_prefix("tests in ")
        .or_else(|| rest.strip_prefix("test in "))?;
    time.strip_suffix('s')?.parse::<f64>().ok()?;
    count.parse().ok()
}

/// Parses `OK`, `OK (skipped=1)`, `FAILED (failures=1, errors=2)` and `NO TESTS RAN` into the
/// numbers of failed and skipped tests.
fn unittest_outcome(text: &str) -> Option<(u64, u64)> {
    let (word, rest) = text.split_once(" (").unwrap_or((text, ""));
    if !matches!(word, "OK" | "FAILED" | "NO TESTS RAN") {
        return None;
    }
    let mut found = (0, 0);
    for part in rest.trim_end_matches(')').split(", ") {
        let Some((kind, count)) = part.split_once('=') else {
            continue;
        };
        let count: u64 = count.parse().ok()?;
        match kind {
            "failures" | "errors" | "unexpected successes" => {
                found.0 = count.saturating_add(found.0);
            }
            "skipped" => found.1 = count.saturating_add(found.1),
            _ => {}
        }
    }
    Some(found)
}

/// Parses `test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …`.
fn cargo_summary(text: &str) -> Option<OutcomeCounts> {
    let rest = text.strip_prefix("test result: ")?;
    let (_, counts) = rest.split_once(". ")?;
    let counts = counts.split("; finished").next()?;
    count_parts(counts.split(';'), |word| {
        Some(match word {
            "passed" => PASSED,
            "failed" => FAILED,
            "ignored" => SKIPPED,
            "measured" | "filtered out" => OTHER,
            _ => return None,
        })
    })
}

/// Parses `Summary [   0.5s] 10 tests run: 9 passed (1 slow), 1 failed, 0 skipped`.
fn nextest_summary(text: &str) -> Option<OutcomeCounts> {
    let (_, rest) = text.strip_prefix("Summary [")?.split_once("] ")?;
    let (_, counts) = rest.split_once("run: ")?;
    let mut plain = String::new();
    for part in counts.split('(') {
        plain.push_str(
            part.split_once(')')
                .map_or(part, |(_, after)| after)
                .trim_end(),
        );
    }
    count_parts(plain.split(','), |word| {
        Some(match word {
            "passed" => PASSED,
            "failed" | "timed out" | "exec failed" => FAILED,
            "skipped" => SKIPPED,
            _ => OTHER,
        })
    })
}

/// Parses `Tests:       1 failed, 2 skipped, 26 passed, 29 total`.
fn jest_summary(text: &str) -> Option<OutcomeCounts> {
    let counts = text.strip_prefix("Tests: ")?;
    counts.contains(" total").then_some(())?;
    count_parts(counts.split(','), |word| {
        Some(match word {
            "passed" => PASSED,
            "failed" => FAILED,
            "skipped" | "todo" => SKIPPED,
            "total" => OTHER,
            _ => return None,
        })
    })
}

/// Parses `Tests  1 failed | 26 passed | 1 skipped (28)`.
fn vitest_summary(text: &str) -> Option<OutcomeCounts> {
    let rest = text.strip_prefix("Tests  ")?;
    let (counts, total) = rest.rsplit_once(" (")?;
    total.strip_suffix(')')?.parse::<u64>().ok()?;
    count_parts(counts.split('|'), |word| {
        Some(match word {
            "passed" | "expected fail" => PASSED,
            "failed" => FAILED,
            "skipped" | "todo" => SKIPPED,
            _ => return None,
        })
    })
}

/// Parses `27 passing (10ms)`, `1 failing` and `2 pending`.
fn mocha_summary(text: &str) -> Option<OutcomeCounts> {
    let (count, rest) = text.split_once(' ')?;
    let count: u64 = count.parse().ok()?;
    if rest == "failing" {
        return Some([0, count, 0]);
    }
    if rest == "pending" {
        return Some([0, 0, count]);
    }
    let time = rest.strip_prefix("passing (")?.strip_suffix(')')?;
    time.starts_with(|c: char| c.is_ascii_digit())
        .then_some([count, 0, 0])
}

/// Parses `# pass 26`, `# fail 1` and `ℹ skipped 2`, as `node --test` and tape print them.
fn node_summary(text: &str) -> Option<OutcomeCounts> {
    let rest = text
        .strip_prefix("# ")
        .or_else(|| text.strip_prefix("ℹ "))?;
    let (word, count) = rest.split_once(' ')?;
    let count: u64 = count.trim().parse().ok()?;
    match word {
        "pass" => Some([count, 0, 0]),
        "fail" => Some([0, count, 0]),
        "skipped" => Some([0, 0, count]),
        _ => None,
    }
}

/// Parses `[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0`, which stands for all classes;
/// lines with a time stand for one.
fn maven_summary(text: &str) -> Option<OutcomeCounts> {
    let text = ["[INFO] ", "[WARNING] ", "[ERROR] "]
        .iter()
        .find_map(|level| text.strip_prefix(level))
        .unwrap_or(text);
    let rest = text.strip_prefix("Tests run: ")?;
    let mut numbers = [0_u64; 4];
    let mut parts = rest.split(", ");
    numbers[0] = parts.next()?.parse().ok()?;
    for (at, name) in ["Failures: ", "Errors: ", "Skipped: "].iter().enumerate() {
        numbers[at + 1] = parts.next()?.strip_prefix(name)?.parse().ok()?;
    }
    if parts.next().is_some() {
        return None;
    }
    let [all, failures, errors, skipped] = numbers;
    let failed = failures.saturating_add(errors);
    let passed = all.saturating_sub(failed.saturating_add(skipped));
    Some([passed, failed, skipped])
}

/// Parses the lines that begin with `ok` or `FAIL` and name a package. Packages without tests do not count.
fn go_package(line: &str) -> Option<(String, TestOutcome)> {
    let mut words = line.split('\t');
    let outcome = match words.next()?.trim_end() {
        "ok" => TestOutcome::Passed,
        "FAIL" => TestOutcome::Failed,
        _ => return None,
    };
    let package = words.next()?;
    let time = words.next()?;
    let is_time = time == "(cached)" || time.ends_with('s');
    (is_time && !line.contains("[no tests to run]")).then(|| (package.to_owned(), outcome))
}

/// Parses the line of one test: `test a::b ... ok` of cargo, `PASS [   0.01s] crate a::b` of
/// nextest, `--- PASS: TestA (0.00s)` of Go, `tests/a.py::test_b PASSED` of `pytest -v`.
fn listed_test(text: &str) -> Option<(String, TestOutcome)> {
    if let Some(rest) = text.strip_prefix("test ") {
        let (name, outcome) = rest.rsplit_once(" ... ")?;
        // `ignored, for this reason`
        let outcome = match outcome.split(',').next()? {
            "ok" => TestOutcome::Passed,
            "FAILED" => TestOutcome::Failed,
            "ignored" => TestOutcome::Skipped,
            _ => return None,
        };
        let name = name.trim_end_matches(" - should panic");
        return Some((name.to_owned(), outcome));
    }
    for (mark, outcome) in [
        ("PASS [", TestOutcome::Passed),
        ("FAIL [", TestOutcome::Failed),
    ] {
        if let Some(rest) = text.strip_prefix(mark) {
            let (_, name) = rest.split_once("] ")?;
            // `( 1/10) crate a::b`
            let name = name.trim_start();
            let name = match name.strip_prefix('(') {
                Some(counted) => counted.split_once(") ")?.1,
                None => name,
            };
            return Some((name.trim().to_owned(), outcome));
        }
    }
    for (mark, outcome) in [
        ("--- PASS: ", TestOutcome::Passed),
        ("--- FAIL: ", TestOutcome::Failed),
        ("--- SKIP: ", TestOutcome::Skipped),
    ] {
        if let Some(rest) = text.strip_prefix(mark) {
            return Some((rest.split(" (").next()?.to_owned(), outcome));
        }
    }
    let (name, rest) = text.split_once(' ')?;
    let outcome = match rest.split(' ').next()? {
        "PASSED" | "XFAIL" | "XPASS" => TestOutcome::Passed,
        "FAILED" | "ERROR" => TestOutcome::Failed,
        "SKIPPED" => TestOutcome::Skipped,
        _ => return None,
    };
    name.contains(".py::").then(|| (name.to_owned(), outcome))
}

/// Removes the escape sequences with which terminals are told colors.
fn without_colors(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic());
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, says: &str, names: &[&str]) {
        let report = read_output(output).unwrap_or_else(|| panic!("no report: {output}"));
        assert_eq!(report.to_string(), says, "{output}");
        let found: Vec<&str> = report.names.keys().map(String::as_str).collect();
        assert_eq!(found, names, "{output}");
    }

    #[test]
    fn forged_numbers_do_not_overflow() {
        let most = u64::MAX;
        for output in [
            format!("{most} failed, {most} error, {most} passed in 0.15s\n"),
            format!(
                "Ran 3 tests in 0.001s\n\nFAILED (failures={most}, errors={most}, skipped={most})\n"
            ),
            format!("[INFO] Tests run: 5, Failures: {most}, Errors: {most}, Skipped: {most}\n"),
            format!("# fail {most}\n# fail {most}\n# pass {most}\n# pass {most}\n"),
        ] {
            let report = read_output(&output).unwrap();
            assert_eq!((report.failed, report.ran()), (most, most), "{output}");
        }
    }

    #[test]
    fn runners_print_what_they_ran() {
        for (output, says) in [
            (
                "..F\n1 failed, 26 passed in 0.15s\n",
                "pytest: 1 failed, 26 passed",
            ),
            (
                "\u{1b}[31m=== \u{1b}[1m1 failed\u{1b}[0m, 2 passed, 1 skipped, 3 warnings, 1 error in 61.50s (0:01:01) ===\n",
                "pytest: 2 failed, 2 passed, 1 skipped",
            ),
            ("===== no tests ran in 0.01s =====\n", "pytest: 0 passed"),
            ("Ran 27 tests in 0.001s\n\nOK\n", "unittest: 27 passed"),
            (
                "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n",
                "unittest: 2 failed, 0 passed, 1 skipped",
            ),
            (
                "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n",
                "unittest: 0 passed",
            ),
            (
                "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                 test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
                "cargo test: 1 failed, 7 passed, 1 skipped",
            ),
            (
                "     Summary [   0.512s] 10 tests run: 9 passed (1 slow), 1 failed, 2 skipped\n",
                "nextest: 1 failed, 9 passed, 2 skipped",
            ),
            (
                "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 skipped, 26 passed, 29 total\n",
                "jest: 1 failed, 26 passed, 2 skipped",
            ),
            (
                " Test Files  2 passed (2)\n      Tests  1 failed | 26 passed | 1 skipped (28)\n",
                "vitest: 1 failed, 26 passed, 1 skipped",
            ),
            (
                "  27 passing (10ms)\n  2 pending\n  1 failing\n",
                "mocha: 1 failed, 27 passed, 2 skipped",
            ),
            (
                "# tests 5\n# pass 4\n# fail 1\n# skipped 0\n",
                "node:test: 1 failed, 4 passed",
            ),
            ("ℹ tests 5\nℹ pass 5\nℹ fail 0\n", "node:test: 5 passed"),
            (
                "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in A\n\
                 [INFO] Results:\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n",
                "maven: 2 failed, 2 passed, 1 skipped",
            ),
        ] {
            check(output, says, &[]);
        }
    }

    #[test]
    fn some_runners_name_each_test() {
        check(
            "test a::b ... ok\ntest a::c - should panic ... ok\ntest a::d ... ignored, slow\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n",
            "cargo test: 2 passed, 1 skipped",
            &["a::b", "a::c", "a::d"],
        );
        check(
            "        PASS [   0.005s] ( 1/10) app::it people::ask\n        FAIL [   0.1s] app::it b\n\
             ────\n     Summary [   0.5s] 2 tests run: 1 passed, 1 failed, 0 skipped\n",
            "nextest: 1 failed, 1 passed",
            &["app::it b", "app::it people::ask"],
        );
        check(
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\nok  \texample.com/a\t0.004s\n?   \texample.com/b\t[no test files]\n",
            "go test: 1 passed",
            &["TestA", "example.com/a"],
        );
        check(
            "tests/test_a.py::test_b[1 2] PASSED [ 50%]\ntests/test_a.py::test_c SKIPPED (no)  [100%]\n=== 1 passed, 1 skipped in 0.01s ===\n",
            "pytest: 1 passed, 1 skipped",
            &["tests/test_a.py::test_c"],
        );
    }

    #[test]
    fn what_only_looks_like_a_summary_is_none() {
        for output in [
            "",
            "3 files reformatted in 0.1s\n",
            "passed in 0.1s\n",
            "Success: no issues found in 12 source files\n",
            "2 passing thoughts (of many)\n",
            "OK\n",
            "Ran 3 laps in 4s\n",
            "# pass the salt\n",
            "Tests: all fine\n",
            "ok\n",
        ] {
            assert_eq!(read_output(output), None, "{output}");
        }
    }
}
