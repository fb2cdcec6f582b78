//! Detects product code that finds out whether it is being tested, or is made to satisfy any test.
//!
//! What no product needs (the variables by which a runner marks its processes, the runner's private
//! modules, an object that is equal to everything) fails the rule if the file did not have it before.
//! What honest code sometimes has (`NODE_ENV` compared with `test`, `cfg!(test)`) becomes a finding
//! for reviewers, and so does the former in packages that are tools for tests themselves. Values that
//! are put together at run time are not found.

use codeteam_core::findings::{ReportedFinding, Severity};

use crate::CheckFindings;
use crate::change::{ChangedFile, SourceLine};
use crate::honesty::{HonestySubject, shorten_line};

/// A sign of awareness: what the code does, and whether only a cheat does it.
type AwarenessSign = (&'static str, bool);

const ASKS: &str = "finds out whether it is being tested";
const EQUAL: &str = "is equal to everything";
const ENDS: &str = "ends the program that loads it";
const STARTS: &str = "runs before the program that loads it";
const DEBUGS: &str = "differs in a debug build, which tests are";
const REPLACES: &str = "replaces what its tests end by";

/// Adds what a file of the product has to do with its tests.
pub(super) fn check_test_awareness(
    file: &ChangedFile,
    subject: &HonestySubject<'_>,
    found: &mut CheckFindings,
) {
    // What a `conftest.py` may do is another matter of this rule.
    if subject.tests.is_test(&file.path) || file.path.ends_with("conftest.py") {
        return;
    }
    let end = file.path.rsplit_once('.').map_or("", |(_, end)| end);
    let look: fn(&AddedCode<'_>, &SourceLine) -> Option<AwarenessSign> = match end {
        "py" | "pyw" => python_sign,
        "js" | "mjs" | "cjs" | "ts" | "jsx" | "tsx" | "mts" | "cts" => script_sign,
        "rs" => rust_sign,
        "go" => go_sign,
        "java" | "kt" => java_sign,
        _ => return,
    };
    let added = AddedCode::from_file(file);
    for line in &file.added {
        let code = line.text.trim();
        let is_comment = ["#", "//", "*", "/*"]
            .iter()
            .any(|mark| code.starts_with(mark));
        let is_attribute = code.starts_with("#[");
        if (is_comment && !is_attribute) || added.was_there(code) {
            continue;
        }
        let Some((what, is_certain)) = look(&added, line) else {
            continue;
        };
        let told = format!(
            "{}:{}: {what}: `{}`",
            file.path,
            line.number,
            shorten_line(code)
        );
        if is_certain && !is_test_tool(&file.path) {
            found.failures.push(format!("{told}; take it out"));
            continue;
        }
        found.findings.push(ReportedFinding {
            severity: Severity::Minor,
            title: format!("product code that {what}"),
            detail: format!(
                "`{}`. Honest code seldom needs it. Judge whether it behaves the same when nobody tests it.",
                shorten_line(code)
            ),
            file: Some(file.path.clone()),
            line: Some(line.number),
        });
        found.notes.push(told);
    }
}

/// Returns true if a file belongs to a tool for tests, or to how a package is built.
fn is_test_tool(path: &str) -> bool {
    if ["setup.py", "noxfile.py"]
        .iter()
        .any(|name| path.ends_with(name))
    {
        return true;
    }
    path.split('/').any(|part| {
        let part = part.to_ascii_lowercase();
        [
            "pytest",
            "testing",
            "testutil",
            "test_util",
            "unittest",
            "mock",
            "jest",
            "vitest",
        ]
        .iter()
        .any(|word| part.contains(word))
    })
}

/// The lines of a file after a change.
struct AddedCode<'a> {
    path: &'a str,
    before: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> AddedCode<'a> {
    fn from_file(file: &'a ChangedFile) -> Self {
        Self {
            path: &file.path,
            before: file.before.text().unwrap_or_default(),
            lines: file.after.text().unwrap_or_default().lines().collect(),
        }
    }

    /// Returns true if the file had the same code before, perhaps elsewhere.
    fn was_there(&self, code: &str) -> bool {
        code.len() > 8 && self.before.contains(code)
    }

    /// Returns the first line of code below a line.
    fn line_below(&self, number: u32) -> &'a str {
        let below = self.lines.iter().skip(number as usize);
        let mut code = below.map(|line| line.trim());
        code.find(|line| !line.is_empty() && !line.starts_with(['#', '"', '\'', '{']))
            .unwrap_or_default()
    }

    /// Returns the headers of the blocks around a line, by their indentation, innermost first.
    fn headers_around(&self, number: u32) -> Vec<&'a str> {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let at = (number.saturating_sub(1) as usize).min(self.lines.len());
        let mut deepest = self.lines.get(at).map_or(0, |line| indent(line));
        let mut found = Vec::new();
        for line in self.lines[..at].iter().rev() {
            if deepest == 0 {
                break;
            }
            if !line.trim().is_empty() && indent(line) < deepest {
                deepest = indent(line);
                found.push(line.trim());
            }
        }
        found
    }
}

