//! The built-in worker: a loop over any model API.
//!
//! It reads an assignment, lets a model think and call tools until it submits
//! its answer, and tells what happens as JSON lines. It judges an answer only as
//! far as a model can be helped to mend it; what counts is judged by the
//! orchestrator, which gets the answer to the letter.

mod answer;
mod api;
mod assignment;
mod check;
mod event;
mod interrupt;
mod limits;
mod mending;
mod plan;
mod talk;
mod tools;
mod words;
mod work;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

pub use assignment::EditMode;

use assignment::BuiltinAssignment;
use event::{BuiltinEvent, EventSink};

/// How a model API is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which most local servers speak too.
    Openai,
    /// Gemini's `generateContent`.
    Gemini,
}

/// What a million tokens cost, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrice {
    /// Read.
    pub input: f64,
    /// Read, and still known to the service.
    pub cached: f64,
    /// Written.
    pub output: f64,
}

/// Everything the worker is started with.
#[derive(Clone)]
pub struct AgentOptions {
    /// The assignment, a JSON file.
    pub assignment: PathBuf,
    /// The work tree.
    pub root: PathBuf,
    /// How the API is spoken to.
    pub protocol: Protocol,
    /// Where it is, such as `https://api.anthropic.com`; plain HTTP is fine.
    pub base_url: String,
    /// Which model.
    pub model: String,
    /// The key; a placeholder if something on the way adds the real one, empty
    /// if there is none.
    pub key: String,
    /// After how many turns it ends; the assignment's `max_turns` wins.
    pub max_iterations: u32,
    /// Whether the model first makes a plan.
    pub plan: bool,
    /// Whether the model is asked in the end how good its work is. Its score is
    /// told and changes nothing.
    pub self_check: bool,
    /// The base URL of an API like Tavily's; the tool `web_search` exists only
    /// with it.
    pub web_search: Option<String>,
    /// A JSON file with servers of the Model Context Protocol.
    pub mcp_servers: Option<PathBuf>,
    /// How long one answer of the model may be; what the API sets if left out.
    pub max_tokens: Option<u32>,
    /// The sampling temperature; what the API sets if left out.
    pub temperature: Option<f64>,
    /// How long the conversation may become, about.
    pub context_tokens: usize,
    /// What the model costs, if that is known: without it a limit of money does not hold here.
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

/// Without the key.
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

/// Why the worker could not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The assignment is not the JSON it must be.
    #[error("`{}` is not an assignment", path.display())]
    Assignment {
        /// The assignment's file.
        path: PathBuf,
        /// What is wrong with it, and where.
        source: serde_json::Error,
    },
    /// The list of servers is not the JSON it must be.
    #[error("`{}` is not a list of MCP servers", path.display())]
    Servers {
        /// The list's file.
        path: PathBuf,
        /// What is wrong with it, and where.
        source: serde_json::Error,
    },
    /// An option makes no sense.
    #[error("`{option}` cannot be used: {reason}")]
    Option {
        /// Which one.
        option: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Something the worker needs of the system is not to be had.
    #[error("could not {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The output is gone; there is no one to work for.
    #[error("could not write an event")]
    Output(#[source] io::Error),
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
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
pub fn run(options: &AgentOptions, out: &mut dyn Write) -> Result<i32, Error> {
    crate::process::die_with_parent();
    let mut sink = EventSink::new(out, &options.key);
    sink.tell(&BuiltinEvent::started(&options.model))?;
    let worked = BuiltinAssignment::read(&options.assignment)
        .and_then(|assignment| work::work(options, &assignment, &mut sink));
    match worked {
        Ok(done) => Ok(i32::from(!done)),
        Err(error @ Error::Output(_)) => Err(error),
        Err(error) => {
            sink.tell(&BuiltinEvent::error(&chain(&error), None, None))?;
            Ok(2)
        }
    }
}
