//! Tests whether commands can be confined here, by confining one.

mod container;

pub use self::container::{ContainersUnavailable, probe_containers};

use std::borrow::BorrowMut;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::backend::{SandboxBackend, Shim};
use crate::cgroup::CgroupHierarchy;
use crate::lifeline::Lifeline;
use crate::policy::{SandboxLimits, SandboxPolicy, SandboxProfile};
use crate::system;

/// The reason bubblewrap cannot confine commands here, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum BubblewrapUnavailable {
    /// Bubblewrap is not installed.
    #[error("bubblewrap (`bwrap`) was not found; install the package `bubblewrap`")]
    NotInstalled,
    /// Bubblewrap lacks a required option.
    #[error(
        "`{}` has no option `{option}`; install version 0.10 or later of the package \
         `bubblewrap`, or your distribution's latest update of it", path.display()
    )]
    TooOld {
        /// The path of bubblewrap.
        path: PathBuf,
        /// The first option it does not support.
        option: &'static str,
    },
    /// The kernel has user namespaces disabled for this user.
    #[error(
        "user namespaces are switched off by `{setting} = {value}`; \
         an administrator can change it with `sysctl`"
    )]
    UserNamespaces {
        /// The name of the kernel setting.
        setting: &'static str,
        /// The current value of the setting.
        value: String,
    },
    /// Bubblewrap did not start, and no known setting explains it.
    #[error("bubblewrap could not confine a command: {reason}")]
    Failed {
        /// The error output.
        reason: String,
    },
    /// The test could not be run.
    #[error("could not try bubblewrap")]
    System(#[from] io::Error),
}

/// The options that bubblewrap must support. Old versions with security updates do.
const OPTIONS: &[&str] = &[
    "--ro-bind-fd",
    "--add-seccomp-fd",
    "--disable-userns",
    "--size",
];

/// The kernel settings that disable user namespaces, and the value that does so.
const SETTINGS: &[(&str, &str)] = &[
    ("user.max_user_namespaces", "0"),
    ("kernel.unprivileged_userns_clone", "0"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1"),
];

/// Looks for bubblewrap in a `PATH` and runs `true` in it, through the shim, with everything a
/// command gets. `scratch` is a directory for a small file.
pub fn probe(
    path: &OsStr,
    shim: Shim,
    scratch: &Path,
) -> Result<SandboxBackend, BubblewrapUnavailable> {
    let bwrap = env::split_paths(path)
        .map(|directory| directory.join("bwrap"))
        .find(|bwrap| bwrap.is_absolute() && bwrap.is_file())
        .ok_or(BubblewrapUnavailable::NotInstalled)?;
    let help = output(new_command(bwrap.as_os_str(), &["--help".into()]))?;
    let is_unknown = |option: &&&str| !help.text.contains(&format!("{option} "));
    if let Some(option) = OPTIONS.iter().find(is_unknown) {
        return Err(BubblewrapUnavailable::TooOld {
            path: bwrap,
            option,
        });
    }
    let backend = SandboxBackend::bubblewrap(bwrap, shim, CgroupHierarchy::detect());
    run_trial(&backend, scratch)?;
    Ok(backend)
}

fn run_trial(backend: &SandboxBackend, scratch: &Path) -> Result<(), BubblewrapUnavailable> {
    let policy = SandboxPolicy::new(
        SandboxProfile::Executor,
        system::root_entries(),
        SandboxLimits::default(),
    );
    let spec = scratch.join(format!("{}-probe", std::process::id()));
    let confined = backend.confine(policy, &spec, OsStr::new("true"), &[])?;
    let (lifeline, stdin) = Lifeline::new()?;
    let mut command = new_command(confined.program.as_os_str(), &confined.args);
    let tried = output(command.stdin(stdin))?;
    drop(lifeline);
    if tried.is_success {
        return Ok(());
    }
    Err(
        disabled_namespaces().unwrap_or(BubblewrapUnavailable::Failed {
            reason: tried.text.trim().to_owned(),
        }),
    )
}

/// Returns the setting that disables user namespaces for this user, if there is one. Only the first
/// applies to root.
fn disabled_namespaces() -> Option<BubblewrapUnavailable> {
    let is_root = rustix::process::geteuid().is_root();
    let count = if is_root { 1 } else { SETTINGS.len() };
    SETTINGS[..count].iter().find_map(|&(setting, off)| {
        let file = Path::new("/proc/sys").join(setting.replace('.', "/"));
        let value = fs::read_to_string(file).ok()?.trim().to_owned();
        (value == off).then_some(BubblewrapUnavailable::UserNamespaces { setting, value })
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "only trying it shows whether it works"
)]
fn new_command(program: &OsStr, args: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

struct ProbeOutput {
    is_success: bool,
    text: String,
}

fn output(mut command: impl BorrowMut<Command>) -> io::Result<ProbeOutput> {
    let output = command.borrow_mut().output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok(ProbeOutput {
        is_success: output.status.success(),
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}
