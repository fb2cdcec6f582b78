//! Confines what the engine spawns, with the sandbox backend that the run has pinned.
//!
//! [`Confinement`] implements [`CommandLauncher`]: it turns each command into a bubblewrap or
//! container invocation. Everything a command may see is listed in a policy; `exposure` checks that
//! policy for private paths before anything starts, and `examine` lets `codeteam doctor` test from
//! inside what a sandbox really shows.

mod examine;
mod exposure;

pub use self::examine::{ProfileReport, SandboxObservation, SandboxProbe};
pub use self::exposure::credentials_in;
pub use codeteam_sandbox::container::image;
pub use codeteam_sandbox::egress::{NameRoute, look_up_name};
pub use codeteam_sandbox::{SandboxProfile, shim};

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use codeteam_core::event::SandboxKind;
use codeteam_sandbox::egress::PortServer;
use codeteam_sandbox::policy::UID;
use codeteam_sandbox::{
    ConfinedCommand, Lifeline, MountAccess, MountEntry, SandboxBackend, SandboxLimits,
    SandboxPolicy, Shim, Toolchains, probe, system,
};

use crate::git::NEEDED;
use crate::process::{
    CommandGuard, CommandLauncher, CommandSpec, Error, LaunchSpec, MARK, NetworkAccess, SHIM,
    keep_mark,
};

/// How long a sandbox may take to start, including loading a container image.
const START: Duration = Duration::from_mins(1);

/// The reason nothing can be confined, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ConfinementError {
    /// Bubblewrap does not work here.
    #[error(transparent)]
    Bubblewrap(#[from] probe::BubblewrapUnavailable),
    /// Containers do not work here.
    #[error(transparent)]
    Container(#[from] probe::ContainersUnavailable),
    /// There is no git to inspect a worker's changes with: neither bubblewrap nor the image
    /// provides a suitable one.
    #[error(
        "what a worker has done cannot be looked at: the image `{image}` has no git of at least \
         version {NEEDED} ({found}), and there is no bubblewrap to do it with; install the package \
         `bubblewrap`, or a newer git into the image"
    )]
    Git {
        /// The name of the image.
        image: String,
        /// The git that was found in it instead, if any.
        found: String,
    },
    /// The configuration would show something that only the user may see.
    #[error(
        "workers and checks would see `{}`, and `{}` with it, which is only yours; {remedy}",
        shown.display(), private.display()
    )]
    Exposed {
        /// The folder that is shown.
        shown: PathBuf,
        /// The private path that would be visible with it.
        private: PathBuf,
        /// The advice to the user.
        remedy: &'static str,
    },
    /// The folder for the sandbox's small files could not be written.
    #[error("could not write to `{}`", path.display())]
    Specs {
        /// The folder for them.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The parts of the user's environment and configuration that decide what a confined command sees.
#[derive(Debug)]
pub struct ConfinementSettings<'a> {
    /// The user's `PATH`, in which programs are looked up.
    pub path: &'a OsStr,
    /// The user's home directory.
    pub home: Option<&'a Path>,
    /// The user's configuration folder: `.config` in the home directory unless it was moved.
    pub config_home: Option<&'a Path>,
    /// The container image, if it is not the default one.
    pub image: Option<&'a str>,
    /// The resource limits of one command.
    pub limits: SandboxLimits,
    /// Further folders to show to every command, as absolute paths. The `bin` of each is added to
    /// `PATH`.
    pub toolchains: Vec<PathBuf>,
    /// Caches that set-up commands may use, as absolute paths.
    pub caches: Vec<PathBuf>,
    /// Paths that no confined command may see.
    pub private: Vec<PathBuf>,
    /// The path of codeteam's own program, which the sandbox starts as its shim.
    pub codeteam: &'a Path,
    /// A folder for small files that no confined command can see. Files left there by crashed
    /// processes are removed.
    pub specs: &'a Path,
}

/// A sandbox backend that was tested and works, with the policy that every command shares.
///
/// [`Confinement::find`] looks for the backend, tries it, collects the toolchains and refuses a
/// configuration that would expose private paths; nothing is spawned unconfined as a fallback.
/// After that, [`launch`](CommandLauncher::launch) copies the shared policy for each command, adds
/// the command's own [`HostView`](crate::process::HostView) and environment, and wraps the command
/// in the backend's invocation.
///
/// Commands marked as brief skip the cgroup. If the backend is a container, brief commands run in
/// bubblewrap where that is available, because it starts in a fraction of the time.
pub struct Confinement {
    backend: SandboxBackend,
    brief: SandboxBackend,
    base: SandboxPolicy,
    /// The policy without toolchains, of which there may be many folders: for brief commands that
    /// are part of the system.
    system: SandboxPolicy,
    toolchains: Toolchains,
    specs: PathBuf,
    codeteam: PathBuf,
    description: String,
    git: GitLocation,
}

/// Where git runs when it inspects a worker's changes.
enum GitLocation {
    /// In the same kind of sandbox, with the host's own git.
    Here,
    /// In a container, with the image's git at this path.
    Image(PathBuf),
    /// In bubblewrap: it starts in a fraction of the time, and the image needs no git.
    Bubblewrap(Box<Confinement>),
}

