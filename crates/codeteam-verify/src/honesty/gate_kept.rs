//! Rule: the basis of the checks is unchanged, that is, their configuration, scripts and programs.
//!
//! Of files that also serve other purposes, only the relevant parts count: tables of tools in
//! `pyproject.toml`, existing scripts in `package.json`, lints and targets in `Cargo.toml`, targets
//! of a `Makefile` that a command names with everything they depend on, and what a `pom.xml` builds
//! with. A change to a file of a tool that no command runs is only reported. Files that the task
//! lists in `files` may change, and tests that it says are to change; that is reported as well.

mod fakes;
mod files;
mod make;
mod parts;
mod test_awareness;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use codeteam_patterns::FilePatterns;

use self::files::{CONFIGURE, GateFileScope};
use super::{HonestySubject, TESTS_MUST_BE_NAMED, join_names};
use crate::CheckFindings;
use crate::change::{ChangedFile, FileVersion};
use crate::source::has_end;

/// Programs that run what a file names, so that the command does not show which tools are used.
const INDIRECT: &[&str] = &[
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "make",
    "just",
    "tox",
    "nox",
    "sh",
    "bash",
    "poe",
    "hatch",
    "pdm",
    "task",
    "rake",
    "gradle",
    "gradlew",
    "mvn",
    "pre-commit",
    "nx",
    "turbo",
    "lerna",
];

/// How a file that the checks depend on is named if it is meant to change.
const FILES_MUST_BE_NAMED: &str = "If the task cannot be done without changing it, answer `blocked` and \
    say why: a file that the checks depend on may change only if the task's `files` name it";

/// Files that every Python process loads.
const EVERYWHERE: &[&str] = &["sitecustomize.py", "usercustomize.py"];

pub(super) fn check_gate_kept(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    let gate = GateCommands::from_commands(subject.commands);
    let mut remedies: BTreeSet<&str> = BTreeSet::new();
    for file in &subject.change.files {
        match fakes::find_fake(file, subject) {
            Some((told, true)) => found.failures.push(format!("{told}; take it out")),
            Some((told, false)) => found.notes.push(told),
            None => {}
        }
        test_awareness::check_test_awareness(file, subject, &mut found);
        let Some((what, counts)) = gate.relation_to_gate(file, subject) else {
            continue;
        };
        let path = &file.path;
        if subject.is_task_file(path) || !counts {
            found.notes.push(format!("`{path}` {what}"));
        } else {
            let is_test = subject.tests.is_test(path);
            remedies.insert(if is_test {
                TESTS_MUST_BE_NAMED
            } else {
                FILES_MUST_BE_NAMED
            });
            found.failures.push(format!(
                "`{path}` {what}, and the task does not name it as a file to change: leave it as it was"
            ));
        }
    }
    if let Some(last) = found.failures.last_mut() {
        for remedy in remedies {
            last.push('\n');
            last.push_str(remedy);
        }
    }
    found
}

/// Why it is not known whether a changed file belongs to the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateFileDoubt {
    /// Tests load it by themselves, and its text does not show what it does to them.
    LoadedByTests,
    /// A script of the checks runs it. It may be the product that the script tests.
    PerhapsProduct,
}

/// Returns the changed files that may decide how the checks end, although the rule does not refuse
/// them. Running the checks with these files as they were before tells more.
pub fn doubtful_gate_files<'a>(
    subject: &HonestySubject<'a>,
) -> Vec<(&'a ChangedFile, GateFileDoubt)> {
    let gate = GateCommands::from_commands(subject.commands);
    let doubt = |file: &ChangedFile| {
        let path = file.path.as_str();
        let name = path.rsplit('/').next().unwrap_or(path);
        if name == "conftest.py" {
            // Among the tests, it is restored with them.
            let is_unclear = !subject.tests.is_test(path) && added_hook(file).is_none();
            return is_unclear.then_some(GateFileDoubt::LoadedByTests);
        }
        if file.is_new() || is_a_test(subject, path, name) || gate.command_naming(path).is_some() {
            return None;
        }
        let script = subject.scripts.iter().find(|script| script.path == path)?;
        (!script.is_certain).then_some(GateFileDoubt::PerhapsProduct)
    };
    let files = subject.change.files.iter();
    let files = files.filter(|file| !subject.is_task_file(&file.path));
    files
        .filter_map(|file| Some((file, doubt(file)?)))
        .collect()
}

/// The words of the gate's commands.
struct GateCommands<'a> {
    commands: &'a [String],
    words: Vec<&'a str>,
}

