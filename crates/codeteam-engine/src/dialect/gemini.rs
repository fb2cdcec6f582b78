//! The Gemini CLI: `gemini -o stream-json`.
//!
//! Observed in 0.61.0. It has no schema for its answer, so codeteam serves it a `submit` tool. Its
//! traps: the error of a turn limit goes to standard error as JSON, with exit code 53; without a
//! model it asks a router first; it ignores SIGTERM until a tool ends.

mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts};
use codeteam_core::input::WorkerOutcome;
use codeteam_core::role::EditMode;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::fold_state::{
    FoldState, OPEN_MESSAGES, OPEN_SUBMISSIONS, clipped, drop_first, first_line,
};
use super::{
    CliRequirements, Dialect, FoldSettings, LaunchSettings, OutputFold, SUBMIT_SERVER,
    TraceBuilder, WorkerCommand, WorkerEvent, quota, tools,
};
use crate::prompt::Prompt;
use codeteam_host::process::{CommandExit, ExitReason, OutputLine, OutputStream};

/// The dialect of the Gemini CLI.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GeminiDialect;

const NEEDS: CliRequirements = CliRequirements {
    program: "gemini",
    package: "@google/gemini-cli",
    oldest: (0, 50, 0),
    help: &["--help"],
    flags: &[
        "--output-format",
        "--approval-mode",
        "--skip-trust",
        "--session-id",
        "--resume",
        "--prompt",
    ],
    login: "gemini",
};

/// The default model: without one, the CLI asks a router first.
const MODEL: &str = "gemini-2.5-pro";

/// The maximum length of a message that arrives in pieces: as long as a line of any other worker.
const MESSAGE_BYTES: usize = 12 << 20;

/// Its name for the tool that takes the answer.
const SUBMIT: &str = "mcp_codeteam_submit";

/// The path of its settings, relative to the home.
const SETTINGS: &str = ".gemini/settings.json";

/// The exit code of a turn limit.
const TURN_LIMIT: i32 = 53;

/// The exit code of a missing login.
const NO_LOGIN: i32 = 41;

impl Dialect for GeminiDialect {
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
        // The settings are placed where the CLI looks for them below a home.
        let home = around.folder.join("home");
        let settings = home.join(SETTINGS);
        let mut env = vec![("GEMINI_CLI_NO_RELAUNCH".into(), "true".into())];
        if !around.confined && around.keyed {
            // Codeteam must not write in the user's own home. Without a key its login is needed,
            // and then there is no `submit` tool.
            env.push(("GEMINI_CLI_HOME".into(), home.into()));
        }
        let mut args: Vec<OsString> = Vec::new();
        let mut arg = |parts: &[&str]| args.extend(parts.iter().map(Into::into));
        arg(&["--output-format", "stream-json", "--skip-trust"]);
        let model = around.model.as_deref().unwrap_or(MODEL);
        arg(&[&format!("--model={model}")]);
        let mode = if around.confined { "yolo" } else { "auto_edit" };
        arg(&["--approval-mode", mode]);
        if let Some(session) = &assignment.session {
            arg(&["--resume", &session.id]);
        }
        // The text on standard input is placed before this prompt.
        arg(&["--prompt", "Carry out the assignment above."]);
        // It accepts no additional system prompt, so the role's instructions come first.
        let settings_file = settings.clone();
        let told = format!("{}\n\n{}", prompt.system, prompt.user);
        WorkerCommand {
            program: around.program.clone(),
            args,
            env,
            files: vec![
                (user.clone(), told),
                (settings, settings_of(assignment, around).to_string()),
            ],
            reads: vec![around.codeteam.clone()],
            placed: vec![(settings_file, SETTINGS.into())],
            stdin: Some(user),
        }
    }

    fn trace_event(&self, event: &Value, trace: &mut TraceBuilder) {
        trace::trace_event(event, trace);
    }

    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold> {
        Box::new(GeminiFold {
            heard: FoldState::new(listening),
            listening: listening.clone(),
            speaking: String::new(),
            submitting: BTreeMap::new(),
            writing: BTreeSet::new(),
        })
    }

    fn small_model(&self) -> Option<&'static str> {
        Some("gemini-2.5-flash")
    }

    fn session_folder(&self) -> Option<&'static str> {
        Some(".gemini/tmp")
    }
}

