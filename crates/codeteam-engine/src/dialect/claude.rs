//! Claude Code: `claude -p`, JSON lines on standard output.
//!
//! Observed in 2.1.197. Its traps: an API failure is a `result` whose `subtype` is `success` and
//! whose `is_error` is true; after a SIGTERM it may still print success; as root it refuses to work
//! without permission prompts unless it is told that it runs in a sandbox.

mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage, ReachedQuota};
use codeteam_core::ids::EpochMillis;
use codeteam_core::input::WorkerOutcome;
use codeteam_core::role::{EditMode, ModelProvider};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::fold_state::{
    FoldState, OPEN_MESSAGES, OPEN_SUBMISSIONS, clipped, drop_first, first_line,
};
use super::{
    CliRequirements, Dialect, FoldSettings, LaunchSettings, OutputFold, TraceBuilder,
    WorkerCommand, WorkerEvent, quota, tools,
};
use crate::prompt::Prompt;
use codeteam_host::process::{CommandExit, OutputLine};

/// The dialect of Claude Code.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClaudeDialect;

const NEEDS: CliRequirements = CliRequirements {
    program: "claude",
    package: "@anthropic-ai/claude-code",
    oldest: (2, 1, 0),
    help: &["--help"],
    flags: &[
        "--print",
        "--output-format",
        "--json-schema",
        "--permission-mode",
        "--tools",
        "--strict-mcp-config",
        "--setting-sources",
        "--session-id",
        "--resume",
        "--no-session-persistence",
    ],
    login: "claude auth login",
};

impl Dialect for ClaudeDialect {
    fn requirements(&self) -> Option<&'static CliRequirements> {
        Some(&NEEDS)
    }

    fn command(
        &self,
        assignment: &Assignment,
        prompt: &Prompt,
        around: &LaunchSettings,
    ) -> WorkerCommand {
        let (user, system) = (
            around.folder.join("prompt.md"),
            around.folder.join("role.md"),
        );
        let mut files = vec![
            (user.clone(), prompt.user.clone()),
            (system.clone(), prompt.system.clone()),
        ];
        let mut args: Vec<OsString> = Vec::new();
        let mut arg = |parts: &[&str]| args.extend(parts.iter().map(Into::into));
        arg(&["--print", "--verbose", "--output-format", "stream-json"]);
        // Nothing else configures it: no settings of the project, and no MCP servers but the
        // role's.
        arg(&["--setting-sources", "", "--strict-mcp-config"]);
        if !around.mcp_servers.is_empty() {
            // Use a file, because other users can read a command line.
            let path = around.folder.join("mcp.json");
            let servers = json!({ "mcpServers": around.mcp_servers }).to_string();
            arg(&["--mcp-config", &path.to_string_lossy()]);
            files.push((path, servers));
        }
        if let Some(model) = &around.model {
            arg(&[&format!("--model={model}")]);
        }
        let mode = if around.confined {
            "bypassPermissions"
        } else {
            "acceptEdits"
        };
        arg(&["--permission-mode", mode]);
        arg(&["--tools", &tools_for(assignment, around)]);
        arg(&["--json-schema", &assignment.expected.schema.to_string()]);
        if let Some(turns) = assignment.means.max_turns {
            arg(&["--max-turns", &turns.to_string()]);
        }
        if let Some(cost) = assignment.limits.max_cost_microusd {
            arg(&["--max-budget-usd", &dollars(cost)]);
        }
        match &assignment.session {
            Some(session) => arg(&["--resume", &session.id]),
            None if assignment.means.continues => {}
            None => arg(&["--no-session-persistence"]),
        }
        arg(&["--append-system-prompt-file"]);
        args.push(system.into());
        WorkerCommand {
            program: around.program.clone(),
            args,
            env: environment(assignment, around),
            files,
            stdin: Some(user),
            ..WorkerCommand::default()
        }
    }

    fn trace_event(&self, event: &Value, trace: &mut TraceBuilder) {
        trace::trace_event(event, trace);
    }

    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold> {
        Box::new(ClaudeFold {
            heard: FoldState::new(listening),
            listening: listening.clone(),
            spent: BTreeMap::new(),
            spent_before: Usage::default(),
            submitting: BTreeMap::new(),
            writing: BTreeSet::new(),
            error: None,
            retry_after_ms: None,
            hopeless: None,
        })
    }

    fn takes_schema(&self) -> bool {
        true
    }

    fn small_model(&self) -> Option<&'static str> {
        Some("haiku")
    }

    fn session_folder(&self) -> Option<&'static str> {
        Some(".claude/projects")
    }
}