impl Confinement {
    /// Finds a backend and tries it. Returns `None` if no sandbox is wanted.
    pub fn find(
        sandbox: SandboxKind,
        settings: &ConfinementSettings<'_>,
    ) -> Result<Option<Self>, ConfinementError> {
        let ConfinementSettings { specs, private, .. } = settings;
        let failed = |source| ConfinementError::Specs {
            path: specs.to_path_buf(),
            source,
        };
        fs::create_dir_all(specs).map_err(failed)?;
        sweep(specs);
        let shim = Shim::for_codeteam(settings.codeteam, SHIM);
        let mut toolchains = Toolchains::default();
        let backend = match (sandbox, settings.home) {
            (SandboxKind::None, _) => return Ok(None),
            (SandboxKind::Bubblewrap, home) => {
                if let Some(home) = home {
                    // Tools are installed in the home directory, and some live where configuration
                    // is kept.
                    let off_limits = private.iter().filter(|path| {
                        let around = [settings.home, settings.config_home];
                        !around
                            .into_iter()
                            .flatten()
                            .any(|folder| is_same(folder, path))
                    });
                    let off_limits: Vec<PathBuf> = off_limits.cloned().collect();
                    toolchains = Toolchains::find(settings.path, home, &off_limits);
                }
                probe(settings.path, shim, specs)?
            }
            // An image has its own toolchains.
            (SandboxKind::Container, _) => {
                let image = settings.image.unwrap_or(image::NAME);
                probe::probe_containers(settings.path, &shim, image, specs)?
            }
        };
        // Leftovers of an earlier sandbox must not keep this one from starting.
        let _ = backend.remove_stale();
        let mut base = SandboxPolicy::new(
            SandboxProfile::Executor,
            system::root_entries(),
            settings.limits,
        );
        // In a container, the image takes the place of the host's system.
        if sandbox == SandboxKind::Bubblewrap {
            exposure::cover_in_system(&mut base, private);
            exposure::cover_credentials_in_system(&mut base, private);
        }
        let plain = base.clone();
        toolchains.apply_to_policy(&mut base);
        for path in settings.toolchains.iter().filter(|path| path.exists()) {
            show_toolchain(&mut base, path);
        }
        let system: &[MountEntry] = match sandbox {
            SandboxKind::Bubblewrap => &base.root,
            SandboxKind::Container | SandboxKind::None => &[],
        };
        exposure::check(system, &base.entries, private)?;
        exposure::check_caches(&settings.caches, private)?;
        let mut found = Self {
            description: describe(&backend),
            brief: backend.clone().without_cgroups(),
            backend,
            base,
            system: plain,
            toolchains,
            specs: specs.to_path_buf(),
            codeteam: settings.codeteam.to_owned(),
            git: GitLocation::Here,
        };
        if let Some(container) = found.backend.container_backend() {
            let image = container.image.clone();
            found.git = match Self::find(SandboxKind::Bubblewrap, settings) {
                Ok(Some(beside)) => GitLocation::Bubblewrap(Box::new(beside)),
                _ => GitLocation::Image(
                    found
                        .find_git()
                        .map_err(|found| ConfinementError::Git { image, found })?,
                ),
            };
        }
        Ok(Some(found))
    }

    /// Returns the program to start inside the sandbox. An image has its own git.
    fn program<'a>(&'a self, spec: &'a CommandSpec) -> &'a OsStr {
        let program = Path::new(&spec.program);
        match &self.git {
            GitLocation::Image(git) if program.is_absolute() && program.ends_with("git") => {
                git.as_os_str()
            }
            _ => &spec.program,
        }
    }

    /// Returns true if a command needs no toolchain: it is a program of the host's own system, or the
    /// shell with such programs.
    fn is_of_system(&self, spec: &CommandSpec) -> bool {
        let is_of_system = |program: &OsStr| {
            let program = Path::new(program);
            let real = program
                .canonicalize()
                .ok()
                .filter(|_| program.is_absolute());
            let mut shown = self.system.root.iter();
            real.is_some_and(|real| {
                shown.any(|entry| {
                    matches!(entry, MountEntry::Bind { target, .. } if real.starts_with(target))
                })
            })
        };
        let mut words = spec.args.iter();
        // What the script of a shell starts is its first absolute argument.
        let is_shell = spec.program == "/bin/sh";
        let started = words.find(|word| is_shell && word.as_bytes().starts_with(b"/"));
        is_of_system(&spec.program) && started.is_none_or(|program| is_of_system(program))
    }

    fn policy(&self, spec: &CommandSpec, profile: SandboxProfile) -> SandboxPolicy {
        let mut policy = if spec.brief && self.is_of_system(spec) {
            self.system.clone()
        } else {
            self.base.clone()
        };
        policy.profile = profile;
        policy.entries.extend(spec.view.entries.iter().cloned());
        policy.cwd.clone_from(&spec.cwd);
        for (name, value) in spec.env.iter().filter(|(name, _)| name != MARK) {
            policy.set_env(name, value);
        }
        policy
    }
}

