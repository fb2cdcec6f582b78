//! Reads which lines the tests have run, from the reports that coverage tools leave, and compares it
//! with the lines that a change has added or edited.
//!
//! lcov (`lcov.info`), Cobertura XML (`coverage.xml`) and the JSON of coverage.py are read. The
//! tested process has written them, so they are read as what a stranger wrote: only lines of changed
//! files are kept, a broken report is read as far as it goes, and what it says never refuses or
//! approves anything.

mod cobertura;
mod coverage_py;
mod lcov;

use std::collections::{BTreeMap, HashMap};

use codeteam_core::checks::ChangedCoverage;

use crate::change::{ChangeSet, ChangedFile};
use crate::proof::TestPatterns;
use crate::source::is_source;

/// The largest report that is read.
pub const LONGEST: usize = 32 << 20;
/// The largest number of places that are listed.
const LISTED: usize = 20;
/// How many bytes of file names of a report are compared with those of the change. A report of a
/// hundred thousand files that are called like some of the change needs less; one that was made to
/// take for ever is read so far.
const MOST_COMPARED: usize = 64 << 20;
/// How long the path of a file usually is at most.
const USUAL_PATH: usize = 128;

/// The lines of the changed files that a report knows, and whether the tests have run them.
#[derive(Debug)]
struct LineHits<'c> {
    change: &'c ChangeSet,
    /// The positions of the changed files, by the last part of their paths.
    by_name: HashMap<&'c str, Vec<usize>>,
    /// By the position of the file in the change.
    files: BTreeMap<usize, BTreeMap<u32, bool>>,
    /// How many bytes of names may still be compared.
    left: usize,
}

/// Reads a report and returns how much of the changed lines the tests have run. Returns `None` if it
/// is no report of a known form, or knows none of these lines.
pub fn read_coverage(
    report: &str,
    text: &str,
    change: &ChangeSet,
    tests: &TestPatterns,
) -> Option<ChangedCoverage> {
    let mut hits = LineHits::new(change);
    let start = text.trim_start();
    if start.starts_with('{') {
        coverage_py::read(text, &mut hits);
    } else if start.starts_with('<') {
        cobertura::read(text, &mut hits);
    } else {
        lcov::read(text, &mut hits);
    }
    let mut found = ChangedCoverage {
        report: report.to_owned(),
        ..ChangedCoverage::default()
    };
    for (at, lines) in &hits.files {
        let file = &change.files[*at];
        if !is_product(file, tests) {
            continue;
        }
        let mut missed = Vec::new();
        for line in &file.added {
            match lines.get(&line.number) {
                None => {}
                Some(true) => found.covered += 1,
                Some(false) => missed.push(line.number),
            }
        }
        found.lines += u32::try_from(missed.len()).unwrap_or(u32::MAX);
        found
            .missed
            .extend(ranges(&missed).map(|range| format!("{}:{range}", file.path)));
    }
    found.lines += found.covered;
    found.missed.truncate(LISTED);
    (found.lines > 0).then_some(found)
}

fn is_product(file: &ChangedFile, tests: &TestPatterns) -> bool {
    is_source(&file.path) && !tests.is_test(&file.path)
}

/// Returns sorted numbers as ranges: `4`, `7-9`.
fn ranges(numbers: &[u32]) -> impl Iterator<Item = String> {
    let groups = numbers.chunk_by(|a, b| a + 1 == *b);
    groups.filter_map(|group| match group {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    })
}

