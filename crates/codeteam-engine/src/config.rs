//! `.codeteam/config.yml`: what a project says about itself.

mod sandbox;
mod workers;

pub use self::sandbox::{Cache, CacheMode, Host, Sandbox, Setup, absolute};
pub use self::workers::{Price, Worker};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeteam_core::budget;
use codeteam_core::workflow::{Check, CheckKind};
use codeteam_core::yaml::{Problem, Problems};
use serde::Deserialize;

use crate::dialect::{McpServer, SUBMIT_SERVER};

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not valid.
    #[error(transparent)]
    Invalid(#[from] Problems),
}

/// A project's configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The version of the format.
    pub version: Option<f64>,
    /// The workflow a run follows.
    pub workflow: Option<String>,
    /// What carries out roles that name no worker.
    pub worker: Option<String>,
    /// The script of the scripted worker.
    pub script: Option<PathBuf>,
    /// What is verified.
    pub verification: Verification,
    /// What may be used up.
    pub limits: Limits,
    /// How branches are named.
    pub git: Git,
    /// How workers and gates are confined.
    pub sandbox: Sandbox,
    /// What makes a fresh worktree ready for work.
    pub setup: Option<Setup>,
    /// Workers by name.
    pub workers: BTreeMap<String, Worker>,
    /// What a million tokens cost, by the model's name or its beginning and `*`.
    pub prices: BTreeMap<String, Price>,
    /// MCP servers that roles may name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// What is taken out of what is kept and shown.
    pub redaction: Redaction,
}

/// What is taken out of what is kept and shown.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Redaction {
    /// What looks like a secret and is none, as regular expressions.
    pub allow: Vec<String>,
}

/// What is verified.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Verification {
    /// Commands that must exit with 0.
    pub commands: Vec<Command>,
    /// Whether they find what they have built for earlier trees of the same task. Quicker, and
    /// what a worker had its tests leave there is found too.
    pub keep_worktree: bool,
}

/// A command that must exit with 0.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Its name in reports; the command itself if it has none.
    #[serde(default)]
    pub name: String,
    /// The command, for `sh -c`.
    pub command: String,
    /// How long it may take.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// What may be used up by one run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// US dollars.
    pub max_cost_usd: Option<f64>,
    /// Tokens, read and written.
    pub max_tokens: Option<u64>,
    /// Attempts of workers.
    pub max_attempts: Option<u64>,
    /// Minutes from start to end.
    pub max_minutes: Option<u64>,
    /// Megabytes of worktrees and bodies.
    pub max_disk_mb: Option<u64>,
    /// US dollars for each task.
    pub max_task_cost_usd: Option<f64>,
    /// Tokens for each task.
    pub max_task_tokens: Option<u64>,
    /// Tasks of a plan.
    pub max_tasks: Option<usize>,
}

/// How branches are named.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Git {
    /// `{run}` stands for the run's id.
    pub branch_pattern: String,
}

impl Default for Git {
    fn default() -> Self {
        Self {
            branch_pattern: "codeteam/{run}".to_owned(),
        }
    }
}

/// What a user says for all projects, in `codeteam/config.yml` below the place for configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct User {
    /// How workers and gates are confined.
    sandbox: Sandbox,
    /// Workers by name.
    workers: BTreeMap<String, Worker>,
    /// What a million tokens cost.
    prices: BTreeMap<String, Price>,
    /// MCP servers that roles may name.
    mcp_servers: BTreeMap<String, McpServer>,
}

impl Config {
    /// Reads the project's configuration and the user's; a missing file is an empty one.
    pub fn load(folder: &Path, config_home: Option<&Path>) -> Result<Self, Error> {
        let mut config = match read(folder)? {
            Some((file, text)) => Self::parse(&file, &text)?,
            None => Self::default(),
        };
        let user = match config_home {
            Some(home) => read(&home.join("codeteam"))?,
            None => None,
        };
        let user: User = match user {
            Some((file, text)) => {
                let user: User = codeteam_core::yaml::parse(&file, &text)?;
                check(&file, &user.sandbox)?;
                user
            }
            None => User::default(),
        };
        config.sandbox = config.sandbox.over(user.sandbox);
        config.workers = workers::over(config.workers, user.workers);
        // What something costs the user, the user knows best.
        config.prices = over(user.prices, config.prices);
        config.mcp_servers = over(config.mcp_servers, user.mcp_servers);
        Ok(config)
    }

    fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let config: Self = codeteam_core::yaml::parse(file, text)?;
        check(file, &config.sandbox)?;
        if !config.sandbox.allow_files.is_empty() {
            let message = "`sandbox.allow_files` lets files of the repository configure a worker's CLI, so the repository cannot say it".to_owned();
            let hint = "put it into your own `~/.config/codeteam/config.yml`".to_owned();
            return Err(invalid(file, message, Some(hint)));
        }
        let hosts = config.sandbox.hosts.iter();
        let mut hosts = hosts.chain(&config.sandbox.registries);
        if let Some(host) = hosts.find(|host| host.private) {
            let message = format!(
                "`private` opens your own network to `{}`, so the repository cannot say it",
                host.host
            );
            let hint = "put it into your own `~/.config/codeteam/config.yml`".to_owned();
            return Err(invalid(file, message, Some(hint)));
        }
        if config.mcp_servers.contains_key(SUBMIT_SERVER) {
            let message = format!("`mcp_servers.{SUBMIT_SERVER}` is codeteam's own name");
            return Err(invalid(
                file,
                message,
                Some("choose another one".to_owned()),
            ));
        }
        for (name, worker) in &config.workers {
            if let Some(key) = worker.presumption() {
                let message = format!(
                    "`workers.{name}.{key}` decides where your keys and logins go, so the \
                     repository cannot say it"
                );
                let hint = "put it into your own `~/.config/codeteam/config.yml`".to_owned();
                return Err(invalid(file, message, Some(hint)));
            }
        }
        if !config.git.branch_pattern.contains("{run}") {
            let message = format!(
                "`git.branch_pattern` is `{}`, the same branch for every run",
                config.git.branch_pattern
            );
            let hint = "put `{run}` into it, such as `codeteam/{run}`".to_owned();
            return Err(invalid(file, message, Some(hint)));
        }
        Ok(config)
    }

    /// The checks of the project's own gate.
    pub fn checks(&self) -> Vec<Check> {
        let check = |c: &Command| Check {
            name: if c.name.is_empty() {
                c.command.clone()
            } else {
                c.name.clone()
            },
            what: CheckKind::Command(c.command.clone()),
            timeout_ms: c.timeout_seconds.unwrap_or(600).saturating_mul(1_000),
        };
        self.verification.commands.iter().map(check).collect()
    }
}

impl Limits {
    /// The limits of a run's budget.
    pub fn budget(&self) -> budget::Limits {
        budget::Limits {
            money_microusd: self.max_cost_usd.map(microusd),
            tokens: self.max_tokens,
            attempts: self.max_attempts,
            wall_ms: self.max_minutes.map(|m| m.saturating_mul(60_000)),
            disk_bytes: self.max_disk_mb.map(|mb| mb.saturating_mul(1 << 20)),
            task_money_microusd: self.max_task_cost_usd.map(microusd),
            task_tokens: self.max_task_tokens,
        }
    }
}

/// Some entries over others.
fn over<T>(above: BTreeMap<String, T>, mut below: BTreeMap<String, T>) -> BTreeMap<String, T> {
    below.extend(above);
    below
}

fn check(file: &str, sandbox: &Sandbox) -> Result<(), Error> {
    match sandbox.problem() {
        Some(message) => Err(invalid(file, format!("in `sandbox`: {message}"), None)),
        None => Ok(()),
    }
}

fn invalid(file: &str, message: String, hint: Option<String>) -> Error {
    let problem = Problem {
        line: 0,
        column: 0,
        message,
        hint,
    };
    Error::Invalid(Problems {
        file: file.to_owned(),
        problems: vec![problem],
    })
}

/// The configuration file of a folder, with its name.
fn read(folder: &Path) -> Result<Option<(String, String)>, Error> {
    for name in ["config.yml", "config.yaml"] {
        let path = folder.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok(Some((path.display().to_string(), text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Read { path, source }),
        }
    }
    Ok(None)
}

/// US dollars in millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to what fits"
)]
pub fn microusd(usd: f64) -> u64 {
    (usd.max(0.0) * 1e6).round().min(9e15) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_an_empty_one_and_a_wrong_key_has_a_line() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            Config::load(folder.path(), None)
                .unwrap()
                .checks()
                .is_empty()
        );
        std::fs::write(
            folder.path().join("config.yml"),
            "verification:\n  comands: []\n",
        )
        .unwrap();
        let error = Config::load(folder.path(), None).unwrap_err().to_string();
        assert!(
            error.contains("config.yml:2:") && error.contains("comands"),
            "{error}"
        );
    }

    #[test]
    fn commands_become_checks() {
        let folder = tempfile::tempdir().unwrap();
        let text = "verification:\n  commands:\n    - { name: Unit Tests, command: pytest }\n    - command: ruff check .\n";
        std::fs::write(folder.path().join("config.yaml"), text).unwrap();
        let checks = Config::load(folder.path(), None).unwrap().checks();
        assert_eq!(checks[0].name, "Unit Tests");
        assert_eq!(checks[1].name, "ruff check .");
    }
}
