//! Compares what a test command reports after a change with what it reported before.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::findings::{ReportedFinding, Severity};

use super::{TestOutcome, TestReport};
use crate::CheckFindings;
use crate::honesty::{HonestySubject, join_names};

/// Checks that the tests that ran before still run: the command reports its tests at all, and none
/// of them is missing or skipped. A test whose removal the change shows in its lines is left to the
/// rules for texts; reviewers get a finding.
pub fn check_tests_ran(
    subject: &HonestySubject<'_>,
    command: &str,
    before: &TestReport,
    now: Option<&TestReport>,
) -> CheckFindings {
    let Some(now) = now else {
        return CheckFindings {
            failures: vec![format!(
                "`{command}` ended well and reports no tests; before the change it reported {before}: let the \
                 test runner come to its end"
            )],
            ..CheckFindings::default()
        };
    };
    let shown = RemovedWords::collect(subject);
    if before.names.is_empty() || now.names.is_empty() {
        return compare_counts(command, before, now, &shown);
    }
    compare_names(command, before, now, &shown)
}

/// The words of the lines that a change takes out, and whether it takes out lines of tests.
struct RemovedWords<'a> {
    words: BTreeMap<&'a str, &'a str>,
    /// The test files that lines were taken out of, or that new lines may skip tests of.
    tests: Vec<String>,
    /// Whether the task names tests, so that they may change.
    may_change: bool,
}

impl<'a> RemovedWords<'a> {
    fn collect(subject: &HonestySubject<'a>) -> Self {
        let mut words = BTreeMap::new();
        let mut tests = Vec::new();
        for file in &subject.change.files {
            let is_test = subject.tests.is_test(&file.path);
            if is_test && (!file.removed.is_empty() || skips_tests(file)) {
                tests.push(file.path.clone());
            }
            for line in &file.removed {
                for word in line
                    .text
                    .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                {
                    words.entry(word).or_insert(file.path.as_str());
                }
            }
            // A file whose tests are skipped as a whole, or that lost what ran them, still has their
            // names.
            if is_test && skips_tests(file) {
                let text = file.after.text().unwrap_or_default();
                for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                    words.entry(word).or_insert(file.path.as_str());
                }
            }
        }
        let names_test = |pattern: &String| {
            let folder = pattern.trim_end_matches('/');
            subject.tests.is_test(pattern) || subject.tests.is_test(&format!("{folder}/x"))
        };
        Self {
            words,
            tests,
            may_change: subject.files.iter().any(names_test),
        }
    }

    /// Returns the file that the change takes a test out of.
    fn file_of(&self, test: &str) -> Option<&'a str> {
        let plain = function_of(test);
        let name = plain.rsplit([':', '.', ' ', '/']).next().unwrap_or(plain);
        self.words.get(name).copied()
    }
}

/// Returns true if a change adds what keeps tests from being run.
fn skips_tests(file: &crate::ChangedFile) -> bool {
    let marks = ["skip", "xfail", "importorskip", "#[ignore"];
    file.added
        .iter()
        .any(|line| marks.iter().any(|mark| line.text.contains(mark)))
}

fn compare_counts(
    command: &str,
    before: &TestReport,
    now: &TestReport,
    shown: &RemovedWords<'_>,
) -> CheckFindings {
    let mut found = CheckFindings::default();
    if now.ran() >= before.ran() {
        return found;
    }
    let told = format!("`{command}` reports {now}; before the change it reported {before}");
    if shown.tests.is_empty() && !shown.may_change {
        found.failures.push(format!(
            "{told}, and the change takes out no test: let all tests run"
        ));
        return found;
    }
    found.notes.push(told.clone());
    found.findings.push(ReportedFinding {
        severity: Severity::Minor,
        title: "fewer tests run than before the change".to_owned(),
        detail: format!("{told}. Judge whether those tests had to go."),
        file: shown.tests.first().cloned(),
        line: None,
    });
    found
}

fn compare_names(
    command: &str,
    before: &TestReport,
    now: &TestReport,
    shown: &RemovedWords<'_>,
) -> CheckFindings {
    let mut found = CheckFindings::default();
    let (was, is) = (cases(before), cases(now));
    let plain_names: BTreeSet<&str> = is.keys().map(|test| short_name(test)).collect();
    let mut hidden = Vec::new();
    let mut removed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut thinned = Vec::new();
    for (test, count) in &was {
        match (is.get(test), shown.file_of(test)) {
            (Some(left), _) if left >= count => {}
            (Some(left), file) => thinned.push((*test, *count, *left, file)),
            // It was moved to another file.
            (None, Some(_)) if plain_names.contains(short_name(test)) => {}
            (None, Some(file)) => removed.entry(file).or_default().push((*test).to_owned()),
            (None, None) => hidden.push((*test).to_owned()),
        }
    }
    if !hidden.is_empty() {
        let skipped = hidden.iter().all(|test| is_listed(now, test));
        let how = if skipped { "skips" } else { "does not run" };
        let told = format!(
            "`{command}` {how} tests that ran before: {}",
            join_names(&hidden)
        );
        if shown.may_change {
            found.notes.push(told.clone());
            found.findings.push(ReportedFinding {
                severity: Severity::Minor,
                title: "tests that ran before the change do not run".to_owned(),
                detail: format!("{told}. The task names tests, so that they may change. Judge whether they had to go."),
                file: None,
                line: None,
            });
        } else {
            found.failures.push(format!(
                "{told}; the change does not take them out: let them run"
            ));
        }
    }
    for (file, tests) in removed {
        let title = format!("tests no longer run: {}", join_names(&tests));
        found.notes.push(format!("{file}: {title}"));
        found.findings.push(ReportedFinding {
            severity: Severity::Minor,
            title,
            detail: format!(
                "They ran before the change (`{command}`), and the change takes them out of `{file}` or renames \
                 them. Judge whether what they tested is gone too, or is tested elsewhere."
            ),
            file: Some(file.to_owned()),
            line: None,
        });
    }
    for (test, count, left, file) in thinned {
        let title = format!("`{test}` runs with {left} cases, {count} before the change");
        found.notes.push(title.clone());
        found.findings.push(ReportedFinding {
            severity: Severity::Minor,
            title,
            detail: "Judge whether the cases that are gone had to go.".to_owned(),
            file: file.map(str::to_owned),
            line: None,
        });
    }
    found
}

/// Returns the tests that were run, with the number of cases of each.
fn cases(report: &TestReport) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for (name, outcome) in &report.names {
        if *outcome != TestOutcome::Skipped {
            *found.entry(function_of(name)).or_default() += 1;
        }
    }
    found
}

/// Returns true if a report lists a test, whatever became of it.
fn is_listed(report: &TestReport, test: &str) -> bool {
    report.names.keys().any(|name| function_of(name) == test)
}

/// Returns a test's name without the case: `a::test_b` of `a::test_b[1-2]`, `TestA` of `TestA/one`.
fn function_of(name: &str) -> &str {
    let is_go = ["Test", "Fuzz", "Example"]
        .iter()
        .any(|word| name.starts_with(word));
    let function = if is_go && !name.contains("::") {
        name.split('/').next()
    } else {
        name.split('[').next()
    };
    function.unwrap_or(name)
}

fn short_name(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}
