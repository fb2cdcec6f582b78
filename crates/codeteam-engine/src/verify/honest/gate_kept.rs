//! What the checks go by is as it was: their configuration, scripts and programs.
//!
//! Of files that are about more than checks, only the parts that are count: tables of tools in
//! `pyproject.toml`, scripts that there were in `package.json`, lints and targets in `Cargo.toml`,
//! targets of a `Makefile` that a command names with what they go by, what a `pom.xml` builds with. A
//! file of a tool that no command runs is told.
//! What the task names in its `files` may change and is told.

mod fakes;
mod files;
mod make;
mod parts;

use std::collections::BTreeSet;

use self::files::{CONFIGURE, GateFileScope};
use super::{HonestySubject, names};
use crate::verify::CheckFindings;
use crate::verify::change::{ChangedFile, FileVersion};
use crate::verify::source::has_end;

/// Programs that run what a file names: which tools those are is not seen in the command.
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

/// Files that Python reads whatever it is asked for.
const EVERYWHERE: &[&str] = &["sitecustomize.py", "usercustomize.py"];

pub(super) fn gate_kept(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    let gate = GateCommands::of(subject.commands);
    for file in &subject.change.files {
        match fakes::fakes(file, subject) {
            Some((told, true)) => found.wrong.push(format!("{told}; take it out")),
            Some((told, false)) => found.told.push(told),
            None => {}
        }
        let Some((what, counts)) = gate.goes_by(file, subject) else {
            continue;
        };
        let path = &file.path;
        if subject.names(path) || !counts {
            found.told.push(format!("`{path}` {what}"));
        } else {
            found.wrong.push(format!(
                "`{path}` {what}, and the task does not name it: leave it as it was"
            ));
        }
    }
    found
}

/// The words of the gate's commands.
struct GateCommands<'a> {
    commands: &'a [String],
    words: Vec<&'a str>,
}

impl<'a> GateCommands<'a> {
    fn of(commands: &'a [String]) -> Self {
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

    /// Whether what is run may be any tool.
    fn is_indirect(&self) -> bool {
        INDIRECT.iter().any(|program| self.runs(program))
    }

    /// What a file has to do with the checks, and whether that counts.
    fn goes_by(&self, file: &ChangedFile, subject: &HonestySubject<'_>) -> Option<(String, bool)> {
        let path = file.path.as_str();
        let name = path.rsplit('/').next().unwrap_or(path);
        if EVERYWHERE.contains(&name) || has_end(name, &["pth"]) {
            return Some(("is run by every Python".to_owned(), true));
        }
        if let Some(what) = installed(path, name) {
            return Some((what.to_owned(), true));
        }
        if file.is_new() {
            if let Some(what) = self.is_shadowed_by(path, name) {
                return Some((what, true));
            }
        } else if let Some(command) = self.names(path)
            && !is_a_test(subject, path, name)
        {
            return Some((format!("is what `{command}` runs"), true));
        }
        let (_, part, tools) = CONFIGURE
            .iter()
            .find(|(pattern, ..)| is_named(pattern, path, name))?;
        let mut counts = tools.iter().any(|tool| self.runs(tool)) || self.is_indirect();
        let what = match part {
            GateFileScope::Elsewhere => {
                counts = false;
                "was changed".to_owned()
            }
            GateFileScope::Whole => "was changed".to_owned(),
            GateFileScope::Hooks => {
                if let Some(line) = hooks(file) {
                    format!("has hooks that change what is run: {line}")
                } else {
                    // What it does to the tests is found by running them without it.
                    counts = false;
                    every_test(file)?.to_owned()
                }
            }
            GateFileScope::Some(parts) => {
                let changed = changed_parts(*parts, file, subject);
                if changed.is_empty() {
                    return None;
                }
                let is_run = |part: &String| self.runs(tool_of(part)) || self.is_indirect();
                counts &= changed.iter().any(is_run);
                format!("was changed in {}", names(&changed))
            }
        };
        let whose = match tools {
            ["*", ..] => "the checks go by it".to_owned(),
            [tool, ..] => format!("`{tool}` goes by it"),
            [] => String::new(),
        };
        Some((format!("{what} ({whose})"), counts))
    }

    /// The command that names a file.
    fn names(&self, path: &str) -> Option<&'a str> {
        let is_it = |word: &str| word.trim_start_matches("./") == path;
        self.commands.iter().map(String::as_str).find(|command| {
            command
                .split([' ', '\n', ';', '&', '|', '"', '\'', '(', ')'])
                .any(is_it)
        })
    }

