//! Estimates, by name and size, how useful a file is to someone who wants to understand a
//! repository.

/// The kind of a file, the most useful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    /// Explains what the repository is: a README, a manifest, instructions for agents.
    Key,
    /// Source code.
    Source,
    /// Tests of the source code.
    Test,
    /// Documents, and examples with everything that belongs to them.
    Document,
    /// Configuration, data and everything else.
    Other,
    /// Generated files and those that nobody reads: lock files, fixtures, snapshots, vendored and
    /// minified files.
    Ballast,
}

const MANIFESTS: &[&str] = &[
    "agents.md",
    "build.gradle",
    "build.gradle.kts",
    "cargo.toml",
    "claude.md",
    "dockerfile",
    "gemini.md",
    "gemfile",
    "go.mod",
    "makefile",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "requirements.txt",
    "setup.cfg",
    "setup.py",
];

const LOCKS: &[&str] = &[
    "cargo.lock",
    "composer.lock",
    "gemfile.lock",
    "go.sum",
    "go.work.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pdm.lock",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
    "bun.lock",
    "flake.lock",
];

const SOURCES: &[&str] = &[
    "astro", "bash", "c", "cc", "clj", "cljs", "cpp", "cs", "cts", "cxx", "dart", "el", "elm",
    "erl", "ex", "exs", "fs", "go", "graphql", "groovy", "h", "hh", "hpp", "hs", "java", "jl",
    "js", "jsx", "kt", "kts", "lua", "m", "mjs", "cjs", "ml", "mli", "mm", "mts", "nim", "nix",
    "php", "pl", "pm", "proto", "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "scala", "sh", "sol",
    "sql", "svelte", "swift", "tf", "ts", "tsx", "v", "vue", "zig",
];

const DOCUMENTS: &[&str] = &["adoc", "md", "mdx", "org", "rst", "tex", "txt"];

const BALLAST: &[&str] = &[
    "csv", "geojson", "ipynb", "lock", "map", "min.css", "min.js", "po", "pot", "snap", "svg",
    "tsv",
];

/// Folders whose files were not written for this repository, or only to be compared with.
const SET_ASIDE: &[&str] = &[
    "__fixtures__",
    "__snapshots__",
    "dist",
    "fixtures",
    "golden",
    "locale",
    "node_modules",
    "snapshots",
    "testdata",
    "third_party",
    "vendor",
];

const TESTS: &[&str] = &["__tests__", "spec", "specs", "test", "tests", "e2e"];

/// Folders of examples, if they are near the top: `org/springframework/samples` is not one.
const EXAMPLES: &[&str] = &["demos", "examples", "samples"];
const NEAR: usize = 3;

/// Returns the kind of a file by its path.
pub(super) fn file_kind(path: &str) -> FileKind {
    let lower = path.to_ascii_lowercase();
    let mut folders = lower.split('/');
    let name = folders.next_back().unwrap_or_default();
    let folders: Vec<&str> = folders.collect();
    let is_in = |names: &[&str]| folders.iter().any(|folder| names.contains(folder));
    let ends = |ends: &[&str]| {
        let mut rest = name;
        std::iter::from_fn(|| {
            rest = rest.split_once('.')?.1;
            Some(rest)
        })
        .any(|end| ends.contains(&end))
    };
    if LOCKS.contains(&name) || ends(BALLAST) || is_in(SET_ASIDE) {
        return FileKind::Ballast;
    }
    let is_test = is_in(TESTS) || tests_by_name(name);
    let mut near = folders.iter().take(NEAR);
    if near.any(|folder| EXAMPLES.contains(folder)) {
        FileKind::Document
    } else if !is_test && (name.starts_with("readme") || MANIFESTS.contains(&name)) {
        FileKind::Key
    } else if is_test {
        FileKind::Test
    } else if ends(SOURCES) {
        FileKind::Source
    } else if ends(DOCUMENTS) || is_in(&["doc", "docs"]) {
        FileKind::Document
    } else {
        FileKind::Other
    }
}

/// Returns true if a name follows a naming convention for tests.
fn tests_by_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.starts_with("test_")
        || ["_test", ".test", "_spec", ".spec", "_tests"]
            .iter()
            .any(|end| stem.ends_with(end))
        || matches!(stem, "tests" | "conftest")
        || name.ends_with("test.java")
        || name.ends_with("tests.java")
}

/// Returns the sort key of usefulness: the kind; for key files, the depth; the length; the path.
pub(super) fn usefulness_rank(path: &str, tokens: usize) -> (FileKind, usize, usize, &str) {
    let kind = file_kind(path);
    let depth = match kind {
        FileKind::Key => path.matches('/').count(),
        _ => 0,
    };
    (kind, depth, tokens, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_go_by_names() {
        let all = [
            (
                FileKind::Key,
                &["README.md", "Cargo.toml", "web/package.json", "AGENTS.md"][..],
            ),
            (
                FileKind::Source,
                &[
                    "src/a.rs",
                    "lib/x.py",
                    "a/b.d.ts",
                    "latest.go",
                    "contest.py",
                    "src/main/java/org/samples/A.java",
                ],
            ),
            (
                FileKind::Test,
                &[
                    "tests/a.rs",
                    "src/a_test.go",
                    "x.spec.ts",
                    "test_a.py",
                    "tests/README.md",
                    "src/test/java/ATests.java",
                ],
            ),
            (
                FileKind::Document,
                &[
                    "docs/guide.md",
                    "CHANGELOG.rst",
                    "docs/conf",
                    "examples/shop/pyproject.toml",
                    "web/examples/README.md",
                    "examples/shop/tests/test_a.py",
                ],
            ),
            (FileKind::Other, &["ci.yml", "LICENSE", "data.json"]),
            (
                FileKind::Ballast,
                &[
                    "Cargo.lock",
                    "web/yarn.lock",
                    "tests/fixtures/a.json",
                    "a.min.js",
                    "x.snap",
                    "vendor/x.go",
                ],
            ),
        ];
        for (expected, paths) in all {
            for path in paths {
                assert_eq!(file_kind(path), expected, "{path}");
            }
        }
    }

    #[test]
    fn small_comes_before_large_and_shallow_before_deep() {
        assert!(
            usefulness_rank("a.rs", 1) < usefulness_rank("b.rs", 2)
                && usefulness_rank("z.rs", 1) < usefulness_rank("b.rs", 2)
        );
        assert!(usefulness_rank("README.md", 900) < usefulness_rank("a/README.md", 1));
        assert!(usefulness_rank("a/Cargo.toml", 900) < usefulness_rank("a.rs", 1));
    }
}
