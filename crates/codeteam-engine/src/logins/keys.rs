//! Keys stay outside the sandbox: the CLI asks a loopback endpoint, which adds them.

use std::collections::BTreeMap;
use std::ffi::OsString;

use codeteam_sandbox::egress::{ApiUpstream, BadUpstream, Secret};

use super::clis::{self, BaseUrlSetting, WorkerCli};

/// What the names of variables with keys end in.
const ENDINGS: [&str; 2] = ["_KEY", "_TOKEN"];

/// A search of the web, for the built-in worker.
const TAVILY: (&str, &str, &str) = (
    "TAVILY_API_KEY",
    "TAVILY_BASE_URL",
    "https://api.tavily.com",
);

/// The keys of the user's environment, and the servers they are for.
#[derive(Clone, Debug, Default)]
pub struct ApiKeys {
    keys: BTreeMap<String, Secret>,
    /// Addresses, which may have a password in them.
    servers: BTreeMap<String, Secret>,
}

/// What the user's configuration says of a worker's key and server.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndpointSettings<'a> {
    /// The variable that has the key.
    pub key: Option<&'a str>,
    /// Where the API is.
    pub base_url: Option<&'a str>,
    /// Whether a server that a variable names is asked without a key too: one on this machine needs
    /// none, and the built-in worker has no login that it would be asked with instead.
    pub keyless: bool,
}

/// What an endpoint for one CLI does, and how the CLI is led to it.
#[derive(Debug, PartialEq, Eq)]
pub struct CliEndpoint {
    /// How the CLI is told to ask the endpoint.
    pub base_url: BaseUrlSetting,
    /// The variable in which the CLI needs some value; any will do.
    pub placeholder: &'static str,
    /// Where requests go.
    pub upstream: ApiUpstream,
    /// The same as the user would write it.
    pub url: String,
    /// Who says so.
    pub said_by: EndpointSource,
    /// The header to set in place of the CLI's own, and the whole of its value.
    pub header: Option<(&'static str, Secret)>,
    /// The key alone.
    pub key: Option<Secret>,
}

/// Who names a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointSource {
    /// The CLI, which has one of its own.
    Cli,
    /// The user, by a variable: it may be on this host or near it.
    User,
}

/// Something about a key or a server that cannot be used. A value may have a password in it, so
/// none is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not the address of an API.
    #[error("`{variable}` cannot be the address of an API: {why}")]
    Address {
        /// The variable, or the key of the configuration.
        variable: String,
        /// What is wrong with its value.
        why: &'static str,
    },
    /// What a cloud is entered with would be shown to a worker, and only a role asks for it.
    #[error(
        "`provider: {provider}` shows a worker what you sign requests with, which a role alone \
         cannot ask for; set `{variable}=1` if you want it"
    )]
    Unasked {
        /// Who serves the model.
        provider: &'static str,
        /// The variable that says the user wants it.
        variable: &'static str,
    },
    /// No key where one should be.
    #[error("the variable `{variable}`, which should have a key, is not set or has none")]
    NoKey {
        /// The variable.
        variable: String,
    },
}

impl ApiKeys {
    /// Takes the keys and servers of an environment. What could not stand in a header is not a key.
    pub fn from_env(variables: impl IntoIterator<Item = (OsString, OsString)>) -> ApiKeys {
        let is_server =
            |name: &str| name == TAVILY.1 || clis::ALL.iter().any(|cli| cli.keys.moved_by == name);
        let mut keys = ApiKeys::default();
        for (name, value) in variables {
            let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else {
                continue;
            };
            if value.is_empty() {
                continue;
            }
            if is_server(&name) {
                keys.servers.insert(name, Secret::new(value));
            } else if ENDINGS.iter().any(|end| name.ends_with(end))
                && super::credentials::is_token(&value)
            {
                keys.keys.insert(name, Secret::new(value));
            }
        }
        keys
    }

