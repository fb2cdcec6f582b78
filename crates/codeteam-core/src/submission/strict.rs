//! The contract `strict`: three role kinds, JSON only, whole files, short texts. A worker that
//! cannot continue answers `{"status": "error", "reason": "…"}`.
//!
//! Paths may be below a directory of the project that the worker does not know about: it is
//! prepended when an answer is read, and stripped when something is shown to the worker.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BlockedReason, ClaimedChange, PlanSubmission, Submission, SubmissionConstraints, Verdict,
    VerdictChoice, deserialize_answer, is_inside, require_text,
};
use crate::ids::TaskId;
use crate::plan;

/// The maximum number of characters of a text, other than the content of a file.
pub const MAX_CHARS: usize = 4_000;
/// The number of characters kept at the beginning of a longer report ...
const FIRST_CHARS: usize = 2_500;
/// ... and at its end.
const LAST_CHARS: usize = 1_000;
/// The text between them.
const LEFT_OUT: &str = "\n...\n";

/// The id that a planner uses if it was given none.
const UNTOLD: &str = "plan_0001";

/// The keys of a gatekeeper's answer, in order.
const JUDGED: [&str; 3] = ["task_id", "passed", "report"];

/// The reply to a worker that claims to be done and unable to continue at once.
pub(super) const ERROR_ALONE: &str = "`status` says that you cannot go on, so it stands alone with \
    `reason`; if you are done, leave both out or make them `null`";

/// A planner's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StrictPlan {
    /// The id that you were told; `plan_0001` if you were told none.
    plan_id: String,
    /// Small tasks that can each be tested, in the order they are done: each starts when the one
    /// before it is complete.
    tasks: Vec<StrictTask>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StrictTask {
    /// `T1`, `T2` and so on, in order.
    id: String,
    /// What to do, in a few words.
    title: String,
    /// Why. At most 4000 characters, like every text.
    rationale: String,
    /// What can be seen to hold when it is done.
    acceptance: String,
    /// Every file it may change or make, relative to the project; at least one.
    artifacts: Vec<String>,
}

/// An implementer's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StrictEdits {
    /// Every file that changes or is new, each once, in the order of their paths.
    edits: Vec<StrictEdit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StrictEdit {
    /// Where it is, relative to the project.
    path: String,
    /// All of its text, from the first line to the last.
    content: String,
}

/// A gatekeeper's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StrictVerdict {
    /// The task that was judged.
    task_id: String,
    /// Whether it passed.
    passed: bool,
    /// What shows it: the output of the tests. Of more than 4000 characters give the first 2500, a
    /// line `...`, and the last 1000.
    report: String,
}

/// The answer of whoever cannot go on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StrictError {
    /// Only if you cannot go on: `error`. No other key than `reason` then.
    #[expect(dead_code, reason = "there is one word for it")]
    status: ErrorStatus,
    /// Only with `status`: why you cannot go on, in short.
    reason: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ErrorStatus {
    Error,
}

/// Finds a text that is too long. The contents of files may have any length.
pub(super) fn check_lengths(
    answer: &Value,
    about: &SubmissionConstraints<'_>,
) -> Result<(), String> {
    let most = about.max_chars.unwrap_or(MAX_CHARS);
    let mut path = Vec::new();
    let Some(chars) = too_long(answer, most, &mut path) else {
        return Ok(());
    };
    let mut place = String::new();
    for part in path {
        let _ = match part {
            PathSegment::Item(i) => write!(place, "[{i}]"),
            PathSegment::Key(key) if place.is_empty() => write!(place, "{key}"),
            PathSegment::Key(key) => write!(place, ".{key}"),
        };
    }
    Err(format!(
        "at `{place}`: {chars} characters are too many; a text may have {most}"
    ))
}

enum PathSegment<'a> {
    Key(&'a str),
    Item(usize),
}

