//! `codeteam doctor`: is everything here that codeteam needs?

use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::event::Sandbox;
use codeteam_engine::config::{self, Config};
use codeteam_engine::confine::{Confinement, Looked, Profile};
use codeteam_engine::engine::Engine;
use codeteam_engine::maintenance::{self, Check};
use codeteam_engine::perform::with_causes;
use codeteam_engine::process::{Launcher as _, Unconfined};

use crate::cli::Scene;
use crate::exit::Exit;
use crate::output::{self, Style, out_line};
use crate::problem::Problem;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn main(_: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let mut checks = Vec::new();
    let mut secrets = Vec::new();
    let mut config = Config::default();
    match Engine::discover(&scene.folder, &scene.env) {
        Err(error) => checks.push(Check::bad(
            "git",
            error.to_string(),
            "codeteam works inside a git repository with a commit",
        )),
        Ok((repo, head)) => {
            let at = codeteam_engine::tell::short(head.commit.as_str()).to_owned();
            checks.push(Check::good(
                "git",
                format!("{} at {at}", repo.top_level().display()),
            ));
            checks.extend(maintenance::examine(&repo, &scene.env));
            let folder = repo.top_level().join(".codeteam");
            config = Config::load(&folder, scene.env.config_home.as_deref()).unwrap_or_default();
            secrets.push(repo.common_dir().to_owned());
        }
    }
    checks.push(Check::good(
        "workers",
        format!("scripted (version {})", env!("CARGO_PKG_VERSION")),
    ));
    let home = scene.env.home.iter();
    secrets.extend(home.flat_map(|home| [".ssh", ".config", ".profile"].map(|p| home.join(p))));
    checks.extend(sandbox(scene, &config.sandbox, &secrets));
    let healthy = checks.iter().all(|c| c.ok);
    if scene.json {
        output::json(&checks)?;
    } else {
        let style = Style::detect();
        for check in &checks {
            let word = match (check.ok, check.note) {
                (true, false) => style.green("ok  "),
                (true, true) => style.yellow("note"),
                (false, _) => style.red("BAD "),
            };
            out_line(&format!("{word}  {:<10} {}", check.name, check.found))?;
            if let Some(remedy) = &check.remedy {
                out_line(&format!("                  {} {remedy}", style.cyan("→")))?;
            }
        }
    }
    Ok(if healthy { Exit::Done } else { Exit::Failed })
}

/// Starts each backend, and in the one that is configured each profile.
fn sandbox(scene: &Scene, config: &config::Sandbox, secrets: &[PathBuf]) -> Vec<Check> {
    let wanted = config.backend.unwrap_or(Sandbox::Bubblewrap);
    let mut checks = Vec::new();
    let folder = std::env::temp_dir().join(format!("codeteam-doctor-{}", std::process::id()));
    if wanted == Sandbox::None {
        let said = Unconfined::default().describe().to_owned();
        checks.push(Check::note("sandbox", said));
    }
    for backend in [Sandbox::Bubblewrap, Sandbox::Container] {
        let name = match backend {
            Sandbox::Container => "container",
            _ => "bubblewrap",
        };
        checks.extend(match find(scene, backend, config, &folder) {
            Ok(confinement) if backend == wanted => used(name, &confinement, config, secrets),
            Ok(confinement) => vec![Check::good(
                name,
                format!("works, not used: {}", confinement.describe()),
            )],
            Err(why) if backend == wanted => {
                vec![Check::bad(name, why, "no run starts without it")]
            }
            Err(why) => vec![Check::note(
                name,
                format!("not used, and does not work: {why}"),
            )],
        });
    }
    let _ = fs::remove_dir_all(folder);
    checks
}

fn find(
    scene: &Scene,
    backend: Sandbox,
    config: &config::Sandbox,
    folder: &Path,
) -> Result<Confinement, String> {
    let found = Confinement::find(backend, &scene.env, config, &scene.codeteam, folder);
    match found {
        Ok(Some(confinement)) => Ok(confinement),
        Ok(None) => Err("nothing to try".to_owned()),
        Err(missing) => Err(with_causes(&missing)),
    }
}

/// The backend of this project's runs, and what was seen from inside.
fn used(
    name: &'static str,
    confinement: &Confinement,
    config: &config::Sandbox,
    secrets: &[PathBuf],
) -> Vec<Check> {
    let mut checks = vec![Check::good(name, confinement.describe().to_owned())];
    let tools: Vec<String> = confinement
        .toolchains()
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if !tools.is_empty() {
        checks.push(Check::good("toolchains", tools.join(", ")));
    }
    let looks = confinement.examine(secrets);
    checks.extend(looks.into_iter().map(|looked| seen(looked, config)));
    checks
}

fn seen(looked: Looked, config: &config::Sandbox) -> Check {
    let (name, wants_proxy) = match looked.profile {
        Profile::Worker => ("worker", true),
        Profile::Setup => ("setup", true),
        Profile::Executor => ("executor", false),
    };
    let seen = match looked.seen {
        Ok(seen) => seen,
        Err(why) => return Check::bad(name, format!("did not start: {why}"), "see above"),
    };
    if seen.host || !seen.paths.is_empty() || seen.proxy != wants_proxy {
        let found = format!("reaches what it must not, or not what it must: {seen:?}");
        return Check::bad(name, found, "please report this; do not start a run");
    }
    let listed = |hosts: &[config::Host]| {
        let names: Vec<&str> = hosts.iter().map(|host| host.host.as_str()).collect();
        names.join(", ")
    };
    let network = match looked.profile {
        Profile::Executor => "no network".to_owned(),
        Profile::Worker if config.hosts.is_empty() => {
            "network: its model's own hosts, through the proxy".to_owned()
        }
        Profile::Worker => format!(
            "network: its model's own hosts and {}, through the proxy",
            listed(&config.hosts)
        ),
        Profile::Setup if config.registries.is_empty() => {
            "network: no registries are configured".to_owned()
        }
        Profile::Setup => format!("network: {}, through the proxy", listed(&config.registries)),
    };
    let found = format!("sees neither your home nor this repository; {network}");
    Check::good(name, found)
}
