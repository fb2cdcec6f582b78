//! Keys stay outside the sandbox: the CLI asks a loopback endpoint, which adds them.

use std::ffi::OsString;

use codeteam_sandbox::egress::{BadUpstream, Secret, Upstream};

use super::clis::{self, BaseUrl, Cli};

/// The keys of the user's environment, and the servers they are for.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Vec<(&'static str, Secret)>,
    /// Addresses, which may have a password in them.
    servers: Vec<(&'static str, Secret)>,
}

/// What an endpoint for one CLI does, and how the CLI is led to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// How the CLI is told to ask the endpoint.
    pub base_url: BaseUrl,
    /// The variable in which the CLI needs some value; any will do.
    pub placeholder: &'static str,
    /// Where requests go.
    pub upstream: Upstream,
    /// Who says so.
    pub said_by: SaidBy,
    /// The header to set, in place of the CLI's own.
    pub header: &'static str,
    /// The whole value of that header.
    pub value: Secret,
}

/// Who names a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaidBy {
    /// The CLI, which has one of its own.
    Cli,
    /// The user, by a variable: it may be on this host or near it.
    User,
}

/// A variable that should name a server and does not. Its value may have a password in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{variable}` cannot be the address of an API: {why}")]
pub struct BadServer {
    /// The variable.
    pub variable: &'static str,
    /// What is wrong with its value.
    pub why: &'static str,
}

impl Keys {
    /// Takes the keys that `variable` has. What could not stand in a header is not a key.
    pub fn from_env(variable: impl Fn(&str) -> Option<OsString>) -> Keys {
        let text = |name: &'static str| Some((name, variable(name)?.into_string().ok()?));
        let known = clis::ALL.iter().flat_map(|cli| cli.keys.keys);
        let keys = known
            .filter_map(|key| text(key.variable))
            .filter(|(_, value)| super::credentials::is_token(value));
        let servers = clis::ALL.iter().filter_map(|cli| text(cli.keys.moved_by));
        let secret = |(name, value)| (name, Secret::new(value));
        Keys {
            keys: keys.map(secret).collect(),
            servers: servers.map(secret).collect(),
        }
    }
}

/// How `cli` is given its key; `None` if there is none.
pub fn endpoint(cli: &Cli, keys: &Keys) -> Result<Option<Endpoint>, BadServer> {
    let found = cli.keys.keys.iter().find_map(|key| {
        let (_, secret) = keys.keys.iter().find(|(name, _)| *name == key.variable)?;
        Some((key, secret))
    });
    let Some((key, secret)) = found else {
        return Ok(None);
    };
    let variable = cli.keys.moved_by;
    let moved = keys.servers.iter().find(|(name, _)| *name == variable);
    let (said_by, url) = match moved {
        Some((_, url)) => (SaidBy::User, url.reveal()),
        None => (SaidBy::Cli, cli.keys.upstream),
    };
    let bad = |BadUpstream { why, .. }| BadServer { variable, why };
    Ok(Some(Endpoint {
        base_url: cli.keys.base_url,
        placeholder: key.placeholder,
        upstream: Upstream::parse(url).map_err(bad)?,
        said_by,
        header: key.header,
        value: Secret::new(format!("{}{}", key.prefix, secret.reveal())),
    }))
}