/// Returns the tools it gets, in addition to the one that takes its answer and those of MCP
/// servers.
fn tools_for(assignment: &Assignment, around: &LaunchSettings) -> String {
    if assignment.means.mode == EditMode::Edits {
        return String::new();
    }
    let mut tools = tools::CLAUDE.tools_for_role(assignment.kind, &assignment.means);
    // It searches with its shell, as it does by default. Without a sandbox, that would need a
    // person's permission.
    let is_default = assignment.means.allowed_tools.is_empty();
    if is_default && around.confined && tools.iter().any(|tool| tool == "Bash") {
        tools.retain(|tool| !matches!(tool.as_str(), "Grep" | "Glob"));
    }
    tools.join(",")
}

fn environment(assignment: &Assignment, around: &LaunchSettings) -> Vec<(OsString, OsString)> {
    let mut env = vec![
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ];
    if around.confined {
        env.push(("IS_SANDBOX", "1"));
    }
    match assignment.means.provider {
        Some(ModelProvider::Bedrock) => env.push(("CLAUDE_CODE_USE_BEDROCK", "1")),
        Some(ModelProvider::Vertex) => env.push(("CLAUDE_CODE_USE_VERTEX", "1")),
        Some(ModelProvider::Anthropic) | None => {}
    }
    env.into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// Formats millionths of a dollar for the CLI.
fn dollars(microusd: u64) -> String {
    format!("{}.{:06}", microusd / 1_000_000, microusd % 1_000_000)
}

/// The fold over the stream of `claude -p`. The last `result` event decides the outcome; until then
/// the usage of each message is summed up, in case the worker is ended before it prints one.
struct ClaudeFold {
    heard: FoldState,
    listening: FoldSettings,
    /// The usage of each message, for the case that no result arrives.
    spent: BTreeMap<String, Usage>,
    /// The usage of messages that are no longer remembered one by one.
    spent_before: Usage,
    /// Submitted answers that are not accepted yet, by the id of the call.
    submitting: BTreeMap<String, String>,
    /// Calls that change files and have no result yet.
    writing: BTreeSet<String>,
    /// The kind of API failure.
    error: Option<String>,
    /// The time that the API last asked to wait.
    retry_after_ms: Option<u64>,
    /// A failure that makes it pointless to go on.
    hopeless: Option<FailureFacts>,
}

/// One line of its output, with the fields of all events that matter.
#[derive(Deserialize)]
struct ClaudeEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    subtype: String,
    session_id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    result: Option<String>,
    /// Preserved exactly as it was printed.
    #[serde(borrow)]
    structured_output: Option<&'a RawValue>,
    usage: Option<ClaudeTokens>,
    #[serde(rename = "modelUsage")]
    model_usage: Option<BTreeMap<String, ClaudeTokens>>,
    total_cost_usd: Option<f64>,
    rate_limit_info: Option<ClaudeRateLimit>,
    error_status: Option<u16>,
    api_error_status: Option<u16>,
    error: Option<Value>,
    attempt: Option<u32>,
    retry_delay_ms: Option<f64>,
}

