//! Tells which of the new tests prove nothing about a change, where the runner names each of its
//! tests.

use crate::test_report::{TestOutcome, TestReport};

/// Returns the tests that were not there before a change, pass with it, and pass without the rest of
/// it, too. Others of the change may fail without it, as they must.
pub fn find_idle_tests(
    before: &TestReport,
    without: &TestReport,
    with: &TestReport,
) -> Vec<String> {
    let passes =
        |report: &TestReport, name: &str| report.names.get(name) == Some(&TestOutcome::Passed);
    // Runners that list packages or files besides tests pass as a whole.
    let is_new = |name: &&String| !before.names.contains_key(*name);
    let names = with.names.keys().filter(is_new);
    names
        .filter(|name| passes(with, name) && passes(without, name))
        .cloned()
        .collect()
}

/// Returns true if there are more tests after a change than before, by the names that a runner gives
/// them, or `None` if it gives none. A test that was renamed is one that is gone and one that is new.
pub fn adds_tests(before: &TestReport, after: &TestReport) -> Option<bool> {
    if before.names.is_empty() {
        return None;
    }
    let missing = |from: &TestReport, names: &TestReport| {
        let names = names.names.keys();
        names.filter(|name| !from.names.contains_key(*name)).count()
    };
    Some(missing(before, after) > missing(after, before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_tests_that_pass_anyway_are_named() {
        let report = |text: &str| {
            let end = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
            TestReport::read(&format!("{text}{end}\n"), None).unwrap()
        };
        let before = report("test old ... ok\n");
        let with =
            report("test old ... ok\ntest proves ... ok\ntest idle ... ok\ntest off ... ignored\n");
        let without = report(
            "test old ... ok\ntest proves ... FAILED\ntest idle ... ok\ntest off ... ignored\n",
        );
        assert_eq!(find_idle_tests(&before, &without, &with), ["idle"]);
        // Without names nothing is known.
        assert_eq!(find_idle_tests(&before, &report(""), &with), [""; 0]);
    }

    #[test]
    fn a_renamed_test_is_not_an_additional_one() {
        let report = |names: &[&str]| {
            let lines: Vec<String> = names
                .iter()
                .map(|name| format!("test {name} ... ok\n"))
                .collect();
            let lines = lines.concat();
            let end = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
            TestReport::read(&format!("{lines}{end}\n"), None).unwrap()
        };
        let before = report(&["a", "b"]);
        assert_eq!(adds_tests(&before, &report(&["a", "b", "c"])), Some(true));
        assert_eq!(adds_tests(&before, &report(&["c", "d", "e"])), Some(true));
        assert_eq!(adds_tests(&before, &report(&["a", "c"])), Some(false));
        assert_eq!(adds_tests(&before, &report(&["a"])), Some(false));
        assert_eq!(adds_tests(&report(&[]), &before), None);
    }
}
