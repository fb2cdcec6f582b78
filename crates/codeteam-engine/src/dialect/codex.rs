//! Codex: `codex exec --json`.
//!
//! Observed in 0.166.0. Its traps: usage is counted from the beginning of the thread; an `error`
//! item can be a mere warning, and an `error` event is not the end; a refusal is a turn without any
//! message; it has no limit for turns or money and no list of tools, only switches for some. What it
//! calls a turn is the whole work on a prompt; how often it asks its model is counted here.

mod trace;
mod turns;

use std::ffi::OsString;
use std::path::Path;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts};
use codeteam_core::input::WorkerOutcome;
use codeteam_core::role::{EditMode, RoleKind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::turns::TurnCount;
use super::fold_state::{FoldState, clipped, first_line};
use super::tools::{self, ToolWord};
use super::{
    CliRequirements, Dialect, FoldSettings, LaunchSettings, McpServer, OutputFold, TraceBuilder,
    WorkerCommand, WorkerEvent, quota,
};
use crate::prompt::Prompt;
use codeteam_host::process::{CommandExit, OutputLine};

/// The dialect of Codex.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CodexDialect;

const NEEDS: CliRequirements = CliRequirements {
    program: "codex",
    package: "@openai/codex",
    oldest: (0, 150, 0),
    help: &["exec", "--help"],
    flags: &[
        "--json",
        "--output-schema",
        "--ephemeral",
        "--ignore-user-config",
        "--skip-git-repo-check",
        "--disable",
    ],
    login: "codex login",
};

/// Phrases with which it reports that its API cannot be reached, is overloaded, or disconnected.
const UNREACHABLE: &[&str] = &[
    "stream disconnected",
    "connection failed",
    "high demand",
    "at capacity",
];

/// Features that are not meant for unattended work, or connect to more than its API.
const WITHOUT: &[&str] = &[
    "apps",
    "plugins",
    "remote_plugin",
    "hooks",
    "multi_agent",
    "goals",
];

/// Features that provide its tools; without them it can only answer.
const TOOLS: &[&str] = &["shell_tool", "unified_exec", "view_image", "code_mode_host"];

impl Dialect for CodexDialect {
    fn requirements(&self) -> Option<&'static CliRequirements> {
        Some(&NEEDS)
    }

    fn command(
        &self,
        assignment: &Assignment,
        prompt: &Prompt,
        around: &LaunchSettings,
    ) -> WorkerCommand {
        let user = around.folder.join("prompt.md");
        let schema = around.folder.join("schema.json");
        let mut files = vec![
            (user.clone(), prompt.user.clone()),
            (
                schema.clone(),
                strict_schema(&assignment.expected.schema).to_string(),
            ),
        ];
        let mut args: Vec<OsString> = vec!["exec".into()];
        let mut arg = |parts: &[&str]| args.extend(parts.iter().map(Into::into));
        if let Some(session) = &assignment.session {
            arg(&["resume", &session.id]);
        }
        arg(&[
            "--json",
            "--skip-git-repo-check",
            "--ignore-user-config",
            "--ignore-rules",
        ]);
        if !around.has_session_files {
            arg(&["--ephemeral"]);
        }
        if let Some(model) = &around.model {
            arg(&[&format!("--model={model}")]);
        }
        for feature in WITHOUT {
            arg(&["--disable", feature]);
        }
        // It has no list of tools: its shell reads, searches and changes files.
        let is_bare = assignment.means.mode == EditMode::Edits || !tools::has_tools(assignment);
        if is_bare {
            for feature in TOOLS {
                arg(&["--disable", feature]);
            }
        }
        let mode = match (around.confined, assignment.kind, assignment.means.mode) {
            (true, _, EditMode::Tools) => "danger-full-access",
            (false, RoleKind::Implementer, EditMode::Tools) => "workspace-write",
            (false, _, EditMode::Tools) | (_, _, EditMode::Edits) => "read-only",
        };
        let mut set = |name: &str, value: Value| arg(&["-c", &setting(name, &value)]);
        set("sandbox_mode", json!(mode));
        set("approval_policy", json!("never"));
        set("developer_instructions", json!(prompt.system));
        set("analytics.enabled", json!(false));
        set("features.unbounded_connection_retries", json!(false));
        if assignment.means.mode == EditMode::Edits || !tools::may_use(assignment, ToolWord::Web) {
            set("web_search", json!("disabled"));
        }
        if is_bare {
            // Whether a model patches files and writes scripts is not a feature but a property of
            // the model, so override what Codex knows about the model. Without a named model this
            // is not possible.
            if let Some(model) = &around.model {
                let catalog = around.folder.join("models.json");
                set("model_catalog_json", json!(catalog));
                files.push((catalog, without_tools(model).to_string()));
            }
        }
        if let Some((_, url)) = &around.base_url {
            // Define a separate provider, because the retries of the built-in one cannot be
            // limited: core decides what is retried, and when.
            for (name, value) in [
                ("name", json!("codeteam")),
                ("base_url", json!(url)),
                ("wire_api", json!("responses")),
                ("env_key", json!("CODEX_API_KEY")),
                ("request_max_retries", json!(2)),
                ("stream_max_retries", json!(2)),
            ] {
                set(&format!("model_providers.codeteam.{name}"), value);
            }
            set("model_provider", json!("codeteam"));
        }
        for (n, (name, server)) in around.mcp_servers.iter().enumerate() {
            let at = |field: &str| format!("mcp_servers.{name}.{field}");
            let variables = around.folder.join(format!("mcp-{n}.sh"));
            let (command, args) = server_command(server, &variables);
            set(&at("command"), command);
            set(&at("args"), args);
            if !server.env.is_empty() {
                files.push((variables, exports(server)));
            }
        }
        arg(&["--output-schema"]);
        args.push(schema.into());
        args.push("-".into());
        WorkerCommand {
            program: around.program.clone(),
            args,
            files,
            stdin: Some(user),
            ..WorkerCommand::default()
        }
    }

    fn trace_event(&self, event: &Value, trace: &mut TraceBuilder) {
        trace::trace_event(event, trace);
    }

    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold> {
        let mut heard = FoldState::new(listening);
        heard.model.clone_from(&listening.model);
        Box::new(CodexFold {
            heard,
            listening: listening.clone(),
            turns: TurnCount::default(),
        })
    }

    fn takes_schema(&self) -> bool {
        true
    }

    fn session_folder(&self) -> Option<&'static str> {
        Some(".codex/sessions")
    }
}