impl<'a> GateCommands<'a> {
    fn from_commands(commands: &'a [String]) -> Self {
        let split = |c: char| {
            c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '"' | '\'' | '=')
        };
        let words = commands
            .iter()
            .flat_map(|command| command.split(split))
            .filter(|word| !word.is_empty())
            .collect();
        Self { commands, words }
    }

    fn runs(&self, tool: &str) -> bool {
        let is_it = |word: &&str| word.rsplit('/').next() == Some(tool);
        tool == "*" || self.words.iter().any(is_it)
    }

    /// Returns true if the commands may run any tool.
    fn is_indirect(&self) -> bool {
        INDIRECT.iter().any(|program| self.runs(program))
    }

    /// Returns how a changed file affects the checks, and whether that fails the rule.
    fn relation_to_gate(
        &self,
        file: &ChangedFile,
        subject: &HonestySubject<'_>,
    ) -> Option<(String, bool)> {
        let path = file.path.as_str();
        let name = path.rsplit('/').next().unwrap_or(path);
        if EVERYWHERE.contains(&name) || has_end(name, &["pth"]) {
            return Some(("is run by every Python".to_owned(), true));
        }
        if let Some(what) = python_artifact_reason(path, name) {
            return Some((what.to_owned(), true));
        }
        if file.is_new() {
            if let Some(what) = self.shadowing_reason(path, name) {
                return Some((what, true));
            }
        } else if !is_a_test(subject, path, name) {
            if let Some(command) = self.command_naming(path) {
                return Some((format!("is what `{command}` runs"), true));
            }
            if let Some(script) = subject.scripts.iter().find(|script| script.path == path) {
                let what = format!("is what {} runs", script.run_by);
                return Some((what, script.is_certain));
            }
        }
        let (_, part, tools) = find_configuration(path, name)?;
        let mut counts = tools.iter().any(|tool| self.runs(tool)) || self.is_indirect();
        let what = match part {
            GateFileScope::Elsewhere => {
                counts = false;
                "was changed".to_owned()
            }
            GateFileScope::Whole => "was changed".to_owned(),
            GateFileScope::Hooks => {
                if let Some(line) = added_hook(file) {
                    format!("has hooks that change what is run: {line}")
                } else {
                    // Running the tests without it shows what it does to them.
                    counts = false;
                    affects_every_test(file)?.to_owned()
                }
            }
            GateFileScope::Some(parts) => {
                let changed = changed_parts(*parts, file, subject);
                if changed.is_empty() {
                    return None;
                }
                let is_run = |part: &String| self.runs(tool_of(part)) || self.is_indirect();
                counts &= changed.iter().any(is_run);
                format!("was changed in {}", join_names(&changed))
            }
        };
        let whose = match tools {
            ["*", ..] => "the checks depend on it".to_owned(),
            [tool, ..] => format!("`{tool}` reads it"),
            [] => String::new(),
        };
        Some((format!("{what} ({whose})"), counts))
    }

    /// Returns the command that names a file.
    fn command_naming(&self, path: &str) -> Option<&'a str> {
        let is_it = |word: &str| word.trim_start_matches("./") == path;
        self.commands.iter().map(String::as_str).find(|command| {
            command
                .split([' ', '\n', ';', '&', '|', '"', '\'', '(', ')'])
                .any(is_it)
        })
    }

    /// Returns what a new file shadows, if it shadows something.
    fn shadowing_reason(&self, path: &str, name: &str) -> Option<String> {
        if path.starts_with("node_modules/") || path.contains("/node_modules/") {
            return Some("stands where a program of the checks would be".to_owned());
        }
        let top = path.split('/').next().unwrap_or(path);
        let stem = top.strip_suffix(".py").unwrap_or(top);
        let is_module =
            has_end(top, &["py"]) || path.ends_with("__init__.py") || path.ends_with("__main__.py");
        let python = [
            "python", "python3", "pytest", "py.test", "tox", "nox", "uv", "poetry", "hatch",
        ];
        let by_python = python.iter().any(|program| self.runs(program)) || self.is_indirect();
        let known = [
            "pytest", "_pytest", "pluggy", "unittest", "coverage", "ruff", "mypy", "flake8",
            "black",
        ];
        let hides =
            is_module && by_python && (known.contains(&stem) || (self.runs(stem) && is_tool(stem)));
        if hides {
            return Some(format!("is found in place of `{stem}`"));
        }
        // `./run` is the project's own program; a `pytest` at the top is not.
        let is_program =
            path == name && !name.contains('.') && self.words.contains(&name) && is_tool(name);
        is_program.then(|| format!("has the name of the program `{name}`"))
    }
}

/// Returns the parts of a makefile or justfile that commands use, by name: targets with their recipes,
/// and variables.
pub(super) fn recipes_for_commands(text: &str, commands: &[String]) -> Vec<(String, String)> {
    make::parse_parts_for(text, commands)
}

