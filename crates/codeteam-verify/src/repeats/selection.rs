//! The commands that run only some tests, made from the command that runs all of them, for the
//! runners that are known.
//!
//! Only a plain command is taken apart: a program, its options and what it is to run. What needs a
//! shell (`&&`, quotes, variables) or hides the runner (`make test`, `npm test`) is not, and the
//! caller runs it as a whole.

use codeteam_core::shell::shell_word;

use super::{ChangedTest, ChangedTestFile};

/// The largest number of tests that are run alone.
const ALONE: usize = 5;
/// The largest number of tests that are named in one command.
const TOGETHER: usize = 50;

/// Commands that run only the tests of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestSelection {
    /// All of them.
    pub together: String,
    /// All of them in another order, if the runner has one.
    pub reordered: Option<String>,
    /// Some of them, each by itself; empty if there is only one.
    pub alone: Vec<SelectedTest>,
}

/// A test, or a file of tests, that is run by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedTest {
    /// Its name for people.
    pub name: String,
    /// The command.
    pub command: String,
    /// Whether it was not there before the change.
    pub is_new: bool,
}

/// A program that runs tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestRunner {
    Pytest,
    Unittest,
    CargoTest,
    Nextest,
    GoTest,
    NodeTest,
    Jest,
    Vitest,
    Mocha,
    Maven,
    Gradle,
}

/// A plain command, split at the word after which the runner's own words begin.
struct RunnerCommand<'c> {
    runner: TestRunner,
    /// The words up to the runner, and the options that stay.
    kept: Vec<&'c str>,
}

/// What a runner is told to run: a file, or a test in it.
struct TestTarget {
    /// The words, as the runner wants them.
    words: Vec<String>,
    /// The name for people.
    name: String,
    is_new: bool,
}

/// Makes the commands that run only the tests of a change, or returns `None` if the command is not
/// one of a known runner, or runs none of these files.
pub fn select_tests(command: &str, files: &[ChangedTestFile]) -> Option<TestSelection> {
    let command = RunnerCommand::parse(command)?;
    let runner = command.runner;
    let files = files.iter().filter(|file| runner.runs(&file.path));
    let targets: Vec<TestTarget> = files
        .flat_map(|file| runner.targets(file))
        .take(TOGETHER)
        .collect();
    if targets.is_empty() {
        return None;
    }
    let all: Vec<&TestTarget> = targets.iter().collect();
    let reversed: Vec<&TestTarget> = targets.iter().rev().collect();
    let reordered = match runner {
        TestRunner::Pytest | TestRunner::Unittest if all.len() > 1 => {
            Some(command.with(&reversed, &[]))
        }
        TestRunner::GoTest if all.len() > 1 => Some(command.with(&all, &["-shuffle=7"])),
        TestRunner::Vitest => Some(command.with(&all, &["--sequence.shuffle"])),
        TestRunner::Maven if all.len() > 1 => {
            Some(command.with(&all, &["-Dsurefire.runOrder=reversealphabetical"]))
        }
        _ => None,
    };
    let alone = match all.len() {
        1 => Vec::new(),
        _ => targets
            .iter()
            .take(ALONE)
            .map(|target| SelectedTest {
                name: target.name.clone(),
                command: command.with(&[target], &[]),
                is_new: target.is_new,
            })
            .collect(),
    };
    Some(TestSelection {
        together: command.with(&all, &[]),
        reordered,
        alone,
    })
}

