//! What workers are given where their contract says it to the letter: one JSON object.

use std::fmt::Write as _;

use codeteam_context::files::{FileContent, FileEntry, FileSet};
use codeteam_context::language::Language;
use codeteam_core::assignment::Assignment;
use codeteam_core::event::CheckResult;
use codeteam_core::plan::Task;
use codeteam_core::role::RoleKind;
use codeteam_core::submission::strict;
use serde_json::{Value, json};

use super::told::{Error, PromptRequest};
use crate::prompt;

/// How long the summary of a repository may be, in characters.
const MAX_SUMMARY: usize = 4_000;
/// How much of a file's first words is told, in characters.
const MAX_NOTE: usize = 80;
/// What is printed beyond this is left out in the middle: a report of it is the same.
const MAX_OUTPUT: usize = 50_000;

/// The input of an assignment, without secrets.
pub(super) fn input(asked: &PromptRequest<'_>) -> Result<String, Error> {
    let assignment = asked.assignment;
    let root = assignment.means.root.as_deref();
    let files = asked.project.files();
    let mut input = match assignment.kind {
        RoleKind::Planner => json!({
            "goal": assignment.goal.trim(),
            "repo_summary": summary(files, root),
            "plan_id": strict::plan_id(&assignment.plan_id),
        }),
        RoleKind::Implementer => {
            let task = assignment
                .task
                .clone()
                .unwrap_or_else(|| of_goal(assignment));
            json!({
                "task": strict::task_as_told(&task, root),
                "context_files": shown(&task, files, root)?,
            })
        }
        _ => {
            let (code, output) = tested(&assignment.checks, &asked.outputs);
            let task = assignment.task.as_ref().map(|task| task.id.as_str());
            json!({
                "task_id": task.unwrap_or_default(),
                "pytest_exit_code": code,
                "pytest_output": output,
            })
        }
    };
    prompt::redact(&mut input, asked.redactor);
    Ok(input.to_string())
}

/// The goal as a task, where there is no plan.
fn of_goal(assignment: &Assignment) -> Task {
    Task {
        title: assignment.goal.trim().to_owned(),
        ..Task::default()
    }
}

/// The files of a task that are there, whole.
fn shown(task: &Task, files: &dyn FileSet, root: Option<&str>) -> Result<Vec<Value>, Error> {
    let list = files.list();
    let mut shown = Vec::new();
    for path in &task.files {
        let Some(at) = list.iter().position(|file| file.path == *path) else {
            continue;
        };
        let path = strict::told(root, path);
        let why = match files.read(at) {
            FileContent::Text(content) => {
                shown.push(json!({ "path": path, "content": content }));
                continue;
            }
            FileContent::Gone => continue,
            FileContent::Binary => "it is no text",
            FileContent::TooLarge => "it is too large",
            FileContent::Other => "it is no plain file",
            FileContent::Unreadable(_) => "it cannot be read",
        };
        let path = path.to_owned();
        return Err(Error::Unshowable { path, why });
    }
    Ok(shown)
}

/// What the checks ended with, and what they printed. One command is told as it is; of several, each
/// has its name before it.
pub(crate) fn tested(checks: &[CheckResult], outputs: &[Option<String>]) -> (i32, String) {
    let failed = checks.iter().find(|check| !check.passed);
    let code = failed.map_or(0, |check| check.exit.filter(|code| *code != 0).unwrap_or(1));
    let printed = checks
        .iter()
        .zip(outputs.iter().chain(std::iter::repeat(&None)))
        .filter(|(check, output)| output.is_some() || !check.passed);
    let is_one = printed.clone().count() == 1;
    let mut all = String::new();
    for (check, output) in printed {
        if !is_one {
            let _ = writeln!(all, "$ {}", check.name);
        }
        match output {
            Some(output) => all.push_str(output),
            None => all.push_str(&check.summary),
        }
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        // A command that was ended could not say so itself.
        if check.exit.is_some_and(|code| code >= 124)
            && let Some(ended) = check.summary.lines().last()
        {
            let _ = writeln!(all, "{ended}");
        }
    }
    (code, ends(all))
}

/// A text without its middle if it is very long.
fn ends(text: String) -> String {
    let chars = text.chars().count();
    if chars <= MAX_OUTPUT {
        return text;
    }
    let half = MAX_OUTPUT / 2;
    let first: String = text.chars().take(half).collect();
    let last: String = text.chars().skip(chars - half).collect();
    format!("{first}\n...\n{last}")
}

