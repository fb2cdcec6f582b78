//! Submissions: the schema-checked answers of workers.
//!
//! The doc comments of the answer types' fields are output: a worker reads them in the schema.
//!
//! Each role kind has one native form; a contract is another wire format for the same content.
//! Unknown, missing and duplicate keys are refused with messages that help the worker to correct
//! them.

mod form;
mod leading;
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
use crate::ids::{PhaseId, RoleName, TaskId};
use crate::plan::Plan;
use crate::role::{Contract, EditMode, RoleKind};
use crate::team::{LeaderDecision, QualityScore};

pub use self::form::{AnswerForm, MissingForm, example};
pub use self::leading::TeamAssembly;
pub use self::schema::answer_schema;

/// The maximum length of an answer, including the files in it.
pub const MAX_BYTES: usize = 8 << 20;

/// The reply to a worker that claims to be done and blocked at once.
const BLOCKED_ALONE: &str = "`blocked` says that you cannot go on, so it stands alone; if you are \
    done, leave it out or make it `null`";

/// The reply to a worker that asks for a change of an interface and claims to be done.
const REQUEST_ALONE: &str = "`interface_change` asks for something that is decided before you go on, \
    so it stands alone; if you can do without it, leave it out or make it `null`";

/// The maximum number of a planner's questions quoted in the message that refuses them.
const QUOTED_QUESTIONS: usize = 5;

/// A worker's answer, in its native form.
///
/// [`parse_constrained`] reads it from the worker's JSON: it limits the size, parses strictly,
/// converts the wire format of the contract and checks what the types cannot express. `decide` then
/// judges whether it is acceptable (a plan that cannot be carried out or an empty change is
/// refused, and the worker is told why) and records it in [`crate::Event::SubmissionReceived`].
///
/// A submission is a claim. What an implementer says about its change is kept for people and
/// reviewers; the change itself is always taken from the worktree. Likewise a gatekeeper's verdict
/// becomes a vote only after its findings have been weighed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Submission {
    /// An analyst asks questions.
    Questions(AnalystQuestions),
    /// An analyst confirms the requirements.
    Requirements(ConfirmedRequirements),
    /// A designer delivers a design.
    Design(Design),
    /// A planner delivers a plan.
    Plan(PlanSubmission),
    /// An implementer has made a change.
    Change(ClaimedChange),
    /// A gatekeeper judges a change.
    Verdict(Verdict),
    /// A gatekeeper scores a change.
    Quality(QualityScore),
    /// A gatekeeper leads: it decides what happens to a result.
    Intervention(LeaderDecision),
    /// A scribe delivers a text.
    Text(ScribeText),
    /// A scribe assigns roles to tasks.
    Assembly(TeamAssembly),
    /// An implementer asks for a change of a locked interface.
    #[serde(rename = "interface_change")]
    InterfaceChange(InterfaceChangeRequest),
    /// A worker of any kind admits that it cannot continue.
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
    /// Interfaces to be fixed before work starts. For a phase, each one has a `name`, a `type`
    /// (`typescript`, `python`, `openapi`, …), its whole `definition`, and the `file` it belongs
    /// into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Value>,
    /// The parts to be built, where a phase is broken down: they become its tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<PhaseComponent>,
}

/// A part of a phase, to be built by one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseComponent {
    /// Its id, unique among the phases and tasks of the plan.
    pub id: TaskId,
    /// What it is, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Every file (or folder, with a trailing `/`) it may touch. One that names none is worked on
    /// alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Components that must be complete first: `component`, or `phase.component`.
    #[serde(
        default,
        alias = "dependencies",
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub depends_on: Vec<String>,
    /// What must hold when it is done.
    #[serde(
        default,
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub acceptance: Vec<String>,
    /// The role that carries it out, if it is one of the roles to choose from.
    #[serde(default, alias = "role", skip_serializing_if = "Option::is_none")]
    pub assigned_role: Option<RoleName>,
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
    /// What those should know who build on this, if anything.
    #[serde(
        default,
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub notes: Vec<String>,
    /// Every file that changes, whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<FileEdit>,
}

/// Returns true if somebody's name for a file refers to a path from the top of the repository.
/// Files are named by that path, by their absolute path, or relative to a directory below the top.
pub fn names_path(called: &str, path: &str) -> bool {
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

/// A request to change an interface that is locked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceChangeRequest {
    /// What is asked for.
    pub interface_change: ProposedInterface,
}

