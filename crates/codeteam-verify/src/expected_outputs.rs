//! Recognises files with the expected output of tests: snapshots and golden files.
//!
//! Test runners and people write them, tests read them. Whoever rewrites one changes what its tests
//! assert, so for the rules they are tests. They are no programs, though: no runner takes one as an
//! argument.

/// Folders that hold nothing but expected output, or data of tests. What `testdata` contains may be
/// source of a language, and still no test: Go does not compile it.
const FOLDERS: &[&str] = &["__snapshots__", "testdata"];

/// Extensions of expected output.
const ENDS: &[&str] = &["snap", "ambr", "golden"];

/// Returns true if a file contains the expected output of a test, by its name.
pub(crate) fn is_expected_output(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    folder.split('/').any(|part| FOLDERS.contains(&part))
        || ENDS.contains(&end)
        || name.contains(".approved.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_output_is_known_by_its_name() {
        for path in [
            "src/__snapshots__/a.test.js.snap",
            "src/snapshots/krate__a.snap",
            "tests/__snapshots__/test_a.ambr",
            "tests/__snapshots__/test_a/test_one.png",
            "pkg/testdata/one/out.go",
            "pkg/out.golden",
            "test/Parse.approved.txt",
        ] {
            assert!(is_expected_output(path), "{path}");
        }
        for path in ["src/snapshots/store.py", "tests/test_a.py", "a_test.go"] {
            assert!(!is_expected_output(path), "{path}");
        }
    }
}