/// How much is said of each file.
#[derive(Clone, Copy, PartialEq)]
enum SummaryDetail {
    /// Its language, its length and its first words.
    Words,
    /// Its language and its length.
    Size,
    /// Its name.
    Name,
}

/// The files of a project, a line each, with as much said of each as there is room for.
pub(crate) fn summary(files: &dyn FileSet, root: Option<&str>) -> String {
    let list = files.list();
    let own = |file: &FileEntry| match root {
        None => !file.path.starts_with(".codeteam/"),
        Some(root) => strict::told(Some(root), &file.path) != file.path,
    };
    let list: Vec<(usize, &FileEntry)> = list.iter().enumerate().filter(|(_, f)| own(f)).collect();
    let tell = |(at, file): &(usize, &FileEntry), detail: SummaryDetail| {
        let path = strict::told(root, &file.path);
        match detail {
            SummaryDetail::Words => described(path, &files.read(*at)),
            SummaryDetail::Size => format!("{path} - {}, {} bytes", language(path), file.bytes),
            SummaryDetail::Name => path.to_owned(),
        }
    };
    for detail in [
        SummaryDetail::Words,
        SummaryDetail::Size,
        SummaryDetail::Name,
    ] {
        let mut text = String::new();
        let mut length = 0;
        for (before, file) in list.iter().enumerate() {
            let line = tell(file, detail);
            let left = list.len() - before;
            let more = format!("... and {left} more files");
            length += line.chars().count() + 1;
            // What is left is told in a line too, unless it is nothing.
            let kept = if left > 1 { more.len() + 1 } else { 0 };
            if length + kept > MAX_SUMMARY {
                if detail == SummaryDetail::Name {
                    text.push_str(&more);
                    return text;
                }
                text.clear();
                break;
            }
            text.push_str(&line);
            text.push('\n');
        }
        if !text.is_empty() || list.is_empty() {
            return text.trim_end().to_owned();
        }
    }
    String::new()
}

/// A file in a line: what it is, how long it is, and what it says of itself.
fn described(path: &str, content: &FileContent) -> String {
    let text = match content {
        FileContent::Text(text) => text,
        FileContent::Binary => return format!("{path} - no text"),
        FileContent::TooLarge => return format!("{path} - large"),
        FileContent::Other | FileContent::Gone | FileContent::Unreadable(_) => {
            return path.to_owned();
        }
    };
    let lines = match text.lines().count() {
        1 => "1 line".to_owned(),
        many => format!("{many} lines"),
    };
    let mut line = format!("{path} - {}, {lines}", language(path));
    if let Some(words) = first_words(text) {
        let _ = write!(line, " - {words}");
    }
    line
}

/// What a file is written in, by the end of its name.
fn language(path: &str) -> &str {
    if let Some(language) = Language::of(path) {
        return match language {
            Language::Python => "python",
            Language::JavaScript => "javascript",
            Language::TypeScript | Language::Tsx => "typescript",
            Language::Rust => "rust",
            Language::Go => "go",
            Language::Java => "java",
        };
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("md") => "markdown",
        Some("yml" | "yaml") => "yaml",
        Some("sh" | "bash") => "shell",
        Some("ini" | "cfg" | "toml" | "conf") => "configuration",
        Some(end) if end.len() < name.len() - 1 && end.len() <= 8 => end,
        _ => "text",
    }
}

/// What comments and docstrings begin with.
const MARKS: [&str; 10] = [
    "\"\"\"", "'''", "//!", "///", "//", "/**", "/*", "<!--", "--", "#",
];

/// What a file says of itself at its very beginning: a heading, a comment, a docstring.
fn first_words(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    let is_prelude =
        |line: &&str| line.is_empty() || line.starts_with("#!") || line.contains("-*-");
    let first = lines.find(|line| !is_prelude(line))?;
    let mark = MARKS.iter().find(|mark| first.starts_with(**mark))?;
    let clean = |line: &str| {
        let line = line.trim_start_matches(['#', '/', '*', '!', '-', '<', '"', '\'']);
        let ends = ['"', '\'', '*', '/', '-', '>'];
        line.trim_end_matches(ends).trim().to_owned()
    };
    let mut words = clean(first);
    // `\"\"\"` alone, and the words on the next line.
    if words.is_empty() && !mark.starts_with('#') {
        words = clean(lines.next()?);
    }
    let short: String = words.chars().take(MAX_NOTE).collect();
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests;
