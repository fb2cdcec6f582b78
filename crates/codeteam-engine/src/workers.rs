//! Workers by name: how each is spoken to, with which model, on whose account.

pub mod knock;
pub mod look;
pub mod parks;
pub mod prices;
pub mod probe;
pub mod trial;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use codeteam_core::Run;
use codeteam_core::event::{RunStarted, SandboxKind};
use codeteam_core::failure::{FailureCause, FailureFacts};
use codeteam_core::ids::{Account, WorkerName};
use codeteam_core::role::Role;
use codeteam_sandbox::egress::ApiRoute;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::dialect;
use crate::env::Env;
use crate::logins::clis::{self, WorkerCli};
use crate::logins::keys::ApiKeys;
use crate::logins::{LoginFileStatus, Logins};

/// Which model API is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApiProtocol {
    /// Anthropic's Messages.
    Anthropic,
    /// `OpenAI`'s Chat Completions, which most local servers speak too.
    Openai,
    /// Gemini's `generateContent`.
    Gemini,
}

impl ApiProtocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::Openai, Self::Gemini];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
            Self::Gemini => "gemini",
        }
    }

    /// The variable that has its key.
    pub fn key(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Openai => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    /// All that the built-in worker asks of such an API, below the path of its address.
    pub(crate) fn route(self, path: &str) -> ApiRoute {
        let path = path.trim_end_matches('/');
        let path = match self {
            // People name local servers by host and port only.
            Self::Openai if path.is_empty() => "/v1/chat/completions".to_owned(),
            Self::Openai => format!("{path}/chat/completions"),
            Self::Anthropic => {
                format!("{}/v1/messages", path.strip_suffix("/v1").unwrap_or(path))
            }
            Self::Gemini if path.ends_with("/v1beta") || path.ends_with("/v1") => {
                format!("{path}/models/*:generateContent")
            }
            Self::Gemini => format!("{path}/v1beta/models/*:generateContent"),
        };
        ApiRoute::new("POST", path)
    }

    /// The CLI of the same provider: its keys and servers are the same.
    pub fn cli(self) -> &'static WorkerCli {
        match self {
            Self::Anthropic => &clis::CLAUDE,
            Self::Openai => &clis::CODEX,
            Self::Gemini => &clis::GEMINI,
        }
    }
}

/// A worker, with all the configuration says of it.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its name.
    pub name: WorkerName,
    /// How it is spoken to.
    pub dialect: dialect::DialectName,
    /// The model it asks, unless its role names one.
    pub model: Option<String>,
    /// Whose quota it uses up.
    pub account: Account,
    /// Which API it speaks, where it speaks several.
    pub protocol: Option<ApiProtocol>,
    /// Where that API is, if the user says.
    pub base_url: Option<String>,
    /// The variable that has its key, if the user says.
    pub key: Option<String>,
    /// Where its login is, if the user says.
    pub login: Option<PathBuf>,
    /// What the built-in worker is told of its model.
    pub sampling: SamplingOptions,
    program: Option<PathBuf>,
}

/// What the built-in worker is told of its model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SamplingOptions {
    /// How many tokens the model takes in.
    pub context_tokens: Option<u64>,
    /// How many it may write at once.
    pub max_tokens: Option<u32>,
    /// How freely it chooses among them.
    pub temperature: Option<f64>,
}

impl Worker {
    /// Whether a worker gets the schema of its answer besides the prompt.
    pub(crate) fn takes_schema(config: &Config, name: &WorkerName) -> bool {
        let worker = Self::find(config, name);
        worker.is_some_and(|worker| worker.dialect.dialect().takes_schema())
    }

    /// The worker of a name, if there is one.
    pub fn find(config: &Config, name: &WorkerName) -> Option<Self> {
        let said = config.workers.get(name.as_str());
        let said = said.cloned().unwrap_or_default();
        let dialect = said
            .dialect
            .or_else(|| dialect::DialectName::parse(name.as_str()))?;
        Some(Self {
            name: name.clone(),
            dialect,
            model: said.model,
            account: Account(said.account.unwrap_or_else(|| name.0.clone())),
            protocol: said.protocol,
            base_url: said.base_url,
            key: said.key,
            login: said.login,
            sampling: SamplingOptions {
                context_tokens: said.context_tokens,
                max_tokens: said.max_tokens,
                temperature: said.temperature,
            },
            program: said.program,
        })
    }

    /// The same with an API to speak: the one whose key the user has, if none is said. Only the
    /// built-in worker needs one. Says what is missing.
    pub fn speaking(mut self, keys: &ApiKeys, model: Option<&str>) -> Result<Self, FailureFacts> {
        if self.dialect != dialect::DialectName::Builtin {
            return Ok(self);
        }
        let name = &self.name;
        let has_key = |protocol: &ApiProtocol| keys.has_any(protocol.cli());
        let has_server = |protocol: &ApiProtocol| keys.has_server(protocol.cli());
        self.protocol = self
            .protocol
            .or_else(|| ApiProtocol::ALL.into_iter().find(has_key))
            .or_else(|| ApiProtocol::ALL.into_iter().find(has_server));
        let Some(protocol) = self.protocol else {
            let message = format!(
                "`{name}` has no API to ask; set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, \
                 `GEMINI_API_KEY` or `OPENAI_BASE_URL`, or say `workers.{name}.protocol` and \
                 `base_url` in your own configuration"
            );
            return Err(probe::unusable(FailureCause::Login, message));
        };
        let is_served = self.key.is_some()
            || self.base_url.is_some()
            || has_key(&protocol)
            || has_server(&protocol);
        if !is_served {
            let (api, variable) = (protocol.as_str(), protocol.key());
            let message = format!(
                "there is no key for `{name}` to ask the {api} API with; set `{variable}`, or say \
                 `workers.{name}.base_url` in your own configuration"
            );
            return Err(probe::unusable(FailureCause::Login, message));
        }
        if model.is_none() {
            let message = format!(
                "`{name}` has no model to ask; say `workers.{name}.model` in the configuration, \
                 or `model` in the role"
            );
            return Err(probe::unusable(FailureCause::Model, message));
        }
        Ok(self)
    }