    /// What a new file hides, if it hides something.
    fn is_shadowed_by(&self, path: &str, name: &str) -> Option<String> {
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
        // `./run` is the project's own; `pytest` at the top is none of it.
        let is_program =
            path == name && !name.contains('.') && self.words.contains(&name) && is_tool(name);
        is_program.then(|| format!("has the name of the program `{name}`"))
    }
}

/// Why a file of Python's that people do not write by hand has to do with the checks.
fn installed(path: &str, name: &str) -> Option<&'static str> {
    if has_end(name, &["pyc", "pyo"]) {
        return Some("is compiled code, which Python may run in place of its source");
    }
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let is_metadata = has_end(folder, &["dist-info", "egg-info"]);
    (is_metadata && name == "entry_points.txt")
        .then_some("names plugins, which test runners load by themselves")
}

/// The tool that a part of a file is for: `tool.ruff`, `tool:pytest`, `mypy-requests`; any, if it
/// is none that has a name.
fn tool_of(part: &str) -> &str {
    let plain = part.strip_prefix("tool.").or(part.strip_prefix("tool:"));
    let named = plain.unwrap_or(part).split([':', '-', '.']).next();
    match named {
        Some(tool) if parts::TOOLS.contains(&tool) => tool,
        Some("testenv") => "tox",
        _ => "*",
    }
}

/// Whether a word of a command is a program and not one of its arguments.
fn is_tool(word: &str) -> bool {
    !matches!(
        word,
        "src" | "lib" | "app" | "test" | "tests" | "check" | "run" | "build"
    ) && word
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// Whether a file that a command names is a test, which are looked after elsewhere.
fn is_a_test(subject: &HonestySubject<'_>, path: &str, name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let says = stem.starts_with("test_") || stem.ends_with("_test") || name.contains(".test.");
    subject.tests.has(path) && says
}

fn is_named(pattern: &str, path: &str, name: &str) -> bool {
    if pattern.contains('/') {
        return codeteam_core::workflow::glob_matches(pattern, path);
    }
    codeteam_core::workflow::glob_matches(pattern, name)
}

fn changed_parts(
    parts: fn(&str, &HonestySubject<'_>) -> Vec<(String, String)>,
    file: &ChangedFile,
    subject: &HonestySubject<'_>,
) -> Vec<String> {
    let unread = |side: &FileVersion| side.is_there() && side.text().is_none();
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
    // What came where nothing was is a part of the checks from now on.
    let new = differs(&after, &before).into_iter();
    changed.extend(new.filter(|name| parts::counts_if_new(name)));
    changed.sort();
    changed.dedup();
    changed
}

/// An added line of a `conftest.py` that changes which tests are run, or how they end.
fn hooks(file: &ChangedFile) -> Option<String> {
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
    if file.after.is_there() && file.after.text().is_none() {
        return Some("it cannot be looked into".to_owned());
    }
    let line = file.added.iter().find(|line| {
        let code = line.text.trim();
        !code.starts_with('#') && HOOKS.iter().any(|hook| code.contains(hook))
    })?;
    Some(format!(
        "line {}: `{}`",
        line.number,
        super::brief(&line.text)
    ))
}

/// Why a `conftest.py` without hooks has to do with tests that do not ask for it.
fn every_test(file: &ChangedFile) -> Option<&'static str> {
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