impl<'c> RunnerCommand<'c> {
    fn parse(command: &'c str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./@+,:=".contains(c);
        if !command.chars().all(is_plain) {
            return None;
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        let (runner, begin) = TestRunner::find(&words)?;
        let (mut kept, rest) = (words[..begin].to_vec(), &words[begin..]);
        if rest.contains(&"--") {
            return None;
        }
        match runner {
            TestRunner::Unittest => {
                let rest = rest.strip_prefix(&["discover"]).unwrap_or(rest);
                // Where modules begin is known only if nothing says otherwise.
                if rest.iter().any(|word| !is_flag(word)) {
                    return None;
                }
                kept.extend(rest);
            }
            // Both take what is to be run in addition to goals and options.
            TestRunner::Maven | TestRunner::Gradle => kept.extend(rest),
            TestRunner::CargoTest | TestRunner::Nextest => {
                let mut before = "";
                for word in rest {
                    let is_value = before.starts_with('-') && !before.contains('=');
                    if !word.starts_with('-') && (!is_value || is_flag(before)) {
                        // It selects tests already.
                        return None;
                    }
                    before = word;
                }
                kept.extend(rest);
            }
            _ => {
                let mut before = "";
                for word in rest {
                    let is_value = before.starts_with('-') && !before.contains('=');
                    if word.starts_with('-') || (is_value && !is_flag(before)) {
                        kept.push(word);
                    }
                    before = word;
                }
            }
        }
        Some(Self { runner, kept })
    }

    /// Returns the command that runs these targets, with further options.
    fn with(&self, targets: &[&TestTarget], options: &[&str]) -> String {
        let mut words: Vec<String> = self.kept.iter().map(|word| (*word).to_owned()).collect();
        words.extend(options.iter().map(|option| (*option).to_owned()));
        let targets = || targets.iter().flat_map(|target| &target.words);
        match self.runner {
            TestRunner::CargoTest => {
                words.extend(["--".to_owned(), "--exact".to_owned()]);
                words.extend(targets().cloned());
            }
            TestRunner::GoTest => {
                // A folder and a name for each target.
                let parts: Vec<&String> = targets().collect();
                let mut names: Vec<&str> = parts
                    .iter()
                    .skip(1)
                    .step_by(2)
                    .map(|s| s.as_str())
                    .collect();
                names.dedup();
                words.extend([
                    "-count=1".to_owned(),
                    "-run".to_owned(),
                    shell_word(&format!("^({})$", names.join("|"))),
                ]);
                let mut folders: Vec<&String> = parts.into_iter().step_by(2).collect();
                folders.dedup();
                words.extend(folders.into_iter().cloned());
            }
            TestRunner::Jest => {
                words.push("--runTestsByPath".to_owned());
                words.extend(targets().cloned());
            }
            TestRunner::Maven => {
                let classes: Vec<&str> = targets().map(String::as_str).collect();
                words.push(format!("-Dtest={}", classes.join(",")));
                words.push("-Dsurefire.failIfNoSpecifiedTests=false".to_owned());
            }
            TestRunner::Gradle => {
                // Otherwise it does not repeat what has passed.
                words.push("--rerun-tasks".to_owned());
                for class in targets() {
                    words.extend(["--tests".to_owned(), class.clone()]);
                }
            }
            _ => words.extend(targets().cloned()),
        }
        words.join(" ")
    }
}

/// Returns true if an option takes no value.
fn is_flag(word: &str) -> bool {
    const FLAGS: [&str; 20] = [
        "-q",
        "-qq",
        "-v",
        "-vv",
        "-x",
        "-s",
        "-l",
        "-b",
        "-f",
        "--verbose",
        "--quiet",
        "--exitfirst",
        "--failfast",
        "--buffer",
        "--ci",
        "--run",
        "--test",
        "--locked",
        "--offline",
        "--workspace",
    ];
    FLAGS.contains(&word)
}

impl TestRunner {
    /// Finds the runner of a command, and the position of the first word of its own.
    fn find(words: &[&str]) -> Option<(Self, usize)> {
        let program = |at: usize| {
            let word = words.get(at)?;
            word.rsplit('/').next()
        };
        // Variables and what starts the program in an environment come before it.
        let first = words.iter().position(|word| !word.contains('='))?;
        let wrappers = [
            "uv", "poetry", "pdm", "hatch", "npx", "pnpm", "yarn", "bunx", "exec", "run",
        ];
        let first = (first..words.len())
            .find(|at| !program(*at).is_some_and(|word| wrappers.contains(&word)))?;
        let second = program(first + 1);
        Some(match (program(first)?, second) {
            ("pytest" | "py.test", _) => (Self::Pytest, first + 1),
            (python, Some("-m")) if python.starts_with("python") => match program(first + 2)? {
                "pytest" => (Self::Pytest, first + 3),
                "unittest" => (Self::Unittest, first + 3),
                _ => return None,
            },
            ("cargo", Some("test")) => (Self::CargoTest, first + 2),
            ("cargo", Some("nextest")) if program(first + 2) == Some("run") => {
                (Self::Nextest, first + 3)
            }
            ("go", Some("test")) => (Self::GoTest, first + 2),
            ("node", _) if words.contains(&"--test") => (Self::NodeTest, first + 1),
            ("jest", _) => (Self::Jest, first + 1),
            ("vitest", Some("run")) => (Self::Vitest, first + 2),
            ("mocha", _) => (Self::Mocha, first + 1),
            ("mvn" | "mvnw", _) if words.iter().any(|w| matches!(*w, "test" | "verify")) => {
                (Self::Maven, first + 1)
            }
            ("gradle" | "gradlew", _) if words.contains(&"test") => (Self::Gradle, first + 1),
            _ => return None,
        })
    }

