//! What the configuration says about workers: `workers`, `prices`, `mcp_servers`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::dialect;
use crate::workers::Protocol;

/// A worker under a name of its own, or more about one that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Worker {
    /// How it is spoken to; its name if that is a dialect.
    pub dialect: Option<dialect::Name>,
    /// The model it asks.
    pub model: Option<String>,
    /// Whose quota it uses up; its name if it is not said.
    pub account: Option<String>,
    /// Which API the built-in worker speaks.
    pub protocol: Option<Protocol>,
    /// Where that API is. Only in the user's own configuration: keys are sent there.
    pub base_url: Option<String>,
    /// The variable of the user's environment that has its key. Only in the user's own.
    pub key: Option<String>,
    /// The program, if it is not found by its name. Only in the user's own.
    pub program: Option<PathBuf>,
    /// Where its login is, if not where the CLI keeps it. Only in the user's own.
    pub login: Option<PathBuf>,
}

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read and still known to the service; as much as `input` if it is not said.
    #[serde(default)]
    pub cached_input: Option<f64>,
}

impl Worker {
    /// What of it only the user may say, if the repository says it.
    pub(super) fn presumption(&self) -> Option<&'static str> {
        let said = [
            (self.base_url.is_some(), "base_url"),
            (self.key.is_some(), "key"),
            (self.program.is_some(), "program"),
            (self.login.is_some(), "login"),
        ];
        said.into_iter().find(|(is, _)| *is).map(|(_, name)| name)
    }

    /// The project's word over the user's. Whoever says where a key goes also says whose key it is:
    /// by another dialect or protocol another key would go there.
    fn over(self, below: Self) -> Self {
        let (dialect, protocol) = match below.presumption() {
            Some(_) => (below.dialect, below.protocol),
            None => (
                self.dialect.or(below.dialect),
                self.protocol.or(below.protocol),
            ),
        };
        Self {
            dialect,
            model: self.model.or(below.model),
            account: self.account.or(below.account),
            protocol,
            base_url: self.base_url.or(below.base_url),
            key: self.key.or(below.key),
            program: self.program.or(below.program),
            login: self.login.or(below.login),
        }
    }
}

/// The project's workers over the user's.
pub(super) fn over(
    project: BTreeMap<String, Worker>,
    mut user: BTreeMap<String, Worker>,
) -> BTreeMap<String, Worker> {
    for (name, worker) in project {
        let below = user.remove(&name).unwrap_or_default();
        user.insert(name, worker.over(below));
    }
    user
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> BTreeMap<String, Worker> {
        codeteam_core::yaml::parse("config.yml", text).unwrap()
    }

    #[test]
    fn a_repository_sends_no_other_key_to_a_server_of_the_users() {
        let user = || {
            read("local: { dialect: builtin, protocol: openai, base_url: 'http://a', model: m }")
        };
        let project = read("local: { dialect: claude, protocol: anthropic, model: n }");
        let local = over(project, user()).remove("local").unwrap();
        assert_eq!(local.dialect, Some(dialect::Name::Builtin));
        assert_eq!(local.protocol, Some(Protocol::Openai));
        assert_eq!(local.model.as_deref(), Some("n"));

        let project = read("builtin: { protocol: gemini }");
        let builtin = over(project, read("builtin: { protocol: openai }"));
        assert_eq!(builtin["builtin"].protocol, Some(Protocol::Gemini));
    }
}
