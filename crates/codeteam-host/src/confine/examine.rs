//! Tests from inside a sandbox what a profile really sees and reaches, for `codeteam doctor`.
//!
//! codeteam's own program runs confined, checks which paths exist, and tries to connect to a port
//! that its other half has opened on the host.

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
    NetworkAccess, unique_mark,
};

/// The hidden subcommand that runs the probe inside the sandbox.
const LOOK: &str = "sandbox-look";

/// The things to look for from inside a sandbox.
#[derive(Debug, Clone)]
pub struct SandboxProbe {
    /// Paths of the host that must not be visible.
    pub paths: Vec<PathBuf>,
    /// The address on the host to try to connect to.
    pub door: SocketAddr,
}

/// The result of one probe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxObservation {
    /// Paths that are visible although they should not be.
    pub paths: Vec<PathBuf>,
    /// Whether the host could be reached without the proxy.
    pub host: bool,
    /// Whether the proxy could be reached.
    pub proxy: bool,
}

/// The result of probing one profile.
#[derive(Debug, Clone)]
pub struct ProfileReport {
    /// The profile that was probed.
    pub profile: SandboxProfile,
    /// The observation, or the reason the probe could not run.
    pub seen: Result<SandboxObservation, String>,
}

impl SandboxProbe {
    /// Performs the probe. This runs inside the sandbox.
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
            proxy: reaches(NetworkAccess::proxy_address()),
        }
    }
}

impl Confinement {
    /// Returns the folders of programs that were found outside the system's own places.
    pub fn toolchains(&self) -> &[PathBuf] {
        &self.toolchains.path
    }

    /// Returns the folders of the user's `PATH` that are not shown to commands because of where
    /// they are.
    pub fn refused_toolchains(&self) -> impl Iterator<Item = &Path> {
        self.toolchains.refused.iter().map(PathBuf::as_path)
    }

    /// Runs codeteam in each profile and checks whether it can see these paths or reach the host.
    pub fn probe_profiles(&self, paths: &[PathBuf]) -> Vec<ProfileReport> {
        // A folder above something that is shown exists inside too, but contains nothing else.
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
            seen: self.probe_profile(profile, paths),
        };
        profiles.map(look).into()
    }

    /// Returns the path of git inside the sandbox, or a description of what is there instead.
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
            is_supported_git(version).then(|| PathBuf::from(path))
        });
        found.ok_or_else(|| output.trim().replace('\n', ", "))
    }

    fn probe_profile(
        &self,
        profile: SandboxProfile,
        paths: &[PathBuf],
    ) -> Result<SandboxObservation, String> {
        // Nothing is accepted: a connection that can be made is proof enough.
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|door| Ok((door.local_addr()?, door)))
            .map_err(|error| error.to_string())?;
        let (output, status) = self.run(profile, &self.probe_command(paths, door.0))?;
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
        let exit = process::run_command(
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

    fn probe_command(&self, paths: &[PathBuf], door: SocketAddr) -> CommandSpec {
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
    vec![(MARK.into(), unique_mark("probe").into())]
}

/// Returns true if a version, such as `2.47.3`, is at least the required one.
fn is_supported_git(version: &str) -> bool {
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