    /// Returns true if the runner runs files of this kind.
    fn runs(self, path: &str) -> bool {
        let (stem, end) = path.rsplit_once('.').unwrap_or((path, ""));
        match self {
            Self::Pytest | Self::Unittest => end == "py",
            Self::CargoTest | Self::Nextest => end == "rs",
            Self::GoTest => end == "go" && stem.ends_with("_test"),
            Self::NodeTest | Self::Jest | Self::Vitest | Self::Mocha => {
                matches!(
                    end,
                    "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx"
                )
            }
            Self::Maven | Self::Gradle => end == "java",
        }
    }

    /// Returns what the runner is told to run in a file: its changed tests, or all of it.
    fn targets(self, file: &ChangedTestFile) -> Vec<TestTarget> {
        let path = file.path.as_str();
        let whole = |words: Vec<String>| {
            vec![TestTarget {
                words,
                name: path.to_owned(),
                is_new: file.is_new,
            }]
        };
        let each = |words: &dyn Fn(&ChangedTest) -> Vec<String>| -> Vec<TestTarget> {
            let target = |test: &ChangedTest| TestTarget {
                words: words(test),
                name: format!("{path}::{}", test.names.join("::")),
                is_new: test.is_new,
            };
            file.tests.iter().map(target).collect()
        };
        let word = if path.starts_with('-') {
            shell_word(&format!("./{path}"))
        } else {
            shell_word(path)
        };
        match self {
            Self::Pytest if file.tests.is_empty() => whole(vec![word]),
            Self::Pytest => {
                each(&|test| vec![shell_word(&format!("{path}::{}", test.names.join("::")))])
            }
            Self::Unittest => {
                let Some(module) = module_of(path) else {
                    return Vec::new();
                };
                if file.tests.is_empty() {
                    return whole(vec![module]);
                }
                // A function outside of a class is none of unittest's.
                let mut found = each(&|test| vec![format!("{module}.{}", test.names.join("."))]);
                found.retain(|target| {
                    target.words[0].matches('.').count() > module.matches('.').count() + 1
                });
                found
            }
            Self::CargoTest | Self::Nextest => each(&|test| vec![test.names.join("::")]),
            Self::GoTest => {
                let folder = match path.rsplit_once('/') {
                    Some((folder, _)) => format!("./{folder}"),
                    None => ".".to_owned(),
                };
                each(&|test| vec![shell_word(&folder), test.names.join("/")])
            }
            Self::NodeTest | Self::Jest | Self::Vitest | Self::Mocha => whole(vec![word]),
            Self::Maven | Self::Gradle => {
                let name = path.rsplit('/').next().unwrap_or(path);
                let class = name.strip_suffix(".java").unwrap_or(name);
                let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if class.chars().all(is_plain) {
                    whole(vec![class.to_owned()])
                } else {
                    Vec::new()
                }
            }
        }
    }
}

/// Returns the name of the module of a Python file, from the top of the tree.
fn module_of(path: &str) -> Option<String> {
    let stem = path.strip_suffix(".py")?;
    let is_name = |part: &str| {
        !part.is_empty()
            && !part.starts_with(|c: char| c.is_ascii_digit())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    stem.split('/').all(is_name).then(|| stem.replace('/', "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, tests: &[&str]) -> ChangedTestFile {
        let test = |name: &&str| ChangedTest {
            names: name.split('.').map(str::to_owned).collect(),
            is_new: true,
        };
        ChangedTestFile {
            path: path.to_owned(),
            is_new: true,
            tests: tests.iter().map(test).collect(),
        }
    }

    #[track_caller]
    fn check(command: &str, file: &ChangedTestFile, together: &str, reordered: Option<&str>) {
        let found = select_tests(command, std::slice::from_ref(file));
        let found = found.unwrap_or_else(|| panic!("{command}"));
        assert_eq!(found.together, together);
        assert_eq!(found.reordered.as_deref(), reordered);
        let alone = if file.tests.len() > 1 {
            file.tests.len()
        } else {
            0
        };
        assert_eq!(found.alone.len(), alone, "{found:?}");
    }

    #[test]
    fn runners_run_only_the_changed_tests() {
        let python = file("tests/test_a.py", &["TestA.test_b", "TestA.test_c"]);
        check(
            "python -m pytest -q tests",
            &python,
            "python -m pytest -q tests/test_a.py::TestA::test_b tests/test_a.py::TestA::test_c",
            Some(
                "python -m pytest -q tests/test_a.py::TestA::test_c tests/test_a.py::TestA::test_b",
            ),
        );
        check(
            "uv run pytest -p no:cacheprovider",
            &file("tests/test_a.py", &[]),
            "uv run pytest -p no:cacheprovider tests/test_a.py",
            None,
        );
        check(
            "PYTHONPATH=. python3 -m unittest discover -q",
            &python,
            "PYTHONPATH=. python3 -m unittest -q tests.test_a.TestA.test_b tests.test_a.TestA.test_c",
            Some(
                "PYTHONPATH=. python3 -m unittest -q tests.test_a.TestA.test_c tests.test_a.TestA.test_b",
            ),
        );
        let rust = file("tests/it.rs", &["sub.works", "fails"]);
        check(
            "cargo test --workspace",
            &rust,
            "cargo test --workspace -- --exact sub::works fails",
            None,
        );
        check(
            "cargo nextest run -p app",
            &rust,
            "cargo nextest run -p app sub::works fails",
            None,
        );
        check(
            "go test ./...",
            &file("calc/calc_test.go", &["TestA", "TestB"]),
            "go test -count=1 -run '^(TestA|TestB)$' ./calc",
            Some("go test -shuffle=7 -count=1 -run '^(TestA|TestB)$' ./calc"),
        );
        let script = file("test/a b.test.js", &[]);
        check(
            "node --test test/",
            &script,
            "node --test 'test/a b.test.js'",
            None,
        );
        check(
            "npx jest --ci",
            &script,
            "npx jest --ci --runTestsByPath 'test/a b.test.js'",
            None,
        );
        check(
            "npx vitest run",
            &script,
            "npx vitest run 'test/a b.test.js'",
            Some("npx vitest run --sequence.shuffle 'test/a b.test.js'"),
        );
        check("npx mocha", &script, "npx mocha 'test/a b.test.js'", None);
        let java = file("src/test/java/app/CalcTest.java", &[]);
        check(
            "mvn -q test",
            &java,
            "mvn -q test -Dtest=CalcTest -Dsurefire.failIfNoSpecifiedTests=false",
            None,
        );
        check(
            "./gradlew test",
            &java,
            "./gradlew test --rerun-tasks --tests CalcTest",
            None,
        );
    }

    #[test]
    fn what_is_no_plain_command_of_a_known_runner_is_run_as_a_whole() {
        let python = [file("tests/test_a.py", &["TestA.test_b"])];
        for command in [
            "sh check.sh",
            "make test",
            "npm test",
            "pytest -q && ruff check .",
            "pytest -k 'not slow'",
            "python -m unittest discover -s tests",
            "python -m unittest tests.test_b",
            "cargo test",
            "cargo test -- --nocapture",
            "",
        ] {
            assert_eq!(select_tests(command, &python), None, "{command}");
        }
        assert_eq!(
            select_tests("cargo test works", &[file("tests/it.rs", &["works"])]),
            None
        );
        assert_eq!(
            select_tests(
                "python -m unittest",
                &[file("tests/my-test.py", &["A.test_b"])]
            ),
            None
        );
        // A plain function is a test of pytest's only.
        assert_eq!(
            select_tests(
                "python -m unittest",
                &[file("tests/test_a.py", &["test_b"])]
            ),
            None
        );
    }
}