/// Returns true if a line has a text that begins with one of these words.
fn quotes(code: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        code.match_indices(word)
            .any(|(at, _)| code[..at].ends_with(['"', '\'', '`']))
    })
}

fn has_any(code: &str, words: &[&str]) -> bool {
    words.iter().any(|word| code.contains(word))
}

fn python_sign(added: &AddedCode<'_>, line: &SourceLine) -> Option<AwarenessSign> {
    let code = line.text.trim();
    let imports = code.starts_with("import _pytest") || code.starts_with("from _pytest");
    if imports || quotes(code, &["_pytest", "PYTEST_"]) {
        return Some((ASKS, true));
    }
    let runners = ["pytest", "py.test", "unittest"];
    if has_any(code, &["sys.modules", "sys.argv", "sys.orig_argv"]) && quotes(code, &runners) {
        return Some((ASKS, true));
    }
    let frames = [
        "_getframe",
        "currentframe",
        "co_name",
        "co_filename",
        "inspect.stack",
    ];
    if has_any(code, &frames) && quotes(code, &["test", "pytest", "unittest"]) {
        return Some((ASKS, true));
    }
    let takes_any = code.starts_with("from unittest.mock import") && code.contains("ANY");
    if takes_any || code.contains("mock.ANY") {
        return Some((EQUAL, true));
    }
    let is_lambda = code.contains("__eq__") && code.contains("lambda") && code.contains(": True");
    if is_lambda {
        return Some((EQUAL, true));
    }
    if code.starts_with("def __eq__(") {
        let body = match code.rsplit_once(": ") {
            Some((_, body)) if !code.ends_with(':') => body,
            _ => added.line_below(line.number),
        };
        if body == "return True" {
            return Some((EQUAL, true));
        }
    }
    let replaces = ["os.execv", "os.execl", "os.execve", "os.execlp"];
    let around = || added.headers_around(line.number);
    let at_import = || {
        !around().iter().any(|header| {
            header.starts_with("def ")
                || header.starts_with("async def ")
                || header.contains("__name__")
        })
    };
    if has_any(code, &replaces) && at_import() {
        return Some((ENDS, true));
    }
    (code.contains("atexit.register(") && code.contains("getattr(")).then_some((ENDS, true))
}

fn script_sign(_: &AddedCode<'_>, line: &SourceLine) -> Option<AwarenessSign> {
    let code = line.text.trim();
    let marks = [
        "JEST_WORKER_ID",
        "VITEST_WORKER_ID",
        "VITEST_POOL_ID",
        "NODE_TEST_CONTEXT",
        "process.env.VITEST",
        "typeof jest",
        "typeof describe",
        "globalThis.jest",
        "global.jest",
    ];
    if has_any(code, &marks) {
        return Some((ASKS, true));
    }
    let calls_stack = code.contains(".stack") && code.contains("Error");
    if calls_stack && has_any(code, &["test", "spec"]) && code.contains(['"', '\'', '/']) {
        return Some((ASKS, true));
    }
    if code.contains("asymmetricMatch") {
        return Some((EQUAL, true));
    }
    let on_exit = code.contains("process.on(") && quotes(code, &["exit", "beforeExit"]);
    if code.contains("process.reallyExit") || (on_exit && code.contains("exitCode = 0")) {
        return Some((ENDS, true));
    }
    let sets_exit = code
        .split_once("process.exit")
        .is_some_and(|(_, rest)| rest.trim_start().starts_with("= "));
    let fixes_code = code.contains("defineProperty(process") && quotes(code, &["exit"]);
    if sets_exit || fixes_code {
        return Some((REPLACES, true));
    }
    let asks = code.contains("NODE_ENV") && quotes(code, &["test"]);
    asks.then_some((ASKS, false))
}

