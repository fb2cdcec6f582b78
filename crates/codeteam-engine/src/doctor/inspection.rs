//! Inspects the workers for `codeteam doctor`: whether each is installed, supported and logged in,
//! whether its API can be reached from inside the sandbox, and what to do where something is
//! missing.
//!
//! None of this costs anything: a program is asked for its version and its options, the login file
//! is read, a connection is opened. Only [`super::trial`] asks a model.

mod diagnosis;
#[cfg(test)]
mod tests;

pub use self::diagnosis::{
    LoginDiagnosis, LoginKind, LoginState, NetworkDiagnosis, ProgramDiagnosis, WorkerDiagnosis,
};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;

use codeteam_core::event::SandboxKind;
use codeteam_core::failure::FailureFacts;
use codeteam_core::ids::WorkerName;
use codeteam_sandbox::egress::AllowedHost;
use jiff::Timestamp;

use super::reachability::{ApiProber, ConnectionRoute, PATIENCE};
use crate::api_keys::{self, EndpointError, EndpointSource};
use crate::config::Config;
use crate::dialect::{self, CliRequirements};
use crate::env::Env;
use crate::logins::{LoginFileStatus, Logins};
use crate::perform::{ProgramAnswer, ProgramQuery};
use crate::perform::{endpoint_settings, locate_upstream};
use crate::worker_clis::WorkerCli;
use crate::workers::Worker;
use crate::workers::login_instructions;
use crate::workers::probe::{self, ProbeCache};
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::process::{CancelToken, CommandLauncher, HostView, unique_mark};

/// Everything that is needed to inspect workers.
pub struct WorkerInspector<'a> {
    /// The merged configuration.
    pub config: &'a Config,
    /// Everything codeteam reads from its own environment.
    pub env: &'a Env,
    /// The path of codeteam's own program.
    pub codeteam: &'a Path,
    /// The sandbox of workers.
    pub sandbox: SandboxKind,
    /// The launcher for that sandbox, if it works.
    pub launcher: Option<&'a dyn CommandLauncher>,
    /// Workers for which a role names a model.
    pub with_model: BTreeSet<WorkerName>,
    /// Whether to check the network.
    pub network: NetworkCheck,
    /// Receives a description of each slow operation.
    pub waits: &'a (dyn Fn(&str) + Sync),
}

/// Whether the network is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkCheck {
    /// Connect to each API.
    Yes,
    /// Connect to nothing.
    No,
}

/// A problem with a worker, and what to do about it.
#[derive(Debug)]
struct WorkerProblem {
    why: String,
    remedy: String,
}