fn settings_of(assignment: &Assignment, around: &LaunchSettings) -> Value {
    let mut servers = serde_json::Map::new();
    for (name, server) in &around.mcp_servers {
        let mut value = json!(server);
        value["trust"] = json!(true);
        servers.insert(name.clone(), value);
    }
    let form = [
        assignment.kind.as_str(),
        assignment.expected.contract.as_str(),
        mode(assignment),
    ];
    let mut args = vec!["submit-server", "--kind", form[0], "--contract", form[1]];
    args.extend(["--mode", form[2]]);
    if assignment.expected.asks {
        args.push("--asks");
    }
    if assignment.expected.requests {
        args.push("--requests");
    }
    let submit = json!({
        "command": around.codeteam,
        "args": args,
        "trust": true,
    });
    servers.insert(SUBMIT_SERVER.to_owned(), submit);
    let mut settings = json!({
        "mcpServers": servers,
        "general": { "maxAttempts": 3, "disableAutoUpdate": true, "disableUpdateNag": true },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    });
    if around.keyed {
        settings["security"] = json!({ "auth": { "selectedType": "gemini-api-key" } });
    }
    if let Some(turns) = assignment.means.max_turns {
        settings["model"] = json!({ "maxSessionTurns": turns });
    }
    settings["tools"] = json!({ "core": tools_for(assignment) });
    settings
}

/// Returns the tools it gets. The list applies to the tools of MCP servers too, and an empty list
/// would mean all tools.
fn tools_for(assignment: &Assignment) -> Vec<String> {
    let mut tools = match assignment.means.mode {
        EditMode::Edits => Vec::new(),
        EditMode::Tools => tools::GEMINI.tools_for_role(assignment.kind, &assignment.means),
    };
    let servers = assignment.means.mcp_servers.iter();
    tools.extend(servers.map(|server| format!("mcp_{server}_*")));
    tools.push(SUBMIT.to_owned());
    tools
}

fn mode(assignment: &Assignment) -> &'static str {
    match assignment.means.mode {
        EditMode::Tools => "tools",
        EditMode::Edits => "edits",
    }
}

/// The fold over the stream of `gemini -o stream-json`. The answer is the accepted call of the
/// `submit` tool, or else the last message.
struct GeminiFold {
    heard: FoldState,
    listening: FoldSettings,
    /// The message that is arriving in pieces.
    speaking: String,
    /// Submitted answers that are not accepted yet, by the id of the call.
    submitting: BTreeMap<String, String>,
    /// Calls that change files and have no result yet.
    writing: BTreeSet<String>,
}

/// One line of its output, with the fields of all events that matter.
#[derive(Deserialize)]
struct GeminiEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    session_id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    role: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_id: String,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    #[serde(default)]
    status: String,
    stats: Option<GeminiStats>,
    error: Option<Value>,
    #[serde(default)]
    message: String,
    /// The output of a tool.
    #[serde(default)]
    output: String,
}

impl GeminiEvent<'_> {
    /// Returns the output of a tool, or its error.
    fn result(&self) -> String {
        let error = self.error.as_ref().map(Value::to_string);
        format!(
            "{} {} {}",
            self.status,
            self.output,
            error.unwrap_or_default()
        )
    }
}

/// The token counts in a `result` event.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct GeminiStats {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
    cached: u64,
}

