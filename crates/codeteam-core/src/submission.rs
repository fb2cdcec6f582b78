//! Submissions: the schema-checked answers of workers.
//!
//! What is written above a field is what a worker reads in the schema.
//!
//! Each role kind has one native form; a contract is another wire form of the same thing.
//! Unknown, missing and doubled keys are refused with words that help the worker to mend them.

mod form;
mod schema;
pub mod strict;
mod supervisor;
mod team;

use std::collections::BTreeSet;
use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::findings::{FindingResolution, ReportedFinding};
use crate::ids::TaskId;
use crate::plan::Plan;
use crate::role::{Contract, EditMode, RoleKind};

pub use self::form::{AnswerForm, MissingForm, example};
pub use self::schema::schema;

/// No answer is longer than this, files in it included.
pub const MAX_BYTES: usize = 8 << 20;

/// What is said to a worker that is done and blocked at once.
const BLOCKED_ALONE: &str = "`blocked` says that you cannot go on, so it stands alone; if you are \
    done, leave it out or make it `null`";

/// What is said to a planner that asks where the plan was asked for; a person reads it too.
const ASKED_AGAIN: &str = "it asked more questions, but the plan was wanted: nobody answers questions \
    now, so give the plan with what is known";

/// A worker's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Submission {
    /// An analyst asks.
    Questions(AnalystQuestions),
    /// An analyst confirms.
    Requirements(ConfirmedRequirements),
    /// A designer designs.
    Design(Design),
    /// A planner plans.
    Plan(PlanSubmission),
    /// An implementer has changed something.
    Change(ClaimedChange),
    /// A gatekeeper judges.
    Verdict(Verdict),
    /// A scribe writes.
    Text(ScribeText),
    /// Any kind says, honestly, that it cannot go on.
    Blocked(BlockedReason),
}

/// What an analyst must know first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalystQuestions {
    /// At least one question.
    pub questions: Vec<String>,
    /// What is understood so far.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Requirements that are clear already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_spec: Option<String>,
}

/// What is to be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmedRequirements {
    /// The confirmed requirements.
    #[serde(alias = "confirmed_requirements")]
    pub requirements: String,
}

/// How it is to be built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The approach.
    pub design: String,
    /// Patterns to follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// What could go wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Interfaces to be fixed before work starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Value>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanSubmission {
    /// The plan.
    pub plan: Plan,
}

/// What an implementer says of its change. The change itself is taken from the worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimedChange {
    /// What was done.
    pub summary: String,
    /// The files that were changed.
    #[serde(default, alias = "files_changed")]
    pub files: Vec<String>,
    /// What shows that it works: what was run, and what came of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub proof: String,
    /// What is doubtful or left open.
    #[serde(
        default,
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub concerns: Vec<String>,
    /// Every file that changes, whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<FileEdit>,
}

/// Whether what somebody calls a file means one at a path from the repository's top. Files are called
/// by that path, by the whole path where they lie, or from a folder below the top.
pub fn means(called: &str, path: &str) -> bool {
    let called = called.trim_start_matches("./");
    let ends = |long: &str, short: &str| {
        let rest = long.strip_suffix(short);
        !short.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    ends(path, called) || (called.starts_with('/') && ends(called, path))
}

/// A file as it is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileEdit {
    /// Where it is, relative to the project.
    pub path: String,
    /// All of its text, from the first line to the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Whether it is to be gone instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete: bool,
}

/// A gatekeeper's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Approve or reject.
    pub verdict: VerdictChoice,
    /// Why.
    pub reason: String,
    /// New findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ReportedFinding>,
    /// Answers to open findings, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<FindingResolution>,
}

/// What a gatekeeper can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerdictChoice {
    /// It may go on.
    Approve,
    /// It may not.
    Reject,
}

/// A scribe's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScribeText {
    /// A commit message, a prompt, a summary.
    #[serde(alias = "text", alias = "prompt", alias = "summary")]
    pub message: String,
    /// A quality score from 0 to 100, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
}

/// Why a worker cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockedReason {
    /// The reason.
    pub blocked: String,
}

/// What an answer is about, as far as that is known. Some contracts have the worker name it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubmissionConstraints<'a> {
    /// The task of the frame.
    pub task: Option<&'a TaskId>,
    /// The id that the plan has or will have; empty if there is none.
    pub plan: Option<&'a str>,
    /// The files of the task. Some contracts let nothing else be touched.
    pub files: Option<&'a [String]>,
    /// Whether everything passed that the orchestrator checked, if it checked anything. Some contracts
    /// have a gatekeeper say the same.
    pub passed: Option<bool>,
    /// The folder that paths are below, if not the project's own.
    pub root: Option<&'a str>,
    /// How many characters a text may have, where the contract has a limit.
    pub max_chars: Option<usize>,
}

