//! Detects code that manipulates its own tests: it ends the process before the tests are done, or
//! patches the test framework. This covers Python and JavaScript, where tests run in the same
//! process as the code under test. It covers test files as well, because one test can make all
//! others pass.
//!
//! There are more such tricks than can be listed. The rule `tests_kept` catches what a new test
//! does to the others by running them without it.

use crate::change::ChangedFile;
use crate::honesty::{HonestySubject, shorten_line};

/// Returns what a file does to the tests, if anything, and whether no honest change would do it.
pub(super) fn find_fake(
    file: &ChangedFile,
    subject: &HonestySubject<'_>,
) -> Option<(String, bool)> {
    let path = &file.path;
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    let place = TestSurroundings::for_file(file, subject);
    let look: fn(&str, &TestSurroundings) -> Option<(String, bool)> = match end {
        "py" | "pyw" => python_fake,
        "js" | "mjs" | "cjs" | "ts" | "jsx" | "tsx" | "mts" | "cts" => script_fake,
        _ => return None,
    };
    let found = file.added.iter().filter_map(|line| {
        let (what, counts) = look(&line.text, &place)?;
        let said = shorten_line(&line.text);
        let told = format!("{path}:{}: {what}: `{said}`", line.number);
        Some((told, counts))
    });
    // Report the worst line, or the first one of several.
    found.reduce(|worst, next| if next.1 && !worst.1 { next } else { worst })
}

/// The context of a line.
struct TestSurroundings {
    is_test: bool,
    /// Whether the file is a program of its own, which may exit as it likes.
    is_program: bool,
    /// Whether the file starts child processes, which may exit as they like.
    forks: bool,
    /// Imported names that belong to the framework: `from unittest import TestCase`.
    framework_names: Vec<String>,
}

impl TestSurroundings {
    fn for_file(file: &ChangedFile, subject: &HonestySubject<'_>) -> Self {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let stem = name.split('.').next().unwrap_or(name);
        let is_test = subject.tests.is_test(&file.path);
        // Frameworks load files with these names by themselves.
        let is_found = stem.starts_with("test_")
            || stem.ends_with("_test")
            || matches!(stem, "conftest" | "__init__");
        let is_ours = matches!(stem, "setup" | "noxfile" | "conf");
        let text = file.after.text().unwrap_or_default();
        let imports = text.lines().filter_map(|line| {
            let (from, names) = line.trim().strip_prefix("from ")?.split_once(" import ")?;
            let top = from.trim().split('.').next()?;
            matches!(top, "unittest" | "pytest" | "_pytest").then_some(names)
        });
        let theirs = imports
            .flat_map(|names| names.split(','))
            .filter_map(|name| name.trim_matches(['(', ')', ' ']).split(' ').next_back())
            .filter(|name| name.starts_with(char::is_uppercase))
            .map(str::to_owned);
        Self {
            is_test,
            is_program: (is_test && !is_found) || is_ours,
            forks: text.contains("os.fork(") || text.contains("Process("),
            framework_names: theirs.collect(),
        }
    }
}

fn python_fake(line: &str, place: &TestSurroundings) -> Option<(String, bool)> {
    let code = line.trim();
    let is_top = !line.starts_with([' ', '\t']);
    if code.starts_with('#') {
        return None;
    }
    let ends = "ends the program that tests it".to_owned();
    if let Some((_, rest)) = code.split_once("os._exit(") {
        let code = rest.split(')').next().unwrap_or_default().trim();
        // A failing exit is not a fake, nor is the exit of a child process that a test has started.
        let fails = code.parse::<i32>().is_ok_and(|code| code != 0);
        if !(place.is_test && fails) {
            return Some((ends, is_top || !(place.is_test && place.forks)));
        }
    }
    if code.contains("atexit.register(") && code.contains("_exit") {
        return Some((ends, true));
    }
    let leaves = ["sys.exit(", "exit(", "quit(", "raise SystemExit"];
    if is_top && !place.is_program && leaves.iter().any(|word| code.starts_with(word)) {
        return Some((ends, true));
    }
    let whose = patched_framework(code, place)?;
    let what = if whose.contains('.') {
        format!("sets `{whose}`, by which tests end")
    } else {
        format!("reaches into `{whose}`, which tests it")
    };
    Some((what, true))
}

/// Returns the part of the framework that a Python statement overwrites.
fn patched_framework(code: &str, place: &TestSurroundings) -> Option<String> {
    let is_theirs = |target: &str| {
        let top = target.split('.').next().unwrap_or(target);
        match top {
            "unittest" | "pytest" | "_pytest" => Some(top.trim_start_matches('_').to_owned()),
            _ if place.framework_names.iter().any(|name| name == top) => Some(top.to_owned()),
            _ => None,
        }
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let end = code.find(|c| !is_name(c)).unwrap_or(code.len());
    let (target, rest) = code.split_at(end);
    let sets = {
        let rest = rest.trim_start();
        rest.starts_with('=') && !rest.starts_with("==")
    };
    // `unittest.TestCase.assertEqual = …`
    if sets && target.contains('.') {
        let ends = matches!(target, "sys.exit" | "os._exit" | "sys.excepthook");
        return is_theirs(target).or_else(|| ends.then(|| target.to_owned()));
    }
    // `setattr(TestCase, "assertEqual", …)`
    if let Some((_, arguments)) = code.split_once("setattr(") {
        let end = arguments
            .find(|c| !is_name(c))
            .filter(|end| arguments[*end..].trim_start().starts_with(','));
        if let Some(end) = end {
            return is_theirs(&arguments[..end]);
        }
    }
    // `sys.modules["unittest"] = …`
    let (_, named) = code.split_once("sys.modules[")?;
    let (named, rest) = named.split_once(']')?;
    let rest = rest.trim_start();
    let replaces = rest.starts_with('=') && !rest.starts_with("==");
    replaces
        .then(|| is_theirs(named.trim_matches(['"', '\'', ' '])))
        .flatten()
}

fn script_fake(line: &str, place: &TestSurroundings) -> Option<(String, bool)> {
    let is_top = !line.starts_with([' ', '\t']);
    if is_top && !place.is_program && line.starts_with("process.exit(0") {
        return Some(("ends the program that tests it".to_owned(), true));
    }
    let code = line.trim_start();
    let reaches = [
        "expect",
        "global.expect",
        "globalThis.expect",
        "global.it",
        "globalThis.it",
        "global.test",
        "globalThis.test",
    ];
    let sets = |name: &&str| {
        code.strip_prefix(*name).is_some_and(|rest| {
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
            let rest = match rest.strip_prefix('.') {
                Some(rest) => rest.trim_start_matches(is_name),
                None => rest,
            };
            let rest = rest.trim_start();
            rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>")
        })
    };
    // Tests sometimes define an `expect` of their own.
    reaches
        .iter()
        .any(sets)
        .then(|| ("reaches into what tests it".to_owned(), !place.is_test))
}
