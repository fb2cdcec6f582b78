//! Rule: the existing tests are kept; none is removed, skipped or weakened.
//!
//! This rule compares texts. Whether the old tests still pass with the new code is found by running
//! them, if there are commands for that; then fewer assertions are a finding for reviewers, because
//! they are often merged. Files that the task lists in `files` may change; that is
//! reported. For languages without a grammar, only assertions are counted, not test functions.

use std::collections::{BTreeSet, HashMap};

use codeteam_context::language::Language;
use codeteam_context::outline::outline;
use codeteam_core::findings::{ReportedFinding, Severity};

use super::skips::is_test_skip;
use super::{HonestySubject, TESTS_MUST_BE_NAMED, join_names, shorten_line};
use crate::CheckFindings;
use crate::change::ChangedFile;
use crate::expected_outputs::is_expected_output;
use crate::source::has_end;

/// Returns the changed test files that are not the task's to change, including new ones: what a new
/// test file does when it is loaded affects all others.
pub fn foreign_test_changes<'a>(subject: &HonestySubject<'a>) -> Vec<&'a ChangedFile> {
    let files = subject.change.files.iter();
    files
        .filter(|file| subject.tests.is_test(&file.path) && !subject.may_change_test(file))
        .collect()
}

/// Returns the manifest that makes a new test file necessary for the build, if there is one: it
/// existed before and now lists the file. This concerns only languages whose tests are compiled. In
/// others, the runner finds the tests, and whatever needs one of them is run by it.
pub fn manifest_requiring<'a>(
    subject: &HonestySubject<'a>,
    new: &[&ChangedFile],
) -> Option<&'a str> {
    const BUILT: &[&str] = &[
        "c", "cc", "cpp", "cxx", "h", "hpp", "rs", "zig", "hs", "ml", "d", "nim", "f90", "cs", "m",
        "mm", "swift", "java", "kt", "scala",
    ];
    const MANIFESTS: &[&str] = &[
        "CMakeLists.txt",
        "meson.build",
        "Cargo.toml",
        "Makefile",
        "Makefile.am",
        "BUILD",
        "BUILD.bazel",
        "build.zig",
        "dune",
        "SConstruct",
    ];
    let names: Vec<&str> = new
        .iter()
        .filter(|file| has_end(&file.path, BUILT))
        .filter_map(|file| file.path.rsplit('/').next())
        .collect();
    let lists = |file: &&ChangedFile| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let is_manifest = MANIFESTS.contains(&name) || has_end(name, &["mk", "cabal", "csproj"]);
        let has = |text: &str| names.iter().any(|name| text.contains(name));
        is_manifest && !file.is_new() && file.added.iter().any(|line| has(&line.text))
    };
    let found = subject.change.files.iter().find(lists)?;
    Some(found.path.as_str())
}