/// Reads a worker's answer: exactly one JSON value that fits what is owed.
/// The error is meant for the worker and names the place.
pub fn parse(form: AnswerForm, text: &str) -> Result<Submission, String> {
    parse_about(form, text, &SubmissionConstraints::default())
}

/// Reads a worker's answer, which must be about the right thing.
pub fn parse_about(
    form: AnswerForm,
    text: &str,
    about: &SubmissionConstraints<'_>,
) -> Result<Submission, String> {
    if text.len() > MAX_BYTES {
        let (size, most) = (text.len() >> 20, MAX_BYTES >> 20);
        return Err(format!("the answer has {size} MB; at most {most} are read"));
    }
    let mut value = crate::json::parse(text).map_err(|e| {
        let near = near(text, e.line(), e.column());
        format!("the answer is not valid JSON: {e}{near}")
    })?;
    if !value.is_object() {
        return Err("the answer must be one JSON object".to_owned());
    }
    // Where every key is asked for, `null` is how a worker leaves one out.
    without_nulls(&mut value);
    let strict = form.contract == Contract::Strict;
    if strict {
        strict::check_lengths(&value, about)?;
    }
    let submission = if !strict && value.get("blocked").is_some() {
        if value.as_object().is_some_and(|fields| fields.len() > 1) {
            return Err(BLOCKED_ALONE.to_owned());
        }
        Submission::Blocked(read(value)?)
    } else if strict && value.get("status").is_some() {
        strict::error(value)?
    } else {
        by_contract(form, value, about).map_err(|error| own_words(form, error))?
    };
    check(&submission, form.mode).map_err(|error| own_words(form, error))?;
    Ok(submission)
}

/// What is wrong, with keys as the contract calls them.
fn own_words(form: AnswerForm, error: String) -> String {
    match form.contract {
        Contract::TeamMcp => team::own_words(form.kind, error),
        _ => error,
    }
}

/// What stands where the JSON ends to be one.
fn near(text: &str, line: usize, column: usize) -> String {
    let line = line.checked_sub(1).and_then(|line| text.lines().nth(line));
    let Some(line) = line.filter(|line| !line.trim().is_empty()) else {
        return String::new();
    };
    let mut start = column.saturating_sub(30).min(line.len());
    while !line.is_char_boundary(start) {
        start -= 1;
    }
    let said: String = line[start..].chars().take(50).collect();
    format!(", near `{}`", said.trim())
}

/// A kind that a contract has no form for is read as a native one.
fn by_contract(
    form: AnswerForm,
    value: Value,
    about: &SubmissionConstraints<'_>,
) -> Result<Submission, String> {
    match (form.contract, form.kind) {
        (Contract::Strict, RoleKind::Planner) => strict::plan(read(value)?, about),
        (Contract::Strict, RoleKind::Implementer) => strict::change(read(value)?, about),
        (Contract::Strict, RoleKind::Gatekeeper) => strict::verdict(value, about),
        (Contract::Supervisor, RoleKind::Planner) => supervisor::plan(read(value)?),
        (Contract::Supervisor, RoleKind::Designer) => supervisor::design(read(value)?),
        (Contract::Supervisor, RoleKind::Implementer) => supervisor::change(read(value)?),
        (Contract::Supervisor, RoleKind::Gatekeeper) => supervisor::verdict(read(value)?),
        (Contract::TeamMcp, RoleKind::Gatekeeper) => team::verdict(read(value)?),
        (_, RoleKind::Analyst) if value.get("questions").is_some() => analysed(value),
        (_, RoleKind::Planner) if form.asks && asks_nothing(&value) => {
            let mut value = value;
            for key in ["questions", "context", "partial_spec"] {
                value.as_object_mut().and_then(|fields| fields.remove(key));
            }
            read(value).map(Submission::Plan)
        }
        (_, RoleKind::Planner) if value.get("questions").is_some() => {
            if !form.asks {
                return Err(ASKED_AGAIN.to_owned());
            }
            if value.get("plan").is_some() {
                return Err("ask, or give the plan: not both at once".to_owned());
            }
            read(value).map(Submission::Questions)
        }
        (_, RoleKind::Analyst) => read(value).map(Submission::Requirements),
        (_, RoleKind::Designer) => read(value).map(Submission::Design),
        (_, RoleKind::Planner) => read(value).map(Submission::Plan),
        (_, RoleKind::Implementer) => read(value).map(Submission::Change),
        (_, RoleKind::Gatekeeper) => read(value).map(Submission::Verdict),
        (_, RoleKind::Scribe) => read(value).map(Submission::Text),
    }
}

