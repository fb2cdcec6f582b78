//! Plans how to prove that the tests of a change test something: they must fail without the rest of
//! it.

mod inline_tests;

pub use self::inline_tests::InlineTests;

use codeteam_core::shell::shell_word;
use codeteam_patterns::FilePatterns;

use super::change::{ChangeSet, ChangedFile};
use super::expected_outputs::is_expected_output;
use super::source::has_end;
use inline_tests::InlineSeparation;

/// The patterns of test files.
#[derive(Clone, Debug)]
pub struct TestPatterns(FilePatterns);

impl TestPatterns {
    /// Compiles patterns.
    pub fn new(patterns: &[String]) -> Self {
        Self(FilePatterns::lenient(patterns))
    }

    /// Returns true if a file is a test.
    pub fn is_test(&self, path: &str) -> bool {
        self.0.matches(path)
    }

    /// Returns true if a file is an executable test, as opposed to test data.
    pub fn is_test_program(&self, path: &str) -> bool {
        self.is_test(path) && super::source::is_source(path) && !is_expected_output(path)
    }
}

/// How the tests of a change can be proved.
///
/// [`plan_proof`] decides this from the change alone. For [`ProofPlan::Run`], the caller runs the
/// listed files twice: with the whole change, where they must pass, and on the old tree with only
/// the tests of the change, where they must fail. In the other cases there is nothing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofPlan {
    /// The change has no tests.
    Nothing,
    /// The tests cannot be separated from the rest, for this reason.
    Inseparable(String),
    /// These tests must be run without the rest.
    Run(TestsToProve),
}

/// The tests of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestsToProve {
    /// The test files.
    pub files: Vec<String>,
    /// The files whose tests are among the code that they test.
    pub inline: Vec<InlineTests>,
}

impl TestsToProve {
    /// Returns the test files without those that only contain what tests expect: what a test runner
    /// takes as arguments.
    pub fn programs(&self) -> Vec<String> {
        let programs = self.files.iter().filter(|file| !is_expected_output(file));
        programs.cloned().collect()
    }

    /// Returns true if the change touches nothing of the tests but what they expect.
    pub fn are_only_expected_outputs(&self) -> bool {
        self.inline.is_empty() && self.files.iter().all(|file| is_expected_output(file))
    }

    /// Returns the names of all files that tests are in.
    pub fn names(&self) -> Vec<&str> {
        let inline = self.inline.iter().map(|file| file.path.as_str());
        let files = self.files.iter().map(String::as_str);
        files.chain(inline).collect()
    }
}

/// Decides how the tests of a change can be proved.
pub fn plan_proof(change: &ChangeSet, tests: &TestPatterns) -> ProofPlan {
    let is_test = |file: &&ChangedFile| tests.is_test(&file.path);
    let touched: Vec<&ChangedFile> = change.files.iter().filter(is_test).collect();
    let within: Vec<&ChangedFile> = change
        .files
        .iter()
        .filter(|file| !tests.is_test(&file.path) && adds_a_test(file))
        .collect();
    let mut found = TestsToProve {
        files: touched
            .iter()
            .filter(|file| file.after.exists())
            .map(|file| file.path.clone())
            .collect(),
        inline: Vec::new(),
    };
    let mut only_tests = Vec::new();
    for file in &within {
        match inline_tests::separate_tests(file) {
            InlineSeparation::Separate(tests) => found.inline.push(tests),
            InlineSeparation::OnlyTests => only_tests.push(file.path.as_str()),
            InlineSeparation::Impossible => {}
        }
    }
    if touched.is_empty() && within.is_empty() {
        return ProofPlan::Nothing;
    }
    let mut rest = change
        .files
        .iter()
        .filter(|file| !tests.is_test(&file.path) && !only_tests.contains(&file.path.as_str()));
    if found.names().is_empty() {
        return ProofPlan::Inseparable(if within.is_empty() {
            "the change only takes tests away".to_owned()
        } else if only_tests.len() == within.len() && rest.all(|file| is_document(&file.path)) {
            ONLY_TESTS.to_owned()
        } else {
            let paths: Vec<&str> = within.iter().map(|file| file.path.as_str()).collect();
            format!(
                "the tests are in the same files as what they test ({}), so that they cannot be run \
                 without it",
                paths.join(", ")
            )
        });
    }
    if rest.all(|file| is_document(&file.path)) {
        return ProofPlan::Inseparable(ONLY_TESTS.to_owned());
    }
    ProofPlan::Run(found)
}

const ONLY_TESTS: &str = "the change touches only tests, so that there is nothing they could prove";

/// Returns true if a file that is not itself a test gained a test.
fn adds_a_test(file: &ChangedFile) -> bool {
    let marks: &[&str] = match file.path.rsplit_once('.') {
        Some((_, "rs")) => &["#[test]", "#[tokio::test", "#[cfg(test)]", "#[rstest"],
        Some((_, "py")) => &["def test_", "async def test_"],
        _ => &[],
    };
    let begins = |text: &str| marks.iter().any(|mark| text.trim_start().starts_with(mark));
    file.added.iter().any(|line| begins(&line.text))
}

/// Returns true if a file is only for people to read. A plain text counts if its name says so or if
/// it lies among documents: `requirements.txt` and `CMakeLists.txt` are for programs.
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
        // `LICENSE`, `LICENSE-MIT`, but not a program of that name.
        "" => is_called,
        _ => false,
    }
}

