//! `codeteam doctor`: checks whether everything that codeteam needs is here.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use codeteam_core::event::SandboxKind;
use codeteam_core::untrusted_text::one_line;
use codeteam_engine::config::{self, Config, ConfigOrigins};
use codeteam_engine::doctor::inspection::{NetworkCheck, WorkerInspector};
use codeteam_engine::engine::{Engine, Error as EngineError, Project, RoleAssignees};
use codeteam_engine::maintenance::{self, HealthCheck};
use codeteam_engine::notify::{self, ChannelStatus};
use codeteam_engine::{dialect, workers};
use codeteam_host::confine::{Confinement, ProfileReport, SandboxProfile};
use codeteam_host::confine::{NameRoute, look_up_name};
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::process::{CommandLauncher, UnconfinedLauncher};
use codeteam_report::describe;

use crate::cli::CliContext;
use crate::cli::worker::SandboxSpecDir;
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// The timeout for resolving a name.
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
            config =
                Config::load(&ConfigOrigins::for_project(&scene.env, &folder)).unwrap_or_default();
        }
        Ok((repo, head)) => {
            let at = codeteam_report::describe::short_id(head.commit.as_str()).to_owned();
            checks.push(HealthCheck::good(
                "git",
                format!("{} at {at}", repo.top_level().display()),
            ));
            checks.extend(maintenance::examine_project(&repo, &scene.env));
            let folder = repo.top_level().join(".codeteam");
            config =
                Config::load(&ConfigOrigins::for_project(&scene.env, &folder)).unwrap_or(config);
            checks.extend(trust_check(&config));
            secrets.extend([repo.common_dir().to_owned(), repo.top_level().to_owned()]);
        }
    }
    let home = scene.env.home.iter();
    secrets.extend(home.flat_map(|home| [".ssh", ".config", ".profile"].map(|p| home.join(p))));
    let specs = SandboxSpecDir::new();
    let (found, confinement) = sandbox_checks(scene, &config.sandbox, &secrets, &specs);
    checks.extend(found);
    checks.extend(registry_checks(scene, &config));
    checks.extend(channel_checks(scene, &config));
    checks.extend(worker_checks(scene, &config, confinement.as_ref()));
    drop(specs);
    let healthy = checks.iter().all(|c| c.ok);
    if scene.json {
        output::print_json(&checks)?;
    } else {
        let width = checks.iter().map(|check| check.name.chars().count());
        let width = width.max().unwrap_or(0).clamp(10, 24);
        for check in &checks {
            print_check(check, width)?;
        }
    }
    Ok(if healthy { Exit::Done } else { Exit::Failed })
}