    /// Whether there is a key that a CLI takes.
    pub fn has_any(&self, cli: &WorkerCli) -> bool {
        let mut known = cli.keys.keys.iter();
        known.any(|key| self.keys.contains_key(key.variable))
    }

    /// Whether the user names a server for a CLI, by a variable.
    pub fn has_server(&self, cli: &WorkerCli) -> bool {
        self.servers.contains_key(cli.keys.moved_by)
    }

    /// The variable that has the key of a CLI, if there is one: the one that is said, or the first
    /// that the CLI takes.
    pub fn variable<'a>(&self, cli: &'a WorkerCli, said: EndpointSettings<'a>) -> Option<&'a str> {
        let known = cli.keys.keys.iter().map(|key| key.variable);
        let mut candidates = said.key.map_or_else(|| known.collect(), |key| vec![key]);
        candidates.retain(|name| self.keys.contains_key(*name));
        candidates.first().copied()
    }

    /// Every secret there is, so that none is ever told.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.keys.values().map(Secret::reveal)
    }

    /// Where the web can be searched, if the user has a key for it, and the header it is sent in.
    pub fn web_search(
        &self,
    ) -> Result<Option<(ApiUpstream, EndpointSource, Secret)>, EndpointError> {
        let (variable, moved_by, own) = TAVILY;
        let Some(key) = self.keys.get(variable) else {
            return Ok(None);
        };
        let (said_by, url) = match self.servers.get(moved_by) {
            Some(url) => (EndpointSource::User, url.reveal()),
            None => (EndpointSource::Cli, own),
        };
        let bearer = Secret::new(format!("Bearer {}", key.reveal()));
        Ok(Some((upstream(url, moved_by)?, said_by, bearer)))
    }
}

/// How `cli` is given its key; `None` if there is neither a key nor a server that needs none.
pub fn endpoint(
    cli: &WorkerCli,
    keys: &ApiKeys,
    said: EndpointSettings<'_>,
) -> Result<Option<CliEndpoint>, EndpointError> {
    let found = match said.key {
        Some(variable) => {
            let Some(secret) = keys.keys.get(variable) else {
                let variable = variable.to_owned();
                return Err(EndpointError::NoKey { variable });
            };
            cli.keys.keys.first().map(|key| (key, secret))
        }
        // A server that the configuration names gets the key that it names, and no other.
        None if said.base_url.is_some() => None,
        None => cli.keys.keys.iter().find_map(|key| {
            let secret = keys.keys.get(key.variable)?;
            Some((key, secret))
        }),
    };
    let variable = cli.keys.moved_by;
    let moved = keys.servers.get(variable).map(Secret::reveal);
    let (said_by, url, variable) = match (said.base_url, moved) {
        (Some(url), _) => (EndpointSource::User, url, "base_url"),
        (None, Some(url)) => (EndpointSource::User, url, variable),
        (None, None) => (EndpointSource::Cli, cli.keys.upstream, variable),
    };
    let Some(first) = cli.keys.keys.first() else {
        return Ok(None);
    };
    let is_named = said.base_url.is_some() || said.keyless && moved.is_some();
    if found.is_none() && !is_named {
        return Ok(None);
    }
    Ok(Some(CliEndpoint {
        base_url: cli.keys.base_url,
        placeholder: found.map_or(first.placeholder, |(key, _)| key.placeholder),
        upstream: upstream(url, variable)?,
        url: url.to_owned(),
        said_by,
        header: found.map(|(key, secret)| {
            let value = format!("{}{}", key.prefix, secret.reveal());
            (key.header, Secret::new(value))
        }),
        key: found.map(|(_, secret)| secret.clone()),
    }))
}

/// The server that an address of the user's names.
pub fn upstream(url: &str, variable: &str) -> Result<ApiUpstream, EndpointError> {
    ApiUpstream::parse(url).map_err(|BadUpstream { why, .. }| EndpointError::Address {
        variable: variable.to_owned(),
        why,
    })
}
