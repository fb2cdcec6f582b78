//! `codeteam trust`: shows what a repository requests beyond the user's own configuration, and
//! records the user's decision.

mod log;

use std::collections::BTreeSet;
use std::io::{self, BufRead as _};
use std::path::Path;

use codeteam_core::event::AccessGrant;
use codeteam_engine::clock::now;
use codeteam_engine::config::{AccessRequest, Config, ConfigOrigins, RequestState};
use codeteam_engine::engine::{self, Engine, Project};
use codeteam_engine::session;
use codeteam_engine::trust::{self, TrustRecord, TrustStore};
use serde_json::{Value, json};

use crate::cli::{CliContext, init};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::{Problem, describe_request};

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
    /// Withdraw all trust from this repository.
    #[arg(long)]
    revoke: bool,
    /// Take over the log found here (`.codeteam/state.db`), although codeteam did not create it in
    /// this place.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    log: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let store = trust_store(scene)?;
    if args.list {
        return list_trusted(scene, &store);
    }
    let repo = Engine::repository(&scene.folder, &scene.env)?;
    let root = repo.top_level();
    if args.log {
        return log::take_over(scene, root, args.yes);
    }
    if args.revoke {
        let was_trusted = store.revoke(root).map_err(engine::Error::from)?;
        if scene.json {
            output::print_json(&json!({ "repository": root, "revoked": was_trusted }))?;
        } else if was_trusted {
            eprint_line(
                "this repository is no longer trusted with anything; this applies to its runs when they are resumed",
            );
        } else {
            eprint_line("this repository was not trusted with anything");
        }
        return Ok(Exit::Done);
    }
    let config = Config::load(&ConfigOrigins::for_project(
        &scene.env,
        &root.join(".codeteam"),
    ));
    let config = config.map_err(engine::Error::from)?;
    decide_trust(args, scene, &store, root, &config)
}

fn decide_trust(
    args: &Args,
    scene: &CliContext,
    store: &TrustStore,
    root: &Path,
    config: &Config,
) -> Result<Exit, Problem> {
    let is_open = config.open_requests().next().is_some();
    let is_told = scene.detail >= Verbosity::Normal && !scene.json;
    if is_told || (is_open && !scene.json && !args.yes) {
        print_requests(root, config)?;
    }
    let agreed =
        is_open && (args.yes || (!scene.json && ask_trust(QUESTION)? == TrustReply::Trust));
    if agreed {
        refuse_session(root)?;
        let record = trust_all(scene, store, root, config)?;
        if is_told {
            eprint_line(&format!("trusted, with exactly this ({})", record.digest));
        }
    }
    if scene.json {
        let requests: Vec<Value> = config.requests.iter().map(as_json).collect();
        output::print_json(&json!({
            "repository": root,
            "requests": requests,
            "digest": trust::digest(&grants_if_trusted(config)),
            "trusted": agreed || !is_open,
        }))?;
    }
    if !is_open || agreed {
        return Ok(Exit::Done);
    }
    if !init::is_terminal() || scene.json {
        eprint_line(
            "nothing was trusted: there is no terminal to ask on; `codeteam trust --yes` trusts it",
        );
        return Ok(Exit::Waiting);
    }
    eprint_line("nothing was trusted");
    Ok(Exit::Done)
}

fn trust_store(scene: &CliContext) -> Result<TrustStore, Problem> {
    let store = TrustStore::for_user(&scene.env);
    Ok(store.ok_or(engine::Error::Trust(trust::Error::NoHome))?)
}

/// A project that a run may use, and how.
pub(crate) struct TrustOutcome {
    pub(crate) project: Project,
    /// Whether the run does without what the repository requests.
    pub(crate) restricted: bool,
}

/// Returns the project for a run. Undecided requests of its repository are shown, and decided by
/// the person if somebody is there; otherwise no run will start.
pub(crate) fn settle_trust(
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
    let project = scene.find_project_with(set)?;
    let is_open = project.config.open_requests().next().is_some();
    if !is_open || !is_there || scene.json {
        // Undecided requests are refused when the run is prepared.
        let restricted = false;
        return Ok(TrustOutcome {
            project,
            restricted,
        });
    }
    let root = project.repo.top_level();
    print_requests(root, &project.config)?;
    match ask_trust(RUN_QUESTION)? {
        TrustReply::Trust => {
            refuse_session(root)?;
            trust_all(scene, &trust_store(scene)?, root, &project.config)?;
            let project = scene.find_project_with(set)?;
            let restricted = false;
            Ok(TrustOutcome {
                project,
                restricted,
            })
        }
        TrustReply::Without => settle_trust(scene, set, true, is_there),
        TrustReply::No => Err(Problem::person(
            "nothing was trusted, and nothing was started",
        )),
    }
}

