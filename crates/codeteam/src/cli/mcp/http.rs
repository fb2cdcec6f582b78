//! `codeteam mcp --http`: serves over HTTP.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use codeteam_http::{BearerToken, Error, LoopbackListener};
use serde::Serialize;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use codeteam_engine::problem::Problem;
use codeteam_mcp as mcp;

/// The output of `--json`.
#[derive(Serialize)]
struct HttpServerReport<'a> {
    url: &'a str,
    /// The token, only if it was generated here: the user already knows others.
    token: Option<&'a str>,
}

pub(super) fn main(
    address: &str,
    token_file: Option<&Path>,
    wait: u64,
    scene: CliContext,
) -> Result<Exit, Problem> {
    let address = parse_address(address)?;
    let (token, chosen) = read_token(token_file, &scene)?;
    let listener = LoopbackListener::bind(address).map_err(|e| problem(&e))?;
    let url = listener.url();
    if scene.json {
        output::print_json(&HttpServerReport {
            url: &url,
            token: chosen.is_none().then(|| token.secret()),
        })?;
    } else {
        eprint_line(&format!("serving MCP at {url}"));
        match chosen {
            Some(place) => eprint_line(&format!("  the token is the one of {place}")),
            None => eprint_line(&format!("  Authorization: Bearer {}", token.secret())),
        }
    }
    let place = super::server_context(scene);
    mcp::http::serve(place, Duration::from_secs(wait), listener, token)
        .map_err(|e| Problem::environment("could not serve MCP").caused_by(&e))?;
    Ok(Exit::Done)
}

/// Parses a port, or an address with one.
fn parse_address(text: &str) -> Result<SocketAddr, Problem> {
    let local = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(local(port));
    }
    text.parse().map_err(|_| {
        Problem::user(format!("`{text}` is not an address to serve at"))
            .hint("write a port, such as `7417`, or `127.0.0.1:7417`")
    })
}

/// Returns the token, and its source if it was not generated here.
fn read_token(
    file: Option<&Path>,
    scene: &CliContext,
) -> Result<(BearerToken, Option<String>), Problem> {
    let (secret, place) = match (file, &scene.env.mcp_token) {
        (Some(file), _) => {
            let path = scene.here.join(file);
            let secret = fs::read_to_string(&path).map_err(|e| {
                Problem::user(format!("could not read the token `{}`", path.display()))
                    .caused_by(&e)
            })?;
            if is_open_to_others(&path) {
                eprint_line(&format!(
                    "{}: others can read `{}`; `chmod 600` keeps it yours",
                    TerminalStyle::detect().yellow("note"),
                    path.display()
                ));
            }
            (secret, format!("`{}`", path.display()))
        }
        (None, Some(secret)) => (secret.clone(), "`CODETEAM_MCP_TOKEN`".to_owned()),
        (None, None) => return Ok((BearerToken::generate().map_err(|e| problem(&e))?, None)),
    };
    let token = BearerToken::from_secret(&secret).map_err(|e| problem(&e))?;
    Ok((token, Some(place)))
}

/// Returns true if other users of this machine can read a file.
fn is_open_to_others(path: &Path) -> bool {
    let found = fs::metadata(path);
    found.is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

fn problem(error: &Error) -> Problem {
    match error {
        Error::NotLoopback(_) => Problem::user(error.to_string()).hint(
            "name a port only; to reach it from elsewhere, forward the port: `ssh -L 7417:127.0.0.1:7417 HOST`",
        ),
        Error::Token(_) => Problem::user(error.to_string()),
        Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            let problem = Problem::environment("could not serve MCP").caused_by(error);
            problem.hint("name another port; without one, a free one is taken")
        }
        Error::Listen { .. }
        | Error::ListenSocket { .. }
        | Error::NoAddress
        | Error::Random(_) => {
            Problem::environment("could not serve MCP").caused_by(error)
        }
    }
}