/// The placeholder for the test files in a command.
pub const FILES: &str = "{files}";

/// Inserts the files into a command, quoted for `sh`.
pub fn insert_files(command: &str, files: &[String]) -> String {
    if !command.contains(FILES) {
        return command.to_owned();
    }
    let words: Vec<String> = files.iter().map(|file| quote_file(file)).collect();
    command.replace(FILES, &words.join(" "))
}

/// Quotes the name of a file as one word for `sh`.
fn quote_file(text: &str) -> String {
    // Keep a name that begins with a dash from being read as an option.
    if text.starts_with('-') {
        shell_word(&format!("./{text}"))
    } else {
        shell_word(text)
    }
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

/// Programs that read a text and run nothing.
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

/// Returns true if a command runs tests, judged by its name or its text. The parts of a compound
/// command are judged separately.
pub fn runs_tests(name: &str, command: &str) -> bool {
    let parts: Vec<&str> = command
        .split(['\n', ';', '|', '&'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let reads = |part: &str| command_words(part).any(|word| READERS.contains(&program_name(word)));
    if parts.iter().any(|part| part_runs_tests(part)) {
        return true;
    }
    // The name counts, unless all that the command does is read texts.
    let says = name.split(|c: char| !c.is_alphanumeric()).any(|word| {
        matches!(
            word.to_ascii_lowercase().as_str(),
            "test" | "tests" | "testing" | "spec" | "specs" | "unittest" | "unittests"
        )
    });
    says && !parts.iter().all(|part| reads(part))
}

/// Returns true if all that a command does is to read texts: it formats, lints or checks types.
pub fn only_reads(command: &str) -> bool {
    let parts = command.split(['\n', ';', '|', '&']).map(str::trim);
    let mut parts = parts.filter(|part| !part.is_empty());
    parts.all(|part| {
        let mut words = command_words(part).map(program_name);
        let is_check = part_begins(part, &["cargo", "deno", "biome"])
            && command_words(part).any(|word| word == "check");
        is_check || words.any(|word| READERS.contains(&word))
    })
}

fn part_runs_tests(part: &str) -> bool {
    if command_words(part).any(|word| READERS.contains(&program_name(word))) {
        return false;
    }
    let is_test = |word: &str| {
        let word = word.trim_start_matches(['-', '+', ':']);
        let mut pieces = word.split([':', '-', '_', '.', '=']);
        // `npm run format:check` only reads texts.
        matches!(word, "check" | "verify") || pieces.any(|piece| matches!(piece, "test" | "tests"))
    };
    let mut is_tool = false;
    for word in command_words(part) {
        let program = program_name(word);
        if RUNNERS.contains(&program) {
            return true;
        }
        if is_tool && is_test(word) && !word.contains('/') {
            // `go vet` and `cargo check` only read; `make check` and `gradle check` run tests.
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
    command_words(part)
        .next()
        .is_some_and(|first| programs.contains(&program_name(first)))
}

fn command_words(part: &str) -> impl Iterator<Item = &str> {
    part.split_whitespace()
        .map(|word| word.trim_matches(['"', '\'', '(', ')']))
        .filter(|word| !word.is_empty())
}

fn program_name(word: &str) -> &str {
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
            insert_files("pytest {files} -q", &files),
            r"pytest 'a b.py' 'it'\''s.py' ./-x -q"
        );
        assert_eq!(insert_files("pytest", &files), "pytest");
        assert_eq!(
            insert_files("t {files}", &["tests/a.py".to_owned()]),
            "t tests/a.py"
        );
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
        let patterns = TestPatterns::new(&["tests/**".to_owned()]);
        let of = |files: &[(&str, Option<&str>, Option<&str>)]| {
            plan_proof(&ChangeSet::between_texts(files), &patterns)
        };
        assert_eq!(of(&[("a.py", None, Some("x"))]), ProofPlan::Nothing);
        assert_eq!(
            of(&[("a.py", None, Some("x")), ("tests/a.py", None, Some("y"))]),
            ProofPlan::Run(TestsToProve {
                files: vec!["tests/a.py".to_owned()],
                inline: Vec::new()
            })
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
        assert!(said(within).contains("only tests"));
        let within = of(&[(
            "src/a.py",
            Some("def a(): pass\n"),
            Some("def a(): return 1\n\ndef test_a(): assert a() == 1\n"),
        )]);
        assert!(said(within).contains("src/a.py"));
    }

    #[test]
    fn tests_of_rust_are_separated_from_what_they_test() {
        let patterns = TestPatterns::new(&["tests/**".to_owned()]);
        let change = ChangeSet::between_texts(&[(
            "src/a.rs",
            Some("fn a() -> u32 { 1 }\n"),
            Some("fn a() -> u32 { 2 }\n#[test]\nfn b() { assert_eq!(a(), 2); }\n"),
        )]);
        let ProofPlan::Run(found) = plan_proof(&change, &patterns) else {
            panic!("it is not run");
        };
        assert_eq!(found.names(), ["src/a.rs"]);
        let text = "fn a() -> u32 { 1 }\n#[test]\nfn b() { assert_eq!(a(), 2); }\n";
        assert_eq!(found.inline[0].text, text);
    }
}