/// Trusts a repository with what `init` has just written for it, which the user has seen and
/// confirmed. Earlier requests of its files stay as they were decided.
pub(crate) fn trust_init_files(
    scene: &CliContext,
    root: &Path,
    before: &BTreeSet<AccessGrant>,
) -> Result<(), Problem> {
    let origins = ConfigOrigins::for_project(&scene.env, &root.join(".codeteam"));
    // Unreadable files are reported when they are used.
    let (Ok(config), Some(store)) = (Config::load(&origins), TrustStore::for_user(&scene.env))
    else {
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

/// Returns what the files of a repository request now, decided or not; empty if they cannot be
/// read.
pub(crate) fn requested_grants(scene: &CliContext, root: &Path) -> BTreeSet<AccessGrant> {
    let origins = ConfigOrigins::for_project(&scene.env, &root.join(".codeteam"));
    let requests = Config::load(&origins).map(|config| config.requests);
    let requests = requests.unwrap_or_default().into_iter();
    requests.map(|request| request.access).collect()
}

/// Returns everything that would be granted if the user agreed.
fn grants_if_trusted(config: &Config) -> BTreeSet<AccessGrant> {
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
    let trusted = store.trust(root, grants_if_trusted(config), &scene.env.user, now());
    Ok(trusted.map_err(engine::Error::from)?)
}

/// Refuses a session, which must not decide what the user trusts a repository with.
fn refuse_session(root: &Path) -> Result<(), Problem> {
    match session::calling_session(root) {
        None => Ok(()),
        Some(label) => Err(Problem::person(format!(
            "this is called from inside `{label}`, which codeteam leads through tasks here"
        ))
        .hint("a person decides what to trust, in a terminal of their own")),
    }
}

fn print_requests(root: &Path, config: &Config) -> Result<(), Problem> {
    let style = TerminalStyle::detect();
    if config.requests.is_empty() {
        return print_line("this repository asks for nothing beyond your own configuration");
    }
    let name = root.display();
    print_line(&format!(
        "{name} asks for more than your own configuration allows:"
    ))?;
    for request in &config.requests {
        let state = match request.state {
            RequestState::Open => style.yellow("new"),
            RequestState::Trusted => style.green("trusted"),
            RequestState::Forbidden => style.red("forbidden"),
        };
        print_line(&format!("  - {} [{state}]", describe_request(request)))?;
    }
    let asks_for_none = config.requests.iter().any(|request| {
        request.access.key == "sandbox.backend"
            && request.access.value == "none"
            && request.state != RequestState::Forbidden
    });
    print_line(if asks_for_none {
        "Without a sandbox, its workers, its checks and its set-up command can do on this machine \
         whatever you can: read your keys, write your files, reach your network."
    } else {
        "Its checks and its set-up command run confined, and need no trust by themselves."
    })
}

/// A person's reply to requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrustReply {
    Trust,
    Without,
    No,
}

/// The question asked by `trust`; `RUN_QUESTION` is asked before a run.
const QUESTION: &str = "Trust this repository with exactly this? [y/N]";
const RUN_QUESTION: &str = "Trust it with exactly this (y), run without it (w), or stop (N)?";

fn ask_trust(text: &str) -> Result<TrustReply, Problem> {
    if !init::is_terminal() {
        return Ok(TrustReply::No);
    }
    loop {
        eprint_line(text);
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        read.map_err(|e| Problem::environment("could not read the answer").caused_by(&e))?;
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(TrustReply::Trust),
            "w" | "without" if text == RUN_QUESTION => return Ok(TrustReply::Without),
            // The end of the input counts as no.
            "" | "n" | "no" => return Ok(TrustReply::No),
            _ => {}
        }
    }
}

fn list_trusted(scene: &CliContext, store: &TrustStore) -> Result<Exit, Problem> {
    let records = store.list();
    if scene.json {
        output::print_json(&records)?;
        return Ok(Exit::Done);
    }
    if records.is_empty() {
        print_line("no repository is trusted with anything")?;
    }
    for record in records {
        let gone = if record.repository.exists() {
            ""
        } else {
            " (not there any more)"
        };
        print_line(&format!("{}{gone}", record.checkout.display()))?;
        for grant in &record.granted {
            let line = format!("{}: {}", grant.key, grant.value);
            print_line(&format!("  {}", output::one_line(&line)))?;
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
