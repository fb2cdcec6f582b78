//! Gives a worker access to its model: hosts, and a login or a key. No other process gets any of
//! it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use codeteam_core::assignment::Assignment;
use codeteam_core::event::SandboxKind;
use codeteam_core::role::ModelProvider;
use codeteam_sandbox::egress::{AllowedHost, ApiRoute, ApiUpstream, EgressRules, SecretHeader};
use codeteam_sandbox::{MountAccess, MountEntry, policy};

use super::{Error, Job};
use crate::api_keys::{self, EndpointError, EndpointSource};
use crate::config::HostConfig;
use crate::dialect;
use crate::engine::Engine;
use crate::env::{CLAUDE_RETRIES, Env};
use crate::logins::{LoanOutcome, LoginFileStatus, LoginLoan};
use crate::worker_clis::{BaseUrlSetting, DirectoryVariable, WorkerCli};
use crate::workers::Worker;
use crate::workers::login_instructions;
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::process::{HostView, NetworkAccess, NetworkLedger};
use codeteam_host::workspace::remove_tree;

/// The variable that names the file with the credentials for signing requests to a cloud.
const CREDENTIALS: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// The folder in which a program without `TMPDIR` puts temporary files.
const DEFAULT_TEMPORARY: &str = "/tmp";

/// The access to a model that one worker gets for one attempt. It must be
/// [released](WorkerAccess::release) however the attempt ends.
#[derive(Debug)]
pub struct WorkerAccess {
    /// The hosts and endpoints that it can reach.
    pub network: NetworkAccess,
    /// The variables that it gets.
    pub env: Vec<(OsString, OsString)>,
    /// The address of its API, if the CLI takes it as an option.
    pub base_url: Option<(&'static str, String)>,
    /// The address of the web search, if there is one.
    pub web_search: Option<String>,
    /// Whether it works with a key instead of a login.
    pub keyed: bool,
    directory: PathBuf,
    loan: Option<LoginLoan>,
}

impl WorkerAccess {
    /// Grants access to a worker whose private files may be put into `directory`. A key is used if
    /// the user has one, and never enters the sandbox; otherwise the user's login is lent.
    pub fn for_worker(
        worker: &Worker,
        provider: Option<ModelProvider>,
        engine: &Engine,
        directory: &Path,
        account: NetworkLedger,
    ) -> Result<Self, Error> {
        let mut reach = Self {
            network: network(engine, &engine.config.sandbox.hosts, account)?,
            env: Vec::new(),
            base_url: None,
            web_search: None,
            keyed: false,
            directory: directory.to_owned(),
            loan: None,
        };
        if let Some(cloud) = CloudProvider::for_provider(worker, provider, &engine.env)? {
            reach.enter_cloud(&cloud, engine)?;
        } else if let Some(cli) = worker.cli() {
            reach.grant_access(cli, worker, engine)?;
        }
        if worker.dialect == dialect::DialectName::Builtin {
            reach.serve_web_search(engine)?;
        }
        reach.env.extend(own_settings(worker, engine));
        Ok(reach)
    }

    /// Grants access to the worker of a job, confined or not.
    pub(super) fn for_job(
        job: &Job,
        worker: &Worker,
        assignment: &Assignment,
        directory: &Path,
        engine: &Engine,
        account: &NetworkLedger,
    ) -> Result<Self, Error> {
        let provider = assignment.means.provider;
        match job.sandbox {
            SandboxKind::None => Self::unconfined(worker, provider, engine, directory),
            SandboxKind::Bubblewrap | SandboxKind::Container => {
                Self::for_worker(worker, provider, engine, directory, account.clone())
            }
        }
    }

