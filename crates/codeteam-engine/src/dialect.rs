//! Dialects: how codeteam talks to each worker program.
//!
//! A dialect is two pure things: the command that carries out an assignment, and a fold over both
//! output streams that yields, together with the exit status, the outcome of the attempt. The flags
//! and event shapes of one CLI live in its own file here and nowhere else.

mod agent;
mod answer;
mod builtin;
mod calls;
mod claude;
mod codex;
mod fold_state;
mod gemini;
mod quota;
mod scripted;
pub(crate) mod session_usage;
#[cfg(test)]
mod tests;
pub(crate) mod tools;
mod trace_builder;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureFacts, FailureStage};
use codeteam_core::ids::Account;
use codeteam_core::input::WorkerOutcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model_api::ModelPrice;
use crate::model_api::{ApiProtocol, SamplingOptions};
use crate::prompt::Prompt;
use codeteam_host::process::{CommandExit, ExitReason, OutputLine};

pub(crate) use self::builtin::BuiltinDialect;
pub(crate) use self::claude::ClaudeDialect;
pub(crate) use self::codex::CodexDialect;
pub(crate) use self::gemini::GeminiDialect;
pub use self::quota::LocalClock;
pub(crate) use self::scripted::ScriptedDialect;
pub use self::trace_builder::TraceBuilder;

/// Everything a dialect needs to build a command.
#[derive(Clone, Debug)]
pub struct LaunchSettings {
    /// The path of codeteam's own program, for the workers that are part of it.
    pub codeteam: PathBuf,
    /// The folder of this launch, which the worker can read.
    pub folder: PathBuf,
    /// The assignment as a file.
    pub assignment: PathBuf,
    /// The program of the CLI.
    pub program: OsString,
    /// The model, if one is named.
    pub model: Option<String>,
    /// The address of its API, if it has to be passed as an option, with the option's name.
    pub base_url: Option<(&'static str, String)>,
    /// The API it uses, where it supports several.
    pub protocol: Option<ApiProtocol>,
    /// The address of the web search, if there is one.
    pub web_search: Option<String>,
    /// The options with which the built-in worker calls its model.
    pub sampling: SamplingOptions,
    /// The price of its model's tokens, if it is known.
    pub price: Option<ModelPrice>,
    /// Whether it works with a key instead of a login.
    pub keyed: bool,
    /// Whether it runs in a sandbox.
    pub confined: bool,
    /// Whether the files of its session are read: to continue it, or to measure its usage.
    pub has_session_files: bool,
    /// The MCP servers it gets, by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
}

/// Everything a fold needs to interpret the output of a worker.
#[derive(Clone, Debug)]
pub struct FoldSettings {
    /// The account whose quota it uses.
    pub account: Account,
    /// The model it was asked to use.
    pub model: Option<String>,
    /// The usage of its conversation before this attempt.
    pub before: Usage,
    /// The time and time zone in which it starts.
    pub clock: LocalClock,
    /// Whether its message must consist of the answer only, without a fence around it.
    pub bare: bool,
    /// Whether it was asked to write a plan before it uses a tool.
    pub plans_first: bool,
}

/// An MCP server that a worker starts for itself, in its sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables it needs.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// The command of a worker, with the files it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program to start.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Additional variables.
    pub env: Vec<(OsString, OsString)>,
    /// Files to be written before it starts.
    pub files: Vec<(PathBuf, String)>,
    /// Files it reads, in addition to those and its assignment.
    pub reads: Vec<PathBuf>,
    /// The files to mount in its home, each with the path there.
    pub placed: Vec<(PathBuf, PathBuf)>,
    /// The file for its standard input.
    pub stdin: Option<PathBuf>,
}

/// A kind of worker program, and how codeteam talks to it.
///
/// A dialect is stateless and does no I/O. For each attempt it is used in this order:
/// [`Dialect::requirements`] tells what the installed program must support, which is probed once;
/// [`Dialect::command`] builds the command for an assignment and its rendered prompt;
/// [`Dialect::fold`] creates the fold that receives every line of output until the process exits,
/// and then decides the outcome.
///
/// A new CLI needs an implementation of this trait in a file of its own and a variant of
/// [`DialectName`]; nothing else in the engine should depend on its flags or events.
pub trait Dialect: Send + Sync {
    /// Returns the version and options that its program must have; `None` if it is codeteam's own.
    fn requirements(&self) -> Option<&'static CliRequirements>;

    /// Builds the command that carries out an assignment.
    fn command(
        &self,
        assignment: &Assignment,
        prompt: &Prompt,
        around: &LaunchSettings,
    ) -> WorkerCommand;

    /// Creates a fold over the worker's output.
    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold>;

    /// Adds to a trace what an event of the worker's output says about how it works.
    fn trace_event(&self, event: &Value, trace: &mut TraceBuilder);

    /// Returns true if the CLI takes the schema of the answer as an option, so that the prompt need
    /// not contain it.
    fn takes_schema(&self) -> bool {
        false
    }

    /// Returns true if it makes the plan that a role asks for by itself, so that its prompt need not
    /// ask for one.
    fn plans_by_itself(&self) -> bool {
        false
    }

    /// Returns the name of a small and cheap model that its provider always has, if there is one.
    fn small_model(&self) -> Option<&'static str> {
        None
    }

    /// Returns the folder in which the CLI keeps its sessions, relative to the home.
    fn session_folder(&self) -> Option<&'static str> {
        None
    }
}