/// Returns how an MCP server is started. Its variables come from a file, because other users can
/// read a command line.
fn server_command(server: &McpServer, variables: &Path) -> (Value, Value) {
    if server.env.is_empty() {
        return (json!(server.command), json!(server.args));
    }
    let mut args = vec![
        "-c".to_owned(),
        r#". "$0" && exec "$@""#.to_owned(),
        variables.to_string_lossy().into_owned(),
        server.command.clone(),
    ];
    args.extend(server.args.iter().cloned());
    (json!("/bin/sh"), json!(args))
}

/// Returns the variables of an MCP server as a shell script.
fn exports(server: &McpServer) -> String {
    let line = |(name, value): (&String, &String)| {
        let quoted = format!("{name}={value}").replace('\'', r"'\''");
        format!("export '{quoted}'\n")
    };
    server.env.iter().map(line).collect()
}

/// Returns a model catalog for Codex that enables no tools for a model.
fn without_tools(model: &str) -> Value {
    json!({ "models": [{
        "slug": model,
        "display_name": model,
        "visibility": "list",
        "priority": 1,
        "supported_in_api": true,
        "base_instructions": "You answer what you are asked.",
        "shell_type": "disabled",
        "experimental_supported_tools": [],
        "supports_parallel_tool_calls": false,
        "supported_reasoning_levels": [],
        "supports_reasoning_summaries": false,
        "support_verbosity": false,
        "truncation_policy": { "mode": "tokens", "limit": 10_000 },
    }] })
}

