//! Whether the tests of a change prove anything: without the rest of it they must fail.

use codeteam_core::workflow::glob_matches;

use super::change::{ChangeSet, ChangedFile};
use super::source::has_end;

/// Files that are tests, by patterns.
#[derive(Clone, Copy, Debug)]
pub struct TestPatterns<'a>(pub &'a [String]);

impl TestPatterns<'_> {
    /// Whether a file is a test.
    pub fn has(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| meets(pattern, path))
    }

    /// Whether a file is a program that people run to test something: a test that is no data.
    pub fn has_program(&self, path: &str) -> bool {
        self.has(path) && super::source::is_source(path)
    }
}

/// Whether a path is what a pattern means: a file, files, or a folder and all below it.
pub fn meets(pattern: &str, path: &str) -> bool {
    let plain = pattern.trim_start_matches("./");
    let folder = plain.trim_end_matches('/');
    if folder.is_empty() || folder == "." {
        return !plain.is_empty();
    }
    let below = path
        .strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'));
    below || glob_matches(folder, path) || glob_matches(&format!("{folder}/**"), path)
}

/// What is to be done to prove the tests of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofPlan {
    /// The change has no tests.
    Nothing,
    /// They cannot be told apart from the rest, and why.
    Inseparable(String),
    /// These test files are to be run without the rest.
    Run(Vec<String>),
}

/// How the tests of a change can be proved.
pub fn plan(change: &ChangeSet, tests: TestPatterns<'_>) -> ProofPlan {
    let is_test = |file: &&ChangedFile| tests.has(&file.path);
    let touched: Vec<&ChangedFile> = change.files.iter().filter(is_test).collect();
    let within: Vec<&str> = change
        .files
        .iter()
        .filter(|file| !tests.has(&file.path) && adds_a_test(file))
        .map(|file| file.path.as_str())
        .collect();
    let there: Vec<String> = touched
        .iter()
        .filter(|file| file.after.is_there())
        .map(|file| file.path.clone())
        .collect();
    if touched.is_empty() && !within.is_empty() {
        return ProofPlan::Inseparable(format!(
            "the tests are in the same files as what they test ({}), so that they cannot be run \
             without it",
            within.join(", ")
        ));
    }
    if touched.is_empty() {
        return ProofPlan::Nothing;
    }
    if there.is_empty() {
        return ProofPlan::Inseparable("the change only takes tests away".to_owned());
    }
    let mut rest = change.files.iter().filter(|file| !tests.has(&file.path));
    if rest.all(|file| is_document(&file.path)) {
        return ProofPlan::Inseparable(
            "the change touches only tests, so that there is nothing they could prove".to_owned(),
        );
    }
    ProofPlan::Run(there)
}

/// Whether a file that is no test of itself has a test more than before.
fn adds_a_test(file: &ChangedFile) -> bool {
    let marks: &[&str] = match file.path.rsplit_once('.') {
        Some((_, "rs")) => &["#[test]", "#[tokio::test", "#[cfg(test)]", "#[rstest"],
        Some((_, "py")) => &["def test_", "async def test_"],
        _ => &[],
    };
    let begins = |text: &str| marks.iter().any(|mark| text.trim_start().starts_with(mark));
    file.added.iter().any(|line| begins(&line.text))
}

/// Whether a file is only for people to read. A plain text is one if it is called like one or lies
/// among documents: `requirements.txt` and `CMakeLists.txt` are for programs.
pub fn is_document(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let (stem, end) = (stem.to_ascii_lowercase(), end.to_ascii_lowercase());
    let is_called = [
        "readme",
        "license",
        "licence",
        "changelog",
        "changes",
        "authors",
        "notice",
        "contributing",
        "copying",
        "history",
        "news",
        "todo",
        "notes",
    ]
    .iter()
    .any(|known| {
        stem.strip_prefix(known)
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    });
    let is_read = ["requirements", "constraints", "cmakelists"]
        .iter()
        .any(|word| stem.contains(word));
    let among = folder.split('/').any(|part| matches!(part, "doc" | "docs"));
    match end.as_str() {
        "md" | "rst" | "adoc" | "markdown" | "png" | "svg" | "jpg" => true,
        "txt" => (is_called || among) && !is_read,
        // `LICENSE`, `LICENSE-MIT`, and no program of that name.
        "" => is_called,
        _ => false,
    }
}

/// What stands for the test files in a command.
pub const FILES: &str = "{files}";

