//! `codeteam trust`: what a repository asks for beyond the user's own configuration, and what the
//! user says to it.

mod log;

use std::collections::BTreeSet;
use std::io::{self, BufRead as _};
use std::path::Path;

use codeteam_core::event::AccessGrant;
use codeteam_engine::config::{AccessRequest, Config, ConfigOrigins, RequestState};
use codeteam_engine::engine::{self, Engine, Project};
use codeteam_engine::perform::now;
use codeteam_engine::session;
use codeteam_engine::trust::{self, TrustRecord, TrustStore};
use serde_json::{Value, json};

use crate::cli::{CliContext, init};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, out_line, say};
use crate::problem::{Problem, in_words};
use crate::progress::Verbosity;

/// Arguments of `trust`.
#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct Args {
    /// Trust it with what is shown, without asking.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,
    /// List what all repositories are trusted with.
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Trust this repository with nothing any more.
    #[arg(long)]
    revoke: bool,
    /// Take over the log that is here (`.codeteam/state.db`), though codeteam did not make it in this place.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    log: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let store = store(scene)?;
    if args.list {
        return list(scene, &store);
    }
    let repo = Engine::repository(&scene.folder, &scene.env)?;
    let root = repo.top_level();
    if args.log {
        return log::take_over(scene, root, args.yes);
    }
    if args.revoke {
        let was_trusted = store.revoke(root).map_err(engine::Error::from)?;
        if scene.json {
            output::json(&json!({ "repository": root, "revoked": was_trusted }))?;
        } else if was_trusted {
            say(
                "this repository is trusted with nothing any more; its runs are held to that when they are resumed",
            );
        } else {
            say("this repository was not trusted with anything");
        }
        return Ok(Exit::Done);
    }
    let config = Config::load(&ConfigOrigins::of(&scene.env, &root.join(".codeteam")));
    let config = config.map_err(engine::Error::from)?;
    decide(args, scene, &store, root, &config)
}

fn decide(
    args: &Args,
    scene: &CliContext,
    store: &TrustStore,
    root: &Path,
    config: &Config,
) -> Result<Exit, Problem> {
    let is_open = config.open_requests().next().is_some();
    let is_told = scene.detail >= Verbosity::Normal && !scene.json;
    if is_told || (is_open && !scene.json && !args.yes) {
        show(root, config)?;
    }
    let agreed = is_open && (args.yes || (!scene.json && ask(QUESTION)? == TrustReply::Trust));
    if agreed {
        refuse_session(root)?;
        let record = trust_all(scene, store, root, config)?;
        if is_told {
            say(&format!("trusted, with exactly this ({})", record.digest));
        }
    }
    if scene.json {
        let requests: Vec<Value> = config.requests.iter().map(as_json).collect();
        output::json(&json!({
            "repository": root,
            "requests": requests,
            "digest": trust::digest(&wanted(config)),
            "trusted": agreed || !is_open,
        }))?;
    }
    if !is_open || agreed {
        return Ok(Exit::Done);
    }
    if !init::is_terminal() || scene.json {
        say(
            "nothing was trusted: there is no terminal to ask on; `codeteam trust --yes` trusts it",
        );
        return Ok(Exit::Waiting);
    }
    say("nothing was trusted");
    Ok(Exit::Done)
}

fn store(scene: &CliContext) -> Result<TrustStore, Problem> {
    let store = TrustStore::of(&scene.env);
    Ok(store.ok_or(engine::Error::Trust(trust::Error::NoHome))?)
}

/// A project that may be worked with, and how.
pub(crate) struct TrustOutcome {
    pub(crate) project: Project,
    /// Whether it does without what the repository asks for.
    pub(crate) restricted: bool,
}

/// The project for a run. What its repository asks for and nobody has decided is shown, and asked if
/// somebody is there; otherwise no run will start.
pub(crate) fn settle(
    scene: &CliContext,
    set: &[String],
    untrusted: bool,
    is_there: bool,
) -> Result<TrustOutcome, Problem> {
    if untrusted {
        let project = Project::find_restricted(&scene.folder, scene.env.clone(), set)?;
        let restricted = true;
        return Ok(TrustOutcome {
            project,
            restricted,
        });
    }
    let project = scene.project_set(set)?;
    let is_open = project.config.open_requests().next().is_some();
    if !is_open || !is_there || scene.json {
        // What is open is refused when the run is prepared.
        let restricted = false;
        return Ok(TrustOutcome {
            project,
            restricted,
        });
    }
    let root = project.repo.top_level();
    show(root, &project.config)?;
    match ask(RUN_QUESTION)? {
        TrustReply::Trust => {
            refuse_session(root)?;
            trust_all(scene, &store(scene)?, root, &project.config)?;
            let project = scene.project_set(set)?;
            let restricted = false;
            Ok(TrustOutcome {
                project,
                restricted,
            })
        }
        TrustReply::Without => settle(scene, set, true, is_there),
        TrustReply::No => Err(Problem::person(
            "nothing was trusted, and nothing was started",
        )),
    }
}