/// What a locked interface is to become, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedInterface {
    /// The name of the interface.
    pub interface: String,
    /// The phase that has locked it, if several phases have one of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseId>,
    /// All of its new definition, in the notation it has.
    pub definition: String,
    /// Why the task cannot be built against it as it is.
    pub reason: String,
}

/// The facts that an answer has to agree with, as far as they are known. Some contracts require the
/// worker to repeat them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubmissionConstraints<'a> {
    /// The task of the frame.
    pub task: Option<&'a TaskId>,
    /// The id that the plan has or will have; empty if there is none.
    pub plan: Option<&'a str>,
    /// The files of the task. Some contracts forbid touching anything else.
    pub files: Option<&'a [String]>,
    /// Whether everything that the orchestrator checked passed, if it checked anything. Some
    /// contracts require a gatekeeper to say the same.
    pub passed: Option<bool>,
    /// The directory that paths are relative to, if not the project's own.
    pub root: Option<&'a str>,
    /// The criteria of the task. A score is given for each.
    pub criteria: Option<&'a [String]>,
    /// The maximum number of characters of a text, where the contract has a limit.
    pub max_chars: Option<usize>,
}

/// Parses a worker's answer: exactly one JSON value that fits the form. The error is written for
/// the worker and names the place.
pub fn parse(form: AnswerForm, text: &str) -> Result<Submission, String> {
    parse_constrained(form, text, &SubmissionConstraints::default())
}

/// Parses a worker's answer and checks that it agrees with the given facts.
pub fn parse_constrained(
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
    // Where the schema requires every key, `null` is how a worker omits one.
    without_nulls(&mut value);
    let strict = form.contract == Contract::Strict;
    if strict {
        strict::check_lengths(&value, about)?;
    }
    let submission = if !strict && value.get("blocked").is_some() {
        if value.as_object().is_some_and(|fields| fields.len() > 1) {
            return Err(BLOCKED_ALONE.to_owned());
        }
        Submission::Blocked(deserialize_answer(value)?)
    } else if !strict
        && form.kind == RoleKind::Implementer
        && value.get("interface_change").is_some()
    {
        if value.as_object().is_some_and(|fields| fields.len() > 1) {
            return Err(REQUEST_ALONE.to_owned());
        }
        Submission::InterfaceChange(deserialize_answer(value)?)
    } else if strict && value.get("status").is_some() {
        strict::error(value)?
    } else {
        parse_by_contract(form, value, about).map_err(|error| use_contract_keys(form, error))?
    };
    check(&submission, form.mode).map_err(|error| use_contract_keys(form, error))?;
    Ok(submission)
}

/// Renames the keys in an error message to what the contract calls them.
fn use_contract_keys(form: AnswerForm, error: String) -> String {
    match form.contract {
        Contract::TeamMcp => team::use_contract_keys(form.kind, error),
        _ => error,
    }
}

/// Quotes the text around the place where the JSON becomes invalid.
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

/// Parses an answer according to its contract. A kind that a contract has no form for is read in
/// the native form.
fn parse_by_contract(
    form: AnswerForm,
    value: Value,
    about: &SubmissionConstraints<'_>,
) -> Result<Submission, String> {
    match (form.contract, form.kind) {
        (Contract::Strict, RoleKind::Planner) => strict::plan(deserialize_answer(value)?, about),
        (Contract::Strict, RoleKind::Implementer) => {
            strict::change(deserialize_answer(value)?, about)
        }
        (Contract::Strict, RoleKind::Gatekeeper) => strict::verdict(value, about),
        (Contract::Supervisor, RoleKind::Planner) => supervisor::plan(deserialize_answer(value)?),
        (Contract::Supervisor, RoleKind::Designer) => {
            supervisor::design(deserialize_answer(value)?)
        }
        (Contract::Supervisor, RoleKind::Implementer) => {
            supervisor::change(deserialize_answer(value)?)
        }
        (Contract::Supervisor, RoleKind::Gatekeeper) => {
            supervisor::verdict(deserialize_answer(value)?)
        }
        (Contract::Assembly, RoleKind::Scribe) => leading::assembly(value),
        (Contract::Quality, RoleKind::Gatekeeper) => leading::quality(value, about),
        (Contract::Intervention, RoleKind::Gatekeeper) => leading::intervention(value),
        (Contract::TeamMcp, RoleKind::Gatekeeper) => team::verdict(deserialize_answer(value)?),
        (_, RoleKind::Analyst) if value.get("questions").is_some() => parse_analysis(value),
        (_, RoleKind::Planner) if form.asks && asks_nothing(&value) => {
            let mut value = value;
            for key in ["questions", "context", "partial_spec"] {
                value.as_object_mut().and_then(|fields| fields.remove(key));
            }
            deserialize_answer(value).map(Submission::Plan)
        }
        (_, RoleKind::Planner) if value.get("questions").is_some() => {
            if !form.asks {
                return Err(refuse_questions(&value["questions"]));
            }
            if value.get("plan").is_some() {
                return Err("ask, or give the plan: not both at once".to_owned());
            }
            deserialize_answer(value).map(Submission::Questions)
        }
        (_, RoleKind::Analyst) => deserialize_answer(value).map(Submission::Requirements),
        (_, RoleKind::Designer) => deserialize_answer(value).map(Submission::Design),
        (_, RoleKind::Planner) => deserialize_answer(value).map(Submission::Plan),
        (_, RoleKind::Implementer) => deserialize_answer(value).map(Submission::Change),
        (_, RoleKind::Gatekeeper) => deserialize_answer(value).map(Submission::Verdict),
        (_, RoleKind::Scribe) => deserialize_answer(value).map(Submission::Text),
    }
}

