//! `codeteam web`: serves pages about runs to browsers on this machine.
//!
//! The server itself is codeteam-web. Here it gets what only this program knows: how it is called, so
//! that decisions made on a page are the commands of this program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeteam_engine::known_projects::known_projects;
use codeteam_engine::problem::Problem;
use codeteam_engine::{Engine, session};
use codeteam_web::{WebAddress, WebError, WebOptions, WebServer, mint_url};
use serde::Serialize;

use crate::cli::CliContext;
use crate::cli::own_program::own_program;
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};

/// Arguments of `web`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen at this port of the loopback. Without one, the port of the last time is used if it is
    /// free.
    #[arg(long, value_name = "N", conflicts_with = "socket")]
    port: Option<u16>,
    /// Listen at a socket that only you can open, instead of a port: for machines that others use
    /// too. Forward a port of your own machine to it with `ssh -L`.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Print another link to the server that is running, and exit.
    #[arg(long, conflicts_with_all = ["port", "socket", "plain_host"])]
    url: bool,
    /// Use `127.0.0.1` in the link, for browsers that do not find names below `localhost`. Other
    /// servers on this machine then see the cookie.
    #[arg(long)]
    plain_host: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
struct WebServerReport<'a> {
    url: &'a str,
    port: u16,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    refuse_session(scene)?;
    if args.url {
        return print_new_link(scene);
    }
    let root = match Engine::repository(&scene.folder, &scene.env) {
        Ok(repo) => Some(repo.top_level().to_owned()),
        // The pages show all projects of the user; the folder need not be one.
        Err(_) => None,
    };
    let codeteam = scene.codeteam.clone();
    let options = WebOptions {
        env: scene.env.clone(),
        codeteam: codeteam.clone(),
        root,
        runners: Arc::new(move |folder: &Path| own_program(&codeteam, folder)),
        address: match &args.socket {
            Some(path) => WebAddress::Socket(scene.here.join(path)),
            None => WebAddress::Port(args.port),
        },
        plain_host: args.plain_host,
    };
    let server = WebServer::open(options).map_err(|error| problem(&error))?;
    let url = server
        .sign_in_url()
        .map_err(|e| Problem::environment("could not make a link").caused_by(&e))?;
    let port = server.port();
    if scene.json {
        output::print_json(&WebServerReport { url: &url, port })?;
    } else {
        print_line(&url)?;
        eprint_line("open this link within two minutes; it signs one browser in");
        eprint_line(&forwarding_hint(args, scene, port));
        eprint_line(
            "`codeteam web --url` prints another link; Ctrl-C ends the server, and runs go on",
        );
    }
    server.serve().map_err(|error| problem(&error))?;
    Ok(Exit::Done)
}

/// Says how the server is reached from another machine.
fn forwarding_hint(args: &Args, scene: &CliContext, port: u16) -> String {
    let to = match &args.socket {
        Some(path) => {
            let path = scene.here.join(path).display().to_string();
            codeteam_core::shell::shell_word(&path)
        }
        None => format!("127.0.0.1:{port}"),
    };
    format!("from another machine, first run `ssh -L {port}:{to} HOST` there")
}

fn print_new_link(scene: &CliContext) -> Result<Exit, Problem> {
    let state = scene.env.state_home.as_deref();
    let state = state.ok_or_else(|| problem(&WebError::NoState))?;
    let minted = mint_url(state);
    let url = minted
        .map_err(|e| Problem::environment("the server does not answer").caused_by(&e))?
        .ok_or_else(|| {
            Problem::user("no server of yours is running").hint("`codeteam web` starts one")
        })?;
    if scene.json {
        output::print_json(&serde_json::json!({ "url": url }))?;
    } else {
        print_line(&url)?;
    }
    Ok(Exit::Done)
}

/// Refuses a session, which must not decide in a person's name.
fn refuse_session(scene: &CliContext) -> Result<(), Problem> {
    let own = Engine::repository(&scene.folder, &scene.env).ok();
    let own = own.map(|repo| repo.top_level().to_owned());
    let mut roots = own.into_iter().chain(known_projects(&scene.env));
    let label = roots.find_map(|root| session::calling_session(&root));
    match label {
        None => Ok(()),
        Some(label) => Err(Problem::person(format!(
            "this is called from inside `{label}`, which codeteam leads through tasks"
        ))
        .hint("a person opens the pages, from a terminal of their own")),
    }
}

fn problem(error: &WebError) -> Problem {
    let problem = Problem::environment("the pages cannot be served").caused_by(error);
    match error {
        WebError::Running => problem.hint("`codeteam web --url` prints a link to it"),
        WebError::NoState => problem.hint("set HOME or XDG_STATE_HOME"),
        WebError::Listen(_) => {
            problem.hint("name another port with `--port`, or a socket with `--socket`")
        }
        _ => problem,
    }
}