/// Formats a setting as an argument. Its value is parsed as TOML, in which texts and lists are
/// written as in JSON.
fn setting(name: &str, value: &Value) -> String {
    // TOML does not allow an unescaped DEL in a text.
    format!("{name}={}", value.to_string().replace('\u{7f}', "\\u007f"))
}

/// Converts the schema to the form that its API accepts: every key is required, and `null` stands
/// for one that is left out.
fn strict_schema(schema: &Value) -> Value {
    const KEPT: [&str; 6] = ["type", "description", "enum", "const", "anyOf", "oneOf"];
    let Value::Object(fields) = schema else {
        // The API does not accept an unrestricted value; a text can represent it.
        return json!({ "type": "string" });
    };
    let mut out = Map::new();
    for (name, value) in fields {
        if KEPT.contains(&name.as_str()) {
            out.insert(name.clone(), value.clone());
        }
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(Value::Array(choices)) = out.remove(name) {
            let choices: Vec<Value> = choices.iter().map(strict_schema).collect();
            out.insert("anyOf".to_owned(), choices.into());
        }
    }
    if let Some(items) = fields.get("items") {
        out.insert("items".to_owned(), strict_schema(items));
    }
    if let Some(Value::Object(properties)) = fields.get("properties") {
        let required = fields.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
        };
        let strict = |(name, value): (&String, &Value)| {
            let value = strict_schema(value);
            let value = if is_required(name) {
                value
            } else {
                nullable(value)
            };
            (name.clone(), value)
        };
        let names: Vec<Value> = properties.keys().map(|name| json!(name)).collect();
        let properties: Map<String, Value> = properties.iter().map(strict).collect();
        out.insert("properties".to_owned(), properties.into());
        out.insert("required".to_owned(), names.into());
        out.insert("additionalProperties".to_owned(), json!(false));
    }
    if out.is_empty() {
        return json!({ "type": "string" });
    }
    Value::Object(out)
}

fn nullable(mut schema: Value) -> Value {
    let is_plain = schema.get("enum").is_none() && schema.get("const").is_none();
    match schema.get("type").cloned() {
        Some(Value::String(kind)) if is_plain => {
            schema["type"] = json!([kind, "null"]);
            schema
        }
        Some(Value::Array(kinds)) if kinds.contains(&json!("null")) => schema,
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

/// The fold over the stream of `codex exec --json`. The last agent message of a turn is the answer,
/// unless a tool is used after it.
struct CodexFold {
    heard: FoldState,
    listening: FoldSettings,
    turns: TurnCount,
}

/// One line of its output, with the fields of all events that matter.
#[derive(Deserialize)]
struct CodexEvent {
    #[serde(rename = "type")]
    kind: String,
    thread_id: Option<String>,
    item: Option<Value>,
    usage: Option<CodexTokens>,
    #[serde(default)]
    message: String,
    error: Option<Value>,
}

/// The token count of a completed turn, counted from the beginning of the thread.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct CodexTokens {
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "cached_input_tokens")]
    cached: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
}

impl OutputFold for CodexFold {
    fn line(&mut self, line: &OutputLine<'_>) -> Vec<WorkerEvent> {
        let text = match self.heard.extract_event(line) {
            Ok(text) => text,
            Err(told) => return told,
        };
        let Ok(event) = serde_json::from_str::<CodexEvent>(text) else {
            let text = line.text.to_string();
            return vec![WorkerEvent::Noise { text }];
        };
        match event.kind.as_str() {
            "thread.started" => {
                self.heard.session = event.thread_id;
                let id = self.heard.session.clone().unwrap_or_default();
                vec![WorkerEvent::Session { id }]
            }
            "turn.started" | "item.updated" => Vec::new(),
            "item.started" => event
                .item
                .as_ref()
                .map_or_else(Vec::new, |item| self.handle_item_started(item)),
            "item.completed" => event.item.map_or_else(Vec::new, |item| {
                self.turns.end_item(&item);
                self.handle_item_completed(&item)
            }),
            "turn.completed" => self.handle_turn_completed(event.usage.unwrap_or_default()),
            "turn.failed" => {
                let message = event
                    .error
                    .map_or(event.message, |error| error_text(&error));
                let known = self.heard.trouble.take();
                let told = self.note_failure(&message);
                // It may have reported the same message already.
                let is_new = known.is_none_or(|facts| facts.message != clipped(&message));
                is_new.then_some(told).into_iter().collect()
            }
            // The turn may still continue: "Reconnecting... 2/5" is such an event too.
            "error" => {
                let status = status_in(&event.message);
                self.limited(&event.message);
                vec![self.heard.note_trouble(&event.message, status)]
            }
            other => vec![WorkerEvent::Unknown {
                event: other.to_owned(),
            }],
        }
    }