/// Returns why a generated Python file affects the checks, if it does.
fn python_artifact_reason(path: &str, name: &str) -> Option<&'static str> {
    if has_end(name, &["pyc", "pyo"]) {
        return Some("is compiled code, which Python may run in place of its source");
    }
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let is_metadata = has_end(folder, &["dist-info", "egg-info"]);
    (is_metadata && name == "entry_points.txt")
        .then_some("names plugins, which test runners load by themselves")
}

/// Returns the tool that a part of a file configures: `tool.ruff`, `tool:pytest`, `mypy-requests`.
/// The result is `*` if the part belongs to no known tool.
fn tool_of(part: &str) -> &str {
    let plain = part.strip_prefix("tool.").or(part.strip_prefix("tool:"));
    let named = plain.unwrap_or(part).split([':', '-', '.']).next();
    match named {
        Some(tool) if parts::TOOLS.contains(&tool) => tool,
        Some("testenv") => "tox",
        _ => "*",
    }
}

/// Returns true if a word of a command is a program and not an argument.
fn is_tool(word: &str) -> bool {
    !matches!(
        word,
        "src" | "lib" | "app" | "test" | "tests" | "check" | "run" | "build"
    ) && word
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// Returns true if a file that a command names is a test; other rules protect those.
fn is_a_test(subject: &HonestySubject<'_>, path: &str, name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let says = stem.starts_with("test_") || stem.ends_with("_test") || name.contains(".test.");
    subject.tests.is_test(path) && says
}

/// Returns how much of a file configures the checks, and for which tools.
fn find_configuration(
    path: &str,
    name: &str,
) -> Option<&'static (&'static str, GateFileScope, &'static [&'static str])> {
    static PATTERNS: LazyLock<Vec<FilePatterns>> = LazyLock::new(|| {
        let patterns = CONFIGURE.iter();
        let compiled = patterns.map(|(pattern, ..)| FilePatterns::lenient([pattern]));
        compiled.collect()
    });
    let rows = CONFIGURE.iter().zip(&*PATTERNS);
    let mut named = rows.filter(|((pattern, ..), compiled)| {
        // A pattern without a folder is that of a name, wherever the file is.
        compiled.matches(if pattern.contains('/') { path } else { name })
    });
    named.next().map(|(row, _)| row)
}

fn changed_parts(
    parts: fn(&str, &HonestySubject<'_>) -> Vec<(String, String)>,
    file: &ChangedFile,
    subject: &HonestySubject<'_>,
) -> Vec<String> {
    let unread = |side: &FileVersion| side.exists() && side.text().is_none();
    if unread(&file.before) || unread(&file.after) {
        return vec!["all of it".to_owned()];
    }
    let of = |text: Option<&str>| text.map(|text| parts(text, subject)).unwrap_or_default();
    let (before, after) = (of(file.before.text()), of(file.after.text()));
    let differs = |one: &[(String, String)], other: &[(String, String)]| -> Vec<String> {
        let other: BTreeSet<&(String, String)> = other.iter().collect();
        one.iter()
            .filter(|part| !other.contains(part))
            .map(|(name, _)| name.clone())
            .collect()
    };
    let mut changed = differs(&before, &after);
    // A new part belongs to the checks from now on.
    let new = differs(&after, &before).into_iter();
    changed.extend(new.filter(|name| parts::counts_if_new(name)));
    changed.sort();
    changed.dedup();
    changed
}

/// Finds an added line of a `conftest.py` that changes which tests are run, or how they end.
fn added_hook(file: &ChangedFile) -> Option<String> {
    const HOOKS: &[&str] = &[
        "def pytest_",
        "pytest_plugins",
        "hookimpl",
        "collect_ignore",
        "pytest.skip",
        "mark.skip",
        "mark.xfail",
        "os._exit",
        "sys.exit",
        "exitstatus",
        "outcome",
    ];
    if file.after.exists() && file.after.text().is_none() {
        return Some("it cannot be looked into".to_owned());
    }
    let line = file.added.iter().find(|line| {
        let code = line.text.trim();
        !code.starts_with('#') && HOOKS.iter().any(|hook| code.contains(hook))
    })?;
    Some(format!(
        "line {}: `{}`",
        line.number,
        super::shorten_line(&line.text)
    ))
}

/// Returns why a `conftest.py` without hooks affects tests that do not ask for it, if it does.
fn affects_every_test(file: &ChangedFile) -> Option<&'static str> {
    let is_said = file.after.text().is_none_or(|text| !text.trim().is_empty());
    if file.is_new() && is_said {
        return Some("is new, and is run before every test beside or below it");
    }
    let added = file.added.iter();
    added
        .map(|line| line.text.trim())
        .any(|code| code.contains("autouse") && !code.starts_with('#'))
        .then_some("has a fixture for every test beside or below it")
}
