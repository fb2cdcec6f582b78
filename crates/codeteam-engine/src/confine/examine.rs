//! Looks from inside: what a profile really sees and reaches, for `codeteam doctor`.
//!
//! codeteam's own program is run confined and asked to look at paths and to knock at a door that
//! its other half has opened on the host.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_sandbox::MountAccess;
use serde::{Deserialize, Serialize};

use super::{Confinement, SandboxProfile};
use crate::git::NEEDED;
use crate::process::{
    self, CancelToken, CommandLimits, CommandSpec, Error, ExitReason, HostView, MARK,
    NetworkAccess, own_mark,
};

/// The hidden subcommand that looks.
const LOOK: &str = "sandbox-look";

/// What to look for.
#[derive(Debug, Clone)]
pub struct SandboxProbe {
    /// Paths of the host that are nobody's business.
    pub paths: Vec<PathBuf>,
    /// Where the host can be knocked at.
    pub door: SocketAddr,
}

/// What one look has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxObservation {
    /// Paths that are there after all.
    pub paths: Vec<PathBuf>,
    /// Whether the host was reached past the proxy.
    pub host: bool,
    /// Whether there is a proxy.
    pub proxy: bool,
}

/// What a profile was found to see.
#[derive(Debug, Clone)]
pub struct ProfileReport {
    /// The profile.
    pub profile: SandboxProfile,
    /// What it saw, or why it could not look.
    pub seen: Result<SandboxObservation, String>,
}

impl SandboxProbe {
    /// What the program that runs confined does.
    pub fn perform(self) -> SandboxObservation {
        let reaches =
            |address| TcpStream::connect_timeout(&address, Duration::from_secs(2)).is_ok();
        SandboxObservation {
            paths: self
                .paths
                .into_iter()
                .filter(|path| path.symlink_metadata().is_ok())
                .collect(),
            host: reaches(self.door),
            proxy: reaches(NetworkAccess::proxy()),
        }
    }
}

impl Confinement {
    /// The programs that were found outside the system's own places.
    pub fn toolchains(&self) -> &[PathBuf] {
        &self.toolchains.path
    }

    /// Programs of the user's `PATH` that commands are not shown, because of where they are.
    pub fn refused_toolchains(&self) -> impl Iterator<Item = &Path> {
        self.toolchains.refused.iter().map(PathBuf::as_path)
    }

    /// Runs codeteam in each profile and lets it look for these paths and for the host.
    pub fn examine(&self, paths: &[PathBuf]) -> Vec<ProfileReport> {
        // What is on the way to something that is shown is there, with nothing else in it.
        let is_on_the_way = |path: &PathBuf| {
            let mut shown = self.base.entries.iter();
            shown.any(|entry| entry.target().starts_with(path))
        };
        let paths = paths.iter().filter(|path| !is_on_the_way(path));
        let paths: &[PathBuf] = &paths.cloned().collect::<Vec<_>>();
        let profiles = [
            SandboxProfile::Worker,
            SandboxProfile::Executor,
            SandboxProfile::Setup,
        ];
        let look = |profile| ProfileReport {
            profile,
            seen: self.look(profile, paths),
        };
        profiles.map(look).into()
    }

    /// Where git is inside, or what is there instead.
    pub(super) fn find_git(&self) -> Result<PathBuf, String> {
        let script = "command -v git && git --version";
        let spec = CommandSpec {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: "/".into(),
            env: mark(),
            view: HostView::default(),
            disk: None,
            brief: true,
        };
        let (output, _) = self.run(SandboxProfile::Executor, &spec)?;
        let found = output.split_once('\n').and_then(|(path, version)| {
            let version = version.trim().strip_prefix("git version ")?;
            is_enough(version).then(|| PathBuf::from(path))
        });
        found.ok_or_else(|| output.trim().replace('\n', ", "))
    }

    fn look(
        &self,
        profile: SandboxProfile,
        paths: &[PathBuf],
    ) -> Result<SandboxObservation, String> {
        // Nothing is accepted: that it can be connected to says it all.
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|door| Ok((door.local_addr()?, door)))
            .map_err(|error| error.to_string())?;
        let (output, status) = self.run(profile, &self.looking(paths, door.0))?;
        if status != ExitReason::Exited(0) {
            return Err(output.trim().to_owned());
        }
        serde_json::from_str(&output).map_err(|error| error.to_string())
    }

    fn run(
        &self,
        profile: SandboxProfile,
        spec: &CommandSpec,
    ) -> Result<(String, ExitReason), String> {
        let mut output = String::new();
        let exit = process::run(
            self,
            profile,
            spec,
            &LIMITS,
            &CancelToken::new(),
            &mut |line| {
                output.push_str(&line.text);
                output.push('\n');
            },
        );
        let exit = exit.map_err(|error: Error| error.to_string())?;
        Ok((output, exit.status))
    }

    fn looking(&self, paths: &[PathBuf], door: SocketAddr) -> CommandSpec {
        let mut view = HostView::default();
        view.show(self.codeteam.clone(), MountAccess::ReadOnly);
        view.network = Some(NetworkAccess::default());
        let mut args = vec![LOOK.into(), "--door".into(), door.to_string().into()];
        args.extend(paths.iter().map(OsString::from));
        CommandSpec {
            program: self.codeteam.clone().into(),
            args,
            cwd: "/".into(),
            env: mark(),
            view,
            disk: None,
            brief: false,
        }
    }
}

fn mark() -> Vec<(OsString, OsString)> {
    vec![(MARK.into(), own_mark("probe").into())]
}

/// Whether a version, such as `2.47.3`, is not older than the one that is needed.
fn is_enough(version: &str) -> bool {
    let parts = |text: &str| -> Vec<u32> {
        text.split('.')
            .map_while(|part| part.parse().ok())
            .collect()
    };
    parts(version) >= parts(NEEDED)
}

const LIMITS: CommandLimits = CommandLimits {
    wall: Duration::from_mins(1),
    line_bytes: 64 << 10,
    total_bytes: 1 << 20,
    silence: None,
    grace: Duration::from_secs(1),
};