    fn usage(&self) -> Usage {
        self.heard.usage
    }

    fn turns(&self) -> Option<u32> {
        Some(self.turns.begun())
    }

    fn model(&self) -> Option<&str> {
        self.heard.model.as_deref()
    }

    fn session(&self) -> Option<&str> {
        self.heard.session.as_deref()
    }

    fn finish(&mut self, exit: &CommandExit) -> WorkerOutcome {
        self.heard.finish(exit)
    }

    fn describe_loop(&self) -> Option<String> {
        self.heard.calls.describe_loop()
    }

    fn failed_write(&self) -> Option<&str> {
        self.heard.failed_write.as_deref()
    }
}

impl CodexFold {
    fn handle_item_started(&mut self, item: &Value) -> Vec<WorkerEvent> {
        if self.turns.begin_item(item) {
            // If a tool is used after a message, that message was not the last.
            self.heard.message = None;
        }
        item_events(item)
    }

    fn handle_item_completed(&mut self, item: &Value) -> Vec<WorkerEvent> {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        match text("type") {
            "agent_message" => {
                let text = text("text").to_owned();
                self.heard.message(text)
            }
            "file_change" => {
                let is_done = text("status") != "failed";
                self.heard.failed_write = (!is_done).then(|| "its patch was refused".to_owned());
                if is_done {
                    // The event does not contain what was changed, only where.
                    self.heard.calls.note_progress();
                } else {
                    self.note_call(item);
                }
                let changes = item["changes"].as_array().cloned().unwrap_or_default();
                changes
                    .iter()
                    .filter_map(|change| change["path"].as_str())
                    .map(|path| WorkerEvent::File {
                        path: path.to_owned(),
                    })
                    .collect()
            }
            "mcp_tool_call" => {
                self.note_call(item);
                let is_submit = text("tool") == "submit" && text("server") == super::SUBMIT_SERVER;
                if is_submit && text("status") == "completed" {
                    self.heard.submit(item["arguments"].to_string());
                }
                Vec::new()
            }
            // These are usually warnings; an error that ends a turn is reported as such.
            "error" => vec![WorkerEvent::Noise {
                text: clipped(text("message")),
            }],
            "command_execution" => {
                self.note_call(item);
                Vec::new()
            }
            "reasoning" | "todo_list" | "web_search" | "plan" => Vec::new(),
            other => vec![WorkerEvent::Unknown {
                event: format!("item {other}"),
            }],
        }
    }

    /// Records a tool call with its result, without the item's id, which is always different.
    fn note_call(&mut self, item: &Value) {
        let mut told = item.clone();
        if let Some(fields) = told.as_object_mut() {
            fields.remove("id");
        }
        let name = item["type"].as_str().unwrap_or_default();
        self.heard.calls.note(name, "", &told.to_string());
    }

    fn handle_turn_completed(&mut self, tokens: CodexTokens) -> Vec<WorkerEvent> {
        let before = self.listening.before;
        let usage = Usage {
            input_tokens: tokens.input.saturating_sub(before.input_tokens),
            cached_input_tokens: tokens.cached.saturating_sub(before.cached_input_tokens),
            output_tokens: tokens.output.saturating_sub(before.output_tokens),
            cost_microusd: None,
        };
        self.heard.usage = usage;
        vec![WorkerEvent::Usage { usage }, WorkerEvent::Final]
    }