/// Returns the length of the first text that is too long, and leaves the path to it in `path`.
fn too_long<'a>(value: &'a Value, most: usize, path: &mut Vec<PathSegment<'a>>) -> Option<usize> {
    let inner: &mut dyn Iterator<Item = (PathSegment<'a>, &'a Value)> = match value {
        Value::String(text) => {
            let is_file = matches!(
                path.as_slice(),
                [
                    PathSegment::Key("edits"),
                    PathSegment::Item(_),
                    PathSegment::Key("content")
                ]
            );
            let chars = text.chars().count();
            return (chars > most && !is_file).then_some(chars);
        }
        Value::Array(items) => &mut (0..).map(PathSegment::Item).zip(items),
        Value::Object(fields) => &mut fields
            .iter()
            .map(|(key, value)| (PathSegment::Key(key), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    for (part, value) in inner {
        path.push(part);
        if let Some(chars) = too_long(value, most, path) {
            return Some(chars);
        }
        path.pop();
    }
    None
}

/// Parses an answer with a `status`.
pub(super) fn error(answer: Value) -> Result<Submission, String> {
    let fields = answer.as_object();
    if fields.is_some_and(|fields| fields.keys().any(|key| key != "status" && key != "reason")) {
        return Err(ERROR_ALONE.to_owned());
    }
    let failed: StrictError = deserialize_answer(answer)?;
    require_text("reason", &failed.reason)?;
    Ok(Submission::Blocked(BlockedReason {
        blocked: failed.reason,
    }))
}

/// Converts a plan; each task depends on the one before it.
pub(super) fn plan(
    answer: StrictPlan,
    about: &SubmissionConstraints<'_>,
) -> Result<Submission, String> {
    let StrictPlan { plan_id, tasks } = answer;
    if let Some(told) = about.plan.map(self::worker_plan_id)
        && plan_id != told
    {
        return Err(format!(
            "at `plan_id`: `{plan_id}` is not the plan's id; it must be `{told}`"
        ));
    }
    // The default id is the same in every run and names nothing.
    let plan_id = if about.plan.is_none_or(str::is_empty) {
        String::new()
    } else {
        plan_id
    };
    let mut before: Option<TaskId> = None;
    let mut native = Vec::with_capacity(tasks.len());
    for (i, task) in tasks.into_iter().enumerate() {
        let expected = format!("T{}", i + 1);
        if task.id != expected {
            return Err(format!(
                "at `tasks[{i}].id`: it must be `{expected}`, not `{}`",
                task.id
            ));
        }
        require_text(&format!("tasks[{i}].title"), &task.title)?;
        require_text(&format!("tasks[{i}].acceptance"), &task.acceptance)?;
        if task.artifacts.is_empty() {
            return Err(format!(
                "`tasks[{i}].artifacts` must name at least one file"
            ));
        }
        if let Some(wrong) = task.artifacts.iter().find(|path| !is_inside(path)) {
            return Err(format!(
                "at `tasks[{i}].artifacts`: `{wrong}` is not a file of the project"
            ));
        }
        let id = TaskId(task.id);
        let files = task.artifacts.into_iter();
        native.push(plan::Task {
            id: id.clone(),
            title: task.title,
            description: task.rationale,
            dependencies: before.replace(id).into_iter().collect(),
            files: files.map(|file| project_path(about.root, file)).collect(),
            acceptance: vec![task.acceptance],
            ..plan::Task::default()
        });
    }
    let plan = plan::Plan {
        plan_id,
        tasks: native,
        ..plan::Plan::default()
    };
    Ok(Submission::Plan(PlanSubmission { plan }))
}

/// Converts whole files to edits. Files that the task does not list must not be touched.
pub(super) fn change(
    answer: StrictEdits,
    about: &SubmissionConstraints<'_>,
) -> Result<Submission, String> {
    let mut edits = Vec::with_capacity(answer.edits.len());
    for edit in answer.edits {
        if !is_inside(&edit.path) {
            return Err(format!("`{}` is not a file of the worktree", edit.path));
        }
        let path = project_path(about.root, edit.path);
        if let Some(files) = about.files
            && !files.iter().any(|file| is_listed(file, &path))
        {
            let files: Vec<&str> = files
                .iter()
                .map(|file| worker_path(about.root, file))
                .collect();
            return Err(format!(
                "`{}` is not one of the task's artifacts: {}",
                worker_path(about.root, &path),
                files.join(", ")
            ));
        }
        edits.push(super::FileEdit {
            path,
            content: Some(edit.content),
            delete: false,
        });
    }
    edits.sort_by(|a, b| a.path.cmp(&b.path));
    let summary = match edits.len() {
        1 => "one file is given whole".to_owned(),
        many => format!("{many} files are given whole"),
    };
    Ok(Submission::Change(ClaimedChange {
        summary,
        files: Vec::new(),
        proof: String::new(),
        concerns: Vec::new(),
        notes: Vec::new(),
        edits,
    }))
}

/// Converts a verdict; the report becomes its reason. It must agree with the tests.
pub(super) fn verdict(
    answer: Value,
    about: &SubmissionConstraints<'_>,
) -> Result<Submission, String> {
    let keys: Vec<String> = answer
        .as_object()
        .map(|fields| fields.keys().cloned().collect())
        .unwrap_or_default();
    let answer: StrictVerdict = deserialize_answer(answer)?;
    if keys != JUDGED {
        return Err(format!(
            "the keys must be in this order: `{}`",
            JUDGED.join("`, `")
        ));
    }
    if let Some(task) = about.task
        && task.as_str() != answer.task_id
    {
        return Err(format!(
            "at `task_id`: `{task}` is to be judged, not `{}`",
            answer.task_id
        ));
    }
    if let Some(passed) = about.passed
        && passed != answer.passed
    {
        let because = if passed {
            "the tests ended with 0"
        } else {
            "the tests did not end with 0"
        };
        return Err(format!(
            "at `passed`: it must be `{passed}`, because {because}"
        ));
    }
    Ok(Submission::Verdict(Verdict {
        verdict: if answer.passed {
            VerdictChoice::Approve
        } else {
            VerdictChoice::Reject
        },
        reason: reason(answer.passed, answer.report),
        findings: Vec::new(),
        resolved: Vec::new(),
    }))
}

/// Composes the reason. Tests print their result last, so a person gets that line first.
fn reason(passed: bool, report: String) -> String {
    let last = report.lines().rfind(|line| !line.trim().is_empty());
    match (passed, last) {
        (true, Some(_)) => report,
        (true, None) => "the tests passed and printed nothing".to_owned(),
        (false, Some(last)) => format!("the tests failed: {}\n\n{report}", last.trim()),
        (false, None) => "the tests failed and printed nothing".to_owned(),
    }
}

/// Returns what a report contains of an output: all of it, or its two ends.
pub fn shorten_report(output: &str) -> Cow<'_, str> {
    if output.chars().count() <= MAX_CHARS {
        return output.into();
    }
    let first = output.char_indices().nth(FIRST_CHARS);
    let last = output.char_indices().rev().nth(LAST_CHARS - 1);
    let (first, last) = (first.map_or(0, |(at, _)| at), last.map_or(0, |(at, _)| at));
    format!("{}{LEFT_OUT}{}", &output[..first], &output[last..]).into()
}

/// Returns a gatekeeper's answer with the report replaced by the real one, if they differ. Nothing
/// else is changed, and a report that is too long is left to be refused.
pub fn with_report(answer: &str, report: &str) -> Option<String> {
    let mut answer = crate::json::parse(answer).ok()?;
    let said = answer.as_object_mut()?.get_mut("report")?;
    let is_other = said
        .as_str()
        .is_some_and(|said| said != report && said.chars().count() <= MAX_CHARS);
    if !is_other {
        return None;
    }
    *said = report.into();
    Some(answer.to_string())
}

/// Returns the id that a planner uses for its plan, given the one it was told.
pub fn worker_plan_id(told: &str) -> &str {
    if told.is_empty() { UNTOLD } else { told }
}

/// Formats a plan as a planner writes it.
pub fn plan_for_worker(plan: &plan::Plan, root: Option<&str>) -> Value {
    let tasks = plan.tasks.iter().map(|task| task_for_worker(task, root));
    json!({ "plan_id": plan.plan_id, "tasks": tasks.collect::<Vec<_>>() })
}

/// Formats a task as a planner writes it and an implementer receives it.
pub fn task_for_worker(task: &plan::Task, root: Option<&str>) -> Value {
    let files = task.files.iter().map(|file| worker_path(root, file));
    json!({
        "id": task.id,
        "title": task.title,
        "rationale": task.description,
        "acceptance": task.acceptance.join("\n"),
        "artifacts": files.collect::<Vec<_>>(),
    })
}

/// Returns a path as workers see it.
pub fn worker_path<'a>(root: Option<&str>, path: &'a str) -> &'a str {
    let inner = root.and_then(|root| path.strip_prefix(root)?.strip_prefix('/'));
    inner.unwrap_or(path)
}

/// Returns a path as it is in the project.
fn project_path(root: Option<&str>, path: String) -> String {
    match root {
        Some(root) => format!("{root}/{path}"),
        None => path,
    }
}

/// Returns true if a path is a file that a task lists, or lies in a directory that it lists.
fn is_listed(listed: &str, path: &str) -> bool {
    let (file, path) = (Path::new(listed), Path::new(path));
    // Compare as paths, so that `a//b` equals `a/b`.
    file == path || (listed.ends_with('/') && path.starts_with(file))
}

#[cfg(test)]
mod tests;
