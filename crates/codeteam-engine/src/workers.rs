//! Looks workers up by name: their dialect, their model, and the account they use.

pub mod parks;
pub mod prices;
pub mod probe;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use codeteam_core::Run;
use codeteam_core::event::{RunStarted, SandboxKind};
use codeteam_core::failure::{FailureCause, FailureFacts};
use codeteam_core::ids::{Account, WorkerName};
use codeteam_core::role::{EditMode, ExecutionOptions, ModelProvider, Role};

use crate::api_keys::ApiKeys;
use crate::config::Config;
use crate::dialect;
use crate::env::Env;
use crate::logins::{LoginFileStatus, Logins};
use crate::model_api::{ApiProtocol, SamplingOptions};
use crate::worker_clis::{DirectoryVariable, WorkerCli};

/// A worker with everything the configuration says about it.
///
/// A worker is found by its name: either an entry of `workers` in the configuration, or a dialect
/// of the same name with its defaults. The built-in worker additionally needs an API, which
/// [`Worker::with_protocol`] determines before it is used.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The name by which roles refer to it.
    pub name: WorkerName,
    /// The dialect that drives it.
    pub dialect: dialect::DialectName,
    /// Its model, unless the role names one.
    pub model: Option<String>,
    /// Its small and cheap model, for roles that ask for one.
    pub small_model: Option<String>,
    /// The account whose quota it uses.
    pub account: Account,
    /// The API it uses, where it supports several.
    pub protocol: Option<ApiProtocol>,
    /// The address of that API, if the user sets one.
    pub base_url: Option<String>,
    /// The variable that contains its key, if the user sets one.
    pub key: Option<String>,
    /// The folder of its login, if the user sets one.
    pub login: Option<PathBuf>,
    /// The options with which the built-in worker calls its model.
    pub sampling: SamplingOptions,
    program: Option<PathBuf>,
}

impl Worker {
    /// Returns true if a worker gets the schema of its answer separately from the prompt.
    pub(crate) fn takes_schema(config: &Config, name: &WorkerName) -> bool {
        let worker = Self::find(config, name);
        worker.is_some_and(|worker| worker.dialect.dialect().takes_schema())
    }

    /// Returns true if a worker has to be told to write the plan that its role asks for. In an answer
    /// with edits it has no tools before which it could plan.
    pub(crate) fn needs_to_plan(
        config: &Config,
        name: &WorkerName,
        means: &ExecutionOptions,
    ) -> bool {
        let worker = Self::find(config, name);
        means.use_planner
            && means.mode == EditMode::Tools
            && worker.is_some_and(|worker| !worker.dialect.dialect().plans_by_itself())
    }

    /// Returns the model that carries out a role: the one that the role names, its own small one if
    /// the role asks for that, or else its own.
    pub(crate) fn choose_model(
        &self,
        named: Option<&str>,
        means: &ExecutionOptions,
        keys: &ApiKeys,
    ) -> Option<String> {
        let small = || self.small_model(means, keys).filter(|_| means.small_model);
        let named = named.map(str::to_owned);
        named.or_else(small).or_else(|| self.model.clone())
    }

    /// Returns its small model: the configured one, or one that its provider always has. Another
    /// server may have other models.
    pub(crate) fn small_model(&self, means: &ExecutionOptions, keys: &ApiKeys) -> Option<String> {
        let is_moved =
            self.base_url.is_some() || self.cli().is_some_and(|cli| keys.has_server(cli));
        let is_provider =
            !is_moved && matches!(means.provider, None | Some(ModelProvider::Anthropic));
        let usual = self.dialect.dialect().small_model();
        let usual = usual.filter(|_| is_provider).map(str::to_owned);
        self.small_model.clone().or(usual)
    }

    /// Finds a worker by its name.
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
            small_model: said.small_model,
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