/// Finds what is missing of the existing tests.
pub(crate) fn check_tests_kept(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    let files: Vec<&ChangedFile> = subject.change.files.iter().collect();
    let tests: Vec<&ChangedFile> = files
        .into_iter()
        .filter(|file| subject.tests.is_test(&file.path) && !is_expected_output(&file.path))
        .collect();
    let mut now: Vec<BTreeSet<String>> = Vec::new();
    for file in &tests {
        if subject.is_out_of_time(&file.path, &mut found) {
            // What cannot be compared is not known to exist still.
            return found;
        }
        now.push(tests_in(&file.path, file.after.text()));
    }
    let moved = TestLineIndex::from_tests(&tests);
    // A test that moved to another test file still exists.
    let somewhere: BTreeSet<&String> = now.iter().flatten().collect();
    let mut told = Vec::new();
    let mut balance = (0, 0, Vec::new());
    for (file, now) in tests.iter().zip(&now) {
        if subject.is_out_of_time(&file.path, &mut found) {
            break;
        }
        let mut wrong = Vec::new();
        let was = tests_in(&file.path, file.before.text());
        let gone: Vec<String> = was
            .iter()
            .filter(|name| !now.contains(*name) && !somewhere.contains(name))
            .cloned()
            .collect();
        let path = &file.path;
        let is_moved = file.is_deleted() && gone.is_empty() && moved.was_moved(file);
        if file.is_deleted() && !is_moved && subject.tests.is_test_program(path) {
            wrong.push(format!("{path}: the test file is gone"));
        } else if !gone.is_empty() {
            let line = format!("{path}: gone: {}", join_names(&gone));
            let asserts = |text| count_assertions(path, text);
            let as_many =
                now.len() >= was.len() && asserts(file.after.text()) >= asserts(file.before.text());
            if as_many {
                // They appear to be renamed. Running the old ones shows whether they still pass.
                told.push(line);
            } else {
                wrong.push(line);
            }
        }
        wrong.extend(newly_skipped(file));
        wrong.extend(emptied_tests(file));
        if subject.is_task_file(path) {
            // The task allows it.
            told.extend(wrong);
            continue;
        }
        let counts = (
            count_assertions(path, file.before.text()),
            count_assertions(path, file.after.text()),
        );
        balance.0 += counts.0;
        balance.1 += counts.1;
        if counts.1 < counts.0 && wrong.is_empty() {
            let line = format!(
                "{path}: it had {} assertions and has {}",
                counts.0, counts.1
            );
            balance.2.push((path, line));
        }
        found.failures.extend(wrong);
    }
    if balance.1 < balance.0 {
        if subject.runs_old_tests {
            // Assertions are often merged. If the old ones fail with the new code, running them shows it.
            let fewer = balance.2.into_iter();
            found
                .findings
                .extend(fewer.map(|(path, line)| fewer_assertions(path, line)));
        } else {
            let fewer = balance.2.into_iter();
            found.failures.extend(fewer.map(|(_, line)| line));
        }
    }
    if let Some(last) = found.failures.last_mut() {
        last.push_str("\nput the tests back as they were, and fix the code. ");
        last.push_str(TESTS_MUST_BE_NAMED);
    }
    let inline = subject.change.files.iter().filter(|file| {
        !subject.tests.is_test(&file.path)
            && Language::from_path(&file.path) == Some(Language::Rust)
    });
    for file in inline {
        if subject.is_out_of_time(&file.path, &mut found) {
            break;
        }
        found.findings.extend(weaker_inline_tests(file, &somewhere));
    }
    found.findings.extend(rewritten_outputs(subject));
    found.notes = told;
    found
}

/// Creates the finding for reviewers about expected outputs that are not what they were, where running
/// the tests with the old ones does not settle whether they had to change.
fn rewritten_outputs(subject: &HonestySubject<'_>) -> Option<ReportedFinding> {
    let files = subject.change.files.iter();
    let is_left = |file: &&ChangedFile| {
        let path = &file.path;
        let is_tried = subject.runs_old_tests && !subject.may_change_test(file);
        is_expected_output(path) && subject.tests.is_test(path) && !file.is_new() && !is_tried
    };
    let left: Vec<&ChangedFile> = files.filter(is_left).collect();
    let first = left.first()?;
    let is_named = |file: &&ChangedFile| {
        subject.may_change_test(file) && !subject.is_output_of_task_module(file)
    };
    let paths: Vec<String> = left.iter().map(|file| file.path.clone()).collect();
    Some(ReportedFinding {
        severity: if left.iter().all(is_named) {
            Severity::Info
        } else {
            Severity::Minor
        },
        title: "what tests expect was rewritten".to_owned(),
        detail: format!(
            "{}. The checks pass with what it says now, and no check can tell whether that is right. Compare \
             it with what the task asks for.",
            join_names(&paths)
        ),
        file: Some(first.path.clone()),
        line: None,
    })
}

