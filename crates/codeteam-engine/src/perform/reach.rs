//! What a worker reaches its model with: hosts, a login or a key. Nobody else gets any of it.

use std::ffi::OsString;
use std::path::Path;

use codeteam_core::ids::WorkerName;
use codeteam_sandbox::egress::{Allowed, Header, Rules, Upstream};
use codeteam_sandbox::{Access, Entry, policy};

use super::Error;
use crate::config::Host;
use crate::engine::Engine;
use crate::logins::clis::{BaseUrl, Cli};
use crate::logins::{Loan, Outcome, keys};
use crate::process::{Account, Network, View};

/// What one worker is given for one attempt.
pub(super) struct Reach {
    /// Where it can go.
    pub(super) network: Network,
    /// What its environment has for it.
    pub(super) env: Vec<(OsString, OsString)>,
    /// Where its API is, if the CLI has to be told by an option.
    pub(super) base_url: Option<(&'static str, String)>,
    loan: Option<Loan>,
}

impl Reach {
    /// For a worker whose private files may be put into `directory`. A key is used where the user
    /// has one, and never enters the sandbox; otherwise the user's login is lent.
    pub(super) fn of(
        worker: &WorkerName,
        engine: &Engine,
        directory: &Path,
        account: Account,
    ) -> Result<Self, Error> {
        let mut reach = Self {
            network: network(engine, &engine.config.sandbox.hosts, account)?,
            env: Vec::new(),
            base_url: None,
            loan: None,
        };
        if let Some(cli) = Cli::named(worker.as_str()) {
            reach.open(cli, engine, directory)?;
        }
        Ok(reach)
    }

    fn open(&mut self, cli: &'static Cli, engine: &Engine, directory: &Path) -> Result<(), Error> {
        if let Some(endpoint) = keys::endpoint(cli, &engine.env.keys) {
            return self.serve(&endpoint);
        }
        let hosts = cli.egress().map(Allowed::parse);
        let hosts: Vec<_> = hosts.collect::<Result<_, _>>()?;
        self.network.rules.extend(hosts);
        self.loan = match &engine.logins {
            Some(logins) => logins.lend(cli, directory)?,
            None => None,
        };
        if let Some(loan) = &self.loan {
            let env = loan.env().iter();
            self.env
                .extend(env.map(|(name, value)| (name.into(), value.into())));
        }
        Ok(())
    }

    /// Points the CLI at an endpoint that adds the key.
    fn serve(&mut self, endpoint: &keys::Endpoint) -> Result<(), Error> {
        let port = Network::endpoint_port(self.network.endpoints.len());
        let url = format!("http://127.0.0.1:{port}");
        let header = Header::new(endpoint.header, endpoint.value.clone())?;
        let upstream = Upstream::parse(endpoint.upstream)?.with(header);
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
    pub(super) fn show(&self, view: &mut View) {
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

    /// Takes the login back, now that the worker has ended. Says what a person should know.
    pub(super) fn end(self) -> Result<Option<String>, Error> {
        let Some(loan) = self.loan else {
            return Ok(None);
        };
        let name = loan.cli().name;
        Ok(match loan.give_back()? {
            Outcome::Unchanged | Outcome::Kept => None,
            Outcome::Renewed => Some(format!("the login of {name} was renewed")),
            Outcome::Refused { reason, .. } => Some(format!(
                "the login of {name} came back changed and was not taken: {reason}"
            )),
        })
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
