//! `codeteam doctor`: is everything here that codeteam needs?

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use codeteam_core::event::SandboxKind;
use codeteam_engine::config::{self, Config, ConfigOrigins};
use codeteam_engine::confine::{self, Confinement, ProfileReport, SandboxProfile};
use codeteam_engine::confine::{NameRoute, look_up};
use codeteam_engine::engine::{Engine, Error as EngineError, Project, RoleAssignees};
use codeteam_engine::maintenance::{self, HealthCheck};
use codeteam_engine::perform::with_causes;
use codeteam_engine::process::{CommandLauncher, UnconfinedLauncher};
use codeteam_engine::workers::look::{NetworkCheck, WorkerInspector};
use codeteam_engine::{dialect, workers};

use crate::cli::CliContext;
use crate::cli::worker::SandboxSpecDir;
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, out_line, say};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// How long a name is looked up.
const LOOK_UP: Duration = Duration::from_secs(5);

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn main(_: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let mut checks = Vec::new();
    let mut secrets = Vec::new();
    let mut config = Config::default();
    match Engine::discover(&scene.folder, &scene.env) {
        Err(error) => {
            let found = error.to_string();
            let remedy = Problem::from(error).remedy();
            checks.push(HealthCheck::bad("git", found, remedy));
            let folder = scene.folder.join(".codeteam");
            config = Config::load(&ConfigOrigins::of(&scene.env, &folder)).unwrap_or_default();
        }
        Ok((repo, head)) => {
            let at = codeteam_engine::tell::short(head.commit.as_str()).to_owned();
            checks.push(HealthCheck::good(
                "git",
                format!("{} at {at}", repo.top_level().display()),
            ));
            checks.extend(maintenance::examine(&repo, &scene.env));
            let folder = repo.top_level().join(".codeteam");
            config = Config::load(&ConfigOrigins::of(&scene.env, &folder)).unwrap_or(config);
            checks.extend(trust(&config));
            secrets.extend([repo.common_dir().to_owned(), repo.top_level().to_owned()]);
        }
    }
    let home = scene.env.home.iter();
    secrets.extend(home.flat_map(|home| [".ssh", ".config", ".profile"].map(|p| home.join(p))));
    let specs = SandboxSpecDir::new();
    let (found, confinement) = sandbox(scene, &config.sandbox, &secrets, &specs);
    checks.extend(found);
    checks.extend(registries(scene, &config));
    checks.extend(all_workers(scene, &config, confinement.as_ref()));
    drop(specs);
    let healthy = checks.iter().all(|c| c.ok);
    if scene.json {
        output::json(&checks)?;
    } else {
        let width = checks.iter().map(|check| check.name.chars().count());
        let width = width.max().unwrap_or(0).clamp(10, 24);
        for check in &checks {
            show(check, width)?;
        }
    }
    Ok(if healthy { Exit::Done } else { Exit::Failed })
}

/// Looks whether the names of registries lead where the set-up command may go.
fn registries(scene: &CliContext, config: &Config) -> Vec<HealthCheck> {
    let is_confined = config.sandbox.backend != Some(SandboxKind::None);
    // The user's own proxy resolves names, and nobody here knows how.
    if config.setup.is_none() || !is_confined || scene.env.proxy.is_some() {
        return Vec::new();
    }
    // The project names a registry, and the user's own configuration says that it is private.
    let is_meant_private = |host: &str| {
        let host = host.trim_end_matches(":443");
        let mut known = config.sandbox.registries.iter();
        known.any(|known| known.private && known.host.trim_end_matches(":443") == host)
    };
    let mut seen = BTreeSet::new();
    let hosts = config.sandbox.registries.iter();
    let hosts = hosts.filter(|registry| seen.insert(registry.host.trim_end_matches(":443")));
    let wrong = hosts.filter_map(|registry| {
        let name = registry.host.split(':').next().unwrap_or(&registry.host);
        match look_up(name, LOOK_UP) {
            NameRoute::Nowhere(why) => Some(HealthCheck {
                remedy: Some(
                    "set-up cannot reach it; see to the network, or to its name".to_owned(),
                ),
                ..HealthCheck::note("registry", format!("`{name}` leads nowhere: {why}"))
            }),
            NameRoute::Private if !is_meant_private(&registry.host) => Some(HealthCheck::bad(
                "registry",
                format!("`{name}` leads to an address that is not public, so set-up is refused it"),
                format!(
                    "if that is meant, say so in your own configuration, \
                     `~/.config/codeteam/config.yml`: `sandbox: {{ registries: [ {{ host: {}, \
                     private: true }} ] }}`",
                    registry.host
                ),
            )),
            NameRoute::Private | NameRoute::Public => None,
        }
    });
    wrong.collect()
}