impl OutputFold for GeminiFold {
    fn line(&mut self, line: &OutputLine<'_>) -> Vec<WorkerEvent> {
        if line.stream == OutputStream::Stderr {
            self.handle_stderr(&line.text);
        }
        let text = match self.heard.extract_event(line) {
            Ok(text) => text,
            Err(told) => return told.into_iter().filter(|told| !is_chatter(told)).collect(),
        };
        let Ok(event) = serde_json::from_str::<GeminiEvent<'_>>(text) else {
            let text = line.text.to_string();
            return vec![WorkerEvent::Noise { text }];
        };
        match event.kind.as_str() {
            "init" => {
                self.heard.model = event.model;
                self.heard.session = event.session_id;
                let id = self.heard.session.clone().unwrap_or_default();
                vec![WorkerEvent::Session { id }]
            }
            "message" if event.role == "assistant" => {
                // A message that is longer than any answer is not an answer.
                if self.speaking.len() < MESSAGE_BYTES {
                    self.speaking.push_str(&event.content);
                }
                Vec::new()
            }
            "message" => Vec::new(),
            "tool_use" => {
                let mut told = self.finish_message();
                // If a tool is used after a message, that message was not the last.
                self.heard.message = None;
                told.extend(self.handle_tool_use(&event));
                told
            }
            "tool_result" => {
                self.heard.calls.end(&event.tool_id, &event.result());
                if self.writing.remove(&event.tool_id) {
                    let why = error_text(event.error.as_ref(), &event.output);
                    let is_done = event.status == "success";
                    self.heard.failed_write = (!is_done).then(|| clipped(&why));
                }
                let submitted = self.submitting.remove(&event.tool_id);
                let submitted = submitted.filter(|_| event.status == "success");
                if let Some(json) = submitted {
                    self.heard.submit(json);
                }
                Vec::new()
            }
            "error" => {
                let message = error_text(event.error.as_ref(), &event.message);
                let told = self.note_failure(&message);
                self.heard.trouble = self.heard.failure.take();
                vec![told]
            }
            "result" => self.handle_result(&event),
            other => vec![WorkerEvent::Unknown {
                event: other.to_owned(),
            }],
        }
    }

    fn usage(&self) -> Usage {
        self.heard.usage
    }

    fn model(&self) -> Option<&str> {
        self.heard.model.as_deref()
    }

    fn session(&self) -> Option<&str> {
        self.heard.session.as_deref()
    }

    fn finish(&mut self, exit: &CommandExit) -> WorkerOutcome {
        let trouble = match exit.status {
            ExitReason::Exited(TURN_LIMIT) => Some((FailureCause::Turns, "it used up its turns")),
            ExitReason::Exited(NO_LOGIN) => Some((FailureCause::Login, "it is not logged in")),
            _ => None,
        };
        if let (ExitReason::Exited(code), Some(facts)) = (exit.status, &mut self.heard.failure) {
            // The exit code is the HTTP status modulo 256.
            let statuses = [400, 401, 403, 429, 500, 503];
            let told = statuses.into_iter().find(|status| status % 256 == code);
            let told = told.and_then(|status| u16::try_from(status).ok());
            facts.http_status = facts.http_status.or(told);
        }
        if let Some((trouble, words)) = trouble {
            let facts = self.heard.failure.get_or_insert_with(|| FailureFacts {
                message: words.to_owned(),
                ..FailureFacts::default()
            });
            facts.trouble = Some(trouble);
        }
        self.heard.finish(exit)
    }

    fn describe_loop(&self) -> Option<String> {
        self.heard.calls.describe_loop()
    }

    fn failed_write(&self) -> Option<&str> {
        self.heard.failed_write.as_deref()
    }
}

impl GeminiFold {
    /// Ends the message that has arrived in pieces.
    fn finish_message(&mut self) -> Vec<WorkerEvent> {
        let text = std::mem::take(&mut self.speaking);
        if text.trim().is_empty() {
            return Vec::new();
        }
        self.heard.message(text)
    }

    fn handle_tool_use(&mut self, event: &GeminiEvent<'_>) -> Vec<WorkerEvent> {
        let parameters = event.parameters.map_or("{}", RawValue::get);
        if event.tool_name == SUBMIT {
            let answer = parameters.to_owned();
            self.submitting.insert(event.tool_id.clone(), answer);
            drop_first(&mut self.submitting, OPEN_SUBMISSIONS);
            return Vec::new();
        }
        self.heard
            .calls
            .begin(&event.tool_id, &event.tool_name, parameters);
        if let "write_file" | "replace" = event.tool_name.as_str() {
            self.writing.insert(event.tool_id.clone());
            if self.writing.len() > OPEN_MESSAGES {
                self.writing.pop_first();
            }
        }
        let input: Value = serde_json::from_str(parameters).unwrap_or_default();
        let field = |names: &[&str]| {
            let mut found = names.iter().filter_map(|name| input[*name].as_str());
            found.next().map(first_line)
        };
        let path = field(&["file_path", "path"]);
        if let ("write_file" | "replace", Some(path)) = (event.tool_name.as_str(), &path) {
            return vec![WorkerEvent::File { path: path.clone() }];
        }
        let detail = field(&["command", "pattern", "query", "prompt"]).or(path);
        vec![WorkerEvent::Tool {
            name: event.tool_name.clone(),
            detail: detail.unwrap_or_default(),
        }]
    }

