//! Code that is tested and gets at what tests it: it ends the program before the tests are done, or
//! reaches into the framework. In Python and JavaScript, where tests run in one process with it.

use crate::verify::change::Changed;
use crate::verify::honest::{Subject, brief};

/// What a file that is no test does to the tests, if it does something.
pub(super) fn fakes(file: &Changed, subject: &Subject<'_>) -> Option<String> {
    let path = &file.path;
    // What helps to test may know how that is done.
    let helps = [
        "test", "mock", "fixture", "conftest", "spec", "nox", "setup",
    ];
    let name = path.to_ascii_lowercase();
    if subject.tests.has(path) || helps.iter().any(|word| name.contains(word)) {
        return None;
    }
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    let look: fn(&str) -> Option<&'static str> = match end {
        "py" | "pyw" => python,
        "js" | "mjs" | "cjs" | "ts" => script,
        _ => return None,
    };
    file.added.iter().find_map(|line| {
        let what = look(&line.text)?;
        let said = brief(&line.text);
        Some(format!(
            "{path}:{}: {what}: `{said}`; take it out",
            line.number
        ))
    })
}

fn python(line: &str) -> Option<&'static str> {
    let code = line.trim_end();
    let is_top = !line.starts_with([' ', '\t']);
    let ends = code.contains("os._exit(") && !code.trim_start().starts_with('#');
    let leaves = ["sys.exit(", "exit(", "quit(", "raise SystemExit"];
    if ends || (is_top && leaves.iter().any(|word| code.starts_with(word))) {
        return Some("ends the program that tests it");
    }
    let reaches = |module: &str| {
        let rest = code.trim_start().strip_prefix(module);
        // `unittest.TestCase.assertEqual = …`
        rest.is_some_and(|rest| rest.starts_with('.') && rest.contains(" = "))
    };
    if reaches("unittest") {
        return Some("reaches into `unittest`, which tests it");
    }
    if reaches("pytest") || reaches("_pytest") {
        return Some("reaches into `pytest`, which tests it");
    }
    None
}

fn script(line: &str) -> Option<&'static str> {
    let is_top = !line.starts_with([' ', '\t']);
    if is_top && line.starts_with("process.exit(0") {
        return Some("ends the program that tests it");
    }
    let code = line.trim_start();
    let reaches = [
        "expect",
        "global.expect",
        "globalThis.expect",
        "global.it",
        "globalThis.it",
    ];
    let sets = |name: &&str| {
        code.strip_prefix(*name).is_some_and(|rest| {
            rest.starts_with(" = ") || (rest.starts_with('.') && rest.contains(" = "))
        })
    };
    reaches
        .iter()
        .any(sets)
        .then_some("reaches into what tests it")
}
