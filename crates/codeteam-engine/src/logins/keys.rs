//! Keys stay outside the sandbox: the CLI asks a loopback endpoint, which adds them.

use std::ffi::OsString;

use codeteam_sandbox::egress::Secret;

use super::clis::{BaseUrl, Cli};

/// The keys of the user's environment.
#[derive(Clone, Debug, Default)]
pub struct Keys(Vec<(&'static str, Secret)>);

/// What an endpoint for one CLI does, and how the CLI is led to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// How the CLI is told to ask the endpoint.
    pub base_url: BaseUrl,
    /// The variable in which the CLI needs some value; any will do.
    pub placeholder: &'static str,
    /// Where requests go: `https://host`, and maybe a path.
    pub upstream: &'static str,
    /// The header to set, in place of the CLI's own.
    pub header: &'static str,
    /// The whole value of that header.
    pub value: Secret,
}

impl Keys {
    /// Takes the keys that `variable` has. What could not stand in a header is not a key.
    pub fn from_env(variable: impl Fn(&str) -> Option<OsString>) -> Keys {
        let known = super::clis::ALL.iter().flat_map(|cli| cli.keys.keys);
        let found = known.filter_map(|key| {
            let value = variable(key.variable)?.into_string().ok()?;
            super::credentials::is_token(&value).then_some((key.variable, Secret::new(value)))
        });
        Keys(found.collect())
    }
}

/// How `cli` is given its key; `None` if there is none.
pub fn endpoint(cli: &Cli, keys: &Keys) -> Option<Endpoint> {
    cli.keys.keys.iter().find_map(|key| {
        let (_, secret) = keys.0.iter().find(|(name, _)| *name == key.variable)?;
        Some(Endpoint {
            base_url: cli.keys.base_url,
            placeholder: key.placeholder,
            upstream: cli.keys.upstream,
            header: key.header,
            value: Secret::new(format!("{}{}", key.prefix, secret.reveal())),
        })
    })
}
