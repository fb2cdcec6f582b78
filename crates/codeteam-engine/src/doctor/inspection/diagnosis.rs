//! The result of inspecting a worker, for programs (`--json`) and in words.

use std::path::PathBuf;

use codeteam_core::ids::{Account, WorkerName};
use serde::Serialize;

use crate::dialect;

/// The result of inspecting a worker. The names of the fields are part of the `--json` interface.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerDiagnosis {
    /// The name by which roles refer to it.
    pub name: WorkerName,
    /// The dialect that drives it.
    pub dialect: dialect::DialectName,
    /// The model that the configuration names for it.
    pub model: Option<String>,
    /// The account whose quota it uses.
    pub account: Account,
    /// The state of its program.
    pub program: ProgramDiagnosis,
    /// The state of its login.
    pub login: LoginDiagnosis,
    /// The state of its API.
    pub network: NetworkDiagnosis,
    /// Whether it can be given work, as far as this can be determined.
    pub usable: bool,
    /// The problems found.
    pub objections: Vec<String>,
    /// The remedies, in this order.
    pub remedies: Vec<String>,
}

/// The state of a worker's program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProgramDiagnosis {
    /// Whether it is installed.
    pub installed: bool,
    /// Its path, if it is on this host.
    pub path: Option<PathBuf>,
    /// Its version, if it was asked or is cached.
    pub version: Option<String>,
    /// Whether codeteam can drive it; `None` if it could not be asked.
    pub drivable: Option<bool>,
}

/// The state of a worker's login.
#[derive(Clone, Debug, Serialize)]
pub struct LoginDiagnosis {
    /// The kind of login.
    pub by: LoginKind,
    /// The variable, the file or the server.
    pub from: Option<String>,
    /// The state of the login.
    pub state: LoginState,
}

/// The kinds of logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginKind {
    /// A key in the environment.
    Key,
    /// The login of the CLI, in a file.
    File,
    /// A server of the user's that needs no key.
    Server,
    /// There is no login.
    Nothing,
    /// The worker needs no login.
    NotNeeded,
}

/// The state of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginState {
    /// It can be used.
    Usable,
    /// Its token has expired; the CLI renews it at the next use.
    Expired,
    /// It has ended: the user has to log in again.
    Ended,
    /// There is none.
    Missing,
}

/// The state of a worker's API.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NetworkDiagnosis {
    /// Its host, if the worker uses an API.
    pub host: Option<String>,
    /// Whether it was reached from inside the sandbox; `None` if that was not tried.
    pub reached: Option<bool>,
}

impl WorkerDiagnosis {
    /// Describes everything in one line.
    pub fn summary(&self) -> String {
        let mut words = vec![self.describe_program()];
        match (self.login.by, &self.login.from) {
            (LoginKind::NotNeeded | LoginKind::Nothing, _) => {}
            _ => words.push(self.describe_login()),
        }
        if let (Some(host), Some(true)) = (&self.network.host, self.network.reached) {
            words.push(format!("{host} is reached"));
        }
        words.retain(|words| !words.is_empty());
        words.extend(self.objections.iter().cloned());
        words.join("; ")
    }

    /// Describes the program: its version and its path.
    pub fn describe_program(&self) -> String {
        let own = self.dialect.dialect().requirements().is_none();
        match (&self.program.version, &self.program.path) {
            (Some(version), _) if own => format!("{version}, part of codeteam"),
            (Some(version), Some(path)) => format!("{version}, {}", path.display()),
            (Some(version), None) => format!("{version}, in the image"),
            (None, Some(path)) => path.display().to_string(),
            (None, None) => String::new(),
        }
    }

    /// Describes the login.
    pub fn describe_login(&self) -> String {
        let from = self.login.from.as_deref().unwrap_or_default();
        match (self.login.by, self.login.state) {
            (LoginKind::Key, _) => format!("key in `{from}`"),
            (LoginKind::Server, _) => format!("server {from}, without a key"),
            (LoginKind::File, LoginState::Expired) => {
                format!("login in {from}, to be renewed at its next use")
            }
            (LoginKind::File, LoginState::Ended) => format!("login in {from}, which has ended"),
            (LoginKind::File, _) => format!("login in {from}"),
            (LoginKind::Nothing, _) => "none".to_owned(),
            (LoginKind::NotNeeded, _) => "not needed".to_owned(),
        }
    }
}