/// Questions of an analyst. One that confirms has none: an empty list beside the requirements is left
/// out, as some models fill in every key.
fn analysed(mut value: Value) -> Result<Submission, String> {
    let confirms = ["requirements", "confirmed_requirements"];
    if !confirms.iter().any(|key| value.get(key).is_some()) {
        return read(value).map(Submission::Questions);
    }
    if value["questions"].as_array().is_none_or(|q| !q.is_empty()) {
        return Err(
            "give `questions` or `requirements`: one or the other. With questions, what is clear already \
             goes into `partial_spec`"
                .to_owned(),
        );
    }
    for key in ["questions", "context", "partial_spec"] {
        value.as_object_mut().and_then(|fields| fields.remove(key));
    }
    read(value).map(Submission::Requirements)
}

/// Whether a plan has no question beside it, but perhaps an empty list: where every key is asked for,
/// some models leave one out that way.
fn asks_nothing(value: &Value) -> bool {
    let is_empty = |questions: &Value| questions.as_array().is_some_and(Vec::is_empty);
    value.get("plan").is_some() && value.get("questions").is_none_or(is_empty)
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        let inner = crate::json::plain_words(&inner);
        // A key that should not be there is named by the error itself.
        let above = path.rsplit_once('.').map_or("", |(above, _)| above);
        match (inner.starts_with("unknown field"), path.as_str()) {
            (_, ".") => inner,
            (true, _) if above.is_empty() => inner,
            (true, _) => format!("in `{above}`: {inner}"),
            (false, _) => format!("at `{path}`: {inner}"),
        }
    })
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// What the types cannot say.
fn check(submission: &Submission, mode: EditMode) -> Result<(), String> {
    match submission {
        Submission::Questions(q) if q.questions.iter().all(|q| q.trim().is_empty()) => {
            Err("`questions` must hold at least one question".to_owned())
        }
        Submission::Requirements(r) => said("requirements", &r.requirements),
        Submission::Design(d) => said("design", &d.design),
        Submission::Change(c) => said("summary", &c.summary).and_then(|()| check_edits(c, mode)),
        Submission::Verdict(v) => said("reason", &v.reason).and_then(|()| {
            match v.findings.iter().find(|f| f.title.trim().is_empty()) {
                Some(_) => Err("every finding needs a `title`".to_owned()),
                None => Ok(()),
            }
        }),
        Submission::Text(t) => said("message", &t.message),
        Submission::Blocked(b) => said("blocked", &b.blocked),
        Submission::Questions(_) | Submission::Plan(_) => Ok(()),
    }
}

fn said(name: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err(format!("`{name}` must not be empty"));
    }
    Ok(())
}

fn check_edits(change: &ClaimedChange, mode: EditMode) -> Result<(), String> {
    if mode == EditMode::Tools {
        return if change.edits.is_empty() {
            Ok(())
        } else {
            Err("`edits` are not asked for: change the files themselves".to_owned())
        };
    }
    if change.edits.is_empty() {
        return Err("`edits` must hold every file that changes, with all of its text".to_owned());
    }
    let mut paths = BTreeSet::new();
    for edit in &change.edits {
        let path = &edit.path;
        if edit.content.is_some() == edit.delete {
            return Err(format!(
                "the edit of `{path}` must have either `content` or `delete: true`"
            ));
        }
        if !is_inside(path) {
            return Err(format!("`{path}` is not a file of the worktree"));
        }
        // As paths, so that `a//b` is `a/b`.
        if !paths.insert(Path::new(path)) {
            return Err(format!("`{path}` is edited twice"));
        }
    }
    Ok(())
}

/// Whether a path is a plain one below the worktree, and not one of git's own.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    !path.is_empty() && !path.contains(['\0', '\\']) && !path.ends_with('/') && parts.all(is_plain)
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrList {
        One(String),
        Many(Vec<String>),
    }
    Ok(match TextOrList::deserialize(deserializer)? {
        TextOrList::One(text) if text.is_empty() => Vec::new(),
        TextOrList::One(text) => vec![text],
        TextOrList::Many(texts) => texts,
    })
}

#[cfg(test)]
mod tests;