/// A token count, in the spelling of messages or of results.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct ClaudeTokens {
    #[serde(alias = "inputTokens", rename = "input_tokens")]
    input: u64,
    #[serde(
        alias = "cacheCreationInputTokens",
        rename = "cache_creation_input_tokens"
    )]
    cache_creation: u64,
    #[serde(alias = "cacheReadInputTokens", rename = "cache_read_input_tokens")]
    cache_read: u64,
    #[serde(alias = "outputTokens", rename = "output_tokens")]
    output: u64,
}

/// The details of a `rate_limit_event`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeRateLimit {
    #[serde(default)]
    status: String,
    resets_at: Option<f64>,
    /// Whether it continues, with usage that is paid for separately.
    #[serde(default)]
    is_using_overage: bool,
}

impl ClaudeTokens {
    fn usage(self) -> Usage {
        Usage {
            input_tokens: self
                .input
                .saturating_add(self.cache_creation)
                .saturating_add(self.cache_read),
            cached_input_tokens: self.cache_read,
            output_tokens: self.output,
            cost_microusd: None,
        }
    }
}

impl OutputFold for ClaudeFold {
    fn line(&mut self, line: &OutputLine<'_>) -> Vec<WorkerEvent> {
        let text = match self.heard.extract_event(line) {
            Ok(text) => text,
            Err(told) => return told,
        };
        let Ok(event) = serde_json::from_str::<ClaudeEvent<'_>>(text) else {
            let text = line.text.to_string();
            return vec![WorkerEvent::Noise { text }];
        };
        match (event.kind.as_str(), event.subtype.as_str()) {
            ("system", "init") => {
                self.heard.model = event.model;
                self.heard.session = event.session_id;
                let id = self.heard.session.clone().unwrap_or_default();
                vec![WorkerEvent::Session { id }]
            }
            ("system", "api_retry") => {
                let why = error_text(event.error.as_ref());
                let again = event.attempt.unwrap_or(1);
                let told = format!("the API did not answer ({why}); retry {again}");
                if let (Some(401 | 403), 2..) = (event.error_status, again) {
                    // It would retry for three minutes, which does not make a key valid.
                    self.hopeless = Some(FailureFacts {
                        http_status: event.error_status,
                        trouble: Some(FailureCause::Login),
                        message: format!("its key or login is not accepted ({why})"),
                        ..FailureFacts::default()
                    });
                }
                if event.error_status == Some(429) {
                    // Its own delays have a jitter, so whole seconds come from the API.
                    let asked = event.retry_delay_ms.filter(|ms| ms % 1_000.0 == 0.0);
                    self.retry_after_ms = asked.map(milliseconds);
                }
                vec![self.heard.note_trouble(&told, event.error_status)]
            }
            ("system" | "control_request" | "stream_event", _) => Vec::new(),
            // The CLI prints this in the model's place when the API fails; the result reports it
            // too.
            ("assistant", _) if event.error.is_some() => {
                self.error = event
                    .error
                    .as_ref()
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                Vec::new()
            }
            ("assistant", _) => self.handle_message(event.message),
            ("user", _) => {
                self.accept(event.message.as_ref());
                Vec::new()
            }
            ("rate_limit_event", _) => self.handle_rate_limit(event.rate_limit_info),
            ("result", _) => self.handle_result(event),
            (other, _) => vec![WorkerEvent::Unknown {
                event: other.to_owned(),
            }],
        }
    }

    fn usage(&self) -> Usage {
        if self.heard.usage != Usage::default() {
            return self.heard.usage;
        }
        let mut usage = self.spent_before;
        self.spent.values().for_each(|spent| usage.add(*spent));
        usage
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

    fn fatal_failure(&self) -> Option<&FailureFacts> {
        self.hopeless.as_ref()
    }

    fn failed_write(&self) -> Option<&str> {
        self.heard.failed_write.as_deref()
    }
}