/// Returns the reply to a planner that asks questions where the plan was requested. A person reads
/// it too, so it quotes the questions: they are stored nowhere else.
fn refuse_questions(questions: &Value) -> String {
    let asked = questions.as_array().map_or(&[][..], Vec::as_slice);
    let quoted: Vec<String> = asked
        .iter()
        .filter_map(Value::as_str)
        .take(QUOTED_QUESTIONS)
        .map(|question| {
            format!(
                "`{}`",
                question.split_whitespace().collect::<Vec<_>>().join(" ")
            )
        })
        .collect();
    let quoted = if quoted.is_empty() {
        String::new()
    } else {
        format!(" ({})", quoted.join(", "))
    };
    format!(
        "it asked questions{quoted}, but the plan was wanted: nobody answers questions now, so give \
         the plan with what is known"
    )
}

/// Parses an analyst's answer that has questions. An analyst that confirms has none: an empty list
/// next to the requirements is ignored, because some models fill in every key.
fn parse_analysis(mut value: Value) -> Result<Submission, String> {
    let confirms = ["requirements", "confirmed_requirements"];
    if !confirms.iter().any(|key| value.get(key).is_some()) {
        return deserialize_answer(value).map(Submission::Questions);
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
    deserialize_answer(value).map(Submission::Requirements)
}

/// Returns true if a plan comes without questions, or with an empty list of them: where the schema
/// requires every key, some models omit one that way.
fn asks_nothing(value: &Value) -> bool {
    let is_empty = |questions: &Value| questions.as_array().is_some_and(Vec::is_empty);
    value.get("plan").is_some() && value.get("questions").is_none_or(is_empty)
}

fn deserialize_answer<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        let inner = crate::json::plain_json_error(&inner);
        // The error itself names a key that should not be there.
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

/// Checks what the types cannot express.
fn check(submission: &Submission, mode: EditMode) -> Result<(), String> {
    match submission {
        Submission::Questions(q) if q.questions.iter().all(|q| q.trim().is_empty()) => {
            Err("`questions` must hold at least one question".to_owned())
        }
        Submission::Requirements(r) => require_text("requirements", &r.requirements),
        Submission::Design(d) => require_text("design", &d.design),
        Submission::Change(c) => {
            require_text("summary", &c.summary).and_then(|()| check_edits(c, mode))
        }
        Submission::Verdict(v) => require_text("reason", &v.reason).and_then(|()| {
            match v.findings.iter().find(|f| f.title.trim().is_empty()) {
                Some(_) => Err("every finding needs a `title`".to_owned()),
                None => Ok(()),
            }
        }),
        Submission::Text(t) => require_text("message", &t.message),
        Submission::Blocked(b) => require_text("blocked", &b.blocked),
        Submission::InterfaceChange(request) => {
            let wanted = &request.interface_change;
            require_text("definition", &wanted.definition)
                .and_then(|()| require_text("reason", &wanted.reason))
        }
        Submission::Questions(_)
        | Submission::Plan(_)
        | Submission::Quality(_)
        | Submission::Intervention(_)
        | Submission::Assembly(_) => Ok(()),
    }
}

fn require_text(name: &str, text: &str) -> Result<(), String> {
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
        // Compare as paths, so that `a//b` equals `a/b`.
        if !paths.insert(Path::new(path)) {
            return Err(format!("`{path}` is edited twice"));
        }
    }
    Ok(())
}

/// Returns true if a path is a plain one inside the worktree, and not one of git's own.
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
