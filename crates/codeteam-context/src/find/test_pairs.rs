//! Pairs tests with the sources that they test, by name.

use std::collections::HashMap;

/// Returns true if a path is that of a test.
pub fn is_test(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    let lower = stem.to_ascii_lowercase();
    lower.starts_with("test_")
        || lower.ends_with("_test")
        || lower.ends_with("_tests")
        || lower == "tests"
        || lower == "conftest"
        || stem.ends_with("Test")
        || stem.ends_with("Tests")
        || name.contains(".test.")
        || name.contains(".spec.")
        || folders.split('/').any(|folder| {
            matches!(
                folder,
                "test" | "tests" | "__tests__" | "spec" | "e2e" | "testdata" | "testing"
            )
        })
}

/// Returns a file's name without its extension and without what marks it as a test.
fn tested_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name
        .split('.')
        .find(|part| !part.is_empty())
        .unwrap_or(name);
    let mut subject = stem;
    for ending in [
        "_tests", "_test", "Tests", "Test", "IT", "Spec", "_spec", "-test", "-spec",
    ] {
        if let Some(short) = subject
            .strip_suffix(ending)
            .filter(|short| !short.is_empty())
        {
            subject = short;
            break;
        }
    }
    let subject = subject.strip_prefix("test_").unwrap_or(subject);
    subject.trim_matches('_').to_ascii_lowercase()
}

/// Returns, for each file by number, its counterparts: a test's sources, or a source's tests. Where
/// several files share a name, the ones in the nearest folders are chosen.
pub(super) fn pair_tests_with_sources<'p>(paths: &[&'p str]) -> Vec<Vec<u32>> {
    let mut by_subject: HashMap<String, (Vec<u32>, Vec<u32>)> = HashMap::new();
    for (number, path) in (0..).zip(paths) {
        let entry = by_subject.entry(tested_name(path)).or_default();
        let side = if is_test(path) {
            &mut entry.1
        } else {
            &mut entry.0
        };
        side.push(number);
    }
    let mut found = vec![Vec::new(); paths.len()];
    let shared = |one: u32, other: u32| {
        let folders = |at: u32| -> Vec<&'p str> {
            let path = paths[at as usize];
            let (folders, _) = path.rsplit_once('/').unwrap_or(("", path));
            folders
                .split('/')
                .filter(|f| {
                    !matches!(
                        *f,
                        "src" | "test" | "tests" | "__tests__" | "main" | "lib" | ""
                    )
                })
                .collect()
        };
        let (one, other) = (folders(one), folders(other));
        one.iter().filter(|folder| other.contains(folder)).count()
    };
    for (sources, tests) in by_subject.values() {
        // Names such as `index`, `mod` and `__init__` say nothing.
        if sources.is_empty() || tests.is_empty() || sources.len() > 20 || tests.len() > 20 {
            continue;
        }
        for test in tests {
            let most = sources.iter().map(|source| shared(*source, *test)).max();
            for source in sources {
                if Some(shared(*source, *test)) == most {
                    found[*test as usize].push(*source);
                    found[*source as usize].push(*test);
                }
            }
        }
    }
    for list in &mut found {
        list.sort_unstable();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_go_with_their_sources() {
        let paths = [
            "pkg/router.go",
            "pkg/router_test.go",
            "src/flask/app.py",
            "src/main/java/org/Owner.java",
            "src/test/java/org/OwnerTests.java",
            "tests/test_app.py",
            "web/Button.test.tsx",
            "web/Button.tsx",
            "web/other.tsx",
        ];
        let pairs = pair_tests_with_sources(&paths);
        let of = |path: &str| -> Vec<&str> {
            let at = paths.iter().position(|known| *known == path).unwrap();
            pairs[at].iter().map(|at| paths[*at as usize]).collect()
        };
        assert_eq!(of("pkg/router.go"), ["pkg/router_test.go"]);
        assert_eq!(of("tests/test_app.py"), ["src/flask/app.py"]);
        assert_eq!(
            of("src/main/java/org/Owner.java"),
            ["src/test/java/org/OwnerTests.java"]
        );
        assert_eq!(of("web/Button.test.tsx"), ["web/Button.tsx"]);
        assert!(of("web/other.tsx").is_empty());
    }
}
