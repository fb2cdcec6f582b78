//! The tools a session has: what they are called, what they take, and the one form of all results.
//!
//! All of it is read by a model before anything has happened, so that it is short: a test counts the
//! tokens.

use std::sync::{Arc, OnceLock};

use rmcp::ErrorData;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A call, with its arguments.
#[derive(Debug)]
pub(super) enum Call {
    Start(Start),
    Submit(Submit),
    Resume(Resume),
    Status,
    History(History),
    Abort(Abort),
}

/// Arguments of `start_task`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    pub(super) task: String,
    #[serde(default)]
    pub(super) another: bool,
}

/// Arguments of `submit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Submit {
    pub(super) submission: Submitted,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) assignment: Option<String>,
}

/// An answer: an object, or the text of one, as some models write it.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "it must be an object")]
pub(super) enum Submitted {
    Object(JsonObject),
    Text(String),
}

impl Submitted {
    /// The text of it; whether that can be an answer is judged where answers are.
    pub(super) fn text(self) -> String {
        match self {
            Self::Object(fields) => Value::Object(fields).to_string(),
            Self::Text(text) => text,
        }
    }
}

/// Arguments of `resume`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resume {
    pub(super) input: String,
}

/// Arguments of `get_history`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct History {
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) iteration: Option<u32>,
}

/// Arguments of `abort`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Abort {
    #[serde(default)]
    pub(super) reason: Option<String>,
}

/// Arguments of `get_status`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Reads a call; what does not fit is an error of the protocol.
pub(super) fn read(name: &str, arguments: Option<JsonObject>) -> Result<Call, ErrorData> {
    let arguments = arguments.unwrap_or_default();
    Ok(match name {
        "start_task" => Call::Start(of(name, arguments)?),
        "submit" => Call::Submit(of(name, arguments)?),
        "resume" => Call::Resume(of(name, arguments)?),
        "get_status" => {
            let Nothing {} = of(name, arguments)?;
            Call::Status
        }
        "get_history" => Call::History(of(name, arguments)?),
        "abort" => Call::Abort(of(name, arguments)?),
        other => {
            let other: String = other.chars().take(80).collect();
            let text = format!("there is no tool `{other}`");
            return Err(ErrorData::invalid_params(text, None));
        }
    })
}

fn of<T: DeserializeOwned>(tool: &str, mut arguments: JsonObject) -> Result<T, ErrorData> {
    // Some clients send what is left out as `null`.
    arguments.retain(|_, value| !value.is_null());
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        // At the top there is no path to tell.
        let place = match path.as_str() {
            "." => String::new(),
            path => format!("at `{path}`: "),
        };
        let mut text = format!("the arguments of `{tool}` do not fit: {place}{inner}");
        if tool == "submit" && inner.starts_with("unknown field") {
            text.push_str("; all that you hand in goes into `submission`");
        }
        ErrorData::invalid_params(text, None)
    })
}

/// All tools.
pub(super) fn list() -> Vec<Tool> {
    static LIST: OnceLock<Vec<Tool>> = OnceLock::new();
    LIST.get_or_init(make).clone()
}