/// Trusts a repository with what `init` has just written for it: the user has seen and confirmed
/// that. What its files asked for before stays as it was decided then.
pub(crate) fn trust_written(
    scene: &CliContext,
    root: &Path,
    before: &BTreeSet<AccessGrant>,
) -> Result<(), Problem> {
    let origins = ConfigOrigins::of(&scene.env, &root.join(".codeteam"));
    // What cannot be read is told when it is used.
    let (Ok(config), Some(store)) = (Config::load(&origins), TrustStore::of(&scene.env)) else {
        return Ok(());
    };
    let mut granted = config.grants();
    let new = config.open_requests().map(|request| request.access.clone());
    let new: Vec<AccessGrant> = new.filter(|access| !before.contains(access)).collect();
    if new.is_empty() {
        return Ok(());
    }
    granted.extend(new);
    let trusted = store.trust(root, granted, &scene.env.user, now());
    trusted.map_err(engine::Error::from)?;
    Ok(())
}

/// What the files of a repository ask for now, decided or not; nothing if they cannot be read.
pub(crate) fn asked_for(scene: &CliContext, root: &Path) -> BTreeSet<AccessGrant> {
    let origins = ConfigOrigins::of(&scene.env, &root.join(".codeteam"));
    let requests = Config::load(&origins).map(|config| config.requests);
    let requests = requests.unwrap_or_default().into_iter();
    requests.map(|request| request.access).collect()
}

/// All that would be in force if the user said yes.
fn wanted(config: &Config) -> BTreeSet<AccessGrant> {
    let wanted = config.requests.iter();
    let wanted = wanted.filter(|request| request.state != RequestState::Forbidden);
    wanted.map(|request| request.access.clone()).collect()
}

fn trust_all(
    scene: &CliContext,
    store: &TrustStore,
    root: &Path,
    config: &Config,
) -> Result<TrustRecord, Problem> {
    let trusted = store.trust(root, wanted(config), &scene.env.user, now());
    Ok(trusted.map_err(engine::Error::from)?)
}

/// A session does not decide what the user trusts a repository with.
fn refuse_session(root: &Path) -> Result<(), Problem> {
    match session::calling_session(root) {
        None => Ok(()),
        Some(label) => Err(Problem::person(format!(
            "this is called from inside `{label}`, which codeteam leads through tasks here"
        ))
        .hint("a person decides what to trust, in a terminal of their own")),
    }
}

fn show(root: &Path, config: &Config) -> Result<(), Problem> {
    let style = TerminalStyle::detect();
    if config.requests.is_empty() {
        return out_line("this repository asks for nothing beyond your own configuration");
    }
    let name = root.display();
    out_line(&format!(
        "{name} asks for more than your own configuration allows:"
    ))?;
    for request in &config.requests {
        let state = match request.state {
            RequestState::Open => style.yellow("new"),
            RequestState::Trusted => style.green("trusted"),
            RequestState::Forbidden => style.red("forbidden"),
        };
        out_line(&format!("  - {} [{state}]", in_words(request)))?;
    }
    let asks_for_none = config.requests.iter().any(|request| {
        request.access.key == "sandbox.backend"
            && request.access.value == "none"
            && request.state != RequestState::Forbidden
    });
    out_line(if asks_for_none {
        "Without a sandbox, its workers, its checks and its set-up command can do on this machine \
         whatever you can: read your keys, write your files, reach your network."
    } else {
        "Its checks and its set-up command run confined, and need no trust by themselves."
    })
}

/// What a person says to requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrustReply {
    Trust,
    Without,
    No,
}

/// What is asked by `trust`, and before a run.
const QUESTION: &str = "Trust this repository with exactly this? [y/N]";
const RUN_QUESTION: &str = "Trust it with exactly this (y), run without it (w), or stop (N)?";

fn ask(text: &str) -> Result<TrustReply, Problem> {
    if !init::is_terminal() {
        return Ok(TrustReply::No);
    }
    loop {
        say(text);
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        read.map_err(|e| Problem::environment("could not read the answer").caused_by(&e))?;
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(TrustReply::Trust),
            "w" | "without" if text == RUN_QUESTION => return Ok(TrustReply::Without),
            // The end of the input is no answer either.
            "" | "n" | "no" => return Ok(TrustReply::No),
            _ => {}
        }
    }
}

fn list(scene: &CliContext, store: &TrustStore) -> Result<Exit, Problem> {
    let records = store.list();
    if scene.json {
        output::json(&records)?;
        return Ok(Exit::Done);
    }
    if records.is_empty() {
        out_line("no repository is trusted with anything")?;
    }
    for record in records {
        let gone = if record.repository.exists() {
            ""
        } else {
            " (not there any more)"
        };
        out_line(&format!("{}{gone}", record.checkout.display()))?;
        for grant in &record.granted {
            let line = format!("{}: {}", grant.key, grant.value);
            out_line(&format!("  {}", output::one_line(&line)))?;
        }
    }
    Ok(Exit::Done)
}

fn as_json(request: &AccessRequest) -> Value {
    json!({
        "key": request.access.key,
        "value": request.access.value,
        "asks": request.asks,
        "origin": request.place,
        "state": request.state,
    })
}
