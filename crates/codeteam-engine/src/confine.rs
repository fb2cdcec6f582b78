//! Confines what the engine spawns, by the backend that a run has pinned.

mod examine;
mod exposure;

pub use self::examine::{ProfileReport, SandboxObservation, SandboxProbe};
pub(crate) use self::exposure::credentials_in;
pub use self::exposure::private_paths;
pub use codeteam_sandbox::container::image;
pub use codeteam_sandbox::egress::{NameRoute, look_up};
pub use codeteam_sandbox::{SandboxProfile, shim};

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use codeteam_core::event::SandboxKind;
use codeteam_sandbox::container;
use codeteam_sandbox::egress::PortServer;
use codeteam_sandbox::{
    ConfinedCommand, Lifeline, MountAccess, MountEntry, SandboxBackend, SandboxPolicy, Shim,
    Toolchains, probe, system,
};

use crate::config;
use crate::env::Env;
use crate::git::NEEDED;
use crate::process::{
    CommandGuard, CommandLauncher, CommandSpec, Error, LaunchSpec, MARK, NetworkAccess,
    UnconfinedLauncher, mark_only,
};

/// The hidden subcommand that brings codeteam's own program into the sandbox's shim, where there is
/// no program beside it that is nothing else.
pub const SHIM: &str = "sandbox-shim";

/// How long a sandbox may take to come about, a container's image being loaded included.
const START: Duration = Duration::from_mins(1);

