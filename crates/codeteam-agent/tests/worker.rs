//! The built-in worker as a program of its own, for tests and for trying it by hand in a work tree:
//!
//! `CODETEAM_API_KEY=… builtin-worker anthropic|openai|gemini BASE_URL MODEL ASSIGNMENT`

use std::io;
use std::process::ExitCode;

use codeteam_agent::builtin::{AgentOptions, Protocol, run_assignment};

#[expect(
    clippy::disallowed_methods,
    reason = "a program of its own, whose only module this is"
)]
fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().unwrap_or_default();
    let protocol = match next().as_str() {
        "anthropic" => Protocol::Anthropic,
        "openai" => Protocol::Openai,
        "gemini" => Protocol::Gemini,
        _ => return ExitCode::from(2),
    };
    let (base_url, model, assignment) = (next(), next(), next());
    let mut options = AgentOptions::new(assignment.into(), protocol, base_url, model);
    options.key = std::env::var("CODETEAM_API_KEY").unwrap_or_default();
    match run_assignment(&options, &mut io::stdout()) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(_) => ExitCode::FAILURE,
    }
}
