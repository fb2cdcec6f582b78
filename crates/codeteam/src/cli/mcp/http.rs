//! `codeteam mcp --http`.

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
use crate::mcp;
use crate::output::{self, TerminalStyle, say};
use crate::problem::Problem;

/// What `--json` prints.
#[derive(Serialize)]
struct HttpServerReport<'a> {
    url: &'a str,
    /// Only one that was made here: others are known already.
    token: Option<&'a str>,
}

pub(super) fn main(
    address: &str,
    token_file: Option<&Path>,
    wait: u64,
    scene: CliContext,
) -> Result<Exit, Problem> {
    let address = parse(address)?;
    let (token, chosen) = token(token_file, &scene)?;
    let listener = LoopbackListener::bind(address).map_err(|e| problem(&e))?;
    let url = listener.url();
    if scene.json {
        output::json(&HttpServerReport {
            url: &url,
            token: chosen.is_none().then(|| token.secret()),
        })?;
    } else {
        say(&format!("serving MCP at {url}"));
        match chosen {
            Some(place) => say(&format!("  the token is the one of {place}")),
            None => say(&format!("  Authorization: Bearer {}", token.secret())),
        }
    }
    let place = super::place(scene);
    mcp::http::serve(place, Duration::from_secs(wait), listener, token)
        .map_err(|e| Problem::environment("could not serve MCP").caused_by(&e))?;
    Ok(Exit::Done)
}

/// A port, or an address with one.
fn parse(text: &str) -> Result<SocketAddr, Problem> {
    let local = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(local(port));
    }
    text.parse().map_err(|_| {
        Problem::user(format!("`{text}` is no address to serve at"))
            .hint("write a port, such as `7417`, or `127.0.0.1:7417`")
    })
}

/// The token, and where it is from if it was not made here.
fn token(
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
                say(&format!(
                    "{}: others can read `{}`; `chmod 600` keeps it yours",
                    TerminalStyle::detect().yellow("note"),
                    path.display()
                ));
            }
            (secret, format!("`{}`", path.display()))
        }
        (None, Some(secret)) => (secret.clone(), "`CODETEAM_MCP_TOKEN`".to_owned()),
        (None, None) => return Ok((BearerToken::fresh().map_err(|e| problem(&e))?, None)),
    };
    let token = BearerToken::given(&secret).map_err(|e| problem(&e))?;
    Ok((token, Some(place)))
}

/// Whether other users of this machine may read a file.
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
        Error::Listen { .. } | Error::Random(_) => {
            Problem::environment("could not serve MCP").caused_by(error)
        }
    }
}