    fn note_failure(&mut self, message: &str) -> WorkerEvent {
        let mut facts = FailureFacts {
            message: clipped(message),
            http_status: status_in(message),
            ..FailureFacts::default()
        };
        let lower = message.to_lowercase();
        facts.trouble = if facts.http_status == Some(401) {
            Some(FailureCause::Login)
        } else if lower.contains("check your plan and billing") {
            Some(FailureCause::Billing)
        } else if UNREACHABLE.iter().any(|words| lower.contains(words)) {
            Some(FailureCause::Unreachable)
        } else if lower.contains("context window") || lower.contains("context_length_exceeded") {
            Some(FailureCause::Length)
        } else if lower.contains("is not supported") && lower.contains("model")
            || lower.contains("model_not_found")
            || lower.contains("does not exist") && lower.contains("model")
        {
            Some(FailureCause::Model)
        } else {
            None
        };
        self.limited(message);
        let message = facts.message.clone();
        self.heard.failure = Some(facts);
        WorkerEvent::Error { message }
    }

    fn limited(&mut self, message: &str) {
        let found = quota::find_quota(message, &self.listening.account, &self.listening.clock);
        self.heard.quota = found.or_else(|| self.heard.quota.take());
    }
}

fn item_events(item: &Value) -> Vec<WorkerEvent> {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let (name, detail) = match text("type") {
        "command_execution" => ("run", first_line(text("command"))),
        "mcp_tool_call" => (text("tool"), text("server").to_owned()),
        "web_search" => ("web", first_line(text("query"))),
        _ => return Vec::new(),
    };
    vec![WorkerEvent::Tool {
        name: name.to_owned(),
        detail,
    }]
}

fn error_text(error: &Value) -> String {
    match error["message"].as_str() {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    }
}

/// Extracts the status from `unexpected status 529 …` or
/// `exceeded retry limit, last status: 429 …`.
fn status_in(message: &str) -> Option<u16> {
    let (_, rest) = message
        .split_once("last status: ")
        .or_else(|| message.split_once("unexpected status "))?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strict_schema_asks_for_every_key() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "default": "" },
                "b": { "type": "array", "items": {
                    "type": "object",
                    "properties": { "c": { "type": ["integer", "null"], "format": "uint32" },
                                    "d": { "enum": ["x"], "type": "string" } },
                    "required": ["d"] } },
                "e": { "type": "array", "items": true },
            },
            "required": ["b"],
            "additionalProperties": false,
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "a": { "type": ["string", "null"] },
                "b": { "type": "array", "items": {
                    "type": "object",
                    "properties": { "c": { "type": ["integer", "null"] },
                                    "d": { "type": "string", "enum": ["x"] } },
                    "required": ["c", "d"],
                    "additionalProperties": false } },
                "e": { "type": ["array", "null"], "items": { "type": "string" } },
            },
            "required": ["a", "b", "e"],
            "additionalProperties": false,
        });
        assert_eq!(strict_schema(&schema), expected);
    }

    #[test]
    fn variables_of_servers_are_quoted_for_the_shell() {
        let server = McpServer {
            command: "tickets".to_owned(),
            args: vec!["--read".to_owned()],
            env: [("TOKEN".to_owned(), "it's $HOME\n`x`".to_owned())].into(),
        };
        assert_eq!(exports(&server), "export 'TOKEN=it'\\''s $HOME\n`x`'\n");
        let (command, args) = server_command(&server, Path::new("/told/mcp-0.sh"));
        assert_eq!(command, "/bin/sh");
        assert_eq!(
            args,
            json!([
                "-c",
                r#". "$0" && exec "$@""#,
                "/told/mcp-0.sh",
                "tickets",
                "--read"
            ])
        );
    }

    #[test]
    fn settings_are_toml() {
        assert_eq!(setting("a.b", &json!("x\"\n")), r#"a.b="x\"\n""#);
        assert_eq!(setting("l", &json!(["x", "y"])), r#"l=["x","y"]"#);
    }
}
