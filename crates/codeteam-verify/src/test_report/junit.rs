//! Reads a `JUnit` file: the form in which pytest, Maven, Gradle and others list their tests.
//!
//! Only the tags of test cases and what is directly in them count. The file was written by the
//! tested process, so everything in it is untrusted, and a broken one is read as far as it goes.

use super::{TestOutcome, TestReport};

/// Reads the tests of a `JUnit` file. Returns `None` if it lists no suite.
pub(super) fn read_junit(text: &str) -> Option<TestReport> {
    if !text.contains("<testsuite") {
        return None;
    }
    let mut report = TestReport::default();
    report.add_runner("pytest");
    let mut open: Option<(String, TestOutcome)> = None;
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        if let Some(data) = rest.strip_prefix("<![CDATA[") {
            rest = data.split_once("]]>").map_or("", |(_, after)| after);
            continue;
        }
        let end = tag_end(rest);
        let tag = &rest[1..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let word = tag.split([' ', '\n', '\t', '/']).next().unwrap_or_default();
        match word {
            "testcase" => {
                let name = match (attribute(tag, "classname"), attribute(tag, "name")) {
                    (Some(class), Some(name)) if !class.is_empty() => format!("{class}::{name}"),
                    (_, name) => name.unwrap_or_default(),
                };
                if tag.ends_with('/') {
                    record(&mut report, name, TestOutcome::Passed);
                } else {
                    open = Some((name, TestOutcome::Passed));
                }
            }
            "failure" | "error" => {
                if let Some((_, outcome)) = &mut open {
                    *outcome = TestOutcome::Failed;
                }
            }
            "skipped" => {
                // pytest lists a test that fails as expected like one that was skipped.
                let is_expected = attribute(tag, "type").as_deref() == Some("pytest.xfail");
                if let Some((_, outcome)) = &mut open
                    && *outcome == TestOutcome::Passed
                    && !is_expected
                {
                    *outcome = TestOutcome::Skipped;
                }
            }
            _ if tag.starts_with("/testcase") => {
                if let Some((name, outcome)) = open.take() {
                    record(&mut report, name, outcome);
                }
            }
            _ => {}
        }
    }
    Some(report)
}

fn record(report: &mut TestReport, name: String, outcome: TestOutcome) {
    match outcome {
        TestOutcome::Skipped => report.skipped += 1,
        TestOutcome::Passed => report.passed += 1,
        TestOutcome::Failed => report.failed += 1,
    }
    // pytest lists a file that cannot be loaded without a class: that is no test.
    if name.contains("::") {
        report.add_test(name, outcome);
    }
}

/// Returns the position of the `>` that ends a tag; one within quotes does not.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    text.len()
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag
        .match_indices(name)
        .find(|(at, _)| {
            tag[..*at].ends_with([' ', '\n', '\t']) && tag[at + name.len()..].starts_with("=\"")
        })
        .map(|(at, _)| at + name.len() + 2)?;
    let value = tag[start..].split('"').next()?;
    let plain = value
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#10;", "\n")
        .replace("&amp;", "&");
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_and_an_outcome() {
        let text = r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="0" failures="1" skipped="2" tests="5" time="0.1"><testcase classname="tests.test_a" name="test_b[x &gt; 1]" time="0.001" /><testcase classname="tests.test_a.TestC" name="test_d" time="0.001"><failure message="a &gt; b">def test_d(): <![CDATA[ <testcase name="x"/> ]]></failure></testcase><testcase classname="tests.test_a" name="test_e" time="0.0"><skipped type="pytest.skip" message="no">x</skipped></testcase><testcase classname="tests.test_a" name="test_f"><skipped type="pytest.xfail" message="" /></testcase><testcase classname="" name="tests.test_g" time="0.0"><error message="collection failure">x</error></testcase></testsuite></testsuites>"#;
        let report = read_junit(text).unwrap();
        let named: Vec<(&str, TestOutcome)> = report
            .names
            .iter()
            .map(|(name, outcome)| (name.as_str(), *outcome))
            .collect();
        assert_eq!(
            named,
            [
                ("tests.test_a.TestC::test_d", TestOutcome::Failed),
                ("tests.test_a::test_b[x > 1]", TestOutcome::Passed),
                ("tests.test_a::test_e", TestOutcome::Skipped),
                ("tests.test_a::test_f", TestOutcome::Passed),
            ]
        );
        assert_eq!(
            (report.passed, report.failed, report.skipped),
            (2, 2, 1),
            "{report}"
        );
    }

    #[test]
    fn what_is_broken_is_read_as_far_as_it_goes() {
        assert_eq!(read_junit(""), None);
        assert_eq!(read_junit("<testcase name=\"a\"/>"), None);
        for text in [
            "<testsuite",
            "<testsuite><testcase name=\"a",
            "<testsuite><",
            "<testsuite>ä<testcase",
        ] {
            assert_eq!(
                read_junit(text).map(|report| report.failed),
                Some(0),
                "{text}"
            );
        }
    }
}