impl CommandLauncher for Confinement {
    fn launch(&self, spec: &CommandSpec, profile: SandboxProfile) -> Result<LaunchSpec, Error> {
        if let (true, GitLocation::Bubblewrap(beside)) = (spec.brief, &self.git) {
            return beside.launch(spec, profile);
        }
        let failed = |source: io::Error| Error::Confine {
            program: spec.program.clone().into(),
            reason: source.to_string(),
        };
        let mut policy = self.policy(spec, profile);
        let network = match profile {
            SandboxProfile::Executor => None,
            SandboxProfile::Worker | SandboxProfile::Setup => spec.view.network.clone(),
        };
        if let Some(network) = &network {
            network.apply_to_policy(&mut policy);
        }
        let path = self.specs.join(unique_file_name());
        let backend = if spec.brief {
            &self.brief
        } else {
            &self.backend
        };
        let confined = backend
            .confine(policy, &path, self.program(spec), &spec.args)
            .map_err(failed)?;
        let (lifeline, stdin) = Lifeline::new().map_err(failed)?;
        Ok(LaunchSpec {
            program: confined.program.clone().into(),
            args: confined.args.clone(),
            env: keep_mark(&spec.env),
            cwd: "/".into(),
            stdin,
            hold: Some(Box::new(ConfinementGuard {
                lifeline: Some(lifeline),
                was_ready: false,
                network,
                serving: Vec::new(),
                _confined: confined,
            })),
        })
    }

    fn expect_launch(&self) {
        self.backend.expect_command();
    }

    fn describe(&self) -> &str {
        &self.description
    }

    fn file_owner(&self) -> Option<u32> {
        match self.git {
            GitLocation::Here | GitLocation::Bubblewrap(_) => Some(UID),
            GitLocation::Image(_) => None,
        }
    }
}

/// Keeps one confined command alive. Fields are dropped in order, so the lifeline goes first.
struct ConfinementGuard {
    lifeline: Option<Lifeline>,
    was_ready: bool,
    network: Option<NetworkAccess>,
    serving: Vec<PortServer>,
    _confined: ConfinedCommand,
}

impl CommandGuard for ConfinementGuard {
    fn on_spawned(&mut self, patience: Duration, ends: &[BorrowedFd<'_>]) -> io::Result<()> {
        let (Some(lifeline), Some(network)) = (&self.lifeline, &self.network) else {
            return Ok(());
        };
        let count = 1 + network.endpoints.len();
        let listeners = lifeline.receive_listeners_until(count, patience.min(START), ends)?;
        self.serving = network.serve(listeners)?;
        Ok(())
    }

    fn kill_command(&mut self) {
        self.was_confined();
        self.lifeline = None;
        self.serving.clear();
    }

    fn was_confined(&mut self) -> bool {
        self.was_ready |= self.lifeline.as_ref().is_some_and(Lifeline::was_ready);
        self.was_ready
    }
}

/// Shows a toolchain at its own path, and adds its `bin` to `PATH` if it has one.
fn show_toolchain(policy: &mut SandboxPolicy, path: &Path) {
    let source = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let covered = exposure::credentials_in(&source, path);
    policy.entries.push(MountEntry::Bind {
        source,
        target: path.to_owned(),
        access: MountAccess::ReadOnly,
    });
    policy.entries.extend(covered);
    let bin = path.join("bin");
    let before = policy.env.get(OsStr::new("PATH")).cloned();
    let before = before.unwrap_or_default();
    let all = std::env::split_paths(&before);
    let joined = std::env::join_paths(std::iter::once(bin.clone()).chain(all));
    if let (true, Ok(joined)) = (bin.is_dir(), joined) {
        policy.set_env("PATH", joined);
    }
}

/// Returns true if both are the same folder. `plain` must contain no links.
fn is_same(folder: &Path, plain: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder == plain)
}

/// Describes the confinement in one sentence, for people.
fn describe(backend: &SandboxBackend) -> String {
    let by = match backend.container_backend() {
        Some(container) => format!("{} (image {})", container.engine.kind, container.image),
        None => "bubblewrap".to_owned(),
    };
    let limited = backend.enforceable_limits();
    // For users other than root, the number of processes is limited without a cgroup too.
    let processes = limited.processes || !rustix::process::geteuid().is_root();
    let without = match (limited.memory, processes) {
        (true, true) => "",
        (false, true) => ", without a limit of memory",
        (true, false) => ", without a limit of processes",
        (false, false) => ", without limits of memory and of processes together",
    };
    format!("confined by {by}{without}")
}

/// Returns a file name that no other command of this user has.
fn unique_file_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

/// Removes files left by processes that no longer exist. If such a process's id is in use again,
/// its files stay until the next sweep.
fn sweep(specs: &Path) {
    let files = fs::read_dir(specs).into_iter().flatten().flatten();
    for file in files {
        let name = file.file_name();
        let owner = name.to_str().and_then(|name| name.split_once('-'));
        if owner.is_some_and(|(pid, _)| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_file(file.path());
            let _ = fs::remove_dir_all(file.path());
        }
    }
}