/// Returns a finding for reviewers if the tests that stand in a module of Rust are fewer, skipped, or
/// assert less than before. A task that names the module does not thereby ask for that, and cannot
/// name its tests by themselves.
fn weaker_inline_tests(
    file: &ChangedFile,
    somewhere: &BTreeSet<&String>,
) -> Option<ReportedFinding> {
    let was = tests_in(&file.path, file.before.text());
    if was.is_empty() {
        return None;
    }
    let now = tests_in(&file.path, file.after.text());
    let is_gone = |name: &&String| !now.contains(*name) && !somewhere.contains(name);
    let gone: Vec<String> = was.iter().filter(is_gone).cloned().collect();
    let asserts = |text: Option<&str>| {
        let text = text.and_then(|text| text.find("#[cfg(test)]").map(|at| &text[at..]));
        count_assertions(&file.path, text)
    };
    let (before, after) = (asserts(file.before.text()), asserts(file.after.text()));
    let mut told = newly_skipped(file);
    if !gone.is_empty() {
        told.push(format!("gone: {}", join_names(&gone)));
    }
    if after < before {
        told.push(format!("it had {before} assertions and has {after}"));
    }
    (!told.is_empty()).then(|| ReportedFinding {
        severity: Severity::Minor,
        title: format!("the tests in `{}` test less than before", file.path),
        detail: format!(
            "{}. They stand in a module that the task may change. Judge whether what they tested is gone \
             too, or is tested elsewhere.",
            told.join("; ")
        ),
        file: Some(file.path.clone()),
        line: None,
    })
}

/// Creates the finding for reviewers about a test file with fewer assertions than before.
fn fewer_assertions(path: &str, line: String) -> ReportedFinding {
    ReportedFinding {
        severity: Severity::Minor,
        title: line,
        detail: "The task does not name this file. As it was before, its tests pass with the change too, so \
                 nothing is hidden by it now. Judge whether the assertions were merged or reworded, or whether \
                 something is not tested any more."
            .to_owned(),
        file: Some(path.to_owned()),
        line: None,
    }
}

/// For each added line, the test files that it was added to.
struct TestLineIndex<'a>(HashMap<&'a str, Vec<usize>>);

impl<'a> TestLineIndex<'a> {
    fn from_tests(tests: &[&'a ChangedFile]) -> Self {
        let mut lines: HashMap<&str, Vec<usize>> = HashMap::new();
        // Without a deleted file, nothing was moved.
        if !tests.iter().any(|file| file.is_deleted()) {
            return Self(lines);
        }
        for (at, file) in tests.iter().enumerate() {
            for line in &file.added {
                let files = lines.entry(line.text.trim()).or_default();
                if files.last() != Some(&at) {
                    files.push(at);
                }
            }
        }
        Self(lines)
    }

    /// Returns true if most of a file's lines were added to another one.
    fn was_moved(&self, file: &ChangedFile) -> bool {
        /// A line that occurs in more files than this says nothing about any of them.
        const COMMON: usize = 50;
        let mut all = 0;
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for line in &file.removed {
            let line = line.text.trim();
            let files = self.0.get(line).map(Vec::as_slice).unwrap_or_default();
            if line.is_empty() || files.len() > COMMON {
                continue;
            }
            all += 1;
            for at in files {
                *shared.entry(*at).or_default() += 1;
            }
        }
        all == 0 || shared.values().any(|count| 2 * count >= all)
    }
}

/// Returns the names of the tests in a file.
fn tests_in(path: &str, text: Option<&str>) -> BTreeSet<String> {
    let (Some(text), Some(language)) = (text, Language::from_path(path)) else {
        return BTreeSet::new();
    };
    let lines: Vec<&str> = text.lines().collect();
    let marked = |line: u32, marks: &[&str]| {
        let end = (line.saturating_sub(1) as usize).min(lines.len());
        let above = lines[end.saturating_sub(6)..end].iter().rev();
        // Only lines that belong to the function count: attributes, annotations, comments.
        above
            .map(|line| line.trim())
            .take_while(|line| line.starts_with(['#', '@', '/', '*']))
            .any(|line| marks.iter().any(|mark| line.contains(mark)))
    };
    let functions = || outline(text, language).definitions;
    match language {
        Language::Python => functions()
            .into_iter()
            .filter(|d| d.name.starts_with("test"))
            .map(|d| d.name)
            .collect(),
        Language::Go => functions()
            .into_iter()
            .filter(|d| {
                ["Test", "Fuzz", "Example"]
                    .iter()
                    .any(|w| d.name.starts_with(w))
            })
            .map(|d| d.name)
            .collect(),
        Language::Rust => functions()
            .into_iter()
            .filter(|d| marked(d.line, &["test]", "test(", "#[rstest", "#[test_case"]))
            .map(|d| d.name)
            .collect(),
        Language::Java => functions()
            .into_iter()
            .filter(|d| {
                let own = lines.get(d.line.saturating_sub(1) as usize);
                let own = own.is_some_and(|line| line.contains("@Test") || line.contains("Test("));
                own || marked(d.line, &["@Test", "@ParameterizedTest"])
            })
            .map(|d| d.name)
            .collect(),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            lines.iter().filter_map(|line| test_title(line)).collect()
        }
    }
}

