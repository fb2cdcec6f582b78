//! Renders the input of workers whose contract prescribes it exactly: one JSON object.

use std::fmt::Write as _;

use codeteam_context::files::{FileContent, FileEntry, FileSet};
use codeteam_context::language::Language;
use codeteam_core::assignment::Assignment;
use codeteam_core::checks::CheckResult;
use codeteam_core::plan::Task;
use codeteam_core::role::RoleKind;
use codeteam_core::submission::strict;
use serde_json::{Value, json};

use super::rendering::{Error, PromptRequest};
use codeteam_report::secret_filter::redact_json;

/// The maximum length of the summary of a repository, in characters.
const MAX_SUMMARY: usize = 4_000;
/// The most characters that are shown of a file's first words.
const MAX_NOTE: usize = 80;
/// The maximum length of check output in characters; the middle of longer output is left out, which
/// does not change a report about it.
const MAX_OUTPUT: usize = 50_000;

/// Renders the input of an assignment, without secrets.
pub(super) fn render_input(asked: &PromptRequest<'_>) -> Result<String, Error> {
    let assignment = asked.assignment;
    let root = assignment.means.root.as_deref();
    let files = asked.project.files();
    let mut input = match assignment.kind {
        RoleKind::Planner => json!({
            "goal": assignment.goal.trim(),
            "repo_summary": summarize_files(files, root),
            "plan_id": strict::worker_plan_id(&assignment.plan_id),
        }),
        RoleKind::Implementer => {
            let task = assignment
                .task
                .clone()
                .unwrap_or_else(|| task_from_goal(assignment));
            json!({
                "task": strict::task_for_worker(&task, root),
                "context_files": shown(&task, files, root)?,
            })
        }
        _ => {
            let (code, output) = combine_check_results(&assignment.judged.checks, &asked.outputs);
            let task = assignment.task.as_ref().map(|task| task.id.as_str());
            json!({
                "task_id": task.unwrap_or_default(),
                "pytest_exit_code": code,
                "pytest_output": output,
            })
        }
    };
    redact_json(&mut input, asked.redactor);
    Ok(input.to_string())
}

/// Turns the goal into a task, where there is no plan.
fn task_from_goal(assignment: &Assignment) -> Task {
    Task {
        title: assignment.goal.trim().to_owned(),
        ..Task::default()
    }
}

/// Returns the existing files of a task, with their whole content.
fn shown(task: &Task, files: &dyn FileSet, root: Option<&str>) -> Result<Vec<Value>, Error> {
    let list = files.list();
    let mut shown = Vec::new();
    for path in &task.files {
        let Some(at) = list.iter().position(|file| file.path == *path) else {
            continue;
        };
        let path = strict::worker_path(root, path);
        let why = match files.read(at) {
            FileContent::Text(content) => {
                shown.push(json!({ "path": path, "content": content }));
                continue;
            }
            FileContent::Gone => continue,
            FileContent::Binary => "it is not text",
            FileContent::TooLarge => "it is too large",
            FileContent::Other => "it is not a regular file",
            FileContent::Unreadable(_) => "it cannot be read",
        };
        let path = path.to_owned();
        return Err(Error::Unshowable { path, why });
    }
    Ok(shown)
}

/// Returns the combined exit code and output of the checks. The output of a single command is shown
/// as it is; that of several commands is preceded by their names.
pub(crate) fn combine_check_results(
    checks: &[CheckResult],
    outputs: &[Option<String>],
) -> (i32, String) {
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
        // A command that was killed could not report that itself.
        if check.exit.is_some_and(|code| code >= 124)
            && let Some(ended) = check.summary.lines().last()
        {
            let _ = writeln!(all, "{ended}");
        }
    }
    (code, cut_middle(all))
}

/// Cuts the middle out of a text that is very long.
fn cut_middle(text: String) -> String {
    let chars = text.chars().count();
    if chars <= MAX_OUTPUT {
        return text;
    }
    let half = MAX_OUTPUT / 2;
    let first: String = text.chars().take(half).collect();
    let last: String = text.chars().skip(chars - half).collect();
    format!("{first}\n...\n{last}")
}

/// The level of detail about each file.
#[derive(Clone, Copy, PartialEq)]
enum SummaryDetail {
    /// Its language, its length and its first words.
    Words,
    /// Its language and its length.
    Size,
    /// Its name only.
    Name,
}

/// Lists the files of a project, one per line, with as much detail as there is room for.
pub(crate) fn summarize_files(files: &dyn FileSet, root: Option<&str>) -> String {
    let list = files.list();
    let own = |file: &FileEntry| match root {
        None => !file.path.starts_with(".codeteam/"),
        Some(root) => strict::worker_path(Some(root), &file.path) != file.path,
    };
    let list: Vec<(usize, &FileEntry)> = list.iter().enumerate().filter(|(_, f)| own(f)).collect();
    let tell = |(at, file): &(usize, &FileEntry), detail: SummaryDetail| {
        let path = strict::worker_path(root, &file.path);
        match detail {
            SummaryDetail::Words => describe_file(path, &files.read(*at)),
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
            // The remaining files are mentioned in one line too, unless there are none.
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

/// Describes a file in one line: its language, its length, and its own description.
fn describe_file(path: &str, content: &FileContent) -> String {
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

/// Returns the language of a file, by its extension.
fn language(path: &str) -> &str {
    if let Some(language) = Language::from_path(path) {
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

/// The markers with which comments and docstrings begin.
const MARKS: [&str; 10] = [
    "\"\"\"", "'''", "//!", "///", "//", "/**", "/*", "<!--", "--", "#",
];

/// Returns a file's own description at its very beginning: a heading, a comment, a docstring.
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
    // The opening quotes stand alone, and the words are on the next line.
    if words.is_empty() && !mark.starts_with('#') {
        words = clean(lines.next()?);
    }
    let short: String = words.chars().take(MAX_NOTE).collect();
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests;