    /// Grants access to a worker without a sandbox: it has the user's home with its logins, and
    /// needs the keys themselves.
    pub fn unconfined(
        worker: &Worker,
        provider: Option<ModelProvider>,
        engine: &Engine,
        directory: &Path,
    ) -> Result<Self, Error> {
        let mut reach = Self {
            network: NetworkAccess::default(),
            env: Vec::new(),
            base_url: None,
            web_search: None,
            keyed: false,
            directory: directory.to_owned(),
            loan: None,
        };
        if CloudProvider::for_provider(worker, provider, &engine.env)?.is_some() {
            reach.env.extend(cloud_env(engine));
        } else if let Some(cli) = worker.cli()
            && let Some(endpoint) =
                api_keys::find_endpoint(cli, &engine.env.keys, endpoint_settings(worker))?
        {
            let key = endpoint.key.as_ref().map_or("none", |key| key.reveal());
            reach.point_at_endpoint(worker, &endpoint, &endpoint.url, key);
        }
        reach.env.extend(own_settings(worker, engine));
        if let (Some(cli), Some(login)) = (worker.cli(), &worker.login) {
            let (name, place) = match cli.moved_by {
                DirectoryVariable::Directory(name) => (name, Some(login.as_path())),
                DirectoryVariable::Home(name) => (name, login.parent()),
            };
            let place = place.unwrap_or(login);
            reach.env.push((name.into(), place.into()));
        }
        if worker.dialect == dialect::DialectName::Codex {
            reach.keep_codex_out_of_temporary_files(&engine.env)?;
        }
        Ok(reach)
    }

    /// Gives Codex a temporary directory elsewhere if its own folder lies below `/tmp`. Codex
    /// installs its helper programs, including the one that applies patches, into its own folder,
    /// and refuses to do so below the temporary directory: then it cannot write a file and reports
    /// that only on its standard error.
    fn keep_codex_out_of_temporary_files(&mut self, env: &Env) -> Result<(), Error> {
        let moved = self.env.iter().find(|(name, _)| name == "CODEX_HOME");
        let home = moved.map(|(_, home)| Path::new(home));
        let Some(home) = home.or(env.home.as_deref()) else {
            return Ok(());
        };
        if !home.starts_with(DEFAULT_TEMPORARY) {
            return Ok(());
        }
        let temporary = self.directory.join("tmp");
        std::fs::create_dir_all(&temporary).map_err(|source| Error::Io {
            doing: "create",
            path: temporary.clone(),
            source,
        })?;
        self.env.push(("TMPDIR".into(), temporary.into()));
        Ok(())
    }

    fn grant_access(
        &mut self,
        cli: &'static WorkerCli,
        worker: &Worker,
        engine: &Engine,
    ) -> Result<(), Error> {
        if let Some(endpoint) =
            api_keys::find_endpoint(cli, &engine.env.keys, endpoint_settings(worker))?
        {
            let mut upstream = endpoint.upstream.clone();
            let mut path = "";
            let routes: Vec<ApiRoute> = if worker.dialect == dialect::DialectName::Builtin {
                // The built-in worker sees from the path whether the version is missing.
                let (origin, rest) = origin(&endpoint.url);
                (upstream, path) = (api_keys::parse_upstream(origin, "base_url")?, rest);
                worker.protocol.map(|p| p.routes(rest)).unwrap_or_default()
            } else {
                let routes = cli.keys.routes.iter();
                routes.map(|(m, path)| ApiRoute::new(m, *path)).collect()
            };
            upstream = upstream.with_routes(routes);
            if let Some((name, value)) = &endpoint.header {
                upstream = upstream.with_header(SecretHeader::new(name, value.clone())?);
            }
            let url = self.serve_api(upstream, endpoint.source, engine) + path;
            self.point_at_endpoint(worker, &endpoint, &url, "added-outside-the-sandbox");
            return Ok(());
        }
        if worker.dialect == dialect::DialectName::Builtin {
            // The built-in worker has no login of its own.
            return Ok(());
        }
        let hosts = cli.egress().map(AllowedHost::parse);
        let hosts: Vec<_> = hosts.collect::<Result<_, _>>()?;
        let login = worker.login.as_deref();
        self.loan = engine.logins.lend(cli, login, &self.directory)?;
        let name = &worker.name;
        let why = match engine.logins.file_status(cli, login)? {
            LoginFileStatus::None { .. } => Some(format!("`{name}` is not logged in")),
            LoginFileStatus::Ended { path } => Some(format!(
                "the login of `{name}` in `{}` has ended",
                path.display()
            )),
            LoginFileStatus::Usable { .. } => None,
        };
        if let Some(why) = why {
            let remedy = login_instructions(cli, worker);
            return Err(Error::NotLoggedIn(format!("{why}; {remedy}")));
        }
        if let Some(loan) = &self.loan {
            self.network.rules.extend(hosts);
            let env = loan.env().iter();
            self.env
                .extend(env.map(|(name, value)| (name.into(), value.into())));
        }
        Ok(())
    }