/// Returns the title of `it('does so', …)`.
fn test_title(line: &str) -> Option<String> {
    let text = line.trim();
    let rest = [
        "it(",
        "test(",
        "it.only(",
        "it.skip(",
        "test.only(",
        "test.skip(",
        "xit(",
    ]
    .iter()
    .find_map(|call| text.strip_prefix(call))?;
    let quote = rest
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '"' | '`'))?;
    let (title, _) = rest[1..].split_once(quote)?;
    Some(title.to_owned())
}

/// Finds added lines that keep a test from being run.
fn newly_skipped(file: &ChangedFile) -> Vec<String> {
    let text = file.after.text().unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    if file
        .removed
        .iter()
        .any(|gone| is_test_skip(&gone.text, None))
    {
        // A test was skipped before, and still is.
        return found;
    }
    for line in &file.added {
        let before = (line.number as usize)
            .checked_sub(2)
            .and_then(|at| all.get(at));
        if is_test_skip(&line.text, before.copied()) {
            found.push(format!(
                "{}:{}: a test is no longer run: `{}`",
                file.path,
                line.number,
                shorten_line(&line.text)
            ));
        }
    }
    found
}

/// Finds tests that had a body and are empty now.
fn emptied_tests(file: &ChangedFile) -> Vec<String> {
    let (Some(before), Some(after), Some(language)) = (
        file.before.text(),
        file.after.text(),
        Language::from_path(&file.path),
    ) else {
        return Vec::new();
    };
    if language != Language::Python {
        // In other languages the count of assertions notices it.
        return Vec::new();
    }
    let was_empty: BTreeSet<String> = empty_tests(before).into_iter().map(|t| t.0).collect();
    let was: BTreeSet<String> = tests_in(&file.path, Some(before));
    empty_tests(after)
        .into_iter()
        .filter(|(name, _)| was.contains(name) && !was_empty.contains(name))
        .map(|(name, line)| format!("{}:{line}: `{name}` tests nothing any more", file.path))
        .collect()
}

fn empty_tests(text: &str) -> Vec<(String, u32)> {
    let lines: Vec<&str> = text.lines().collect();
    let found = outline(text, Language::Python);
    found
        .functions()
        .filter(|function| function.name.starts_with("test"))
        .filter(|function| {
            let span = function.line as usize..(function.last_line as usize).min(lines.len());
            let body = lines.get(span).unwrap_or_default();
            body.iter().all(|line| {
                let line = line.trim();
                let is_said = line.starts_with(['#', '"', '\'', '@']);
                matches!(
                    line,
                    "" | "pass" | "..." | "return" | "return None" | "assert True"
                ) || is_said
                    || line.ends_with("):")
            })
        })
        .map(|function| (function.name.clone(), function.line))
        .collect()
}

/// Counts the lines of a test file that assert something.
fn count_assertions(path: &str, text: Option<&str>) -> usize {
    const WORDS: &[&str] = &[
        "assert",
        "expect(",
        "expect!",
        ".should",
        "should.",
        ".raises(",
        "t.Error",
        "t.Fatal",
        "t.Fail",
        "require.",
        "verify(",
        "|| exit 1",
        "|| fail",
        "|| return 1",
        "to.equal",
        "mustpass",
    ];
    let lines = text.unwrap_or_default().lines().map(str::trim);
    let is_shell = has_end(path, &["sh", "bash", "bats"]);
    lines
        .filter(|line| {
            !line.starts_with("//") && !line.starts_with('#') && !line.starts_with("import")
        })
        .filter(|line| !line.starts_with("from ") && !line.starts_with("use "))
        .filter(|line| {
            let tests = is_shell && (line.starts_with("[ ") || line.starts_with("test "));
            tests || WORDS.iter().any(|word| line.contains(word))
        })
        .count()
}
