//! Dialects: how each worker is spoken to.
//!
//! A dialect is two pure things: the command that carries an assignment out, and a fold over both
//! output streams that ends, with the exit, in what became of it. Flags and event shapes of one
//! CLI live in its own file here and nowhere else.

mod answer;
mod builtin;
mod calls;
mod claude;
mod codex;
mod gemini;
mod heard;
mod lines;
mod quota;
mod scripted;
#[cfg(test)]
mod tests;
pub(crate) mod tools;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureFacts, FailureStage};
use codeteam_core::ids::Account;
use codeteam_core::input::WorkerOutcome;
use serde::{Deserialize, Serialize};

use crate::config::ModelPrice;
use crate::process::{CommandExit, ExitReason, OutputLine};
use crate::prompt::Prompt;
use crate::workers::{ApiProtocol, SamplingOptions};

pub use self::builtin::BuiltinDialect;
pub use self::claude::ClaudeDialect;
pub use self::codex::CodexDialect;
pub use self::gemini::GeminiDialect;
pub use self::quota::LocalClock;
pub use self::scripted::ScriptedDialect;

/// What a dialect needs to know to put a command together.
#[derive(Clone, Debug)]
pub struct LaunchSettings {
    /// codeteam's own program, for the workers that are part of it.
    pub codeteam: PathBuf,
    /// The folder of this launch, which the worker can read.
    pub folder: PathBuf,
    /// The assignment, as a file.
    pub assignment: PathBuf,
    /// The CLI's program.
    pub program: OsString,
    /// The model, if one is named.
    pub model: Option<String>,
    /// Where its API is, if it has to be told by an option, and the option's name.
    pub base_url: Option<(&'static str, String)>,
    /// Which API it speaks, where it speaks several.
    pub protocol: Option<ApiProtocol>,
    /// Where it can search the web.
    pub web_search: Option<String>,
    /// What the built-in worker is told of its model.
    pub sampling: SamplingOptions,
    /// What its model's tokens cost, if that is known.
    pub price: Option<ModelPrice>,
    /// Whether it works with a key, not with a login.
    pub keyed: bool,
    /// Whether a sandbox is round it.
    pub confined: bool,
    /// The MCP servers it gets, by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
}

/// What has to be known to make sense of what a worker says.
#[derive(Clone, Debug)]
pub struct FoldSettings {
    /// Whose quota it uses up.
    pub account: Account,
    /// The model it was asked for.
    pub model: Option<String>,
    /// What its session had spent before.
    pub before: Usage,
    /// When it starts, and where.
    pub clock: LocalClock,
    /// Whether its answer must be nothing but the answer: no fence round it.
    pub bare: bool,
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

/// A program with its arguments and what it needs round it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables it needs.
    pub env: Vec<(OsString, OsString)>,
    /// Files to be written for it before it starts.
    pub files: Vec<(PathBuf, String)>,
    /// Files it reads, beside those and its assignment.
    pub reads: Vec<PathBuf>,
    /// Which of those files belong into its home, and where there.
    pub placed: Vec<(PathBuf, PathBuf)>,
    /// The file it finds on its standard input.
    pub stdin: Option<PathBuf>,
}

/// How one worker is spoken to.
pub trait Dialect: Send + Sync {
    /// What its program must be and be able to do; `None` if it is codeteam's own.
    fn needs(&self) -> Option<&'static CliRequirements>;

    /// The command that carries an assignment out.
    fn command(
        &self,
        assignment: &Assignment,
        prompt: &Prompt,
        around: &LaunchSettings,
    ) -> WorkerCommand;

    /// The beginning of a fold over what the worker says.
    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold>;

    /// Whether the CLI gets the schema of the answer by an option, so that it need not be said in the
    /// prompt as well.
    fn takes_schema(&self) -> bool {
        false
    }

    /// Where the CLI keeps its sessions, relative to the home.
    fn sessions(&self) -> Option<&'static str> {
        None
    }
}

/// What a CLI must be, and what it must be able to do.
#[derive(Debug, PartialEq, Eq)]
pub struct CliRequirements {
    /// The program's name.
    pub program: &'static str,
    /// Where it comes from, for those who do not have it.
    pub package: &'static str,
    /// The oldest version that will do.
    pub oldest: (u32, u32, u32),
    /// What it is asked for its options.
    pub help: &'static [&'static str],
    /// Options that must be among them.
    pub flags: &'static [&'static str],
    /// How a person logs in.
    pub login: &'static str,
}

/// A fold over what a worker says.
pub trait OutputFold: Send {
    /// Takes a line; returns what it tells.
    fn line(&mut self, line: &OutputLine<'_>) -> Vec<WorkerEvent>;

    /// What it spent, as far as it has told.
    fn usage(&self) -> Usage;

    /// The model that did the work, if it has told.
    fn model(&self) -> Option<&str>;

    /// What it calls the session, if it can go on in it.
    fn session(&self) -> Option<&str>;

    /// What became of it.
    fn finish(&mut self, exit: &CommandExit) -> WorkerOutcome;

    /// Why it goes round in circles, if its calls of tools show that it does.
    fn describe_loop(&self) -> Option<String> {
        None
    }

    /// Why it will not get anywhere, though it goes on trying.
    fn hopeless(&self) -> Option<&FailureFacts> {
        None
    }

    /// What it tried to write and could not, in its own words.
    fn failed_write(&self) -> Option<&str> {
        None
    }
}

/// Something a worker tells while it works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum WorkerEvent {
    /// It says something.
    Text { text: String },
    /// It uses a tool.
    Tool { name: String, detail: String },
    /// It changes a file.
    File { path: String },
    /// It has spent so much since it last said so.
    Usage { usage: Usage },
    /// Its account's limit is near, or reached.
    Limit { message: String },
    /// Something is wrong.
    Error { message: String },
    /// It goes by this session.
    Session { id: String },
    /// It is done.
    Final,
    /// An event that codeteam does not know.
    Unknown { event: String },
    /// What is no event at all.
    Noise { text: String },
}

impl WorkerEvent {
    /// What a person should see of it.
    pub fn shown(&self) -> Option<String> {
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
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Builtin,
        Self::Scripted,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Builtin => "builtin",
            Self::Scripted => "scripted",
        }
    }

    /// The dialect of a word, if there is one.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == word)
    }

    /// The dialect itself.
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

/// What codeteam's own MCP server is called, which takes answers.
pub(crate) const SUBMIT_SERVER: &str = "codeteam";

/// What is said of a command that left too much on the disk.
pub(crate) const OVER_DISK: &str =
    "it left more on the disk than it may (`sandbox.limits.disk_mb`)";

/// What an exit alone says went wrong.
fn facts_of(exit: &CommandExit, stage: FailureStage, message: String) -> FailureFacts {
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
            "it said nothing for too long".clone_into(&mut facts.message);
        }
        ExitReason::OverDisk => OVER_DISK.clone_into(&mut facts.message),
        ExitReason::Cancelled => "it was cancelled".clone_into(&mut facts.message),
    }
    facts
}
