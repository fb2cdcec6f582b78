//! The built-in worker: a loop over any model API.
//!
//! It reads an assignment, lets a model think and call tools until it submits its answer, and
//! reports what happens as JSON lines. It checks an answer only so far as that helps the model to
//! correct it; the orchestrator, which gets the answer verbatim, decides whether it is valid.

mod agent_loop;
mod answer;
mod api;
mod assignment;
mod conversation;
mod corrections;
mod event;
mod interrupt;
mod limits;
mod plan;
mod prompts;
mod self_check;
mod tools;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

pub use assignment::EditMode;

use assignment::BuiltinAssignment;
use event::{BuiltinEvent, EventSink};

/// The protocol of a model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which most local servers speak too.
    Openai,
    /// Gemini's `generateContent`.
    Gemini,
}

/// The price of a million tokens, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrice {
    /// Read.
    pub input: f64,
    /// Read, and still known to the service.
    pub cached: f64,
    /// Written.
    pub output: f64,
}

/// The options with which the worker is started.
#[derive(Clone)]
pub struct AgentOptions {
    /// The assignment, a JSON file.
    pub assignment: PathBuf,
    /// The work tree.
    pub root: PathBuf,
    /// The protocol that the API speaks.
    pub protocol: Protocol,
    /// The API's address, such as `https://api.anthropic.com`; plain HTTP is fine.
    pub base_url: String,
    /// The name of the model.
    pub model: String,
    /// The key; a placeholder if something on the way adds the real one, empty
    /// if there is none.
    pub key: String,
    /// The number of turns after which it ends; the assignment's `max_turns` takes precedence.
    pub max_iterations: u32,
    /// Makes the model plan before it starts.
    pub plan: bool,
    /// Asks the model in the end how good its work is. The score is reported and changes nothing.
    pub self_check: bool,
    /// The base URL of an API like Tavily's; the tool `web_search` exists only
    /// with it.
    pub web_search: Option<String>,
    /// A JSON file with servers of the Model Context Protocol.
    pub mcp_servers: Option<PathBuf>,
    /// The longest answer of the model; the API's own limit if left out.
    pub max_tokens: Option<u32>,
    /// The sampling temperature; what the API sets if left out.
    pub temperature: Option<f64>,
    /// The most tokens that the conversation may have, roughly.
    pub context_tokens: usize,
    /// The model's price, if it is known; without it, a limit on money has no effect here.
    pub price: Option<TokenPrice>,
    /// The first wait before a request is repeated; each further one is twice
    /// as long.
    pub backoff: Duration,
}

impl AgentOptions {
    /// The usual ones: in the current directory, 30 turns, no plan.
    pub fn new(assignment: PathBuf, protocol: Protocol, base_url: String, model: String) -> Self {
        Self {
            assignment,
            root: PathBuf::from("."),
            protocol,
            base_url,
            model,
            key: String::new(),
            max_iterations: 30,
            plan: false,
            self_check: false,
            web_search: None,
            mcp_servers: None,
            max_tokens: None,
            temperature: None,
            context_tokens: 150_000,
            price: None,
            backoff: Duration::from_secs(1),
        }
    }
}

/// Leaves out the key.
impl fmt::Debug for AgentOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("assignment", &self.assignment)
            .field("protocol", &self.protocol)
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The reasons why the worker could not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The assignment is not the JSON it must be.
    #[error("`{}` is not an assignment", path.display())]
    Assignment {
        /// The assignment's file.
        path: PathBuf,
        /// The problem, and its position.
        source: serde_json::Error,
    },
    /// The list of servers is not the JSON it must be.
    #[error("`{}` is not a list of MCP servers", path.display())]
    Servers {
        /// The list's file.
        path: PathBuf,
        /// The problem, and its position.
        source: serde_json::Error,
    },
    /// An option makes no sense.
    #[error("`{option}` cannot be used: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// The problem.
        reason: String,
    },
    /// The system does not provide something that the worker needs.
    #[error("could not {action}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The output is closed, so nobody is left to work for.
    #[error("could not write an event")]
    Output(#[source] io::Error),
}

/// An error and its causes in one line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some errors repeat their cause in their own words.
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

/// Works on the assignment and answers with the exit code: 0 if there is a
/// submission, 1 if the model or its API did not give one, 2 if the options or
/// the assignment make no sense.
///
/// The process dies with its parent: to be exact, with the thread that spawned
/// it, so that thread has to wait for it.
pub fn run_assignment(options: &AgentOptions, out: &mut dyn Write) -> Result<i32, Error> {
    crate::process::die_with_parent();
    let mut sink = EventSink::new(out, &options.key);
    sink.emit(&BuiltinEvent::started(&options.model))?;
    let worked = BuiltinAssignment::read(&options.assignment)
        .and_then(|assignment| agent_loop::run_agent_loop(options, &assignment, &mut sink));
    match worked {
        Ok(done) => Ok(i32::from(!done)),
        Err(error @ Error::Output(_)) => Err(error),
        Err(error) => {
            sink.emit(&BuiltinEvent::error(&error_chain(&error), None, None))?;
            Ok(2)
        }
    }
}