/// The requirements that a CLI must meet.
#[derive(Debug, PartialEq, Eq)]
pub struct CliRequirements {
    /// The program's name.
    pub program: &'static str,
    /// The npm package that provides it, for installation hints.
    pub package: &'static str,
    /// The oldest supported version.
    pub oldest: (u32, u32, u32),
    /// The arguments that print its options.
    pub help: &'static [&'static str],
    /// Options that it must have.
    pub flags: &'static [&'static str],
    /// The command with which a person logs in.
    pub login: &'static str,
}

/// A fold over the output of a worker.
///
/// It receives every line of both streams through [`OutputFold::line`], in order, while the worker
/// runs; the other methods may be asked at any time in between. [`OutputFold::finish`] is called
/// once, after the process has exited. A stored transcript can be replayed through a new fold.
pub trait OutputFold: Send {
    /// Handles a line and returns the events in it.
    fn line(&mut self, line: &OutputLine<'_>) -> Vec<WorkerEvent>;

    /// Returns the usage reported so far.
    fn usage(&self) -> Usage;

    /// Returns in how many turns tools were called so far, if the CLI cannot be given a limit and has
    /// to be ended by codeteam.
    fn turns(&self) -> Option<u32> {
        None
    }

    /// Returns the model that did the work, if it was reported.
    fn model(&self) -> Option<&str>;

    /// Returns the id of the session, if it can be continued.
    fn session(&self) -> Option<&str>;

    /// Returns the outcome of the attempt.
    fn finish(&mut self, exit: &CommandExit) -> WorkerOutcome;

    /// Describes the loop the worker is in, if its tool calls show that it is in one.
    fn describe_loop(&self) -> Option<String> {
        None
    }

    /// Returns a failure that retrying cannot fix, although the worker goes on trying.
    fn fatal_failure(&self) -> Option<&FailureFacts> {
        None
    }

    /// Returns the worker's own message about a write that failed.
    fn failed_write(&self) -> Option<&str> {
        None
    }
}

/// An event in the output of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum WorkerEvent {
    /// The worker writes a message.
    Text { text: String },
    /// The worker uses a tool.
    Tool { name: String, detail: String },
    /// The worker changes a file.
    File { path: String },
    /// The usage since the last such event.
    Usage { usage: Usage },
    /// The limit of its account is near or reached.
    Limit { message: String },
    /// Something went wrong.
    Error { message: String },
    /// The id of its session.
    Session { id: String },
    /// The worker is done.
    Final,
    /// An event that codeteam does not know.
    Unknown { event: String },
    /// A line that is not an event.
    Noise { text: String },
}

impl WorkerEvent {
    /// Returns the text to show to a person, if there is any.
    pub fn display_text(&self) -> Option<String> {
        match self {
            Self::Text { text } | Self::Noise { text } => Some(text.clone()),
            Self::Tool { name, detail } => Some(format!("[{name}] {detail}")),
            Self::File { path } => Some(format!("[changed] {path}")),
            Self::Limit { message } => Some(message.clone()),
            Self::Error { message } => Some(format!("error: {message}")),
            Self::Unknown { event } => Some(format!("(an event codeteam does not know: {event})")),
            Self::Usage { .. } | Self::Session { .. } | Self::Final => None,
        }
    }
}

/// The dialects there are.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DialectName {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// The Gemini CLI.
    Gemini,
    /// codeteam's own worker, for any model API.
    Builtin,
    /// codeteam's own worker, playing a script.
    Scripted,
}

impl DialectName {
    /// All dialects.
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Builtin,
        Self::Scripted,
    ];

    /// Returns the dialect's name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Builtin => "builtin",
            Self::Scripted => "scripted",
        }
    }

    /// Parses the name of a dialect.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == word)
    }

    /// Returns the implementation of the dialect.
    pub fn dialect(self) -> &'static dyn Dialect {
        match self {
            Self::Claude => &ClaudeDialect,
            Self::Codex => &CodexDialect,
            Self::Gemini => &GeminiDialect,
            Self::Builtin => &BuiltinDialect,
            Self::Scripted => &ScriptedDialect,
        }
    }
}

/// The name of codeteam's own MCP server, which takes answers.
pub(crate) const SUBMIT_SERVER: &str = "codeteam";

/// The message for a command that left too much on the disk.
pub(crate) const OVER_DISK: &str =
    "it left more on the disk than it may (`sandbox.limits.disk_mb`)";

/// Builds the failure that an exit status alone indicates.
fn exit_facts(exit: &CommandExit, stage: FailureStage, message: String) -> FailureFacts {
    let mut facts = FailureFacts {
        stage,
        message,
        ..FailureFacts::default()
    };
    match exit.status {
        ExitReason::Exited(code) => facts.exit = Some(code),
        ExitReason::Signalled(signal) => facts.signal = Some(signal),
        ExitReason::TimedOut => {
            facts.stage = FailureStage::TimedOut;
            "it took too long".clone_into(&mut facts.message);
        }
        ExitReason::Stalled => {
            facts.stage = FailureStage::Stalled;
            "it printed nothing for too long".clone_into(&mut facts.message);
        }
        ExitReason::OverDisk => OVER_DISK.clone_into(&mut facts.message),
        ExitReason::Cancelled => "it was cancelled".clone_into(&mut facts.message),
    }
    facts
}