fn show(check: &HealthCheck, width: usize) -> Result<(), Problem> {
    let style = TerminalStyle::detect();
    let word = match (check.ok, check.note) {
        (true, false) => style.green("ok  "),
        (true, true) => style.yellow("note"),
        (false, _) => style.red("BAD "),
    };
    out_line(&format!("{word}  {:<width$} {}", check.name, check.found))?;
    if let Some(remedy) = &check.remedy {
        let blank = " ".repeat(width + 7);
        out_line(&format!("{blank}{} {remedy}", style.cyan("→")))?;
    }
    Ok(())
}

/// What the repository asks for and nobody has decided.
fn trust(config: &Config) -> Option<HealthCheck> {
    let open: Vec<&str> = config
        .open_requests()
        .map(|open| open.access.key.as_str())
        .collect();
    let keys: BTreeSet<&str> = open.iter().copied().collect();
    if keys.is_empty() {
        return None;
    }
    let keys: Vec<&str> = keys.into_iter().collect();
    let found = format!(
        "the repository asks for {} beyond your own configuration, and is not trusted with it: `{}`",
        match open.len() {
            1 => "something".to_owned(),
            n => format!("{n} things"),
        },
        keys.join("`, `")
    );
    Some(HealthCheck {
        remedy: Some(
            "`codeteam trust` shows it and asks; until then runs need `--untrusted`".to_owned(),
        ),
        ..HealthCheck::note("trust", found)
    })
}

/// Looks at every worker, and at whether the project has those it needs.
fn all_workers(
    scene: &CliContext,
    config: &Config,
    confinement: Option<&Confinement>,
) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let casting = match Project::find(&scene.folder, scene.env.clone()) {
        Ok(project) => project.casting().unwrap_or_else(|error| {
            let why = with_causes(&error);
            checks.push(match error {
                EngineError::NoWorker => {
                    let builtin = workers::Worker::find(config, &"builtin".into());
                    let speaks = builtin.and_then(|worker| {
                        let model = worker.model.clone();
                        worker.speaking(&scene.env.keys, model.as_deref()).ok()
                    });
                    let remedy = match speaks {
                        Some(_) => "`worker: builtin` in your configuration, or `--worker builtin`",
                        None => "what each lacks is below",
                    };
                    HealthCheck::bad("workers", why, remedy)
                }
                _ => HealthCheck::bad("workflow", why, "no run starts like this"),
            });
            Vec::new()
        }),
        // What is wrong with it is said above.
        Err(_) => Vec::new(),
    };
    let backend = config.sandbox.backend.unwrap_or(SandboxKind::Bubblewrap);
    let unconfined = confine::unconfined(&scene.env);
    let launcher: Option<&dyn CommandLauncher> = match (backend, confinement) {
        (SandboxKind::None, _) => Some(&unconfined),
        (_, Some(confinement)) => Some(confinement),
        (_, None) => None,
    };
    let is_told = scene.detail >= Verbosity::Normal && !scene.json;
    let look = WorkerInspector {
        config,
        env: &scene.env,
        codeteam: &scene.codeteam,
        sandbox: backend,
        launcher,
        with_model: with_model(&casting),
        network: NetworkCheck::Yes,
        waits: &|what| {
            if is_told {
                say(&format!("… {what}"));
            }
        },
    };
    let looked = look.all();
    let is_said = checks.iter().any(|check| check.name == "workers");
    let sums = summed_up(&looked).into_iter();
    checks.extend(sums.filter(|check| !is_said || check.name != "workers"));
    let is_usable = |name: &codeteam_core::ids::WorkerName| {
        let mut all = looked.iter();
        all.any(|worker| worker.name == *name && worker.usable)
    };
    let short: Vec<&RoleAssignees> = casting
        .iter()
        .filter(|cast| !cast.workers.iter().any(is_usable))
        .collect();
    for one in looked.iter().cloned() {
        let roles = short.iter().filter(|cast| cast.workers.contains(&one.name));
        let roles: BTreeSet<&str> = roles.map(|cast| cast.role.as_str()).collect();
        let mut check = HealthCheck::worker(one, !roles.is_empty());
        if !roles.is_empty() {
            let roles: Vec<&str> = roles.into_iter().collect();
            check.found = format!("{}; needed for `{}`", check.found, roles.join("`, `"));
        }
        checks.push(check);
    }
    checks
}

/// Workers for which a role names a model: the first of each that does.
fn with_model(casting: &[RoleAssignees]) -> BTreeSet<codeteam_core::ids::WorkerName> {
    let named = casting.iter().filter(|cast| cast.model.is_some());
    named
        .filter_map(|cast| cast.workers.first())
        .cloned()
        .collect()
}