impl WorkerInspector<'_> {
    /// Inspects all workers in parallel.
    pub fn inspect_all(&self) -> Vec<WorkerDiagnosis> {
        let names = Worker::names(self.config).into_iter().map(WorkerName);
        let workers: Vec<Worker> = names
            .filter_map(|name| Worker::find(self.config, &name))
            .collect();
        thread::scope(|scope| {
            let looking: Vec<_> = workers
                .iter()
                .map(|worker| scope.spawn(|| self.inspect(worker)))
                .collect();
            let looked = looking.into_iter().map(thread::ScopedJoinHandle::join);
            looked.filter_map(Result::ok).collect()
        })
    }

    /// Inspects one worker.
    pub fn inspect(&self, worker: &Worker) -> WorkerDiagnosis {
        let mut troubles = Vec::new();
        let (program, trouble) = self.program(worker);
        troubles.extend(trouble);
        // If the program is missing, checking its API is pointless.
        let check_network = if program.installed {
            self.network
        } else {
            NetworkCheck::No
        };
        let ((login, trouble), network) = self.login_and_network(worker, check_network);
        troubles.extend(trouble);
        troubles.extend(self.without_model(worker));
        let (network, trouble) = network;
        troubles.extend(trouble);
        let (objections, remedies) = troubles.into_iter().map(|t| (t.why, t.remedy)).unzip();
        let objections: Vec<String> = objections;
        WorkerDiagnosis {
            name: worker.name.clone(),
            dialect: worker.dialect,
            model: worker.model.clone(),
            account: worker.account.clone(),
            usable: objections.is_empty(),
            program,
            login,
            network,
            objections,
            remedies,
        }
    }

    fn program(&self, worker: &Worker) -> (ProgramDiagnosis, Option<WorkerProblem>) {
        let Some(needs) = worker.dialect.dialect().requirements() else {
            let program = ProgramDiagnosis {
                installed: true,
                path: Some(self.codeteam.to_owned()),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                drivable: Some(true),
            };
            return (program, None);
        };
        let program = PathBuf::from(worker.program());
        let path = match crate::perform::locate(needs, &program, self.sandbox, &self.env.path) {
            Ok(path) => path,
            Err(facts) => return (ProgramDiagnosis::default(), Some(split(&facts))),
        };
        let mut found = ProgramDiagnosis {
            installed: true,
            path,
            version: None,
            drivable: None,
        };
        let kept = self.env.state_home.as_ref();
        let kept = kept.map(|state| ProbeCache::in_folder(&state.join("codeteam")));
        let known = kept
            .as_ref()
            .and_then(|kept| kept.get(found.path.as_deref()?, needs));
        let probed = match (known, self.launcher) {
            (Some(probed), _) => probed,
            // A missing sandbox is diagnosed and reported elsewhere.
            (None, None) => return (found, None),
            (None, Some(launcher)) => match self.ask(needs, &program, &found, launcher) {
                Ok(probed) => {
                    if let (Some(kept), Some(path)) = (&kept, &found.path) {
                        kept.put(path, needs, &probed);
                    }
                    probed
                }
                Err(facts) => {
                    let is_here = found.path.is_some();
                    let gone = facts.trouble == Some(codeteam_core::failure::FailureCause::Missing);
                    found.installed = is_here || !gone;
                    found.drivable = found.installed.then_some(false);
                    return (found, Some(split(&facts)));
                }
            },
        };
        let fault = probed.fault(needs);
        found.drivable = Some(fault.is_none());
        found.version = Some(probed.version);
        let trouble = fault.map(|fault| WorkerProblem {
            why: fault.why,
            remedy: fault.remedy,
        });
        (found, trouble)
    }

    fn ask(
        &self,
        needs: &CliRequirements,
        program: &Path,
        found: &ProgramDiagnosis,
        launcher: &dyn CommandLauncher,
    ) -> Result<probe::ProgramProbe, FailureFacts> {
        (self.waits)(&format!("asking `{}` for its version", program.display()));
        let unusable =
            |why| probe::unusable_program(codeteam_core::failure::FailureCause::Version, why);
        let asking = ProgramQuery {
            needs,
            program,
            found: found.path.as_deref(),
            launcher,
            cwd: "/".into(),
            view: HostView::default(),
            mark: &unique_mark("look"),
            cancel: &CancelToken::new(),
        };
        match asking.ask() {
            Ok(ProgramAnswer::Identified(probed)) => Ok(probed),
            Ok(ProgramAnswer::Unusable(facts)) => Err(facts),
            Ok(ProgramAnswer::Cancelled) => Err(unusable("it was not asked".to_owned())),
            Err(error) => Err(unusable(format_error_chain(&error))),
        }
    }

    fn without_model(&self, worker: &Worker) -> Option<WorkerProblem> {
        let is_named = worker.model.is_some() || self.with_model.contains(&worker.name);
        let name = &worker.name;
        (worker.dialect == dialect::DialectName::Builtin && !is_named).then(|| WorkerProblem {
            why: "no model is named".to_owned(),
            remedy: format!(
                "say `workers.{name}.model` in the configuration, or `model` in the role"
            ),
        })
    }

    fn login_and_network(
        &self,
        worker: &Worker,
        check_network: NetworkCheck,
    ) -> (
        InspectionResult<LoginDiagnosis>,
        InspectionResult<NetworkDiagnosis>,
    ) {
        if worker.dialect == dialect::DialectName::Scripted {
            let login = LoginDiagnosis {
                by: LoginKind::NotNeeded,
                from: None,
                state: LoginState::Usable,
            };
            return ((login, None), (NetworkDiagnosis::default(), None));
        }
        let nothing = |why: String, remedy: String| {
            let login = LoginDiagnosis {
                by: LoginKind::Nothing,
                from: None,
                state: LoginState::Missing,
            };
            let login = (login, Some(WorkerProblem { why, remedy }));
            (login, (NetworkDiagnosis::default(), None))
        };
        // The model does not matter here.
        let worker = match worker.clone().with_protocol(&self.env.keys, Some("any")) {
            Ok(worker) => worker,
            Err(facts) => {
                let WorkerProblem { why, remedy } = split(&facts);
                return nothing(why, remedy);
            }
        };
        let Some(cli) = worker.cli() else {
            return nothing("it has no API to ask".to_owned(), String::new());
        };
        let said = endpoint_settings(&worker);
        match api_keys::find_endpoint(cli, &self.env.keys, said) {
            Err(error) => {
                let remedy = match &error {
                    EndpointError::NoKey { variable } => format!("set `{variable}`"),
                    EndpointError::Unasked { variable, .. } => format!("set `{variable}=1`"),
                    EndpointError::Address { variable, .. } => format!("fix `{variable}`"),
                };
                nothing(error.to_string(), remedy)
            }
            Ok(Some(endpoint)) => {
                let variable = self.env.keys.variable(cli, said).map(str::to_owned);
                let login = match endpoint.key {
                    Some(_) => (LoginKind::Key, variable),
                    None => (LoginKind::Server, Some(endpoint.url.clone())),
                };
                let login = LoginDiagnosis {
                    by: login.0,
                    from: login.1,
                    state: LoginState::Usable,
                };
                let upstream = locate_upstream(endpoint.upstream, endpoint.source, self.env);
                let own =
                    (endpoint.source == EndpointSource::User).then_some(endpoint.url.as_str());
                let way = ConnectionRoute::Served(upstream);
                let network =
                    self.probe_network(&authority(&endpoint.url), own, &way, check_network);
                ((login, None), network)
            }
            Ok(None) => {
                let host = cli.api_hosts.first().copied().unwrap_or_default();
                let network = match AllowedHost::parse(host) {
                    Ok(allowed) => self.probe_network(
                        host,
                        None,
                        &ConnectionRoute::Proxied(allowed),
                        check_network,
                    ),
                    Err(_) => (NetworkDiagnosis::default(), None),
                };
                (self.file(cli, &worker), network)
            }
        }
    }

    /// Inspects the login file of a CLI.
    fn file(&self, cli: &'static WorkerCli, worker: &Worker) -> InspectionResult<LoginDiagnosis> {
        let standing = Logins::for_user(self.env).file_status(cli, worker.login.as_deref());
        let login = |by, path: Option<PathBuf>, state| LoginDiagnosis {
            by,
            from: path.map(|path| path.display().to_string()),
            state,
        };
        let trouble = |why: String| {
            let remedy = login_instructions(cli, worker);
            Some(WorkerProblem { why, remedy })
        };
        match standing {
            Err(error) => {
                let why = format_error_chain(&error);
                (
                    login(LoginKind::Nothing, None, LoginState::Missing),
                    trouble(why),
                )
            }
            Ok(LoginFileStatus::None { path }) => {
                let why = "it is not logged in".to_owned();
                (
                    login(LoginKind::Nothing, path, LoginState::Missing),
                    trouble(why),
                )
            }
            Ok(LoginFileStatus::Ended { path }) => {
                let why = format!("its login in `{}` has ended", path.display());
                (
                    login(LoginKind::File, Some(path), LoginState::Ended),
                    trouble(why),
                )
            }
            Ok(LoginFileStatus::Usable { path, until }) => {
                let expired = until.is_some_and(|until| until <= Timestamp::now());
                let state = if expired {
                    LoginState::Expired
                } else {
                    LoginState::Usable
                };
                (login(LoginKind::File, Some(path), state), None)
            }
        }
    }

    /// Checks whether a host is reachable. It may be a server that the user has named (`own`).
    fn probe_network(
        &self,
        host: &str,
        own: Option<&str>,
        way: &ConnectionRoute,
        check_network: NetworkCheck,
    ) -> InspectionResult<NetworkDiagnosis> {
        let mut network = NetworkDiagnosis {
            host: Some(host.to_owned()),
            reached: None,
        };
        let (NetworkCheck::Yes, Some(launcher)) = (check_network, self.launcher) else {
            return (network, None);
        };
        let seconds = PATIENCE.as_secs();
        (self.waits)(&format!("connecting to {host} (at most {seconds} s)"));
        let prober = ApiProber {
            launcher,
            confined: self.sandbox != SandboxKind::None,
            codeteam: self.codeteam,
            through: self.env.proxy.as_ref(),
        };
        let answer = prober.probe(way);
        network.reached = Some(answer.is_ok());
        let trouble = answer.err().map(|why| WorkerProblem {
            why: format!("{host} is not reached: {why}"),
            remedy: match own {
                Some(url) => format!("see whether the server at `{url}` is running"),
                None => self.way_out(host),
            },
        });
        (network, trouble)
    }

    fn way_out(&self, host: &str) -> String {
        if self.env.proxy.is_some() {
            return format!("see whether the proxy of `HTTPS_PROXY` lets {host} through");
        }
        "see whether this machine is online; behind a proxy, set `HTTPS_PROXY`".to_owned()
    }
}

/// A finding, and the problem with it, if there is one.
type InspectionResult<T> = (T, Option<WorkerProblem>);

/// Splits a message into its cause and remedy.
fn split(facts: &FailureFacts) -> WorkerProblem {
    let message = &facts.message;
    let (why, remedy) = message.split_once("; ").unwrap_or((message, ""));
    WorkerProblem {
        why: why.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// Returns the host and port of an address.
fn authority(url: &str) -> String {
    let (usual, rest) = match url.strip_prefix("https://") {
        Some(rest) => (443, rest),
        None => (80, url.strip_prefix("http://").unwrap_or(url)),
    };
    let host = rest.split('/').next().unwrap_or(rest);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    if has_port {
        host.to_owned()
    } else {
        format!("{host}:{usual}")
    }
}
