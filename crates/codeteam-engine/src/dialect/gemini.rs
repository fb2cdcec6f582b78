//! The Gemini CLI: `gemini -o stream-json`.
//!
//! Seen in 0.61.0. It has no schema for its answer, so codeteam serves it a `submit` tool. Its
//! traps: the error of a turn limit goes to standard error as JSON, with exit 53; without a model
//! it asks a router first; SIGTERM is ignored until a tool ends.

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

use super::heard::{FoldState, OPEN_MESSAGES, OPEN_SUBMISSIONS, brief, clipped, drop_first};
use super::{
    CliRequirements, Dialect, FoldSettings, LaunchSettings, OutputFold, SUBMIT_SERVER,
    WorkerCommand, WorkerEvent, quota, tools,
};
use crate::process::{CommandExit, ExitReason, OutputLine, OutputStream};
use crate::prompt::Prompt;

/// Speaks to the Gemini CLI.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeminiDialect;

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

/// The model that is asked if none is named: without one a router is asked first.
const MODEL: &str = "gemini-2.5-pro";

/// How long a message may become, piece by piece: as long as a line of any other worker.
const MESSAGE_BYTES: usize = 12 << 20;

/// What it calls the tool that takes the answer.
const SUBMIT: &str = "mcp_codeteam_submit";

/// Where it keeps its settings, relative to the home.
const SETTINGS: &str = ".gemini/settings.json";

/// The exit code of a turn limit.
const TURN_LIMIT: i32 = 53;

/// The exit code of a login that is missing.
const NO_LOGIN: i32 = 41;

impl Dialect for GeminiDialect {
    fn needs(&self) -> Option<&'static CliRequirements> {
        Some(&NEEDS)
    }

    fn command(
        &self,
        assignment: &Assignment,
        prompt: &Prompt,
        around: &LaunchSettings,
    ) -> WorkerCommand {
        let user = around.folder.join("prompt.md");
        // Where it looks for them below a home, whichever that is.
        let home = around.folder.join("home");
        let settings = home.join(SETTINGS);
        let mut env = vec![("GEMINI_CLI_NO_RELAUNCH".into(), "true".into())];
        if !around.confined && around.keyed {
            // The user's own home is not for us to write in. Without a key its login is needed,
            // and there is no `submit` then.
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
        // What stands on standard input comes before it.
        arg(&["--prompt", "Carry out the assignment above."]);
        // It has no system prompt of the caller's beside its own, so who it is comes first.
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

    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold> {
        Box::new(GeminiFold {
            heard: FoldState::new(listening),
            listening: listening.clone(),
            speaking: String::new(),
            submitting: BTreeMap::new(),
            writing: BTreeSet::new(),
        })
    }

    fn sessions(&self) -> Option<&'static str> {
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
        assignment.contract.as_str(),
        mode(assignment),
    ];
    let mut args = vec!["submit-server", "--kind", form[0], "--contract", form[1]];
    args.extend(["--mode", form[2]]);
    if assignment.asks {
        args.push("--asks");
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

/// The tools it gets. The list counts for the tools of MCP servers too, and an empty one would mean
/// all there are.
fn tools_for(assignment: &Assignment) -> Vec<String> {
    let mut tools = match assignment.means.mode {
        EditMode::Edits => Vec::new(),
        EditMode::Tools => tools::GEMINI.offered(assignment.kind, &assignment.means),
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

struct GeminiFold {
    heard: FoldState,
    listening: FoldSettings,
    /// The message that is being said, piece by piece.
    speaking: String,
    /// Answers that were handed in and not yet accepted, by the id of the call.
    submitting: BTreeMap<String, String>,
    /// Calls that change files and have not been carried out yet.
    writing: BTreeSet<String>,
}

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
    /// What a tool gave.
    #[serde(default)]
    output: String,
}

impl GeminiEvent<'_> {
    /// What a tool gave, or why it did not.
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
            self.complained(&line.text);
        }
        let text = match self.heard.event(line) {
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
                // A message that is longer than any answer is none.
                if self.speaking.len() < MESSAGE_BYTES {
                    self.speaking.push_str(&event.content);
                }
                Vec::new()
            }
            "message" => Vec::new(),
            "tool_use" => {
                let mut told = self.spoken();
                // Whoever goes on after a message has not ended with it.
                self.heard.message = None;
                told.extend(self.used(&event));
                told
            }
            "tool_result" => {
                self.heard.calls.end(&event.tool_id, &event.result());
                if self.writing.remove(&event.tool_id) {
                    let why = words(event.error.as_ref(), &event.output);
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
                let message = words(event.error.as_ref(), &event.message);
                let told = self.failed(&message);
                self.heard.trouble = self.heard.failure.take();
                vec![told]
            }
            "result" => self.ended(&event),
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
            // An exit code is the HTTP status, as far as fits into it.
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
    /// What was said up to here is one message.
    fn spoken(&mut self) -> Vec<WorkerEvent> {
        let text = std::mem::take(&mut self.speaking);
        if text.trim().is_empty() {
            return Vec::new();
        }
        self.heard.message(text)
    }

    fn used(&mut self, event: &GeminiEvent<'_>) -> Vec<WorkerEvent> {
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
            found.next().map(brief)
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

    fn ended(&mut self, event: &GeminiEvent<'_>) -> Vec<WorkerEvent> {
        let mut told = self.spoken();
        if let Some(stats) = &event.stats {
            let usage = Usage {
                input_tokens: stats.input_tokens,
                cached_input_tokens: stats.cached,
                // Thoughts are in the total alone.
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
            let message = words(event.error.as_ref(), &event.message);
            match self.heard.trouble.take().filter(|_| message.is_empty()) {
                // It has said why already.
                Some(facts) => self.heard.failure = Some(facts),
                None => told.push(self.failed(&message)),
            }
        }
        told.push(WorkerEvent::Final);
        told
    }

    fn failed(&mut self, message: &str) -> WorkerEvent {
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
        let found = quota::of(message, &self.listening.account, &self.listening.clock);
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

    /// Limits are told on the error stream before anything else is. So are the errors of tools,
    /// which may quote whatever is in the repository.
    fn complained(&mut self, text: &str) {
        if !API_COMPLAINTS.iter().any(|words| text.starts_with(words)) {
            return;
        }
        let found = quota::of(text, &self.listening.account, &self.listening.clock);
        self.heard.quota = found.or_else(|| self.heard.quota.take());
    }
}

/// What lines of the error stream that are about its API begin with.
const API_COMPLAINTS: &[&str] = &["Error when talking to", "Attempt "];

/// What it says when its API cannot be reached, or breaks off.
const UNREACHABLE: &[&str] = &[
    "fetch failed",
    "api error: terminated",
    "string in json at position",
    "overloaded",
];

/// `Suggested retry after 60s.`
fn retry_after(lower: &str) -> Option<u64> {
    let (_, rest) = lower.split_once("retry after ")?;
    let seconds = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    let seconds = seconds.parse::<u64>().ok()?;
    Some(seconds.saturating_mul(1_000))
}

/// What it says on every start, and nobody needs.
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

fn words(error: Option<&Value>, message: &str) -> String {
    let told = error.map(|error| match error["message"].as_str() {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    });
    told.filter(|text| !text.is_empty())
        .unwrap_or_else(|| message.to_owned())
}

/// `got status: 503`, or the `code` of the API's own error.
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