    /// Tells the worker the address of its API, and gives it a placeholder for the key.
    fn point_at_endpoint(
        &mut self,
        worker: &Worker,
        endpoint: &api_keys::CliEndpoint,
        url: &str,
        key: &str,
    ) {
        self.keyed = true;
        if worker.dialect == dialect::DialectName::Builtin {
            self.env.push(("CODETEAM_API_KEY".into(), key.into()));
            self.base_url = Some(("base_url", url.to_owned()));
            return;
        }
        self.env.push((endpoint.placeholder.into(), key.into()));
        match endpoint.base_url {
            BaseUrlSetting::Variable(name) => self.env.push((name.into(), url.into())),
            BaseUrlSetting::Option(name) => self.base_url = Some((name, url.to_owned())),
        }
    }

    /// Serves an API inside the sandbox and returns its address.
    fn serve_api(
        &mut self,
        upstream: ApiUpstream,
        said_by: EndpointSource,
        engine: &Engine,
    ) -> String {
        let port = NetworkAccess::endpoint_port(self.network.endpoints.len());
        self.network
            .endpoints
            .push(locate_upstream(upstream, said_by, &engine.env));
        format!("http://127.0.0.1:{port}")
    }

    /// Lets the built-in worker search the web, if the user has a key for it.
    fn serve_web_search(&mut self, engine: &Engine) -> Result<(), Error> {
        if let Some((upstream, said_by, value)) = engine.env.keys.web_search()? {
            let upstream = upstream
                .with_header(SecretHeader::new("authorization", value)?)
                .with_routes([ApiRoute::new("POST", "/search")]);
            self.web_search = Some(self.serve_api(upstream, said_by, engine));
        }
        Ok(())
    }

    /// Grants access to a cloud. Requests are signed by the worker, so it must have the credentials
    /// itself.
    fn enter_cloud(&mut self, cloud: &CloudProvider, engine: &Engine) -> Result<(), Error> {
        let region = engine
            .env
            .cloud_variables
            .get(cloud.region)
            .map(String::as_str);
        let region = region.unwrap_or(cloud.default_region);
        for host in cloud.hosts {
            let host = host.replace("{region}", region);
            self.network.rules.extend([AllowedHost::parse(&host)?]);
        }
        for name in cloud.moved_by {
            if let Some(url) = engine.env.cloud_variables.get(name) {
                let upstream = api_keys::parse_upstream(url, name)?;
                let url = self.serve_api(upstream, EndpointSource::User, engine);
                self.env.push(((*name).into(), url.into()));
            }
        }
        let moved = |name: &OsString| cloud.moved_by.iter().any(|moved| name == moved);
        let env = cloud_env(engine).filter(|(name, _)| !moved(name));
        self.env.extend(env);
        Ok(())
    }