impl ClaudeFold {
    /// Handles a message of the model. The same message arrives several times, once for each of its
    /// parts.
    fn handle_message(&mut self, message: Option<Value>) -> Vec<WorkerEvent> {
        let Some(message) = message else {
            return Vec::new();
        };
        let id = message["id"].as_str().unwrap_or_default();
        let tokens = serde_json::from_value::<ClaudeTokens>(message["usage"].clone());
        self.spent
            .insert(id.to_owned(), tokens.unwrap_or_default().usage());
        if self.spent.len() > OPEN_MESSAGES
            && let Some((_, spent)) = self.spent.pop_first()
        {
            self.spent_before.add(spent);
        }
        let parts = message["content"].as_array().cloned().unwrap_or_default();
        for part in &parts {
            let (id, name) = (part["id"].as_str(), part["name"].as_str());
            let id = id.unwrap_or_default();
            if name == Some(SUBMIT) {
                self.submitting
                    .insert(id.to_owned(), part["input"].to_string());
                drop_first(&mut self.submitting, OPEN_SUBMISSIONS);
            } else if let Some(name) = name {
                let input = part["input"].to_string();
                self.heard.calls.begin(id, name, &input);
                if WRITING.contains(&name) {
                    self.writing.insert(id.to_owned());
                    if self.writing.len() > OPEN_MESSAGES {
                        self.writing.pop_first();
                    }
                }
            }
        }
        parts.iter().flat_map(part).collect()
    }

    /// Accepts answers whose tool call succeeded.
    fn accept(&mut self, message: Option<&Value>) {
        let parts = message.and_then(|message| message["content"].as_array());
        for part in parts.into_iter().flatten() {
            let id = part["tool_use_id"].as_str().unwrap_or_default();
            let submitted = self.submitting.remove(id);
            let accepted = part["is_error"] != Value::Bool(true);
            self.heard.calls.end(id, &part["content"].to_string());
            if self.writing.remove(id) {
                let said = part["content"].as_str().unwrap_or_default();
                self.heard.failed_write = (!accepted).then(|| clipped(said));
            }
            let submitted = submitted.filter(|_| accepted);
            if let Some(json) = submitted {
                self.heard.submit(json);
            }
        }
    }

    fn handle_rate_limit(&mut self, info: Option<ClaudeRateLimit>) -> Vec<WorkerEvent> {
        let Some(info) = info.filter(|info| info.status == "rejected" && !info.is_using_overage)
        else {
            return Vec::new();
        };
        self.heard.quota = Some(ReachedQuota {
            account: self.listening.account.clone(),
            resets_in_ms: None,
            resets_at: info.resets_at.map(time),
        });
        let message = "its usage limit is reached".to_owned();
        vec![WorkerEvent::Limit { message }]
    }

    fn handle_result(&mut self, event: ClaudeEvent<'_>) -> Vec<WorkerEvent> {
        let mut usage = Usage::default();
        match &event.model_usage {
            Some(models) if !models.is_empty() => {
                for model in models.values() {
                    usage.add(model.usage());
                }
            }
            _ => usage.add(event.usage.unwrap_or_default().usage()),
        }
        usage.cost_microusd = event.total_cost_usd.map(crate::model_api::usd_to_microusd);
        self.heard.usage = usage;
        let mut told = vec![WorkerEvent::Usage { usage }];
        let said = event.result.unwrap_or_default();
        if event.is_error || event.subtype != "success" {
            let facts = self.failure(&event.subtype, &said, event.api_error_status);
            let message = facts.message.clone();
            self.heard.failure = Some(facts);
            told.push(WorkerEvent::Error { message });
        } else {
            let structured = event.structured_output.map(RawValue::get);
            self.heard.structured = structured.filter(|s| *s != "null").map(str::to_owned);
            self.heard.message = Some(said);
        }
        told.push(WorkerEvent::Final);
        told
    }