fn make() -> Vec<Tool> {
    let output = Arc::new(object(output()));
    let tool = |name: &'static str, words: &'static str, input: Value, changes: bool| {
        Tool::new(name, words, object(input))
            .with_raw_output_schema(Arc::clone(&output))
            .with_annotations(
                ToolAnnotations::new()
                    .read_only(!changes)
                    .destructive(name == "abort")
                    .open_world(false),
            )
    };
    vec![
        tool(
            "start_task",
            START,
            input(
                &json!({
                    "task": { "type": "string", "description": "What to accomplish, in the user's words." },
                    "another": { "type": "boolean", "description": "Start it though another task is open here. Only if the user says so." },
                }),
                &["task"],
            ),
            true,
        ),
        tool(
            "submit",
            SUBMIT,
            input(
                &json!({
                    "submission": { "type": "object", "description": "As `expected_output` of the assignment says." },
                    "role": { "type": "string", "description": "The role you play." },
                    "assignment": { "type": "string", "description": "The id of the assignment." },
                }),
                &["submission"],
            ),
            true,
        ),
        tool(
            "resume",
            RESUME,
            input(
                &json!({
                    "input": { "type": "string", "description": "The user's answers; for an offer `yes` or `no`." },
                }),
                &["input"],
            ),
            true,
        ),
        tool("get_status", STATUS, input(&json!({}), &[]), false),
        tool(
            "get_history",
            HISTORY,
            input(
                &json!({
                    "role": { "type": "string" },
                    "iteration": { "type": "integer", "minimum": 1 },
                }),
                &[],
            ),
            false,
        ),
        tool(
            "abort",
            ABORT,
            input(&json!({ "reason": { "type": "string" } }), &[]),
            true,
        ),
    ]
}

const START: &str = "Start a task that is led through a team of roles, each with its own view, to a \
    verified commit. Returns your first assignment: adopt its role, do only what it says, then call \
    submit.";
const SUBMIT: &str = "Hand in your work for the current role, and get what comes next. By kind of \
    role: analyst {questions: [..]} or {confirmed_requirements}; designer {design, patterns, warnings}; \
    implementer {summary, files_changed, proof, concerns}; gatekeeper {approved, reason, issues}; any \
    of them {blocked: why}. codeteam takes the change from the checkout and runs the checks itself: \
    leave the files alone until it answers. If it answers `checking`, call get_status until it is done.";
const RESUME: &str = "Pass on what the user said to the questions or the offer of a paused task. Ask \
    them; never answer in their place.";
const STATUS: &str = "Where the task stands, and what is expected of you now. Call it first in a new \
    session: an open task goes on where it stood.";
const HISTORY: &str = "Everything that was submitted and checked so far, in full.";
const ABORT: &str = "End the task. Only if the user says so; nothing in the checkout is touched.";

fn input(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

/// The kinds of results.
pub(super) const TYPES: [&str; 10] = [
    "role_assignment",
    "task_paused",
    "task_rebound_offer",
    "task_complete",
    "task_escalate",
    "checking",
    "task_status",
    "history",
    "aborted",
    "refused",
];

/// The one form of all results, flat: `type` says which of the others are there.
fn output() -> Value {
    let mut properties = json!({ "type": { "type": "string", "enum": TYPES } });
    let kinds: [(&str, &[&str]); 6] = [
        ("string", TEXTS),
        ("integer", &["iteration", "failures", "iterations"]),
        ("boolean", &["success"]),
        (
            "object",
            &["reviewing", "expected_output", "evidence", "next"],
        ),
        ("strings", LISTS),
        ("objects", &["history", "submissions"]),
    ];
    for (kind, names) in kinds {
        for name in names {
            properties[*name] = match kind {
                "strings" => json!({ "type": "array", "items": { "type": "string" } }),
                "objects" => json!({ "type": "array", "items": { "type": "object" } }),
                plain => json!({ "type": plain }),
            };
        }
    }
    // A list of files for a role, a text for a pause.
    properties["context"] = json!({});
    json!({ "type": "object", "properties": properties, "required": ["type"] })
}

const TEXTS: &[&str] = &[
    "run",
    "assignment",
    "role",
    "role_type",
    "instructions",
    "task",
    "requirements",
    "failure_context",
    "design",
    "feedback",
    "partial_spec",
    "last_rejection",
    "pattern",
    "suggestion",
    "summary",
    "git_branch",
    "run_path",
    "reason",
    "last_feedback",
    "state",
    "current_role",
    "confirmed_requirements",
    "current_design",
    "expected",
    "held_by",
    "accepted_by",
];
const LISTS: &[&str] = &[
    "rules",
    "questions",
    "files_changed",
    "accepted_over",
    "running",
    "progress",
    "errors",
];

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests;