    fn handle_result(&mut self, event: &GeminiEvent<'_>) -> Vec<WorkerEvent> {
        let mut told = self.finish_message();
        if let Some(stats) = &event.stats {
            let usage = Usage {
                input_tokens: stats.input_tokens,
                cached_input_tokens: stats.cached,
                // Thinking tokens are included in the total only.
                output_tokens: stats
                    .total_tokens
                    .saturating_sub(stats.input_tokens)
                    .max(stats.output_tokens),
                cost_microusd: None,
            };
            self.heard.usage = usage;
            told.push(WorkerEvent::Usage { usage });
        }
        if event.status != "success" {
            let message = error_text(event.error.as_ref(), &event.message);
            match self.heard.trouble.take().filter(|_| message.is_empty()) {
                // It has reported the reason already.
                Some(facts) => self.heard.failure = Some(facts),
                None => told.push(self.note_failure(&message)),
            }
        }
        told.push(WorkerEvent::Final);
        told
    }

    fn note_failure(&mut self, message: &str) -> WorkerEvent {
        let lower = message.to_lowercase();
        let http_status = status_in(message);
        let trouble = if http_status == Some(401) || lower.contains("api key not valid") {
            Some(FailureCause::Login)
        } else if http_status == Some(404) || lower.contains("is not found for api version") {
            Some(FailureCause::Model)
        } else if lower.contains("token count") && lower.contains("exceeds") {
            Some(FailureCause::Length)
        } else if UNREACHABLE.iter().any(|words| lower.contains(words)) {
            Some(FailureCause::Unreachable)
        } else if lower.contains("safety") || lower.contains("prohibited_content") {
            Some(FailureCause::Refusal)
        } else {
            None
        };
        let found = quota::find_quota(message, &self.listening.account, &self.listening.clock);
        self.heard.quota = found.or_else(|| self.heard.quota.take());
        let message = clipped(message);
        self.heard.failure = Some(FailureFacts {
            message: message.clone(),
            http_status,
            trouble,
            retry_after_ms: retry_after(&lower),
            ..FailureFacts::default()
        });
        WorkerEvent::Error { message }
    }

    /// Looks for limits on the error stream, where they are reported first. Errors of tools go
    /// there as well, and may quote anything in the repository.
    fn handle_stderr(&mut self, text: &str) {
        if !API_COMPLAINTS.iter().any(|words| text.starts_with(words)) {
            return;
        }
        let found = quota::find_quota(text, &self.listening.account, &self.listening.clock);
        self.heard.quota = found.or_else(|| self.heard.quota.take());
    }
}

/// The beginnings of lines on the error stream that are about its API.
const API_COMPLAINTS: &[&str] = &["Error when talking to", "Attempt "];

/// Phrases with which it reports that its API cannot be reached, or disconnected.
const UNREACHABLE: &[&str] = &[
    "fetch failed",
    "api error: terminated",
    "string in json at position",
    "overloaded",
];

/// Extracts the time from `Suggested retry after 60s.`
fn retry_after(lower: &str) -> Option<u64> {
    let (_, rest) = lower.split_once("retry after ")?;
    let seconds = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    let seconds = seconds.parse::<u64>().ok()?;
    Some(seconds.saturating_mul(1_000))
}

/// Returns true for messages that it prints on every start and nobody needs.
fn is_chatter(told: &WorkerEvent) -> bool {
    const CHATTER: &[&str] = &[
        "YOLO mode is enabled",
        "256-color support",
        "Ripgrep is not available",
        "[STARTUP]",
        "Loaded cached credentials",
        "Basic terminal detected",
        "Failed to save settings",
    ];
    let WorkerEvent::Noise { text } = told else {
        return false;
    };
    CHATTER.iter().any(|words| text.contains(words))
}

fn error_text(error: Option<&Value>, message: &str) -> String {
    let told = error.map(|error| match error["message"].as_str() {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    });
    told.filter(|text| !text.is_empty())
        .unwrap_or_else(|| message.to_owned())
}

/// Extracts the status from `got status: 503`, or from the `code` of the API's own error.
fn status_in(message: &str) -> Option<u16> {
    let after = |words: &str| {
        let (_, rest) = message.split_once(words)?;
        let rest = rest.trim_start_matches([' ', ':']);
        rest.split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    ["got status", "\"code\"", "status code", "[API Error"]
        .into_iter()
        .find_map(after)
}
