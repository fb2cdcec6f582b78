//! The way a command is confined on this host.

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

/// How the running program is brought into [`shim::main`](crate::shim::main).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shim {
    /// The program; usually the running one.
    pub program: PathBuf,
    /// Its first arguments; `shim::main` is given those that follow.
    pub entry: Vec<String>,
}

/// The program beside codeteam's own that is nothing but the shim.
const ALONE: &str = "codeteam-shim";

impl Shim {
    /// A program that is nothing but the [shim](crate::shim::program).
    pub fn alone(program: PathBuf) -> Self {
        let entry = vec![BUILD.to_owned()];
        Self { program, entry }
    }

    /// What the codeteam at this place uses: the small program beside it, if it
    /// is there and of the same build, or else itself by way of `entry`.
    pub fn of(codeteam: &Path, entry: &str) -> Self {
        let beside = Self::alone(codeteam.with_file_name(ALONE));
        if beside.is_there() {
            return beside;
        }
        Self {
            program: codeteam.to_owned(),
            entry: vec![entry.to_owned()],
        }
    }

    /// The arguments with which the shim becomes a program, whose name and
    /// arguments follow them, that does not outlive this process.
    pub fn guard(&self) -> Vec<String> {
        let mut args = self.entry.clone();
        args.push(spec::GUARD.to_owned());
        args.push(std::process::id().to_string());
        args
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "only it can say of which build it is"
    )]
    fn is_there(&self) -> bool {
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

/// Bubblewrap or containers, found to work by [`probe`](crate::probe()) or
/// [`container::probe`](crate::container::probe()). What follows is the same
/// for both.
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

    /// The bubblewrap that is used, if it is.
    pub fn bwrap(&self) -> Option<&Path> {
        match &self.means {
            BackendKind::Bubblewrap { bwrap, .. } => Some(bwrap),
            BackendKind::Container(_) => None,
        }
    }

    /// The engine and image that are used, if they are.
    pub fn containers(&self) -> Option<&ContainerBackend> {
        match &self.means {
            BackendKind::Bubblewrap { .. } => None,
            BackendKind::Container(container) => Some(container),
        }
    }

    /// What is limited for a command as a whole.
    pub fn limited(&self) -> EnforceableLimits {
        match &self.means {
            BackendKind::Bubblewrap { hierarchy, .. } => hierarchy.limits(),
            BackendKind::Container(container) => container.limited(),
        }
    }

    /// The same without cgroups, for commands so short that joining one, which
    /// takes the kernel some ten milliseconds, is not worth it. Containers are
    /// not made for such commands, and stay as they are.
    #[must_use]
    pub fn without_cgroups(mut self) -> Self {
        if let BackendKind::Bubblewrap { hierarchy, .. } = &mut self.means {
            *hierarchy = CgroupHierarchy::default();
        }
        self
    }

    /// Removes containers of orchestrators that are gone, and says how many
    /// there were. Of bubblewrap nothing is ever left but an empty cgroup, which
    /// is removed when the next one is probed.
    pub fn sweep(&self) -> io::Result<usize> {
        match &self.means {
            BackendKind::Bubblewrap { .. } => Ok(0),
            BackendKind::Container(container) => sweep::sweep(&container.engine),
        }
    }

    /// Prepares to run a command under a policy. What the shim has to know is
    /// written to `spec`, a path that must not exist, in a directory that no
    /// confined command sees.
    pub fn confine(
        &self,
        policy: SandboxPolicy,
        spec: &Path,
        program: &OsStr,
        args: &[OsString],
    ) -> io::Result<ConfinedCommand> {
        let (means, cgroup) = match &self.means {
            BackendKind::Bubblewrap { bwrap, hierarchy } => {
                let cgroup = hierarchy.make(&policy.limits)?;
                let means = spec::SpecBackend::Bubblewrap {
                    bwrap: bwrap.clone(),
                    cgroups: cgroup.join(),
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

/// A command that will run confined. To be spawned with a
/// [`Lifeline`](crate::Lifeline) as standard input and pipes (or nothing) as
/// standard output and error; kept until its end, and then dropped.
#[derive(Debug)]
pub struct ConfinedCommand {
    /// The program to spawn.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    spec: PathBuf,
    _cgroup: Option<Cgroup>,
}

impl Drop for ConfinedCommand {
    fn drop(&mut self) {
        // The shim has removed them, unless it never ran or was killed.
        let _ = fs::remove_file(&self.spec);
        let _ = fs::remove_dir_all(spec::room(&self.spec));
    }
}