/// Why nothing can be confined, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ConfinementError {
    /// By bubblewrap.
    #[error(transparent)]
    Bubblewrap(#[from] probe::BubblewrapUnavailable),
    /// By containers.
    #[error(transparent)]
    Container(#[from] container::ContainersUnavailable),
    /// What a worker has done is looked at by bubblewrap's or the image's git.
    #[error(
        "what a worker has done cannot be looked at: the image `{image}` has no git of at least \
         version {NEEDED} ({found}), and there is no bubblewrap to do it with; install the package \
         `bubblewrap`, or a newer git into the image"
    )]
    Git {
        /// The image.
        image: String,
        /// What was found instead.
        found: String,
    },
    /// What is configured would show what nobody but the user may see.
    #[error(
        "workers and checks would see `{}`, and `{}` with it, which is only yours; {remedy}",
        shown.display(), private.display()
    )]
    Exposed {
        /// What is shown.
        shown: PathBuf,
        /// What would be seen with it.
        private: PathBuf,
        /// What to do about it.
        remedy: &'static str,
    },
    /// There is no room for small files.
    #[error("could not write to `{}`", path.display())]
    Specs {
        /// The folder for them.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What runs a command on the host, as the user would.
pub fn unconfined(env: &Env) -> UnconfinedLauncher {
    let mut variables = vec![("PATH".into(), env.path.clone())];
    let home = env.home.iter();
    variables.extend(home.map(|home| ("HOME".into(), home.clone().into())));
    UnconfinedLauncher { env: variables }
}

/// A backend that was found to work, and what every command sees of this host.
pub struct Confinement {
    backend: SandboxBackend,
    brief: SandboxBackend,
    base: SandboxPolicy,
    toolchains: Toolchains,
    specs: PathBuf,
    codeteam: PathBuf,
    description: String,
    git: GitLocation,
}

/// Where git looks at what a worker has done.
enum GitLocation {
    /// In the same kind of sandbox, with the host's own.
    Here,
    /// In a container, with the image's own at this place.
    Image(PathBuf),
    /// In a bubblewrap: it starts in a fraction of the time, and no image needs to have a git.
    Bubblewrap(Box<Confinement>),
}

impl Confinement {
    /// Finds a backend and tries it; `None` if none is wanted. `private` is what no confined command
    /// may see: see [`private_paths`]. `specs` is a folder for small files that no confined command
    /// sees; what crashes have left is removed.
    pub fn find(
        sandbox: SandboxKind,
        env: &Env,
        config: &config::SandboxConfig,
        private: &[PathBuf],
        codeteam: &Path,
        specs: &Path,
    ) -> Result<Option<Self>, ConfinementError> {
        let failed = |source| ConfinementError::Specs {
            path: specs.to_owned(),
            source,
        };
        fs::create_dir_all(specs).map_err(failed)?;
        sweep(specs);
        let shim = Shim::of(codeteam, SHIM);
        let mut toolchains = Toolchains::default();
        let backend = match (sandbox, &env.home) {
            (SandboxKind::None, _) => return Ok(None),
            (SandboxKind::Bubblewrap, home) => {
                if let Some(home) = home {
                    // Tools are in a home, and some keep them where configuration is.
                    let off_limits = private.iter().filter(|path| {
                        let around = [&env.home, &env.config_home].map(Option::as_deref);
                        !around
                            .into_iter()
                            .flatten()
                            .any(|folder| is_same(folder, path))
                    });
                    let off_limits: Vec<PathBuf> = off_limits.cloned().collect();
                    toolchains = Toolchains::find(&env.path, home, &off_limits);
                }
                probe(&env.path, shim, specs)?
            }
            // An image has toolchains of its own.
            (SandboxKind::Container, _) => {
                let image = config.image.as_deref().unwrap_or(image::NAME);
                container::probe(&env.path, &shim, image, specs)?
            }
        };
        // What is left of an earlier one keeps nobody from starting.
        let _ = backend.sweep();
        let mut base =
            SandboxPolicy::new(SandboxProfile::Executor, system::root(), config.limits());
        // In a container the image takes the system's place.
        if sandbox == SandboxKind::Bubblewrap {
            exposure::cover_in_system(&mut base, private);
            exposure::cover_credentials_in_system(&mut base, private);
        }
        toolchains.add_to(&mut base);
        for path in &config.toolchains {
            let found = config::absolute(path, env.home.as_deref());
            if let Some(path) = found.filter(|path| path.exists()) {
                show_toolchain(&mut base, &path);
            }
        }
        let system: &[MountEntry] = match sandbox {
            SandboxKind::Bubblewrap => &base.root,
            SandboxKind::Container | SandboxKind::None => &[],
        };
        exposure::check(system, &base.entries, private)?;
        exposure::check_caches(config, env, private)?;
        let mut found = Self {
            description: describe(&backend),
            brief: backend.clone().without_cgroups(),
            backend,
            base,
            toolchains,
            specs: specs.to_owned(),
            codeteam: codeteam.to_owned(),
            git: GitLocation::Here,
        };
        if let Some(container) = found.backend.containers() {
            let image = container.image.clone();
            found.git = match Self::find(
                SandboxKind::Bubblewrap,
                env,
                config,
                private,
                codeteam,
                specs,
            ) {
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

    /// The program to start inside. An image has its own git.
    fn program<'a>(&'a self, spec: &'a CommandSpec) -> &'a OsStr {
        let program = Path::new(&spec.program);
        match &self.git {
            GitLocation::Image(git) if program.is_absolute() && program.ends_with("git") => {
                git.as_os_str()
            }
            _ => &spec.program,
        }
    }

    fn policy(&self, spec: &CommandSpec, profile: SandboxProfile) -> SandboxPolicy {
        let mut policy = self.base.clone();
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
            network.add_to(&mut policy);
        }
        let path = self.specs.join(unique());
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
            env: mark_only(&spec.env),
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

    fn describe(&self) -> &str {
        &self.description
    }
}

/// What holds one command to life. The lifeline goes first.
struct ConfinementGuard {
    lifeline: Option<Lifeline>,
    was_ready: bool,
    network: Option<NetworkAccess>,
    serving: Vec<PortServer>,
    _confined: ConfinedCommand,
}

impl CommandGuard for ConfinementGuard {
    fn started(&mut self, patience: Duration, ends: &[BorrowedFd<'_>]) -> io::Result<()> {
        let (Some(lifeline), Some(network)) = (&self.lifeline, &self.network) else {
            return Ok(());
        };
        let count = 1 + network.endpoints.len();
        let listeners = lifeline.listeners_before(count, patience.min(START), ends)?;
        self.serving = network.serve(listeners)?;
        Ok(())
    }

    fn cut(&mut self) {
        self.was_confined();
        self.lifeline = None;
        self.serving.clear();
    }

    fn was_confined(&mut self) -> bool {
        self.was_ready |= self.lifeline.as_ref().is_some_and(Lifeline::was_ready);
        self.was_ready
    }
}

/// Shows a toolchain at its own place; its programs are found if it has a `bin`.
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

/// Whether both are one folder; the second has no links in it.
fn is_same(folder: &Path, plain: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder == plain)
}

/// In one sentence, for people.
fn describe(backend: &SandboxBackend) -> String {
    let by = match backend.containers() {
        Some(container) => format!("{} (image {})", container.engine.kind, container.image),
        None => "bubblewrap".to_owned(),
    };
    let limited = backend.limited();
    // What is not root's is limited without a cgroup too.
    let processes = limited.processes || !rustix::process::geteuid().is_root();
    let without = match (limited.memory, processes) {
        (true, true) => "",
        (false, true) => ", without a limit of memory",
        (true, false) => ", without a limit of processes",
        (false, false) => ", without limits of memory and of processes together",
    };
    format!("confined by {by}{without}")
}

/// The name of a file that no other command of this user has.
fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

/// Removes what processes that are gone have left. What belongs to one whose process id was given
/// to another stays until the next time.
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
