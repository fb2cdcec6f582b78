//! Keeps API keys outside the sandbox: the CLI talks to a loopback endpoint, which adds the key.

use std::collections::BTreeMap;
use std::ffi::OsString;

use codeteam_sandbox::egress::{ApiUpstream, BadUpstream, Secret};

use crate::worker_clis::{self, BaseUrlSetting, WorkerCli};

/// The endings of the names of variables that contain keys.
const ENDINGS: [&str; 2] = ["_KEY", "_TOKEN"];

/// The web search of the built-in worker: the variable of its key, the variable of its server, and
/// its default server.
const TAVILY: (&str, &str, &str) = (
    "TAVILY_API_KEY",
    "TAVILY_BASE_URL",
    "https://api.tavily.com",
);

/// The keys in the user's environment, and the servers they are for.
#[derive(Clone, Debug, Default)]
pub struct ApiKeys {
    keys: BTreeMap<String, Secret>,
    /// Addresses, which may contain a password.
    servers: BTreeMap<String, Secret>,
}

/// The user's settings for a worker's key and server.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndpointSettings<'a> {
    /// The variable that contains the key.
    pub key: Option<&'a str>,
    /// The address of the API.
    pub base_url: Option<&'a str>,
    /// Whether a server that a variable names is also used without a key: one on this machine needs
    /// none, and the built-in worker has no login that it could use instead.
    pub keyless: bool,
}

/// The endpoint for one CLI, and how the CLI is directed to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CliEndpoint {
    /// The setting that points the CLI at the endpoint.
    pub base_url: BaseUrlSetting,
    /// The variable that must have some value for the CLI; any value will do.
    pub placeholder: &'static str,
    /// The server to which requests are forwarded.
    pub upstream: ApiUpstream,
    /// The same address as the user would write it.
    pub url: String,
    /// The origin of the address.
    pub source: EndpointSource,
    /// The header that replaces the CLI's own, with its whole value.
    pub header: Option<(&'static str, Secret)>,
    /// The key alone.
    pub key: Option<Secret>,
}

/// The origin of a server's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointSource {
    /// It is the CLI's default.
    Cli,
    /// The user, with a variable: it may be on this host or a private network.
    User,
}

/// A key or a server that cannot be used. A value may contain a password, so no message shows one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The value is not the address of an API.
    #[error("`{variable}` cannot be the address of an API: {why}")]
    Address {
        /// The variable, or the key of the configuration.
        variable: String,
        /// The problem with its value.
        why: &'static str,
    },
    /// A worker would see the credentials of a cloud, and only a role asks for it.
    #[error(
        "`provider: {provider}` shows a worker what you sign requests with, which a role alone \
         cannot ask for; set `{variable}=1` if you want it"
    )]
    Unasked {
        /// The provider of the model.
        provider: &'static str,
        /// The variable with which the user enables it.
        variable: &'static str,
    },
    /// A key is missing.
    #[error("the variable `{variable}`, which should have a key, is not set or has none")]
    NoKey {
        /// The variable that should contain it.
        variable: String,
    },
}

impl ApiKeys {
    /// Collects the keys and servers of an environment. A value that cannot be part of a header is
    /// not a key.
    pub fn from_env(variables: impl IntoIterator<Item = (OsString, OsString)>) -> ApiKeys {
        let is_server = |name: &str| {
            name == TAVILY.1 || worker_clis::ALL.iter().any(|cli| cli.keys.moved_by == name)
        };
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
            } else if ENDINGS.iter().any(|end| name.ends_with(end)) && is_token(&value) {
                keys.keys.insert(name, Secret::new(value));
            }
        }
        keys
    }

    /// Returns true if there is a key that a CLI accepts.
    pub fn has_any(&self, cli: &WorkerCli) -> bool {
        let mut known = cli.keys.keys.iter();
        known.any(|key| self.keys.contains_key(key.variable))
    }

    /// Returns true if the user names a server for a CLI with a variable.
    pub fn has_server(&self, cli: &WorkerCli) -> bool {
        self.servers.contains_key(cli.keys.moved_by)
    }

    /// Returns the variable that contains the key of a CLI, if there is one: the configured one, or
    /// the first that the CLI accepts.
    pub fn variable<'a>(&self, cli: &'a WorkerCli, said: EndpointSettings<'a>) -> Option<&'a str> {
        let known = cli.keys.keys.iter().map(|key| key.variable);
        let mut candidates = said.key.map_or_else(|| known.collect(), |key| vec![key]);
        candidates.retain(|name| self.keys.contains_key(*name));
        candidates.first().copied()
    }

    /// Returns all keys, so that the redactor can remove them everywhere.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.keys.values().map(Secret::reveal)
    }

    /// Returns the server of the web search and the value of its authorization header, if the user
    /// has a key for it.
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
        Ok(Some((parse_upstream(url, moved_by)?, said_by, bearer)))
    }
}

/// Determines how `cli` gets its key; `None` if there is neither a key nor a server that needs
/// none.
pub(crate) fn find_endpoint(
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
        upstream: parse_upstream(url, variable)?,
        url: url.to_owned(),
        source: said_by,
        header: found.map(|(key, secret)| {
            let value = format!("{}{}", key.prefix, secret.reveal());
            (key.header, Secret::new(value))
        }),
        key: found.map(|(_, secret)| secret.clone()),
    }))
}

/// Parses the address of a server.
pub(crate) fn parse_upstream(url: &str, variable: &str) -> Result<ApiUpstream, EndpointError> {
    ApiUpstream::parse(url).map_err(|BadUpstream { why, .. }| EndpointError::Address {
        variable: variable.to_owned(),
        why,
    })
}

/// Returns true if a text may be a token or a key: something that can be part of a header.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}
