//! Finds the podman and docker programs and starts them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::getuid;
use serde::{Deserialize, Serialize};

/// A program that starts containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerEngine {
    /// The kind of engine.
    pub kind: ContainerEngineKind,
    /// The path of the program.
    pub program: PathBuf,
    /// The low-level runtime, if it is not the engine's default.
    pub runtime: Option<String>,
    /// The `PATH` in which the engine looks for its own helpers.
    pub path: OsString,
}

/// The supported engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerEngineKind {
    /// Podman, which needs no daemon and no root.
    Podman,
    /// Docker.
    Docker,
}

impl ContainerEngineKind {
    /// Returns the name of the program, which is also the name of its package.
    pub fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

impl fmt::Display for ContainerEngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ContainerEngine {
    /// Returns the engines found in a `PATH`, the preferred one first.
    pub fn find(path: &OsStr) -> Vec<Self> {
        let engine = |kind: ContainerEngineKind| {
            find_program(path, kind.name()).map(|program| Self {
                kind,
                program,
                runtime: None,
                path: path.to_owned(),
            })
        };
        [ContainerEngineKind::Podman, ContainerEngineKind::Docker]
            .into_iter()
            .filter_map(engine)
            .collect()
    }

    /// Returns this engine with `runc` as its runtime, if it is podman and `runc` is installed:
    /// podman's own choice, `crun`, does not start everywhere.
    #[must_use]
    pub fn with_runc(&self) -> Option<Self> {
        let has_runc = find_program(&self.path, RUNC).is_some();
        (self.kind == ContainerEngineKind::Podman && has_runc).then(|| Self {
            runtime: Some(RUNC.to_owned()),
            ..self.clone()
        })
    }

    /// Creates a command to which a subcommand can be added. The engine gets only the variables of
    /// the caller's environment by which it finds its own storage, and the command inside gets
    /// none.
    #[expect(
        clippy::disallowed_methods,
        reason = "the engine is spawned by the shim, by the probe and to build an image"
    )]
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PATH", &self.path);
        if let Some(home) = env::home_dir() {
            command.env("HOME", home);
        }
        let runtime = PathBuf::from(format!("/run/user/{}", getuid().as_raw()));
        if runtime.is_dir() {
            let bus = runtime.join("bus");
            if bus.exists() {
                let address = format!("unix:path={}", bus.display());
                command.env("DBUS_SESSION_BUS_ADDRESS", address);
            }
            command.env("XDG_RUNTIME_DIR", runtime);
        }
        if let Some(runtime) = &self.runtime {
            command.args(["--runtime", runtime]);
        }
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run_command<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> io::Result<Output> {
        self.command().args(args).output()
    }
}

const RUNC: &str = "runc";

fn find_program(path: &OsStr, name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_absolute() && Path::is_file(path);
    let mut all = env::split_paths(path).map(|directory| directory.join(name));
    all.find(is_program)
}