    /// Returns the addresses inside the sandbox that lead to model APIs, with the names of these
    /// APIs.
    pub fn served(&self) -> ServedApis {
        let endpoints = self.network.endpoints.iter().enumerate();
        ServedApis(
            endpoints
                .map(|(number, upstream)| {
                    let port = NetworkAccess::endpoint_port(number);
                    (format!("127.0.0.1:{port}"), upstream.authority())
                })
                .collect(),
        )
    }

    /// Shows the worker what it is lent.
    pub fn mount_private_files(&self, view: &mut HostView) {
        let binds = self.loan.iter().flat_map(LoginLoan::binds);
        for (source, place) in binds {
            view.entries.push(MountEntry::Bind {
                source,
                target: Path::new(policy::HOME).join(place),
                access: MountAccess::Writable,
            });
        }
        if let Some(file) = self.env.iter().find(|(name, _)| name == CREDENTIALS) {
            view.show(PathBuf::from(&file.1), MountAccess::ReadOnly);
        }
        view.network = Some(self.network.clone());
    }

    /// Takes the login back and removes the private files, after the worker has ended. Returns what
    /// a person should know. A login that cannot be given back stays where it is: the worker's
    /// result is valid nevertheless, and returning the login is tried again when the run ends.
    pub fn release(self) -> Option<String> {
        let Some(loan) = self.loan else {
            let _ = remove_tree(&self.directory);
            return None;
        };
        let cli = loan.cli();
        let name = cli.name;
        match loan.give_back() {
            Ok(outcome) => {
                // What remains contains nothing of the user's, and is removed with the run if not
                // now.
                let _ = remove_tree(&self.directory);
                let renewed = || format!("the login of `{name}` was renewed");
                let is_renewed = outcome == LoanOutcome::Renewed;
                is_renewed.then(renewed).or_else(|| outcome.objection(cli))
            }
            Err(error) => {
                let (directory, why) = (self.directory.display(), format_error_chain(&error));
                Some(format!(
                    "the login of `{name}` could not be given back and is kept in \
                     `{directory}`: {why}"
                ))
            }
        }
    }
}

/// Addresses that are meaningful inside a sandbox only, and the APIs they stand for.
#[derive(Clone, Debug, Default)]
pub struct ServedApis(Vec<(String, String)>);

impl ServedApis {
    /// Replaces these addresses in a worker's output by the names of the APIs.
    pub fn name_apis(&self, text: &str) -> String {
        let named = self.0.iter();
        named.fold(text.to_owned(), |text, (address, name)| {
            text.replace(address, name)
        })
    }
}

/// Allows an API server that the user names to be on this host or a private network.
pub(crate) fn locate_upstream(
    upstream: ApiUpstream,
    said_by: EndpointSource,
    env: &Env,
) -> ApiUpstream {
    // Behind a proxy, locating the server is up to the proxy.
    let is_behind = upstream.is_secure() && !env.proxy_exceptions.covers(upstream.host());
    if said_by == EndpointSource::User && !(env.proxy.is_some() && is_behind) {
        return upstream.allow_private();
    }
    upstream
}

/// Returns the user's settings for a worker's key and server.
pub(crate) fn endpoint_settings(worker: &Worker) -> api_keys::EndpointSettings<'_> {
    api_keys::EndpointSettings {
        key: worker.key.as_deref(),
        base_url: worker.base_url.as_deref(),
        keyless: worker.dialect == dialect::DialectName::Builtin,
    }
}

/// Returns the user's settings for a CLI itself: how often it retries an API that does not answer.
fn own_settings(
    worker: &Worker,
    engine: &Engine,
) -> impl Iterator<Item = (OsString, OsString)> + use<> {
    let is_claude = worker.dialect == dialect::DialectName::Claude;
    let retries = engine.env.claude_retries.clone().filter(|_| is_claude);
    let retries = retries.map(|retries| (OsString::from(CLAUDE_RETRIES), retries));
    retries.into_iter()
}

/// Splits an address into the server and the path.
fn origin(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    match url[host..].find('/') {
        Some(at) => url.split_at(host + at),
        None => (url, ""),
    }
}

