//! The tools of a session: their names, descriptions and arguments.
//!
//! A model reads all of this before anything has happened, so it must be short: a test counts the
//! tokens. There is no output schema, because clients would send it to the model with every
//! request, and each answer says by its `type` what it is.

use std::fmt::Write as _;
use std::sync::OnceLock;

use codeteam_core::json;
use rmcp::ErrorData;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A tool call with its arguments.
#[derive(Debug)]
pub(super) enum ToolCall {
    Start(StartTaskArgs),
    Submit(SubmitAnswerArgs),
    Resume(ResumeTaskArgs),
    Status,
    History(HistoryArgs),
    Abort(AbortTaskArgs),
}

/// The arguments of `start_task`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartTaskArgs {
    pub(super) task: String,
    #[serde(default)]
    pub(super) another: bool,
}

/// The arguments of `submit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitAnswerArgs {
    pub(super) submission: SubmittedAnswer,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) assignment: Option<String>,
}

/// An answer: an object, or its JSON text, which some models send instead.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "it must be an object")]
pub(super) enum SubmittedAnswer {
    Object(JsonObject),
    Text(String),
}

impl SubmittedAnswer {
    /// Returns the answer as text; whether it is valid is checked where answers are parsed.
    pub(super) fn text(self) -> String {
        match self {
            Self::Object(fields) => Value::Object(fields).to_string(),
            Self::Text(text) => text,
        }
    }
}

/// The arguments of `resume`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeTaskArgs {
    pub(super) input: String,
}

/// The arguments of `get_history`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryArgs {
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) iteration: Option<u32>,
}

/// The arguments of `abort`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AbortTaskArgs {
    #[serde(default)]
    pub(super) reason: Option<String>,
}

/// The arguments of `get_status`, which has none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArgs {}

/// Why a call cannot be parsed.
#[derive(Debug)]
pub(super) enum InvalidCall {
    /// There is no such tool, which is a protocol error.
    Tool(ErrorData),
    /// The arguments do not fit; the text tells the model what to correct.
    Arguments(String),
}

/// The length limit of a text in a call, in bytes: each text comes back in later answers.
pub(super) const MAX_TEXT: usize = 64 << 10;
/// The limit for all texts of a call together.
const MAX_ALL: usize = 4 * MAX_TEXT;

/// Parses a call.
pub(super) fn parse_call(
    name: &str,
    arguments: Option<JsonObject>,
) -> Result<ToolCall, InvalidCall> {
    let arguments = arguments.unwrap_or_default();
    Ok(match name {
        "start_task" => ToolCall::Start(parse_arguments(name, arguments)?),
        "submit" => {
            let submit: SubmitAnswerArgs = parse_arguments(name, arguments)?;
            if let SubmittedAnswer::Text(text) = &submit.submission
                && let Ok(object @ Value::Object(_)) = serde_json::from_str(text)
            {
                check_text_sizes(&object, &mut "submission".to_owned(), &mut 0)
                    .map_err(|wrong| InvalidCall::Arguments(arguments_error(name, &wrong)))?;
            }
            ToolCall::Submit(submit)
        }
        "resume" => ToolCall::Resume(parse_arguments(name, arguments)?),
        "get_status" => {
            let NoArgs {} = parse_arguments(name, arguments)?;
            ToolCall::Status
        }
        "get_history" => {
            let history: HistoryArgs = parse_arguments(name, arguments)?;
            if history.iteration == Some(0) {
                let wrong = "at `iteration`: iterations are counted from 1";
                return Err(InvalidCall::Arguments(arguments_error(name, wrong)));
            }
            ToolCall::History(history)
        }
        "abort" => ToolCall::Abort(parse_arguments(name, arguments)?),
        other => {
            let other: String = other.chars().take(80).collect();
            let text = format!("there is no tool `{other}`");
            return Err(InvalidCall::Tool(ErrorData::invalid_params(text, None)));
        }
    })
}

