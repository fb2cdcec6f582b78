//! `codeteam agent`: carries out one assignment, as a worker that codeteam starts.

use std::path::PathBuf;

use codeteam_agent::builtin::{self, AgentOptions, Protocol, TokenPrice};
use codeteam_agent::scripted::{self, DEMO, ScriptSource};
use codeteam_engine::{diagnostic_log, env};
use codeteam_host::error_chain::format_error_chain;

use crate::exit::Exit;
use codeteam_engine::problem::Problem;

/// Arguments of `agent`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The assignment, a JSON file.
    #[arg(long, value_name = "FILE")]
    assignment: PathBuf,
    /// The model API to ask; without one a script is played.
    #[arg(
        long,
        requires = "base_url",
        requires = "model",
        conflicts_with = "script"
    )]
    protocol: Option<ProtocolArg>,
    /// The address of the API. Its key is read from `CODETEAM_API_KEY`.
    #[arg(long, value_name = "URL", requires = "protocol")]
    base_url: Option<String>,
    /// The model to ask.
    #[arg(long, requires = "protocol")]
    model: Option<String>,
    /// Make a plan before doing anything.
    #[arg(long, requires = "protocol")]
    plan: bool,
    /// Ask in the end how good the work is.
    #[arg(long, requires = "protocol")]
    self_check: bool,
    /// The most times that the model may be asked.
    #[arg(long, value_name = "N", default_value_t = 30)]
    max_iterations: u32,
    /// The service that searches the web.
    #[arg(long, value_name = "URL", requires = "protocol")]
    web_search: Option<String>,
    /// The most tokens that the model takes in.
    #[arg(long, value_name = "N", requires = "protocol")]
    context_tokens: Option<usize>,
    /// The most tokens that the model may write in one answer.
    #[arg(long, value_name = "N", requires = "protocol")]
    max_tokens: Option<u32>,
    /// The sampling temperature.
    #[arg(long, value_name = "NUMBER", requires = "protocol")]
    temperature: Option<f64>,
    /// The price of a million tokens in US dollars: read, read from the cache, written.
    #[arg(long, value_name = "INPUT,CACHED,OUTPUT", value_parser = price, requires = "protocol")]
    price: Option<TokenPrice>,
    /// MCP servers whose tools it gets, a JSON file.
    #[arg(long, value_name = "FILE", requires = "protocol")]
    mcp_servers: Option<PathBuf>,
    /// The script to play; the demo's if left out.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Which lines of the diagnostic log to write to standard error, for the codeteam that started
    /// this.
    #[arg(long, value_name = "DIRECTIVES")]
    relay_log: Option<String>,
}

/// A model API.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ProtocolArg {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which most local servers speak too.
    Openai,
    /// Gemini's `generateContent`.
    Gemini,
}

pub(crate) fn main(args: &Args) -> Result<Exit, Problem> {
    if let Some(directives) = &args.relay_log {
        diagnostic_log::relay_to_stderr(directives)?;
    }
    let mut out = std::io::stdout().lock();
    // The error must be one line, because a run reports the last line of a worker.
    let failed = |error: &dyn std::error::Error| Problem::user(format_error_chain(error));
    let code =
        if let (Some(api), Some(url), Some(model)) = (args.protocol, &args.base_url, &args.model) {
            let options = options(args, api, url, model);
            builtin::run_assignment(&options, &mut out).map_err(|e| failed(&e))?
        } else {
            let source = match &args.script {
                Some(path) => ScriptSource::File(path),
                None => ScriptSource::Text {
                    name: "the embedded script",
                    text: DEMO,
                },
            };
            scripted::play_script(source, &args.assignment, &mut out).map_err(|e| failed(&e))?
        };
    if code == 0 {
        return Ok(Exit::Done);
    }
    // A worker's exit code is part of its answer.
    std::process::exit(code);
}

fn options(args: &Args, api: ProtocolArg, url: &str, model: &str) -> AgentOptions {
    let protocol = match api {
        ProtocolArg::Anthropic => Protocol::Anthropic,
        ProtocolArg::Openai => Protocol::Openai,
        ProtocolArg::Gemini => Protocol::Gemini,
    };
    let (assignment, url, model) = (args.assignment.clone(), url.to_owned(), model.to_owned());
    let usual = AgentOptions::new(assignment, protocol, url, model);
    AgentOptions {
        key: env::api_key().unwrap_or_default(),
        max_iterations: args.max_iterations,
        plan: args.plan,
        self_check: args.self_check,
        web_search: args.web_search.clone(),
        mcp_servers: args.mcp_servers.clone(),
        max_tokens: args.max_tokens,
        temperature: args.temperature,
        context_tokens: args.context_tokens.unwrap_or(usual.context_tokens),
        price: args.price,
        ..usual
    }
}

fn price(text: &str) -> Result<TokenPrice, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(str::parse).collect();
    match numbers.as_deref() {
        Ok([input, cached, output]) => Ok(TokenPrice {
            input: *input,
            cached: *cached,
            output: *output,
        }),
        _ => Err("write it as `3,0.3,15`".to_owned()),
    }
}
