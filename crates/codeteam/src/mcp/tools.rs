//! The tools a session has: what they are called and what they take.
//!
//! All of it is read by a model before anything has happened, so that it is short: a test counts the
//! tokens. There is no output schema, because clients hand it to the model with every request, and each
//! answer says by its `type` what it is.

use std::fmt::Write as _;
use std::sync::OnceLock;

use codeteam_core::json;
use rmcp::ErrorData;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A call, with its arguments.
#[derive(Debug)]
pub(super) enum ToolCall {
    Start(StartTaskArgs),
    Submit(SubmitAnswerArgs),
    Resume(ResumeTaskArgs),
    Status,
    History(HistoryArgs),
    Abort(AbortTaskArgs),
}

/// Arguments of `start_task`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartTaskArgs {
    pub(super) task: String,
    #[serde(default)]
    pub(super) another: bool,
}

/// Arguments of `submit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitAnswerArgs {
    pub(super) submission: SubmittedAnswer,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) assignment: Option<String>,
}

/// An answer: an object, or the text of one, as some models write it.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "it must be an object")]
pub(super) enum SubmittedAnswer {
    Object(JsonObject),
    Text(String),
}

impl SubmittedAnswer {
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
pub(super) struct ResumeTaskArgs {
    pub(super) input: String,
}

/// Arguments of `get_history`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryArgs {
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) iteration: Option<u32>,
}

/// Arguments of `abort`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AbortTaskArgs {
    #[serde(default)]
    pub(super) reason: Option<String>,
}

/// Arguments of `get_status`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArgs {}

/// Why a call cannot be read.
#[derive(Debug)]
pub(super) enum InvalidCall {
    /// There is no such tool: an error of the protocol.
    Tool(ErrorData),
    /// Its arguments do not fit: what is wrong with them, for the model to mend.
    Arguments(String),
}

/// No text in a call is longer, in bytes: each comes back in later answers.
pub(super) const MAX_TEXT: usize = 64 << 10;
/// No call has more text than this in all.
const MAX_ALL: usize = 4 * MAX_TEXT;

/// Reads a call.
pub(super) fn read(name: &str, arguments: Option<JsonObject>) -> Result<ToolCall, InvalidCall> {
    let arguments = arguments.unwrap_or_default();
    Ok(match name {
        "start_task" => ToolCall::Start(of(name, arguments)?),
        "submit" => {
            let submit: SubmitAnswerArgs = of(name, arguments)?;
            if let SubmittedAnswer::Text(text) = &submit.submission
                && let Ok(object @ Value::Object(_)) = serde_json::from_str(text)
            {
                measure(&object, &mut "submission".to_owned(), &mut 0)
                    .map_err(|wrong| InvalidCall::Arguments(unfit(name, &wrong)))?;
            }
            ToolCall::Submit(submit)
        }
        "resume" => ToolCall::Resume(of(name, arguments)?),
        "get_status" => {
            let NoArgs {} = of(name, arguments)?;
            ToolCall::Status
        }
        "get_history" => {
            let history: HistoryArgs = of(name, arguments)?;
            if history.iteration == Some(0) {
                let wrong = "at `iteration`: iterations are counted from 1";
                return Err(InvalidCall::Arguments(unfit(name, wrong)));
            }
            ToolCall::History(history)
        }
        "abort" => ToolCall::Abort(of(name, arguments)?),
        other => {
            let other: String = other.chars().take(80).collect();
            let text = format!("there is no tool `{other}`");
            return Err(InvalidCall::Tool(ErrorData::invalid_params(text, None)));
        }
    })
}

fn of<T: DeserializeOwned>(tool: &str, mut arguments: JsonObject) -> Result<T, InvalidCall> {
    // Some clients send what is left out as `null`.
    arguments.retain(|_, value| !value.is_null());
    let arguments = Value::Object(arguments);
    let wrong = |text: &str| InvalidCall::Arguments(unfit(tool, text));
    let mut all = 0;
    measure(&arguments, &mut String::new(), &mut all).map_err(|text| wrong(&text))?;
    if all > MAX_ALL {
        let text = format!("there are {all} bytes of text in all, and {MAX_ALL} are the most");
        return Err(wrong(&text));
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        let inner = json::plain_words(&inner);
        // At the top there is no path to tell.
        let place = match path.as_str() {
            "." => String::new(),
            path => format!("at `{path}`: "),
        };
        let mut text = format!("{place}{inner}");
        if tool == "submit" && inner.starts_with("unknown field") {
            text.push_str("; all that you hand in goes into `submission`");
        }
        wrong(&text)
    })
}

fn unfit(tool: &str, wrong: &str) -> String {
    format!("the arguments of `{tool}` do not fit: {wrong}")
}

/// Adds up the text in a value, and says where one is too long. A submission may come as a text, which
/// is as long as all of it.
fn measure(value: &Value, path: &mut String, all: &mut usize) -> Result<(), String> {
    let length = path.len();
    match value {
        Value::String(text) => {
            *all += text.len();
            let whole = if path == "submission" {
                MAX_ALL
            } else {
                MAX_TEXT
            };
            if text.len() > whole {
                let short: String = path.chars().take(80).collect();
                return Err(format!(
                    "`{short}` has {} bytes, and {whole} are the most; say it more briefly, and leave \
                     long texts in files",
                    text.len()
                ));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                measure(item, path, all)?;
                path.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let gap = if path.is_empty() { "" } else { "." };
                *all += name.len();
                let _ = write!(path, "{gap}{name}");
                measure(field, path, all)?;
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// All tools.
pub(super) fn list() -> Vec<Tool> {
    static LIST: OnceLock<Vec<Tool>> = OnceLock::new();
    LIST.get_or_init(make).clone()
}

fn make() -> Vec<Tool> {
    let tool = |name: &'static str, words: &'static str, input: Value, changes: bool| {
        Tool::new(name, words, object(input)).with_annotations(
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
                    "submission": { "type": "object", "description": "One of the forms under `expected_output` of the assignment." },
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
                    "role": { "type": "string", "description": "Only of this role." },
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
    role: analyst {questions, context, partial_spec} or {confirmed_requirements}; designer {design, \
    patterns, warnings}; implementer {summary, files_changed, proof, concerns}; gatekeeper {approved, \
    reason, issues}; any of them {blocked: why}. codeteam takes the change from the checkout and runs \
    the checks itself: leave the files alone until it answers. If it answers `checking`, call \
    get_status, which waits for the checks.";
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

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests;