    /// The names of all workers there are, those of the configuration first.
    pub fn names(config: &Config) -> Vec<String> {
        let mut names: Vec<String> = config.workers.keys().cloned().collect();
        for dialect in dialect::DialectName::ALL {
            let name = dialect.as_str();
            if !config.workers.contains_key(name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// The CLI it is, or whose keys it takes.
    pub fn cli(&self) -> Option<&'static WorkerCli> {
        match self.dialect {
            dialect::DialectName::Builtin => self.protocol.map(ApiProtocol::cli),
            other => WorkerCli::named(other.as_str()),
        }
    }

    /// The program to start.
    pub fn program(&self) -> OsString {
        let needs = self.dialect.dialect().needs();
        match (&self.program, needs) {
            (Some(path), _) => path.clone().into(),
            (None, Some(needs)) => needs.program.into(),
            (None, None) => OsString::new(),
        }
    }
}

/// Who works if nobody is named: the first CLI that is installed and has a login or a key; or else
/// the first that is installed, which will say what it lacks.
pub fn default(config: &Config, env: &Env) -> Option<WorkerName> {
    let logins = Logins::of(env);
    let installed: Vec<Worker> = dialect::DialectName::ALL
        .into_iter()
        .filter(|name| name.dialect().needs().is_some())
        .filter_map(|name| Worker::find(config, &name.as_str().into()))
        .filter(|worker| is_installed(config, env, worker))
        .collect();
    let is_ready = |worker: &&Worker| {
        worker.cli().is_some_and(|cli| {
            let standing = logins.standing(cli, worker.login.as_deref());
            env.keys.has_any(cli) || matches!(standing, Ok(LoginFileStatus::Usable { .. }))
        })
    };
    let ready = installed.iter().find(is_ready);
    ready
        .or(installed.first())
        .map(|worker| worker.name.clone())
}

/// Whether a worker's program is here. What an image has, only the image can tell.
pub fn is_installed(config: &Config, env: &Env, worker: &Worker) -> bool {
    let is_elsewhere = config.sandbox.backend == Some(SandboxKind::Container);
    let needs_one = worker.dialect.dialect().needs().is_some();
    is_elsewhere || !needs_one || probe::find(worker.program().as_ref(), &env.path).is_some()
}

/// Whether the first worker of a role asks one of Anthropic's models.
pub fn speaks_claude(config: &Config, role: &Role) -> bool {
    let first = role
        .workers
        .first()
        .and_then(|name| Worker::find(config, name));
    first.is_some_and(|worker| match worker.dialect {
        dialect::DialectName::Claude => true,
        dialect::DialectName::Builtin => worker.protocol == Some(ApiProtocol::Anthropic),
        _ => false,
    })
}

/// Whether an account of a run is one that a model is asked with. A script has no quota: what it
/// says of one is for its own run, and no repository's script parks an account of the user's.
pub fn has_quota(config: &Config, run: &Run, account: &Account) -> bool {
    let mut workers = run.roles.values().flat_map(|role| &role.workers);
    workers.any(|name| {
        let worker = Worker::find(config, name);
        worker.is_some_and(|worker| {
            worker.dialect != dialect::DialectName::Scripted && run.account(name) == *account
        })
    })
}

/// The accounts of the workers of roles.
pub fn accounts<'r>(
    config: &Config,
    roles: impl Iterator<Item = &'r Role>,
) -> BTreeMap<WorkerName, Account> {
    roles
        .flat_map(|role| &role.workers)
        .filter_map(|name| Worker::find(config, name))
        .map(|worker| (worker.name, worker.account))
        .collect()
}

/// What a person should know who limits money or tokens: whose use cannot be counted, or not while it
/// works.
pub fn uncounted(config: &Config, started: &RunStarted) -> Vec<String> {
    let limits = &started.limits;
    let limits_money = limits
        .money_microusd
        .or(limits.task_money_microusd)
        .is_some();
    let limits_tokens = limits.tokens.or(limits.task_tokens).is_some();
    if !limits_money && !limits_tokens {
        return Vec::new();
    }
    let mut notes = std::collections::BTreeSet::new();
    for role in started.roles.values() {
        for name in &role.workers {
            let Some(worker) = Worker::find(config, name) else {
                continue;
            };
            let own = role
                .model
                .clone()
                .filter(|_| role.workers.first() == Some(name));
            let model = own.or(worker.model);
            let tells_late = matches!(
                worker.dialect,
                dialect::DialectName::Codex | dialect::DialectName::Gemini
            );
            let tells_cost = matches!(
                worker.dialect,
                dialect::DialectName::Claude | dialect::DialectName::Scripted
            );
            let is_priced = prices::find(model.as_deref(), &config.prices).is_some();
            if limits_money && !tells_cost && !is_priced {
                let model = model.map_or_else(
                    || format!("the model of `{name}`"),
                    |model| format!("`{model}`"),
                );
                notes.insert(format!(
                    "what {model} costs is not known (`prices` in the configuration says it), so a \
                     limit of money does not count it"
                ));
            } else if tells_late {
                notes.insert(format!(
                    "`{name}` tells what it has used only when an attempt ends, so a limit of money \
                     or tokens does not end one"
                ));
            }
        }
    }
    notes.into_iter().collect()
}