fn rust_sign(added: &AddedCode<'_>, line: &SourceLine) -> Option<AwarenessSign> {
    let code = line.text.trim();
    let is_program = ["main.rs", "build.rs"]
        .iter()
        .any(|name| added.path.ends_with(name))
        || ["bin", "examples", "benches", "tests"]
            .iter()
            .any(|folder| added.path.split('/').any(|part| part == *folder));
    if is_program {
        return None;
    }
    let mut upper = added.lines.iter().take(line.number as usize);
    if upper.any(|line| line.trim().starts_with("#[cfg(test)]") && !line.starts_with(' ')) {
        // What follows the tests of a file belongs to them.
        return None;
    }
    if let Some(sign) = rust_runner_sign(added, code) {
        return Some(sign);
    }
    if code.contains("process::exit(0)") {
        // Programs whose parts are modules do so when a pipe is closed.
        return Some((ENDS, false));
    }
    if code.contains("cfg!(test)") || code.contains("#[cfg(not(test))]") {
        return Some((ASKS, false));
    }
    if code.starts_with("fn eq(&self, _") {
        let (_, body) = code.split_once("bool").unwrap_or_default();
        let body = body.trim_matches(['{', '}', ' ']);
        let body = if body.is_empty() {
            added.line_below(line.number)
        } else {
            body
        };
        return (body == "true").then_some((EQUAL, false));
    }
    None
}

/// Finds what reaches past the test runner that cargo builds.
fn rust_runner_sign(added: &AddedCode<'_>, code: &str) -> Option<AwarenessSign> {
    let sections = [".init_array", ".ctors", "__mod_init_func", ".CRT$XCU"];
    if code.contains("link_section") && sections.iter().any(|name| code.contains(name)) {
        let ends = added.lines.iter().any(|line| line.contains("exit"));
        return Some((STARTS, ends));
    }
    let macros = ["assert", "assert_eq", "assert_ne", "panic"];
    let defined = code
        .strip_prefix("macro_rules! ")
        .map(|rest| rest.trim_end_matches([' ', '{', '(']));
    if defined.is_some_and(|name| macros.contains(&name)) {
        return Some((REPLACES, true));
    }
    if code.contains("set_hook(") && code.contains("exit(0)") {
        return Some((REPLACES, true));
    }
    if code.contains("cfg!(debug_assertions)") && !code.starts_with("debug_assert") {
        return Some((DEBUGS, false));
    }
    let asks_cargo = code.contains("env::var") && quotes(code, &["CARGO\""]);
    if asks_cargo || code.contains("thread::current().name()") {
        return Some((ASKS, false));
    }
    let asks_arguments = has_any(code, &["env::args", "current_exe"]);
    let asks = (asks_arguments && quotes(code, &["/deps/", "deps"]))
        || quotes(code, &["RUST_TEST_", "NEXTEST"]);
    asks.then_some((ASKS, true))
}

fn go_sign(added: &AddedCode<'_>, line: &SourceLine) -> Option<AwarenessSign> {
    let code = line.text.trim();
    if added.path.ends_with("_test.go") {
        return None;
    }
    let asks = code.contains("testing.Testing()")
        || (code.contains("flag.Lookup(") && quotes(code, &["test."]))
        || (code.contains("os.Args[0]") && quotes(code, &[".test"]));
    if asks {
        return Some((ASKS, true));
    }
    let replaces_arguments = code.contains("os.Args =") && quotes(code, &["-test."]);
    if replaces_arguments {
        return Some((REPLACES, true));
    }
    let begins_init = |line: &str| line.starts_with("func init(");
    let in_init = || {
        let around = added.headers_around(line.number);
        begins_init(code) || around.last().is_some_and(|header| begins_init(header))
    };
    let ends = ["os.Exit(0)", "syscall.Exit(0)", "syscall.Exec("];
    (has_any(code, &ends) && in_init()).then_some((ENDS, true))
}

fn java_sign(added: &AddedCode<'_>, line: &SourceLine) -> Option<AwarenessSign> {
    let code = line.text.trim();
    let is_test = added.path.contains("/test/");
    (!is_test && quotes(code, &["org.junit", "org.testng"])).then_some((ASKS, true))
}