/// A command with the files put in, as words for `sh`.
pub fn with_files(command: &str, files: &[String]) -> String {
    if !command.contains(FILES) {
        return command.to_owned();
    }
    let words: Vec<String> = files.iter().map(|file| quoted(file)).collect();
    command.replace(FILES, &words.join(" "))
}

/// A text as one word for `sh`.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    // A name that begins with a dash is no option.
    let text = match text.strip_prefix('-') {
        Some(rest) => format!("./-{rest}"),
        None => text.to_owned(),
    };
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Programs that run tests and do nothing else.
const RUNNERS: &[&str] = &[
    "pytest",
    "py.test",
    "unittest",
    "nosetests",
    "nose2",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "karma",
    "jasmine",
    "rspec",
    "phpunit",
    "ctest",
    "bats",
    "gotestsum",
    "nextest",
    "tarpaulin",
    "playwright",
    "cypress",
    "prove",
    "trial",
    "stestr",
];

/// Programs that can run tests among other things: `cargo test`, `npm run test:unit`.
const TOOLS: &[&str] = &[
    "cargo", "npm", "yarn", "pnpm", "bun", "deno", "go", "mvn", "mvnw", "gradle", "gradlew",
    "make", "just", "task", "rake", "mix", "dotnet", "swift", "zig", "sbt", "bazel", "hatch",
    "pdm", "poe", "invoke", "lerna", "nx", "turbo", "node", "python", "python3", "composer", "dub",
    "stack", "cabal", "flutter", "dart", "lein",
];

/// Programs that look at a text and run nothing.
const READERS: &[&str] = &[
    "ruff",
    "mypy",
    "flake8",
    "black",
    "isort",
    "pylint",
    "pyright",
    "bandit",
    "eslint",
    "prettier",
    "tsc",
    "biome",
    "oxlint",
    "stylelint",
    "clippy",
    "fmt",
    "rustfmt",
    "shellcheck",
    "shfmt",
    "golangci-lint",
    "gofmt",
    "vet",
    "staticcheck",
    "checkstyle",
    "ktlint",
    "rubocop",
    "yamllint",
    "codespell",
    "typos",
    "pre-commit",
];