/// Checks whether the registries' names resolve to addresses that the set-up command may reach.
fn registry_checks(scene: &CliContext, config: &Config) -> Vec<HealthCheck> {
    let is_confined = config.sandbox.backend != Some(SandboxKind::None);
    // The user's own proxy resolves names, which cannot be checked here.
    if config.setup.is_none() || !is_confined || scene.env.proxy.is_some() {
        return Vec::new();
    }
    // The project may name a registry; the user's own configuration says whether it is private.
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
        match look_up_name(name, LOOK_UP) {
            NameRoute::Nowhere(why) => Some(HealthCheck {
                remedy: Some("set-up cannot reach it; check the network, or its name".to_owned()),
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

/// Checks the channels by which people are notified: whether their variables are set, and what
/// became of the last notification of each. Nothing is sent: `codeteam notify test` does that.
fn channel_checks(scene: &CliContext, config: &Config) -> Vec<HealthCheck> {
    let channels = notify::inspect_channels(&config.notify, &scene.env);
    let checks = channels.iter().map(channel_check);
    checks.collect()
}

fn channel_check(channel: &ChannelStatus) -> HealthCheck {
    let history = &channel.history;
    let delivered = match history.delivered_at {
        Some(at) => format!("last delivered {}", describe::format_future_time(at)),
        None => "nothing was delivered yet".to_owned(),
    };
    let mut found = format!(
        "`{}` ({}): {delivered}",
        channel.name,
        channel.kind.as_str()
    );
    if let Some(at) = history.failed_at {
        let (at, problem) = (describe::format_future_time(at), one_line(&history.problem));
        let _ = write!(found, "; last failed {at}: {problem}");
    }
    let remedy = if !channel.unset.is_empty() {
        format!("set `{}`", channel.unset.join("` and `"))
    } else if history.ends_in_failure() {
        format!("`codeteam notify test {}` tries it again", channel.name)
    } else {
        return HealthCheck::good("channel", found);
    };
    HealthCheck {
        remedy: Some(remedy),
        ..HealthCheck::note("channel", found)
    }
}

fn print_check(check: &HealthCheck, width: usize) -> Result<(), Problem> {
    let style = TerminalStyle::detect();
    let word = match (check.ok, check.note) {
        (true, false) => style.green("ok  "),
        (true, true) => style.yellow("note"),
        (false, _) => style.red("BAD "),
    };
    print_line(&format!("{word}  {:<width$} {}", check.name, check.found))?;
    if let Some(remedy) = &check.remedy {
        let blank = " ".repeat(width + 7);
        print_line(&format!("{blank}{} {remedy}", style.cyan("→")))?;
    }
    Ok(())
}

/// Reports what the repository requests and nobody has decided on.
fn trust_check(config: &Config) -> Option<HealthCheck> {
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

/// Checks every worker, and whether the project has those it needs.
fn worker_checks(
    scene: &CliContext,
    config: &Config,
    confinement: Option<&Confinement>,
) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let casting = match Project::find(&scene.folder, scene.env.clone()) {
        Ok(project) => project.role_assignees().unwrap_or_else(|error| {
            let why = format_error_chain(&error);
            checks.push(match error {
                EngineError::NoWorker => {
                    let builtin = workers::Worker::find(config, &"builtin".into());
                    let speaks = builtin.and_then(|worker| {
                        let model = worker.model.clone();
                        worker.with_protocol(&scene.env.keys, model.as_deref()).ok()
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
        // The problem was already reported above.
        Err(_) => Vec::new(),
    };
    let backend = config.sandbox.backend.unwrap_or(SandboxKind::Bubblewrap);
    let unconfined = scene.env.unconfined_launcher();
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
        with_model: workers_with_model(&casting),
        network: NetworkCheck::Yes,
        waits: &|what| {
            if is_told {
                eprint_line(&format!("… {what}"));
            }
        },
    };
    let looked = look.inspect_all();
    let is_said = checks.iter().any(|check| check.name == "workers");
    let sums = overall_checks(&looked).into_iter();
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

/// Returns the workers that a role runs with a model of its own: the first worker of each such
/// role.
fn workers_with_model(casting: &[RoleAssignees]) -> BTreeSet<codeteam_core::ids::WorkerName> {
    let named = casting.iter().filter(|cast| cast.model.is_some());
    named
        .filter_map(|cast| cast.workers.first())
        .cloned()
        .collect()
}

/// Returns the checks about all workers together.
fn overall_checks(
    looked: &[codeteam_engine::doctor::inspection::WorkerDiagnosis],
) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let tried: Vec<bool> = looked
        .iter()
        .filter_map(|worker| worker.network.reached)
        .collect();
    if tried.len() > 1 && !tried.contains(&true) {
        let found =
            "offline, it seems: no model's API can be reached. Workers that ask one fail until \
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

/// Starts each backend, and each profile of the configured one. Returns the configured one as well.
fn sandbox_checks(
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
                checks.extend(backend_checks(name, &confinement, config, &secrets));
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

/// Checks the backend of this project's runs from inside.
fn backend_checks(
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
            "`{}` is in your `PATH` and not shown: it is in or around what only you may see",
            path.display()
        );
        let remedy = "install the tools elsewhere, or name a folder of their own under `sandbox.toolchains` in your own configuration";
        checks.push(HealthCheck {
            remedy: Some(remedy.to_owned()),
            ..HealthCheck::note("toolchains", found)
        });
    }
    let looks = confinement.probe_profiles(secrets);
    checks.extend(
        looks
            .into_iter()
            .map(|looked| sandbox_view_check(looked, config)),
    );
    checks
}

fn sandbox_view_check(looked: ProfileReport, config: &config::SandboxConfig) -> HealthCheck {
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
        let found = format!("can reach what it must not, or cannot reach what it must: {seen:?}");
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