    /// Determines the API of the built-in worker: the configured one, or else one for which the
    /// user has a key or a server. Other workers are returned unchanged. Fails with what is
    /// missing.
    pub fn with_protocol(
        mut self,
        keys: &ApiKeys,
        model: Option<&str>,
    ) -> Result<Self, FailureFacts> {
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
            return Err(probe::unusable_program(FailureCause::Login, message));
        };
        let is_served = self.key.is_some()
            || self.base_url.is_some()
            || has_key(&protocol)
            || has_server(&protocol);
        if !is_served {
            let (api, variable) = (protocol.as_str(), protocol.key_variable());
            let message = format!(
                "there is no key for `{name}` to ask the {api} API with; set `{variable}`, or say \
                 `workers.{name}.base_url` in your own configuration"
            );
            return Err(probe::unusable_program(FailureCause::Login, message));
        }
        if model.is_none() {
            let message = format!(
                "`{name}` has no model to ask; say `workers.{name}.model` in the configuration, \
                 or `model` in the role"
            );
            return Err(probe::unusable_program(FailureCause::Model, message));
        }
        Ok(self)
    }

    /// Returns the names of all workers, those of the configuration first.
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

    /// Returns the CLI that it is, or whose keys it uses.
    pub fn cli(&self) -> Option<&'static WorkerCli> {
        match self.dialect {
            dialect::DialectName::Builtin => self.protocol.map(ApiProtocol::cli),
            other => WorkerCli::find(other.as_str()),
        }
    }

    /// Returns the program to start.
    pub fn program(&self) -> OsString {
        let needs = self.dialect.dialect().requirements();
        match (&self.program, needs) {
            (Some(path), _) => path.clone().into(),
            (None, Some(needs)) => needs.program.into(),
            (None, None) => OsString::new(),
        }
    }
}

/// Returns the worker to use if none is named: the first CLI that is installed and has a login or a
/// key, or else the first that is installed, which will report what it lacks.
pub(crate) fn default_worker(config: &Config, env: &Env) -> Option<WorkerName> {
    let logins = Logins::for_user(env);
    let installed: Vec<Worker> = dialect::DialectName::ALL
        .into_iter()
        .filter(|name| name.dialect().requirements().is_some())
        .filter_map(|name| Worker::find(config, &name.as_str().into()))
        .filter(|worker| is_installed(config, env, worker))
        .collect();
    let is_ready = |worker: &&Worker| {
        worker.cli().is_some_and(|cli| {
            let standing = logins.file_status(cli, worker.login.as_deref());
            env.keys.has_any(cli) || matches!(standing, Ok(LoginFileStatus::Usable { .. }))
        })
    };
    let ready = installed.iter().find(is_ready);
    ready
        .or(installed.first())
        .map(|worker| worker.name.clone())
}

/// Returns true if a worker's program is installed. In an image this cannot be checked here, so it
/// is assumed.
pub fn is_installed(config: &Config, env: &Env, worker: &Worker) -> bool {
    let is_elsewhere = config.sandbox.backend == Some(SandboxKind::Container);
    let needs_one = worker.dialect.dialect().requirements().is_some();
    is_elsewhere
        || !needs_one
        || codeteam_host::process::find_program(worker.program().as_ref(), &env.path).is_some()
}