fn parse_arguments<T: DeserializeOwned>(
    tool: &str,
    mut arguments: JsonObject,
) -> Result<T, InvalidCall> {
    // Some clients send omitted arguments as `null`.
    arguments.retain(|_, value| !value.is_null());
    let arguments = Value::Object(arguments);
    let wrong = |text: &str| InvalidCall::Arguments(arguments_error(tool, text));
    let mut all = 0;
    check_text_sizes(&arguments, &mut String::new(), &mut all).map_err(|text| wrong(&text))?;
    if all > MAX_ALL {
        let text = format!("there are {all} bytes of text in all, and {MAX_ALL} are the most");
        return Err(wrong(&text));
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        let inner = json::plain_json_error(&inner);
        // At the top level there is no path to report.
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

fn arguments_error(tool: &str, wrong: &str) -> String {
    format!("the arguments of `{tool}` do not fit: {wrong}")
}

/// Adds up the texts of a value, and reports one that is too long. A submission may come as one
/// text, which may be as long as the limit for all texts together.
fn check_text_sizes(value: &Value, path: &mut String, all: &mut usize) -> Result<(), String> {
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
                check_text_sizes(item, path, all)?;
                path.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let gap = if path.is_empty() { "" } else { "." };
                *all += name.len();
                let _ = write!(path, "{gap}{name}");
                check_text_sizes(field, path, all)?;
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// Returns all tools.
pub(super) fn list_tools() -> Vec<Tool> {
    static LIST: OnceLock<Vec<Tool>> = OnceLock::new();
    LIST.get_or_init(build_tools).clone()
}

fn build_tools() -> Vec<Tool> {
    let tool = |name: &'static str, words: &'static str, input: Value, changes: bool| {
        Tool::new(name, words, to_object(input)).with_annotations(
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
            input_schema(
                &json!({
                    "task": { "type": "string", "description": "What to accomplish, in the user's words." },
                    "another": { "type": "boolean", "description": "Start it even if another task is open here. Only if the user says so." },
                }),
                &["task"],
            ),
            true,
        ),
        tool(
            "submit",
            SUBMIT,
            input_schema(
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
            input_schema(
                &json!({
                    "input": { "type": "string", "description": "The user's answers; for an offer `yes` or `no`." },
                }),
                &["input"],
            ),
            true,
        ),
        tool("get_status", STATUS, input_schema(&json!({}), &[]), false),
        tool(
            "get_history",
            HISTORY,
            input_schema(
                &json!({
                    "role": { "type": "string", "description": "Only this role's submissions." },
                    "iteration": { "type": "integer", "minimum": 1 },
                }),
                &[],
            ),
            false,
        ),
        tool(
            "abort",
            ABORT,
            input_schema(&json!({ "reason": { "type": "string" } }), &[]),
            true,
        ),
    ]
}

const START: &str = "Start a task. A team of roles, each with its own view, takes it to a verified \
    commit. Returns your first assignment: adopt its role, do only what it says, then call submit.";
const SUBMIT: &str = "Hand in your work for the current role, and get what comes next. By kind of \
    role: analyst {questions, context, partial_spec} or {confirmed_requirements}; designer {design, \
    patterns, warnings}; implementer {summary, files_changed, proof, concerns}; gatekeeper {approved, \
    reason, issues}; any of them {blocked: why}. codeteam takes the change from the checkout and runs \
    the checks itself: leave the files alone until it answers. If it answers `checking`, call \
    get_status, which waits for the checks.";
const RESUME: &str = "Pass on the user's answer to the questions or the offer of a paused task. Ask \
    them; never answer in their place.";
const STATUS: &str = "Where the task stands, and what is expected of you now. Call it first in a new \
    session: an open task continues where it stopped.";
const HISTORY: &str = "Everything that was submitted and checked so far, in full.";
const ABORT: &str = "End the task. Only if the user says so; nothing in the checkout is touched.";

fn input_schema(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

fn to_object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests;