/// A cloud that serves models.
struct CloudProvider {
    /// The variable with which the user enables it.
    wanted_by: &'static str,
    hosts: &'static [&'static str],
    region: &'static str,
    default_region: &'static str,
    moved_by: &'static [&'static str],
}

impl CloudProvider {
    /// Returns the cloud for a role's provider, for the only worker that supports clouds. The
    /// worker gets the credentials, and a role belongs to the repository, so the user must have
    /// enabled the cloud too, as for the CLI itself.
    fn for_provider(
        worker: &Worker,
        provider: Option<ModelProvider>,
        env: &Env,
    ) -> Result<Option<Self>, EndpointError> {
        let is_able = worker.dialect == dialect::DialectName::Claude;
        let Some(provider) = provider.filter(|_| is_able) else {
            return Ok(None);
        };
        let cloud = Self::known(provider);
        match &cloud {
            Some(cloud) if !env.cloud_variables.contains_key(cloud.wanted_by) => {
                Err(EndpointError::Unasked {
                    provider: provider.as_str(),
                    variable: cloud.wanted_by,
                })
            }
            _ => Ok(cloud),
        }
    }

    fn known(provider: ModelProvider) -> Option<Self> {
        match provider {
            ModelProvider::Anthropic => None,
            ModelProvider::Bedrock => Some(Self {
                wanted_by: "CLAUDE_CODE_USE_BEDROCK",
                hosts: &["bedrock-runtime.{region}.amazonaws.com:443"],
                region: "AWS_REGION",
                default_region: "us-east-1",
                moved_by: &["ANTHROPIC_BEDROCK_BASE_URL"],
            }),
            ModelProvider::Vertex => Some(Self {
                wanted_by: "CLAUDE_CODE_USE_VERTEX",
                hosts: &[
                    "{region}-aiplatform.googleapis.com:443",
                    "aiplatform.googleapis.com:443",
                    "oauth2.googleapis.com:443",
                ],
                region: "CLOUD_ML_REGION",
                default_region: "us-east5",
                moved_by: &["ANTHROPIC_VERTEX_BASE_URL"],
            }),
        }
    }
}

fn cloud_env(engine: &Engine) -> impl Iterator<Item = (OsString, OsString)> {
    let cloud = engine.env.cloud_variables.iter();
    // The role determines which cloud it is.
    let cloud = cloud.filter(|(name, _)| !name.starts_with("CLAUDE_CODE_USE_"));
    cloud.map(|(name, value)| (name.into(), value.into()))
}

/// Builds the network access for configured hosts.
pub(super) fn network(
    engine: &Engine,
    hosts: &[HostConfig],
    account: NetworkLedger,
) -> Result<NetworkAccess, Error> {
    let allowed = hosts.iter().map(HostConfig::to_egress_rule);
    Ok(NetworkAccess {
        rules: allowed.collect::<Result<EgressRules, _>>()?,
        user_proxy: engine.env.proxy.clone(),
        ledger: account,
        ..NetworkAccess::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_role_alone_is_shown_no_cloud() {
        let mut env = Env::read();
        env.cloud_variables = [("AWS_SECRET_ACCESS_KEY", "x".to_owned())].into();
        let cloud = |name: &str, env: &Env| {
            let worker = Worker::find(&Config::default(), &name.into()).unwrap();
            CloudProvider::for_provider(&worker, Some(ModelProvider::Bedrock), env)
                .map(|cloud| cloud.is_some())
        };
        assert!(cloud("claude", &env).is_err());
        env.cloud_variables
            .insert("CLAUDE_CODE_USE_BEDROCK", "1".to_owned());
        assert_eq!(cloud("claude", &env), Ok(true));
        for other in ["scripted", "builtin", "codex", "gemini"] {
            assert_eq!(cloud(other, &env), Ok(false), "{other}");
        }
    }
}
