//! `codeteam mcp`: leads the session of an MCP client through a task; `install` and `uninstall`
//! register it with clients.

mod codex;
mod entry;
mod http;
mod install;
mod opencode;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output;
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;
use codeteam_mcp::ServerContext;

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// The most seconds that a call waits for checks before it answers that they are still running.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    wait: u64,
    /// Serve over HTTP instead, on this machine only: a port, or an address of the loopback. A free
    /// port is taken if none is named. The URL and the token that clients need are printed.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "0")]
    http: Option<String>,
    /// Read the token from this file instead of making a new one at each start. Without it, the
    /// variable `CODETEAM_MCP_TOKEN` is used as the token, if it is set.
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// Register codeteam with a client, so that its sessions have the tools.
    ///
    /// Shows what it would do and asks. It uses the client's own command, or edits its file if
    /// there is none; other entries stay as they are. Without a terminal it does nothing unless
    /// `--yes` is given, and exits with 3.
    Install(install::Args),
    /// Remove codeteam from a client's list of servers.
    Uninstall(install::Args),
}

pub(crate) fn main(args: &Args, scene: CliContext) -> Result<Exit, Problem> {
    match &args.command {
        Some(McpCommand::Install(args)) => return install::install(args, &scene),
        Some(McpCommand::Uninstall(args)) => return install::uninstall(args, &scene),
        None => {}
    }
    if let Some(address) = &args.http {
        return http::main(address, args.token_file.as_deref(), args.wait, scene);
    }
    if io::stdin().is_terminal() && scene.detail >= Verbosity::Normal {
        output::eprint_line(
            "serving MCP on standard input; clients start this themselves: `codeteam mcp install`",
        );
    }
    codeteam_mcp::serve(server_context(scene), Duration::from_secs(args.wait))
        .map_err(|e| Problem::environment("could not serve MCP").caused_by(&e))?;
    Ok(Exit::Done)
}

/// Creates the server's context from that of the command line.
fn server_context(scene: CliContext) -> ServerContext {
    ServerContext {
        folder: scene.folder,
        env: scene.env,
        codeteam: scene.codeteam,
        call: scene.calls.codeteam,
    }
}
