//! The tests that were there are as they were: none gone, none skipped, none weakened.
//!
//! Found by their texts; that the old tests still pass with the new code is found by running them,
//! if there are commands for that. What the task names in its `files` may change and is told.
//! Languages without a grammar have no test functions here, only assertions.

use std::collections::{BTreeSet, HashMap};

use codeteam_context::language::Language;
use codeteam_context::outline::outline;

use super::skips::skips;
use super::{HonestySubject, brief, names};
use crate::verify::CheckFindings;
use crate::verify::change::ChangedFile;
use crate::verify::source::has_end;

/// The test files that are not as they were and not the task's to change, new ones among them: what a
/// new one does when it is loaded, it does to all others.
pub fn in_question<'a>(subject: &HonestySubject<'a>) -> Vec<&'a ChangedFile> {
    let files = subject.change.files.iter();
    files
        .filter(|file| subject.tests.has(&file.path) && !subject.names(&file.path))
        .collect()
}

/// The manifest by which a change cannot be built without a new test file, if there is one: it was there
/// and lists the file now. Only of languages whose tests are built: others find theirs, and what needs
/// one of them is run by it.
pub fn needs<'a>(subject: &HonestySubject<'a>, new: &[&ChangedFile]) -> Option<&'a str> {
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

/// What is missing of the tests that were there.
pub fn tests_kept(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    let files: Vec<&ChangedFile> = subject.change.files.iter().collect();
    let tests: Vec<&ChangedFile> = files
        .into_iter()
        .filter(|file| subject.tests.has(&file.path))
        .collect();
    let mut now: Vec<BTreeSet<String>> = Vec::new();
    for file in &tests {
        if subject.is_over(&file.path, &mut found) {
            // What cannot be compared is not known to be there still.
            return found;
        }
        now.push(tests_in(&file.path, file.after.text()));
    }
    let moved = TestLineIndex::of(&tests);
    // What moved to another test file is still there.
    let somewhere: BTreeSet<&String> = now.iter().flatten().collect();
    let mut told = Vec::new();
    let mut balance = (0, 0, Vec::new());
    for (file, now) in tests.iter().zip(&now) {
        if subject.is_over(&file.path, &mut found) {
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
        let is_moved = file.is_gone() && gone.is_empty() && moved.has(file);
        if file.is_gone() && !is_moved && subject.tests.has_program(path) {
            wrong.push(format!("{path}: the test file is gone"));
        } else if !gone.is_empty() {
            let line = format!("{path}: gone: {}", names(&gone));
            let asserts = |text| assertions(path, text);
            let as_many =
                now.len() >= was.len() && asserts(file.after.text()) >= asserts(file.before.text());
            if as_many {
                // By another name, it seems. That the old ones still pass is found by running them.
                told.push(line);
            } else {
                wrong.push(line);
            }
        }
        wrong.extend(skipped(file));
        wrong.extend(emptied(file));
        if subject.names(path) {
            // The task says so.
            told.extend(wrong);
            continue;
        }
        let counts = (
            assertions(path, file.before.text()),
            assertions(path, file.after.text()),
        );
        balance.0 += counts.0;
        balance.1 += counts.1;
        if counts.1 < counts.0 && wrong.is_empty() {
            balance.2.push(format!(
                "{path}: it had {} assertions and has {}",
                counts.0, counts.1
            ));
        }
        found.wrong.extend(wrong);
    }
    if balance.1 < balance.0 {
        found.wrong.extend(balance.2);
    }
    if let Some(last) = found.wrong.last_mut() {
        last.push_str(
            "\nput the tests back as they were, and mend the code. Tests that are meant to change have to \
             be named: in a plan under the task's `files`, in a session by the task, its requirements or its \
             design (\"change tests/test_x.py\")",
        );
    }
    found.told = told;
    found
}

/// Which lines came in which of the tests.
struct TestLineIndex<'a>(HashMap<&'a str, Vec<usize>>);

impl<'a> TestLineIndex<'a> {
    fn of(tests: &[&'a ChangedFile]) -> Self {
        let mut lines: HashMap<&str, Vec<usize>> = HashMap::new();
        // What is moved goes from somewhere.
        if !tests.iter().any(|file| file.is_gone()) {
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

    /// Whether most of a file's lines came in another one.
    fn has(&self, file: &ChangedFile) -> bool {
        /// A line that stands in more files says nothing about any of them.
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

/// The names of the tests in a file.
fn tests_in(path: &str, text: Option<&str>) -> BTreeSet<String> {
    let (Some(text), Some(language)) = (text, Language::of(path)) else {
        return BTreeSet::new();
    };
    let lines: Vec<&str> = text.lines().collect();
    let marked = |line: u32, marks: &[&str]| {
        let end = (line.saturating_sub(1) as usize).min(lines.len());
        let above = lines[end.saturating_sub(6)..end].iter().rev();
        // Only what belongs to it: attributes, annotations, comments.
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
            lines.iter().filter_map(|line| titled(line)).collect()
        }
    }
}

/// The title of `it('does so', …)`.
fn titled(line: &str) -> Option<String> {
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

/// Lines that came and keep a test from being run.
fn skipped(file: &ChangedFile) -> Vec<String> {
    let text = file.after.text().unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    if file.removed.iter().any(|gone| skips(&gone.text, None)) {
        // One was skipped already, and is still.
        return found;
    }
    for line in &file.added {
        let before = (line.number as usize)
            .checked_sub(2)
            .and_then(|at| all.get(at));
        if skips(&line.text, before.copied()) {
            found.push(format!(
                "{}:{}: a test is no longer run: `{}`",
                file.path,
                line.number,
                brief(&line.text)
            ));
        }
    }
    found
}

/// Tests that had something in them and have nothing now.
fn emptied(file: &ChangedFile) -> Vec<String> {
    let (Some(before), Some(after), Some(language)) = (
        file.before.text(),
        file.after.text(),
        Language::of(&file.path),
    ) else {
        return Vec::new();
    };
    if language != Language::Python {
        // Their assertions are missed.
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

/// How many lines of a test file assert something.
fn assertions(path: &str, text: Option<&str>) -> usize {
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