/// What is to be said of all of them together.
fn summed_up(looked: &[workers::look::WorkerDiagnosis]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let tried: Vec<bool> = looked
        .iter()
        .filter_map(|worker| worker.network.reached)
        .collect();
    if tried.len() > 1 && !tried.contains(&true) {
        let found =
            "offline, it seems: no model's API is reached. Workers that ask one fail until \
                     it is; scripted ones do not need it"
                .to_owned();
        checks.push(HealthCheck::note("network", found));
    }
    let mut asking = looked
        .iter()
        .filter(|worker| worker.dialect != dialect::DialectName::Scripted);
    if !asking.any(|worker| worker.usable) {
        let found = "none of those that ask a model can be used here: runs can only play scripts";
        let remedy = "make one of them usable: what each lacks is below".to_owned();
        checks.push(HealthCheck {
            remedy: Some(remedy),
            ..HealthCheck::note("workers", found.to_owned())
        });
    }
    checks
}

/// Starts each backend, and in the one that is configured each profile. Hands that one over.
fn sandbox(
    scene: &CliContext,
    config: &config::SandboxConfig,
    secrets: &[PathBuf],
    specs: &SandboxSpecDir,
) -> (Vec<HealthCheck>, Option<Confinement>) {
    let wanted = config.backend.unwrap_or(SandboxKind::Bubblewrap);
    let mut checks = Vec::new();
    let mut confined = None;
    if wanted == SandboxKind::None {
        let said = UnconfinedLauncher::default().describe().to_owned();
        checks.push(HealthCheck::note("sandbox", said));
    }
    for backend in [SandboxKind::Bubblewrap, SandboxKind::Container] {
        let name = match backend {
            SandboxKind::Container => "container",
            _ => "bubblewrap",
        };
        match specs.confinement(scene, backend, config) {
            Ok(confinement) if backend == wanted => {
                // An image has files of its own where a home would be.
                let home = scene.env.home.as_ref();
                let is_in_image = |path: &&PathBuf| {
                    backend == SandboxKind::Container
                        && home.is_some_and(|home| path.starts_with(home))
                };
                let secrets = secrets.iter().filter(|path| !is_in_image(path));
                let secrets: Vec<PathBuf> = secrets.cloned().collect();
                checks.extend(used(name, &confinement, config, &secrets));
                confined = Some(confinement);
            }
            Ok(confinement) => checks.push(HealthCheck::good(
                name,
                format!("works, not used: {}", confinement.describe()),
            )),
            Err(why) if backend == wanted => {
                checks.push(HealthCheck::bad(name, why, "no run starts without it"));
            }
            Err(why) => checks.push(HealthCheck::note(
                name,
                format!("not used, and does not work: {why}"),
            )),
        }
    }
    (checks, confined)
}

/// The backend of this project's runs, and what was seen from inside.
fn used(
    name: &'static str,
    confinement: &Confinement,
    config: &config::SandboxConfig,
    secrets: &[PathBuf],
) -> Vec<HealthCheck> {
    let mut checks = vec![HealthCheck::good(name, confinement.describe().to_owned())];
    let tools: Vec<String> = confinement
        .toolchains()
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if !tools.is_empty() {
        checks.push(HealthCheck::good("toolchains", tools.join(", ")));
    }
    for path in confinement.refused_toolchains() {
        let found = format!(
            "`{}` is in your `PATH` and not shown: it is in or round what only you may see",
            path.display()
        );
        let remedy = "install the tools elsewhere, or name a folder of their own under `sandbox.toolchains` in your own configuration";
        checks.push(HealthCheck {
            remedy: Some(remedy.to_owned()),
            ..HealthCheck::note("toolchains", found)
        });
    }
    let looks = confinement.examine(secrets);
    checks.extend(looks.into_iter().map(|looked| seen(looked, config)));
    checks
}

fn seen(looked: ProfileReport, config: &config::SandboxConfig) -> HealthCheck {
    let (name, wants_proxy) = match looked.profile {
        SandboxProfile::Worker => ("worker", true),
        SandboxProfile::Setup => ("setup", true),
        SandboxProfile::Executor => ("executor", false),
    };
    let seen = match looked.seen {
        Ok(seen) => seen,
        Err(why) => return HealthCheck::bad(name, format!("did not start: {why}"), "see above"),
    };
    if seen.host || !seen.paths.is_empty() || seen.proxy != wants_proxy {
        let found = format!("reaches what it must not, or not what it must: {seen:?}");
        return HealthCheck::bad(name, found, "please report this; do not start a run");
    }
    let listed = |hosts: &[config::HostConfig]| {
        let names: Vec<&str> = hosts.iter().map(|host| host.host.as_str()).collect();
        names.join(", ")
    };
    let network = match looked.profile {
        SandboxProfile::Executor => "no network".to_owned(),
        SandboxProfile::Worker if config.hosts.is_empty() => {
            "network: its model's own hosts, through the proxy".to_owned()
        }
        SandboxProfile::Worker => format!(
            "network: its model's own hosts and {}, through the proxy",
            listed(&config.hosts)
        ),
        SandboxProfile::Setup if config.registries.is_empty() => {
            "network: no registries are configured".to_owned()
        }
        SandboxProfile::Setup => {
            format!("network: {}, through the proxy", listed(&config.registries))
        }
    };
    let found = format!("sees neither your home nor this repository; {network}");
    HealthCheck::good(name, found)
}
