//! `codeteam-models`: the scripted model server, by hand.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use codeteam_e2e::{ModelServer, Scenario, ServerOptions};

/// Plays a model over HTTP, as a scenario says.
#[derive(Debug, Parser)]
#[command(name = "codeteam-models", version)]
struct Args {
    /// The scenario; without one, anything is answered sensibly.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// The port; a free one without it.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Write every request to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

fn main() -> ExitCode {
    match serve(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if this fails.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn serve(arguments: &Args) -> Result<(), String> {
    let scenario = match &arguments.scenario {
        Some(path) => Scenario::load(path).map_err(|problems| problems.to_string())?,
        None => Scenario::default_play(),
    };
    let record = match &arguments.record {
        Some(path) => Some(File::create(path).map_err(|error| {
            format!("could not create the record `{}`: {error}", path.display())
        })?),
        None => None,
    };
    let options = ServerOptions {
        port: arguments.port,
        record,
        tell: Some(print_line),
        ..ServerOptions::default()
    };
    let server = ModelServer::start_with(scenario, options)
        .map_err(|error| format!("could not listen on port {}: {error}", arguments.port))?;
    let (base, openai) = (server.base_url(), server.openai_url());
    for line in [
        format!("ANTHROPIC_BASE_URL={base}"),
        format!("OPENAI_BASE_URL={openai}"),
        format!("GOOGLE_GEMINI_BASE_URL={base}"),
        format!("codex -c openai_base_url='\"{openai}\"'"),
    ] {
        print_line(&line);
    }
    loop {
        std::thread::park();
    }
}

fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    // A closed output is no reason to stop serving.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
