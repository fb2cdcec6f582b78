//! A worker as it was found, for programs (`--json`) and in words.

use std::path::PathBuf;

use codeteam_core::ids::{Account, WorkerName};
use serde::Serialize;

use crate::dialect;

/// A worker as it was found. The names of the fields are part of the interface: `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerDiagnosis {
    /// Its name.
    pub name: WorkerName,
    /// How it is spoken to.
    pub dialect: dialect::DialectName,
    /// The model that the configuration names for it.
    pub model: Option<String>,
    /// Whose quota it uses up.
    pub account: Account,
    /// Its program.
    pub program: ProgramDiagnosis,
    /// What it is logged in with.
    pub login: LoginDiagnosis,
    /// Its API.
    pub network: NetworkDiagnosis,
    /// Whether it can be given work, as far as can be seen.
    pub usable: bool,
    /// What is wrong with it.
    pub objections: Vec<String>,
    /// What to do about that, in this order.
    pub remedies: Vec<String>,
}

/// A worker's program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProgramDiagnosis {
    /// Whether it is there.
    pub installed: bool,
    /// Where, if it is on this host.
    pub path: Option<PathBuf>,
    /// Its version, if it was asked or is known.
    pub version: Option<String>,
    /// Whether codeteam can drive it; unknown if it could not be asked.
    pub drivable: Option<bool>,
}

/// What a worker is logged in with.
#[derive(Clone, Debug, Serialize)]
pub struct LoginDiagnosis {
    /// What it is.
    pub by: LoginKind,
    /// The variable, the file or the server.
    pub from: Option<String>,
    /// How it stands.
    pub state: LoginState,
}

/// What a login is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginKind {
    /// A key in the environment.
    Key,
    /// The login of the CLI, in a file.
    File,
    /// A server of the user's that needs no key.
    Server,
    /// Nothing.
    Nothing,
    /// It needs none.
    NotNeeded,
}

/// How a login stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginState {
    /// It can be used.
    Usable,
    /// Its token is out of date; the CLI renews it when it is next used.
    Expired,
    /// It has ended: one has to log in again.
    Ended,
    /// There is none.
    Missing,
}

/// A worker's API.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NetworkDiagnosis {
    /// Where it is, if the worker asks one.
    pub host: Option<String>,
    /// Whether it was reached from where workers are; unknown if it was not tried.
    pub reached: Option<bool>,
}

impl WorkerDiagnosis {
    /// All of it in one line.
    pub fn words(&self) -> String {
        let mut words = vec![self.program_words()];
        match (self.login.by, &self.login.from) {
            (LoginKind::NotNeeded | LoginKind::Nothing, _) => {}
            _ => words.push(self.login_words()),
        }
        if let (Some(host), Some(true)) = (&self.network.host, self.network.reached) {
            words.push(format!("{host} is reached"));
        }
        words.retain(|words| !words.is_empty());
        words.extend(self.objections.iter().cloned());
        words.join("; ")
    }

    /// Its program: the version, and where it is.
    pub fn program_words(&self) -> String {
        let own = self.dialect.dialect().needs().is_none();
        match (&self.program.version, &self.program.path) {
            (Some(version), _) if own => format!("{version}, part of codeteam"),
            (Some(version), Some(path)) => format!("{version}, {}", path.display()),
            (Some(version), None) => format!("{version}, in the image"),
            (None, Some(path)) => path.display().to_string(),
            (None, None) => String::new(),
        }
    }

    /// What it is logged in with.
    pub fn login_words(&self) -> String {
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