    fn failure(&mut self, subtype: &str, said: &str, status: Option<u16>) -> FailureFacts {
        let mut facts = FailureFacts {
            message: clipped(said),
            http_status: status.or_else(|| status_in(said)),
            ..FailureFacts::default()
        };
        if facts.http_status == Some(429) {
            facts.retry_after_ms = self.retry_after_ms;
        }
        let lower = said.to_lowercase();
        facts.trouble = match self.error.as_deref() {
            Some("billing_error") => Some(FailureCause::Billing),
            Some("authentication_failed") => Some(FailureCause::Login),
            Some("model_not_found") => Some(FailureCause::Model),
            Some("server_error" | "unknown") if facts.http_status.is_none() => {
                Some(FailureCause::Unreachable)
            }
            _ => None,
        };
        let by_words = match subtype {
            "error_max_turns" => Some(FailureCause::Turns),
            "error_max_budget_usd" => Some(FailureCause::Cost),
            "error_max_structured_output_retries" => {
                facts.stage = FailureStage::BadAnswer;
                None
            }
            _ if lower.contains("invalid api key") || lower.contains("please run /login") => {
                Some(FailureCause::Login)
            }
            _ if lower.contains("not logged in") => Some(FailureCause::Login),
            _ if lower.contains("prompt is too long") => Some(FailureCause::Length),
            _ if lower.contains("usage policy") || lower.contains("unable to respond to this") => {
                Some(FailureCause::Refusal)
            }
            _ => None,
        };
        facts.trouble = facts.trouble.or(by_words);
        if facts.message.is_empty() {
            facts.message = match facts.trouble {
                Some(FailureCause::Turns) => "it used up its turns before it was done".to_owned(),
                Some(FailureCause::Cost) => "it used up its money before it was done".to_owned(),
                _ => format!("it ended with `{subtype}`"),
            };
        }
        if self.heard.quota.is_none() {
            let clock = &self.listening.clock;
            self.heard.quota = quota::find_quota(said, &self.listening.account, clock);
        }
        facts
    }
}

/// Its names for codeteam's tool that takes the answer, and for its own tool with the same purpose.
const SUBMIT: &str = "mcp__codeteam__submit";
const STRUCTURED: &str = "StructuredOutput";

/// Its tools that change files.
const WRITING: &[&str] = &["Write", "Edit", "MultiEdit", "NotebookEdit"];

fn part(part: &Value) -> Vec<WorkerEvent> {
    match part["type"].as_str() {
        Some("text") => vec![WorkerEvent::Text {
            text: part["text"].as_str().unwrap_or_default().to_owned(),
        }],
        Some("tool_use") if part["name"] == SUBMIT || part["name"] == STRUCTURED => Vec::new(),
        Some("tool_use") => tool_events(part["name"].as_str().unwrap_or_default(), &part["input"]),
        _ => Vec::new(),
    }
}

fn tool_events(name: &str, input: &Value) -> Vec<WorkerEvent> {
    let field = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| input[*name].as_str());
        found.next().map(first_line)
    };
    let path = field(&["file_path", "notebook_path"]);
    if let Some(path) = path.as_ref().filter(|_| WRITING.contains(&name)) {
        return vec![WorkerEvent::File { path: path.clone() }];
    }
    let detail = field(&["command", "pattern", "query", "url", "description"]).or(path);
    vec![WorkerEvent::Tool {
        name: name.to_owned(),
        detail: detail.unwrap_or_default(),
    }]
}

fn error_text(error: Option<&Value>) -> String {
    match error {
        Some(Value::String(text)) => clipped(text),
        Some(other) => clipped(&other.to_string()),
        None => "no reason given".to_owned(),
    }
}

/// Extracts the status from `API Error: 529 {…}`.
fn status_in(said: &str) -> Option<u16> {
    let (_, rest) = said.split_once("API Error: ")?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// Converts seconds since the epoch.
fn time(seconds: f64) -> EpochMillis {
    EpochMillis(milliseconds(seconds * 1_000.0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to what fits"
)]
fn milliseconds(number: f64) -> u64 {
    number.clamp(0.0, 1e15) as u64
}
