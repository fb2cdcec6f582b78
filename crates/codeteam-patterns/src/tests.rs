//! What patterns match.

use super::{FilePatterns, file_matches, path_matches};

/// Patterns, with a path that each of them matches.
const MATCHING: &[(&str, &str)] = &[
    ("src/*.rs", "src/lib.rs"),
    ("src/**", "src/a/b/c.rs"),
    ("src/**/*.py", "src/a/b.py"),
    ("src/**/*.py", "src/b.py"),
    ("**/*auth*", "auth.py"),
    ("**/*auth*", "src/my_auth_x.py"),
    ("**/tests/**", "a/tests/b"),
    ("a?c", "abc"),
    ("docs/", "docs/a/b.md"),
    ("docs", "docs/a/b.md"),
    ("docs", "docs"),
    ("CONTRIBUTING*", "CONTRIBUTING.md"),
    ("**/*.{ts,tsx}", "a/b.tsx"),
    ("[ab].rs", "a.rs"),
    ("src/api/*", "src/api/v1/x.py"),
    ("./README.md", "README.md"),
    (".", "a/b"),
    ("./", "a/b"),
    ("/", "a/b"),
    // Folders of some frameworks have such names.
    ("app/[id]/page.tsx", "app/[id]/page.tsx"),
    ("app/[id]/**", "app/[id]/page.tsx"),
    ("app/{x}", "app/{x}/page.tsx"),
];

/// Patterns, with a path that they do not match.
const OTHERS: &[(&str, &str)] = &[
    ("src/*.rs", "src/a/lib.rs"),
    ("src/**", "src"),
    ("docs/", "docs"),
    ("docs", "docs.md"),
    ("src", "srcs/a.py"),
    ("README.md", "a/README.md"),
    ("*.rs", "src/a.rs"),
    ("*.rs", "x.py"),
    ("a?c", "a/c"),
    ("", "a"),
];

#[test]
fn every_way_in_has_the_same_meaning() {
    let all = MATCHING.iter().map(|it| (it, true));
    for ((pattern, path), expected) in all.chain(OTHERS.iter().map(|it| (it, false))) {
        let strict = FilePatterns::new([pattern]).unwrap().matches(path);
        let lenient = FilePatterns::lenient([pattern]).matches(path);
        // A pattern that cannot be parsed must not change what the others mean.
        let beside = FilePatterns::lenient([pattern, "x/[y"]).matches(path);
        let one = file_matches(pattern, path);
        let found = [strict, lenient, beside, one];
        assert_eq!(found, [expected; 4], "{pattern} {path}");
    }
    assert!(!FilePatterns::new::<&str>([]).unwrap().matches("a"));
    assert!(
        FilePatterns::case_insensitive(["README*"])
            .unwrap()
            .matches("Readme.md")
    );
}

#[test]
fn what_cannot_be_parsed_is_refused_or_taken_literally() {
    let error = FilePatterns::new(["a/[b"]).unwrap_err().to_string();
    assert!(
        error.starts_with("`a/[b` is not a valid pattern of files: "),
        "{error}"
    );
    let lenient = FilePatterns::lenient(["a/[b", "*.rs"]);
    for (path, expected) in [
        ("a/[b", true),
        ("a/[b/c", true),
        ("x.rs", true),
        ("a/b", false),
    ] {
        assert_eq!(lenient.matches(path), expected, "{path}");
    }
    // No matcher can be built for this one.
    let long = "?".repeat(200_000);
    let lenient = FilePatterns::lenient([long.as_str(), "*.rs"]);
    assert!(lenient.matches("x.rs") && lenient.matches(&long) && !lenient.matches("y"));
}

#[test]
fn lenient_patterns_can_ignore_case() {
    let long = "A".repeat(2_000_000);
    for patterns in [vec!["**/*Auth*", "a/[B"], vec!["**/*Auth*", "a/[B", &long]] {
        let lenient = FilePatterns::lenient_case_insensitive(&patterns);
        for (path, expected) in [
            ("src/AuthController.java", true),
            ("src/oauth.py", true),
            ("A/[b/c", true),
            ("a/b", false),
        ] {
            assert_eq!(lenient.matches(path), expected, "{path}");
        }
        assert_eq!(lenient.matches(&long.to_lowercase()), patterns.len() > 2);
        assert!(!FilePatterns::lenient(&patterns).matches("src/oauth.py"));
    }
}

#[test]
fn what_is_remembered_is_what_was_asked_for() {
    let list = |n: usize| vec![format!("{n}/**"), format!("**/*.{n}")];
    for n in (0..20).chain(0..20) {
        let set = FilePatterns::remembered(&list(n));
        assert!(
            set.matches(&format!("{n}/a")) && set.matches(&format!("a/b.{n}")),
            "{n}"
        );
        assert!(!set.matches(&format!("{}/a", n + 1)), "{n}");
    }
}

#[test]
fn what_is_hidden_is_hidden_either_way() {
    let hides = |pattern: &str, path: &str| FilePatterns::for_hidden_files([pattern]).matches(path);
    for (pattern, path) in [
        ("tests", "tests/a/b.py"),
        // The whole folder can be covered at once.
        ("tests/", "tests"),
        ("tests/**", "tests"),
        ("**/tests/**", "a/tests"),
        ("./tests/**/", "tests"),
        ("**", "tests"),
        ("**/*.{env,key}", "a/b.key"),
        ("a[1].py", "a[1].py"),
        ("a[1].py", "a1.py"),
        ("a/[b", "a/[b"),
        (r"a\b{", r"a\b{"),
    ] {
        assert!(hides(pattern, path), "{pattern} {path}");
    }
    for (pattern, path) in [
        ("a[1].py", "a2.py"),
        ("tests/*.py", "tests"),
        ("**/a/**", "b"),
    ] {
        assert!(!hides(pattern, path), "{pattern} {path}");
    }
}

#[test]
fn members_of_a_workspace_are_matched_exactly() {
    for (pattern, path, expected) in [
        ("packages/*", "packages/a", true),
        ("packages/*", "packages/a/b", false),
        ("packages/**", "packages/a/b", true),
        ("packages/**", "packages", true),
        ("./packages/a/", "packages/a", true),
        ("packages/{a,b}", "packages/b", true),
        ("packages/[x", "packages/[x", true),
        ("packages", "packages/a", false),
    ] {
        assert_eq!(path_matches(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn a_hostile_pattern_ends() {
    assert!(!file_matches(&"*a".repeat(500), &"a".repeat(400)));
}