impl<'c> LineHits<'c> {
    fn new(change: &'c ChangeSet) -> Self {
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, file) in change.files.iter().enumerate() {
            by_name.entry(last_part(&file.path)).or_default().push(at);
        }
        Self {
            change,
            by_name,
            files: BTreeMap::new(),
            left: MOST_COMPARED,
        }
    }

    /// Returns the position of the changed file that a report calls by this path: relative to the
    /// top of the repository, or somewhere above it.
    fn find(&mut self, path: &str) -> Option<usize> {
        self.find_below("", path)
    }

    /// Does the same for a path below a folder.
    fn find_below(&mut self, folder: &str, path: &str) -> Option<usize> {
        let path = path.trim();
        let known = self.by_name.get(last_part(path))?;
        let cost = folder.len() + path.len() + known.len() * USUAL_PATH;
        let Some(left) = self.left.checked_sub(cost) else {
            self.left = 0;
            return None;
        };
        self.left = left;
        let joined = match folder {
            "" => path.to_owned(),
            folder => format!("{}/{path}", folder.trim_end_matches('/')),
        };
        let path = joined.trim_start_matches("./");
        let is_called = |file: &ChangedFile| {
            let before = path.strip_suffix(file.path.as_str());
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let found = known.iter().copied();
        let found = found.filter(|at| is_called(&self.change.files[*at]));
        // Of several, the longest name is meant: `a/b.py` rather than `b.py`.
        found.max_by_key(|at| self.change.files[*at].path.len())
    }

    /// Records a line. A line that is listed several times was run if any of them says so.
    fn record(&mut self, file: usize, line: u32, is_run: bool) {
        let lines = self.files.entry(file).or_default();
        // No file of a change has more lines than its longest text.
        if lines.len() < crate::change::LONGEST {
            *lines.entry(line).or_default() |= is_run;
        }
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> ChangeSet {
        ChangeSet::between_texts(&[
            ("b.py", None, Some("x = 1\n")),
            ("src/a.py", Some("a\nb\n"), Some("a\nb\nc\nd\ne\nf\n")),
            ("tests/test_a.py", None, Some("a\n")),
        ])
    }

    fn read(text: &str) -> Option<ChangedCoverage> {
        let tests = TestPatterns::new(&["tests/**".to_owned()]);
        read_coverage("cov", text, &change(), &tests)
    }

    #[track_caller]
    fn check(text: &str, covered: u32, lines: u32, missed: &[&str]) {
        let found = read(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((found.covered, found.lines), (covered, lines), "{text}");
        assert_eq!(found.missed, missed, "{text}");
        assert_eq!(found.report, "cov");
    }

    #[test]
    fn every_form_gives_the_same() {
        let missed = ["src/a.py:4-5"];
        check(
            "TN:\nSF:/work/tree/src/a.py\nFN:1,f\nDA:1,0\nDA:3,2\nDA:4,0\nDA:5,0,md5\nDA:6,1\nend_of_record\nSF:other.py\nDA:3,0\nend_of_record\nSF:tests/test_a.py\nDA:1,0\nend_of_record\n",
            2,
            4,
            &missed,
        );
        check(
            r#"<?xml version="1.0" ?><coverage version="7"><sources><source>/work/tree/src</source></sources><packages><package name="."><classes><class name="a.py" filename="a.py" line-rate="0.5"><methods/><lines><line number="1" hits="0"/><line number="3" hits="2"/><line number="4" hits="0"/><line number="5" hits="0" branch="true"/><line number="6" hits="1"/></lines></class></classes></package></packages></coverage>"#,
            2,
            4,
            &missed,
        );
        check(
            r#"{"meta": {"version": "7.0"}, "files": {"src/a.py": {"executed_lines": [3, 6], "missing_lines": [1, 4, 5], "summary": {"x": 1}}, "other.py": {"executed_lines": [3], "missing_lines": []}}}"#,
            2,
            4,
            &missed,
        );
    }

    #[test]
    fn a_name_means_the_file_with_the_longest_path() {
        let change = ChangeSet::between_texts(&[
            ("a.py", None, Some("x\n")),
            ("src/a.py", None, Some("x\n")),
        ]);
        let tests = TestPatterns::new(&[]);
        let found = read_coverage("c", "SF:/w/src/a.py\nDA:1,0\n", &change, &tests).unwrap();
        assert_eq!(found.missed, ["src/a.py:1"]);
        let found = read_coverage("c", "SF:./a.py\nDA:1,0\n", &change, &tests).unwrap();
        assert_eq!(found.missed, ["a.py:1"]);
        assert_eq!(
            read_coverage("c", "SF:extra.py\nDA:1,0\n", &change, &tests),
            None
        );
    }

    #[test]
    fn what_is_broken_or_says_nothing_is_no_report() {
        for text in [
            "",
            "hello",
            "{",
            "{\"files\": 3}",
            "<coverage",
            "<a><line number=\"3\" hits=\"1\"/></a>",
            "DA:3,1\n",
            "SF:src/a.py\nDA:x,1\nDA:99999999999,1\nDA:2,1\n",
            "{\"files\": {\"src/a.py\": {\"executed_lines\": [2]}}}",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let half = "SF:src/a.py\nDA:3,1\nDA:4";
        check(half, 1, 1, &[]);
        let many: String = (1..100_000).fold("SF:src/a.py\n".to_owned(), |text, n| {
            text + &format!("DA:{n},0\n")
        });
        check(&many, 0, 4, &["src/a.py:3-6"]);
    }

    /// A hundred folders, and classes of files that are all called like the changed ones: whoever is
    /// tested can write such a report, and nothing ends the comparison but itself.
    #[test]
    fn a_report_that_was_made_to_take_for_ever_is_read_so_far() {
        let paths: Vec<String> = (0..200)
            .map(|n| format!("src/part{n}/__init__.py"))
            .collect();
        let files: Vec<_> = paths
            .iter()
            .map(|path| (path.as_str(), None, Some("x = 1\n")))
            .collect();
        let change = ChangeSet::between_texts(&files);
        let folder = format!("<source>/{}</source>", "x/".repeat(50_000));
        let lines = "<line number=\"1\" hits=\"1\"/>";
        let class = "<class filename=\"other/__init__.py\">";
        let last = format!("<class filename=\"src/part7/__init__.py\">{lines}</class>");
        let tests = TestPatterns::new(&[]);
        let read = |classes: usize| {
            let text = format!(
                "<coverage><sources>{}</sources>{}{last}</coverage>",
                folder.repeat(40),
                class.repeat(classes)
            );
            read_coverage("cov", &text, &change, &tests)
        };
        assert_eq!(read(0).map(|found| found.covered), Some(1));
        assert_eq!(read(20_000), None);
    }
}
