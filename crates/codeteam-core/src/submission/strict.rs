//! The contract `strict`: three kinds, JSON and nothing else, whole files, short texts. Whoever
//! cannot go on says `{"status": "error", "reason": "…"}`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{About, Blocked, Change, Choice, Planned, Submission, Verdict, read, said};
use crate::ids::TaskId;
use crate::plan;

/// How many characters a text may have, unless it is that of a file.
pub(super) const MAX_CHARS: usize = 4_000;

/// What a planner that was told no id calls its plan. It is the same in every run, so the run's own
/// name for the plan counts.
const UNTOLD: &str = "plan_0001";

/// What is said to a worker that is done and cannot go on at once.
pub(super) const ERROR_ALONE: &str = "`status` says that you cannot go on, so it stands alone with \
    `reason`; if you are done, leave both out or make them `null`";

/// A planner's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// The id that you were told; `plan_0001` if you were told none.
    plan_id: String,
    /// Small tasks that can each be tested, in the order they are done: each starts when the one
    /// before it is complete.
    tasks: Vec<Task>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Task {
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
pub(super) struct Edits {
    /// Every file that changes or is new, each once.
    edits: Vec<Edit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Where it is, relative to the project.
    path: String,
    /// All of its text, from the first line to the last.
    content: String,
}

/// A gatekeeper's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Judged {
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
pub(super) struct Failed {
    /// Only if you cannot go on: `error`. No other key than `reason` then.
    #[expect(dead_code, reason = "there is one word for it")]
    status: Status,
    /// Only with `status`: why you cannot go on, in short.
    reason: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Error,
}

/// Finds a text that is too long. Those of files may be as long as they are.
pub(super) fn check_lengths(answer: &Value) -> Result<(), String> {
    let mut path = Vec::new();
    let Some(chars) = too_long(answer, &mut path) else {
        return Ok(());
    };
    let mut place = String::new();
    for part in path {
        let _ = match part {
            Part::Item(i) => write!(place, "[{i}]"),
            Part::Key(key) if place.is_empty() => write!(place, "{key}"),
            Part::Key(key) => write!(place, ".{key}"),
        };
    }
    Err(format!(
        "at `{place}`: {chars} characters are too many; a text may have {MAX_CHARS}"
    ))
}

enum Part<'a> {
    Key(&'a str),
    Item(usize),
}

/// How long the first text is that is too long, and the way to it.
fn too_long<'a>(value: &'a Value, path: &mut Vec<Part<'a>>) -> Option<usize> {
    let inner: &mut dyn Iterator<Item = (Part<'a>, &'a Value)> = match value {
        Value::String(text) => {
            let is_file = matches!(
                path.as_slice(),
                [Part::Key("edits"), Part::Item(_), Part::Key("content")]
            );
            let chars = text.chars().count();
            return (chars > MAX_CHARS && !is_file).then_some(chars);
        }
        Value::Array(items) => &mut (0..).map(Part::Item).zip(items),
        Value::Object(fields) => &mut fields.iter().map(|(key, value)| (Part::Key(key), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    for (part, value) in inner {
        path.push(part);
        if let Some(chars) = too_long(value, path) {
            return Some(chars);
        }
        path.pop();
    }
    None
}

/// Reads an answer with a `status`.
pub(super) fn error(answer: Value) -> Result<Submission, String> {
    let fields = answer.as_object();
    if fields.is_some_and(|fields| fields.keys().any(|key| key != "status" && key != "reason")) {
        return Err(ERROR_ALONE.to_owned());
    }
    let failed: Failed = read(answer)?;
    said("reason", &failed.reason)?;
    Ok(Submission::Blocked(Blocked {
        blocked: failed.reason,
    }))
}

/// The tasks one after the other.
pub(super) fn plan(answer: Plan, about: &About<'_>) -> Result<Submission, String> {
    let Plan { plan_id, tasks } = answer;
    let plan_id = match about.plan {
        _ if plan_id == UNTOLD => String::new(),
        Some(told) if told != plan_id => {
            let either = if told.is_empty() {
                String::new()
            } else {
                format!("`{told}` or ")
            };
            return Err(format!(
                "at `plan_id`: `{plan_id}` is not the plan's id; it must be {either}`{UNTOLD}`"
            ));
        }
        _ => plan_id,
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
        said(&format!("tasks[{i}].title"), &task.title)?;
        said(&format!("tasks[{i}].acceptance"), &task.acceptance)?;
        if task.artifacts.is_empty() {
            return Err(format!(
                "`tasks[{i}].artifacts` must name at least one file"
            ));
        }
        let id = TaskId(task.id);
        native.push(plan::Task {
            id: id.clone(),
            title: task.title,
            description: task.rationale,
            dependencies: before.replace(id).into_iter().collect(),
            files: task.artifacts,
            acceptance: vec![task.acceptance],
            phase: None,
        });
    }
    let plan = plan::Plan {
        plan_id,
        tasks: native,
        ..plan::Plan::default()
    };
    Ok(Submission::Plan(Planned { plan }))
}

/// Whole files, by their paths.
pub(super) fn change(answer: Edits) -> Submission {
    let mut edits: Vec<super::Edit> = answer
        .edits
        .into_iter()
        .map(|edit| super::Edit {
            path: edit.path,
            content: Some(edit.content),
            delete: false,
        })
        .collect();
    edits.sort_by(|a, b| a.path.cmp(&b.path));
    let summary = match edits.len() {
        1 => "one file is given whole".to_owned(),
        many => format!("{many} files are given whole"),
    };
    Submission::Change(Change {
        summary,
        files: Vec::new(),
        proof: String::new(),
        concerns: Vec::new(),
        edits,
    })
}

/// A verdict with the report as its reason.
pub(super) fn verdict(answer: Judged, about: &About<'_>) -> Result<Submission, String> {
    if let Some(task) = about.task
        && task.as_str() != answer.task_id
    {
        return Err(format!(
            "at `task_id`: `{task}` is to be judged, not `{}`",
            answer.task_id
        ));
    }
    said("report", &answer.report)?;
    Ok(Submission::Verdict(Verdict {
        verdict: if answer.passed {
            Choice::Approve
        } else {
            Choice::Reject
        },
        reason: answer.report,
        findings: Vec::new(),
        resolved: Vec::new(),
    }))
}

#[cfg(test)]
mod tests;