/// Returns true if the first worker of a role uses one of Anthropic's models.
pub(crate) fn speaks_claude(config: &Config, role: &Role) -> bool {
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

/// Returns true if a role that names no model is carried out with its first worker's small one.
pub(crate) fn uses_small_model(config: &Config, role: &Role, keys: &ApiKeys) -> bool {
    let first = role
        .workers
        .first()
        .and_then(|name| Worker::find(config, name));
    let small = first.and_then(|worker| worker.small_model(&role.means, keys));
    role.means.small_model && small.is_some()
}

/// Returns true if an account of a run is used with a model. A script has no quota: a limit that it
/// reports applies to its own run, and a repository's script cannot park one of the user's
/// accounts.
pub(crate) fn has_quota(config: &Config, run: &Run, account: &Account) -> bool {
    let mut workers = run.roles.values().flat_map(|role| &role.workers);
    workers.any(|name| {
        let worker = Worker::find(config, name);
        worker.is_some_and(|worker| {
            worker.dialect != dialect::DialectName::Scripted && run.worker_account(name) == *account
        })
    })
}

/// Returns the accounts of the workers of these roles.
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

/// Returns warnings for a person who limits money or tokens: the workers whose usage cannot be
/// counted, or not while they work.
pub(crate) fn usage_warnings(config: &Config, keys: &ApiKeys, started: &RunStarted) -> Vec<String> {
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
                .as_deref()
                .filter(|_| role.workers.first() == Some(name));
            let model = worker.choose_model(own, &role.means, keys);
            let tells_late = matches!(
                worker.dialect,
                dialect::DialectName::Codex | dialect::DialectName::Gemini
            );
            let tells_cost = matches!(
                worker.dialect,
                dialect::DialectName::Claude | dialect::DialectName::Scripted
            );
            let is_priced = prices::find_price(model.as_deref(), &config.prices).is_some();
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

/// Returns instructions for giving a worker a login or a key.
pub(crate) fn login_instructions(cli: &WorkerCli, worker: &Worker) -> String {
    let needs = worker.dialect.dialect().requirements();
    let known = cli.keys.keys.iter().map(|key| key.variable);
    let known: Vec<&str> = known.filter(|name| name.ends_with("_API_KEY")).collect();
    let known = known.join("` or `");
    let key = worker.key.as_deref().unwrap_or(&known);
    let Some(needs) = needs else {
        return format!("set `{key}`");
    };
    let place = worker
        .login
        .as_deref()
        .and_then(|login| match cli.moved_by {
            DirectoryVariable::Directory(name) => Some(format!("{name}={} ", login.display())),
            DirectoryVariable::Home(name) => {
                let home = login.ends_with(cli.directory).then(|| login.parent())??;
                Some(format!("{name}={} ", home.display()))
            }
        });
    let place = place.unwrap_or_default();
    format!("log in with `{place}{}`, or set `{key}`", needs.login)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The model with which a worker carries out a role with these options.
    fn model(
        config: &str,
        worker: &str,
        means: &str,
        environment: &[(&str, &str)],
    ) -> Option<String> {
        let config: Config = serde_json::from_str(config).unwrap();
        let means: ExecutionOptions = serde_json::from_str(means).unwrap();
        let keys = ApiKeys::from_env(
            environment
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let worker = Worker::find(&config, &worker.into()).unwrap();
        worker.choose_model(None, &means, &keys)
    }

    #[test]
    fn a_role_can_ask_for_the_small_model_of_its_worker() {
        let small = r#"{ "small_model": true }"#;
        let asked = |config: &str, worker: &str| model(config, worker, small, &[]);
        assert_eq!(asked("{}", "claude").as_deref(), Some("haiku"));
        assert_eq!(asked("{}", "gemini").as_deref(), Some("gemini-2.5-flash"));
        assert_eq!(asked("{}", "codex"), None);
        let own = r#"{ "workers": {
            "claude": { "model": "opus" },
            "codex": { "model": "large", "small_model": "mini" },
            "mine": { "dialect": "claude", "model": "large", "base_url": "http://127.0.0.1:1" },
            "builtin": { "model": "large" }
        } }"#;
        assert_eq!(asked(own, "claude").as_deref(), Some("haiku"));
        assert_eq!(asked(own, "codex").as_deref(), Some("mini"));
        // Another server need not have the provider's models.
        assert_eq!(asked(own, "mine").as_deref(), Some("large"));
        assert_eq!(asked(own, "builtin").as_deref(), Some("large"));
        let moved = [("ANTHROPIC_BASE_URL", "https://models.example.org")];
        assert_eq!(model(own, "claude", small, &moved).as_deref(), Some("opus"));
        let cloud = r#"{ "small_model": true, "provider": "bedrock" }"#;
        assert_eq!(model("{}", "claude", cloud, &[]), None);
        // Nobody else gets it.
        assert_eq!(model(own, "claude", "{}", &[]).as_deref(), Some("opus"));
        let config: Config = serde_json::from_str(own).unwrap();
        let worker = Worker::find(&config, &"claude".into()).unwrap();
        let means = serde_json::from_str(small).unwrap();
        let named = worker.choose_model(Some("sonnet"), &means, &ApiKeys::default());
        assert_eq!(named.as_deref(), Some("sonnet"));
    }
}