/// Whether a command runs tests, by its name or its text. Several in one are looked at one by one.
pub fn runs_tests(name: &str, command: &str) -> bool {
    let parts: Vec<&str> = command
        .split(['\n', ';', '|', '&'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let reads = |part: &str| words(part).any(|word| READERS.contains(&base(word)));
    if parts.iter().any(|part| part_runs_tests(part)) {
        return true;
    }
    // By its name, unless all it does is to look at texts.
    let says = name.split(|c: char| !c.is_alphanumeric()).any(|word| {
        matches!(
            word.to_ascii_lowercase().as_str(),
            "test" | "tests" | "testing" | "spec" | "specs" | "unittest" | "unittests"
        )
    });
    says && !parts.iter().all(|part| reads(part))
}

fn part_runs_tests(part: &str) -> bool {
    if words(part).any(|word| READERS.contains(&base(word))) {
        return false;
    }
    let is_test = |word: &str| {
        let word = word.trim_start_matches(['-', '+', ':']);
        let mut pieces = word.split([':', '-', '_', '.', '=']);
        // `npm run format:check` looks at texts.
        matches!(word, "check" | "verify") || pieces.any(|piece| matches!(piece, "test" | "tests"))
    };
    let mut is_tool = false;
    for word in words(part) {
        let program = base(word);
        if RUNNERS.contains(&program) {
            return true;
        }
        if is_tool && is_test(word) && !word.contains('/') {
            // `go vet` and `cargo check` look; `make check` and `gradle check` run.
            let looks = program == "check" && part_begins(part, &["cargo", "deno", "biome"]);
            return !looks;
        }
        is_tool |= TOOLS.contains(&program);
        // `sh tests/run.sh`, `./run_tests.sh`, `for t in tests/*.sh`.
        let is_script = has_end(word, &["sh", "bash", "py"]);
        if is_script && word.split('/').any(|piece| piece.contains("test")) {
            return true;
        }
    }
    false
}

fn part_begins(part: &str, programs: &[&str]) -> bool {
    words(part)
        .next()
        .is_some_and(|first| programs.contains(&base(first)))
}

fn words(part: &str) -> impl Iterator<Item = &str> {
    part.split_whitespace()
        .map(|word| word.trim_matches(['"', '\'', '(', ')']))
        // `NAME=value` before a program.
        .filter(|word| !word.is_empty())
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_run_tests_are_known() {
        for command in [
            "pytest",
            "python -m pytest -q",
            "PYTHONPATH=. python3 -m unittest discover",
            ".venv/bin/pytest tests",
            "cargo test --workspace",
            "cargo nextest run",
            "npm test",
            "npm run test:unit",
            "yarn test",
            "pnpm -r test",
            "go test ./...",
            "mvn -q test",
            "./gradlew check",
            "make test",
            "make check",
            "just test",
            "sh tests/run.sh",
            "./run_tests.sh",
            "node --test",
            "ruff check . && pytest -q",
            "for t in tests/*.sh; do sh \"$t\" || exit 1; done",
            "uv run pytest",
            "dotnet test",
            "npx vitest run",
        ] {
            assert!(runs_tests("Gate", command), "{command}");
        }
        for command in [
            "ruff check .",
            "ruff check tests",
            "mypy src tests",
            "cargo clippy --all-targets",
            "cargo check --tests",
            "cargo build",
            "cargo fmt --check",
            "npm run lint",
            "npm run format:check",
            "go vet ./...",
            "tsc --noEmit",
            "true",
            "test -e again.txt || sleep 1000",
            "grep -q made made.txt",
            "eslint test/",
        ] {
            assert!(!runs_tests("Gate", command), "{command}");
        }
        assert!(runs_tests("Unit tests", "./ci/run"));
        assert!(runs_tests("tests", "echo ok"));
        assert!(!runs_tests("tests lint", "ruff check tests"));
        assert!(!runs_tests("Latest", "./ci/run"));
    }

    #[test]
    fn files_are_words_for_sh() {
        let files = ["a b.py".to_owned(), "it's.py".to_owned(), "-x".to_owned()];
        assert_eq!(
            with_files("pytest {files} -q", &files),
            r"pytest 'a b.py' 'it'\''s.py' './-x' -q"
        );
        assert_eq!(with_files("pytest", &files), "pytest");
        assert_eq!(
            with_files("t {files}", &["tests/a.py".to_owned()]),
            "t tests/a.py"
        );
    }

    #[test]
    fn patterns_mean_files_and_folders() {
        for (pattern, path) in [
            ("src/", "src/a/b.py"),
            ("src", "src/a.py"),
            ("./src/a.py", "src/a.py"),
            ("src/*.py", "src/a.py"),
            ("**/test_*", "a/test_x.py"),
            (".", "anything"),
            ("src/api/*", "src/api/v1/x.py"),
        ] {
            assert!(meets(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [("src", "srcs/a.py"), ("src/a.py", "src/a.pyc"), ("", "x")] {
            assert!(!meets(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn documents_are_what_people_read() {
        for path in [
            "README",
            "README.md",
            "readme.txt",
            "LICENSE-MIT",
            "CHANGES.txt",
            "docs/notes.txt",
            "docs/a/how.rst",
        ] {
            assert!(is_document(path), "{path}");
        }
        for path in [
            "requirements.txt",
            "requirements-dev.txt",
            "docs/requirements.txt",
            "requirements/base.txt",
            "constraints.txt",
            "CMakeLists.txt",
            "docs/CMakeLists.txt",
            "README_x.py",
            "LICENSE.sh",
            "NOTICE.js",
            "newsletter.txt",
            "data/words.txt",
            "Makefile",
        ] {
            assert!(!is_document(path), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_separated_is_said() {
        let patterns = ["tests/**".to_owned()];
        let of = |files: &[(&str, Option<&str>, Option<&str>)]| {
            plan(&ChangeSet::between(files), TestPatterns(&patterns))
        };
        assert_eq!(of(&[("a.py", None, Some("x"))]), ProofPlan::Nothing);
        assert_eq!(
            of(&[("a.py", None, Some("x")), ("tests/a.py", None, Some("y"))]),
            ProofPlan::Run(vec!["tests/a.py".to_owned()])
        );
        let said = |plan: ProofPlan| match plan {
            ProofPlan::Inseparable(why) => why,
            other => panic!("{other:?}"),
        };
        let only = of(&[
            ("tests/a.py", None, Some("y")),
            ("README.md", None, Some("x")),
        ]);
        assert!(said(only).contains("only tests"));
        let gone = of(&[("a.py", None, Some("x")), ("tests/a.py", Some("y"), None)]);
        assert!(said(gone).contains("takes tests away"));
        let within = of(&[(
            "src/a.rs",
            Some("fn a() {}\n"),
            Some("fn a() {}\n#[test]\nfn b() {}\n"),
        )]);
        assert!(said(within).contains("src/a.rs"));
    }
}
