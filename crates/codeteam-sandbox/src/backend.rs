//! The backend that confines commands on this host, and the shim it starts.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cgroup::{Cgroup, CgroupHierarchy, EnforceableLimits};
use crate::container::{ContainerBackend, sweep};
use crate::policy::SandboxPolicy;
use crate::shim::BUILD;
use crate::spec::{self, ShimSpec};

/// The program and arguments that run [`shim::main`](crate::shim::main).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shim {
    /// The path of the program; usually the running one.
    pub program: PathBuf,
    /// The first arguments; `shim::main` gets the ones that follow.
    pub entry: Vec<String>,
}

/// The name of the separate shim program, installed next to codeteam's own.
const ALONE: &str = "codeteam-shim";

impl Shim {
    /// Uses a program that is nothing but the [shim](crate::shim::run_standalone).
    pub fn standalone(program: PathBuf) -> Self {
        let entry = vec![BUILD.to_owned()];
        Self { program, entry }
    }

    /// Returns the shim for the codeteam at this path: the small program next to it, if it exists
    /// and is of the same build, or else codeteam itself with the argument `entry`.
    pub fn for_codeteam(codeteam: &Path, entry: &str) -> Self {
        let beside = Self::standalone(codeteam.with_file_name(ALONE));
        if beside.exists() {
            return beside;
        }
        Self {
            program: codeteam.to_owned(),
            entry: vec![entry.to_owned()],
        }
    }

    /// Returns the arguments with which the shim turns into another program that does not outlive
    /// this process. The name and arguments of that program follow them.
    pub fn guard_arguments(&self) -> Vec<String> {
        let mut args = self.entry.clone();
        args.push(spec::GUARD.to_owned());
        args.push(std::process::id().to_string());
        args
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "only it can say of which build it is"
    )]
    fn exists(&self) -> bool {
        let asked = Command::new(&self.program)
            .args(&self.entry)
            .arg(spec::CHECK)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        asked.is_ok_and(|status| status.success())
    }
}

/// A way to confine commands that was tested and works: bubblewrap or containers.
///
/// [`probe`](crate::probe()) and [`probe_containers`](crate::probe::probe_containers) create it by
/// confining a trial command. After that, callers need not know which of the two it is.
/// [`SandboxBackend::confine`] turns a [`SandboxPolicy`] and a command into a [`ConfinedCommand`]:
/// it creates the cgroup (for bubblewrap; a container engine makes its own) and writes the
/// specification that the shim reads. It starts nothing; the caller spawns the result with a
/// [`Lifeline`](crate::Lifeline) as standard input.
///
/// ```ignore
/// let backend = probe(path, shim, scratch)?;
/// let confined = backend.confine(policy, &spec, program, &args)?;
/// let (lifeline, stdin) = Lifeline::new()?;
/// let child = Command::new(&confined.program).args(&confined.args).stdin(stdin).spawn()?;
/// let listeners = lifeline.receive_listeners(ports, timeout)?; // serve these, see `egress`
/// ```
#[derive(Debug, Clone)]
pub struct SandboxBackend {
    shim: Shim,
    means: BackendKind,
}

#[derive(Debug, Clone)]
enum BackendKind {
    Bubblewrap {
        bwrap: PathBuf,
        hierarchy: CgroupHierarchy,
    },
    Container(ContainerBackend),
}

impl SandboxBackend {
    pub(crate) fn bubblewrap(bwrap: PathBuf, shim: Shim, hierarchy: CgroupHierarchy) -> Self {
        let means = BackendKind::Bubblewrap { bwrap, hierarchy };
        Self { shim, means }
    }

    pub(crate) fn container(container: ContainerBackend, shim: Shim) -> Self {
        let means = BackendKind::Container(container);
        Self { shim, means }
    }

    /// Returns the path of bubblewrap, if that is the backend.
    pub fn bwrap_path(&self) -> Option<&Path> {
        match &self.means {
            BackendKind::Bubblewrap { bwrap, .. } => Some(bwrap),
            BackendKind::Container(_) => None,
        }
    }

    /// Returns the engine and image, if containers are the backend.
    pub fn container_backend(&self) -> Option<&ContainerBackend> {
        match &self.means {
            BackendKind::Bubblewrap { .. } => None,
            BackendKind::Container(container) => Some(container),
        }
    }

    /// Returns which limits apply to a command as a whole.
    pub fn enforceable_limits(&self) -> EnforceableLimits {
        match &self.means {
            BackendKind::Bubblewrap { hierarchy, .. } => hierarchy.enforceable_limits(),
            BackendKind::Container(container) => container.enforceable_limits(),
        }
    }

    /// Makes the start of a command in the next moments quicker, where there is something to prepare.
    /// It returns at once.
    pub fn expect_command(&self) {
        if let BackendKind::Bubblewrap { hierarchy, .. } = &self.means {
            hierarchy.expect_joining();
        }
    }

    /// Returns this backend without cgroups, for commands so short that joining one, which takes
    /// the kernel some ten milliseconds, is not worth it. Containers are not meant for such
    /// commands, and stay as they are.
    #[must_use]
    pub fn without_cgroups(mut self) -> Self {
        if let BackendKind::Bubblewrap { hierarchy, .. } = &mut self.means {
            *hierarchy = CgroupHierarchy::default();
        }
        self
    }

    /// Removes containers whose orchestrator no longer exists, and returns how many there were.
    /// Bubblewrap leaves nothing behind but an empty cgroup, which the next probe removes.
    pub fn remove_stale(&self) -> io::Result<usize> {
        match &self.means {
            BackendKind::Bubblewrap { .. } => Ok(0),
            BackendKind::Container(container) => sweep::remove_stale(&container.engine),
        }
    }

    /// Prepares to run a command under a policy. The specification for the shim is written to
    /// `spec`, a path that must not exist, in a directory that no confined command can see.
    pub fn confine(
        &self,
        policy: SandboxPolicy,
        spec: &Path,
        program: &OsStr,
        args: &[OsString],
    ) -> io::Result<ConfinedCommand> {
        let (means, cgroup) = match &self.means {
            BackendKind::Bubblewrap { bwrap, hierarchy } => {
                let cgroup = hierarchy.create(&policy.limits)?;
                let means = spec::SpecBackend::Bubblewrap {
                    bwrap: bwrap.clone(),
                    cgroups: cgroup.membership_files(),
                };
                (means, Some(cgroup))
            }
            BackendKind::Container(container) => {
                (spec::SpecBackend::Container(container.clone()), None)
            }
        };
        let contents = ShimSpec {
            means,
            entry: self.shim.entry.clone(),
            policy,
        };
        contents.write(spec)?;
        Ok(ConfinedCommand {
            program: self.shim.program.clone(),
            args: contents.arguments(spec, program, args),
            spec: spec.to_owned(),
            _cgroup: cgroup,
        })
    }
}

/// A command that is ready to run confined. Spawn it with a [`Lifeline`](crate::Lifeline) as
/// standard input and pipes (or nothing) as standard output and error. Keep it until the command
/// has ended, then drop it.
#[derive(Debug)]
pub struct ConfinedCommand {
    /// The program to spawn.
    pub program: PathBuf,
    /// The arguments, without the program.
    pub args: Vec<OsString>,
    spec: PathBuf,
    _cgroup: Option<Cgroup>,
}

impl Drop for ConfinedCommand {
    fn drop(&mut self) {
        // The shim has removed these, unless it never ran or was killed.
        let _ = fs::remove_file(&self.spec);
        let _ = fs::remove_dir_all(spec::handover_path(&self.spec));
    }
}
