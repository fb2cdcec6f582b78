//! Finds the test that an expected output belongs to: whoever may change the test may change what it
//! expects.

use crate::proof::TestPatterns;
use crate::source::has_end;

/// Returns true if a task that names these files may rewrite the expected output at `path`, because
/// one of them is the test program that it belongs to.
///
/// `a/__snapshots__/x.test.js.snap` belongs to `a/x.test.js`, `tests/snapshots/cli__help.snap` to
/// `tests/cli.rs`, `a/parse.approved.txt` to a test program `a/parse…`, and everything in
/// `a/testdata` to each test program in `a`.
pub(crate) fn belongs_to_named_test(path: &str, files: &[String], tests: &TestPatterns) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let parts: Vec<&str> = folder.split('/').collect();
    let special = ["__snapshots__", "snapshots", "testdata"];
    let at = parts.iter().position(|part| special.contains(part));
    let (owner_folder, own_names, is_shared) = match at {
        // Some runners have a folder for each test file.
        Some(at) => (
            parts[..at].join("/"),
            [parts.get(at + 1).copied().unwrap_or(name), name],
            parts[at] == "testdata",
        ),
        None => (folder.to_owned(), [name, name], false),
    };
    files.iter().any(|file| {
        let file = file.trim_start_matches("./");
        let (folder, program) = file.rsplit_once('/').unwrap_or(("", file));
        tests.is_test_program(file)
            && folder == owner_folder
            && (is_shared || own_names.iter().any(|name| is_named_after(name, program)))
    })
}

/// Returns true if a file is named after a program: with all of its name, or all but the extension.
fn is_named_after(name: &str, program: &str) -> bool {
    let stem = program.rsplit_once('.').map_or(program, |(stem, _)| stem);
    name.strip_prefix(stem)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns the source file whose tests an `insta` snapshot belongs to, as its header says.
pub(crate) fn source_of_snapshot(path: &str, text: Option<&str>) -> Option<String> {
    if !has_end(path, &["snap"]) {
        return None;
    }
    let mut lines = text?.lines();
    if lines.next()? != "---" {
        return None;
    }
    let header = lines.take_while(|line| *line != "---");
    let mut sources = header.filter_map(|line| line.strip_prefix("source:"));
    let source = sources.next()?.trim().trim_matches(['"', '\'']);
    Some(source.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_output_belongs_to_its_test() {
        let tests = ["**/*.test.*", "tests/**", "**/test_*", "**/*_test.*"];
        let tests = TestPatterns::new(&tests.map(str::to_owned));
        let belongs =
            |path: &str, file: &str| belongs_to_named_test(path, &[file.to_owned()], &tests);
        for (path, file) in [
            ("src/__snapshots__/a.test.js.snap", "src/a.test.js"),
            ("__snapshots__/a.test.js.snap", "./a.test.js"),
            ("tests/__snapshots__/test_a.ambr", "tests/test_a.py"),
            ("tests/__snapshots__/test_a/one.png", "tests/test_a.py"),
            ("tests/snapshots/cli__help.snap", "tests/cli.rs"),
            ("pkg/testdata/x/out.golden", "pkg/a_test.go"),
            ("tests/parse.approved.txt", "tests/parse.py"),
        ] {
            assert!(belongs(path, file), "{path} {file}");
        }
        for (path, file) in [
            ("src/__snapshots__/a.test.js.snap", "src/ab.test.js"),
            ("src/__snapshots__/ab.test.js.snap", "src/a.js"),
            ("tests/__snapshots__/test_ab.ambr", "tests/test_a.py"),
            ("tests/__snapshots__/test_a.ambr", "other/test_a.py"),
            ("pkg/testdata/out.golden", "pkg/a.go"),
            ("pkg/testdata/out.golden", "a_test.go"),
        ] {
            assert!(!belongs(path, file), "{path} {file}");
        }
    }

    #[test]
    fn a_snapshot_says_which_source_it_belongs_to() {
        let text = "---\nsource: src/a.rs\nexpression: x\n---\nsource: src/b.rs\n";
        let source = |text| source_of_snapshot("src/snapshots/k__a.snap", Some(text));
        assert_eq!(source(text), Some("src/a.rs".to_owned()));
        assert_eq!(source("// Jest Snapshot v1\n\nsource: src/a.rs\n"), None);
        assert_eq!(source("---\nexpression: x\n---\nsource: src/a.rs\n"), None);
    }
}
