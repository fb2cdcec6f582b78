//! What a worker reaches its model with: hosts, a login or a key. Nobody else gets any of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use codeteam_core::ids::WorkerName;
use codeteam_sandbox::egress::{Allowed, Header, Rules};
use codeteam_sandbox::{Access, Entry, policy};

use super::{Error, with_causes};
use crate::config::Host;
use crate::engine::Engine;
use crate::logins::clis::{BaseUrl, Cli};
use crate::logins::keys::{self, SaidBy};
use crate::logins::{Loan, Outcome};
use crate::process::{Account, Network, View};
use crate::workspace::remove_tree;

/// What one worker is given for one attempt. To be [ended](Reach::end) however the attempt does.
#[derive(Debug)]
pub struct Reach {
    /// Where it can go.
    pub network: Network,
    /// What its environment has for it.
    pub env: Vec<(OsString, OsString)>,
    /// Where its API is, if the CLI has to be told by an option.
    pub base_url: Option<(&'static str, String)>,
    directory: PathBuf,
    loan: Option<Loan>,
}

impl Reach {
    /// For a worker whose private files may be put into `directory`. A key is used where the user
    /// has one, and never enters the sandbox; otherwise the user's login is lent.
    pub fn of(
        worker: &WorkerName,
        engine: &Engine,
        directory: &Path,
        account: Account,
    ) -> Result<Self, Error> {
        let mut reach = Self {
            network: network(engine, &engine.config.sandbox.hosts, account)?,
            env: Vec::new(),
            base_url: None,
            directory: directory.to_owned(),
            loan: None,
        };
        if let Some(cli) = Cli::named(worker.as_str()) {
            reach.open(cli, engine)?;
        }
        Ok(reach)
    }

    fn open(&mut self, cli: &'static Cli, engine: &Engine) -> Result<(), Error> {
        if let Some(endpoint) = keys::endpoint(cli, &engine.env.keys)? {
            return self.serve(endpoint, engine);
        }
        let hosts = cli.egress().map(Allowed::parse);
        let hosts: Vec<_> = hosts.collect::<Result<_, _>>()?;
        self.loan = engine.logins.lend(cli, &self.directory)?;
        if let Some(loan) = &self.loan {
            self.network.rules.extend(hosts);
            let env = loan.env().iter();
            self.env
                .extend(env.map(|(name, value)| (name.into(), value.into())));
        }
        Ok(())
    }

    /// Points the CLI at an endpoint that adds the key.
    fn serve(&mut self, endpoint: keys::Endpoint, engine: &Engine) -> Result<(), Error> {
        let port = Network::endpoint_port(self.network.endpoints.len());
        let url = format!("http://127.0.0.1:{port}");
        let header = Header::new(endpoint.header, endpoint.value)?;
        let mut upstream = endpoint.upstream.with(header);
        // Behind a proxy it is the proxy's business where a server is.
        let is_behind = upstream.is_secure() && !engine.env.direct.covers(upstream.host());
        if endpoint.said_by == SaidBy::User && !(engine.env.proxy.is_some() && is_behind) {
            upstream = upstream.private();
        }
        self.network.endpoints.push(upstream);
        self.env.push((
            endpoint.placeholder.into(),
            "added-outside-the-sandbox".into(),
        ));
        match endpoint.base_url {
            BaseUrl::Variable(name) => self.env.push((name.into(), url.into())),
            BaseUrl::Option(name) => self.base_url = Some((name, url)),
        }
        Ok(())
    }

    /// Shows the worker what it is lent.
    pub fn show(&self, view: &mut View) {
        let binds = self.loan.iter().flat_map(Loan::binds);
        for (source, place) in binds {
            view.entries.push(Entry::Bind {
                source,
                target: Path::new(policy::HOME).join(place),
                access: Access::Writable,
            });
        }
        view.network = Some(self.network.clone());
    }

    /// Takes the login back and removes the private files, now that the worker has ended. Says what
    /// a person should know. A login that cannot be given back stays where it is: what the worker
    /// has done is worth no less for it, and it is tried again when the run ends.
    pub fn end(self) -> Option<String> {
        let loan = self.loan?;
        let cli = loan.cli();
        let name = cli.name;
        match loan.give_back() {
            Ok(outcome) => {
                // What is left has nothing of the user's, and goes with the run if not now.
                let _ = remove_tree(&self.directory);
                let renewed = || format!("the login of `{name}` was renewed");
                let is_renewed = outcome == Outcome::Renewed;
                is_renewed.then(renewed).or_else(|| outcome.objection(cli))
            }
            Err(error) => {
                let (directory, why) = (self.directory.display(), with_causes(&error));
                Some(format!(
                    "the login of `{name}` could not be given back and is kept in \
                     `{directory}`: {why}"
                ))
            }
        }
    }
}

/// A network of configured hosts.
pub(super) fn network(engine: &Engine, hosts: &[Host], account: Account) -> Result<Network, Error> {
    let allowed = hosts.iter().map(Host::allowed);
    Ok(Network {
        rules: allowed.collect::<Result<Rules, _>>()?,
        through: engine.env.proxy.clone(),
        account,
        ..Network::default()
    })
}
