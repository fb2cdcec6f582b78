//! Confines what the engine spawns, by the backend that a run has pinned.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use codeteam_sandbox::egress::Serving;
use codeteam_sandbox::{
    Access, Backend, Confined, Entry, Lifeline, Policy, Profile, Shim, Toolchains, probe, system,
};

pub use codeteam_sandbox::probe::Missing;
pub use codeteam_sandbox::shim;

use crate::config;
use crate::env::Env;
use crate::process::{CommandSpec, Error, Hold, Launch, Launcher, MARK, Network, mark_only};

/// The hidden subcommand that brings codeteam's own program into the sandbox's shim.
pub const SHIM: &str = "sandbox-shim";

/// How long a sandbox may take to come about, a container's image being loaded included.
const START: Duration = Duration::from_secs(60);

/// A backend that was found to work, and what every command sees of this host.
pub struct Confinement {
    backend: Backend,
    brief: Backend,
    base: Policy,
    specs: PathBuf,
    description: String,
}

impl Confinement {
    /// Finds bubblewrap and tries it. `specs` is a folder for small files that no confined command
    /// sees; what crashes have left there is removed.
    pub fn bubblewrap(
        env: &Env,
        sandbox: &config::Sandbox,
        codeteam: &Path,
        specs: &Path,
    ) -> Result<Self, Missing> {
        fs::create_dir_all(specs)?;
        sweep(specs);
        let shim = Shim {
            program: codeteam.to_owned(),
            entry: vec![SHIM.to_owned()],
        };
        let backend = probe(&env.path, shim, specs)?;
        let mut base = Policy::new(Profile::Executor, system::root(), sandbox.limits());
        if let Some(home) = &env.home {
            Toolchains::find(&env.path, home).add_to(&mut base);
        }
        for path in &sandbox.toolchains {
            let found = config::absolute(path, env.home.as_deref());
            if let Some(path) = found.filter(|path| path.exists()) {
                show_toolchain(&mut base, &path);
            }
        }
        let description = describe(&backend);
        Ok(Self {
            brief: backend.clone().without_cgroups(),
            backend,
            base,
            specs: specs.to_owned(),
            description,
        })
    }

    fn policy(&self, spec: &CommandSpec, profile: Profile) -> Policy {
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

impl Launcher for Confinement {
    fn launch(&self, spec: &CommandSpec, profile: Profile) -> Result<Launch, Error> {
        let failed = |source: std::io::Error| Error::Confine {
            program: spec.program.clone().into(),
            reason: source.to_string(),
        };
        let mut policy = self.policy(spec, profile);
        let network = match profile {
            Profile::Executor => None,
            Profile::Worker | Profile::Setup => spec.view.network.clone(),
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
            .confine(policy, &path, &spec.program, &spec.args)
            .map_err(failed)?;
        let (lifeline, stdin) = Lifeline::new().map_err(failed)?;
        Ok(Launch {
            program: confined.program.clone().into(),
            args: confined.args.clone(),
            env: mark_only(&spec.env),
            cwd: "/".into(),
            stdin,
            hold: Some(Box::new(Held {
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
struct Held {
    lifeline: Option<Lifeline>,
    was_ready: bool,
    network: Option<Network>,
    serving: Vec<Serving>,
    _confined: Confined,
}

impl Hold for Held {
    fn started(&mut self) -> io::Result<()> {
        let (Some(lifeline), Some(network)) = (&self.lifeline, &self.network) else {
            return Ok(());
        };
        let listeners = lifeline.listeners(1 + network.endpoints.len(), START)?;
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
fn show_toolchain(policy: &mut Policy, path: &Path) {
    policy.entries.push(Entry::Bind {
        source: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        target: path.to_owned(),
        access: Access::ReadOnly,
    });
    let bin = path.join("bin");
    let before = policy.env.get(OsStr::new("PATH")).cloned();
    let before = before.unwrap_or_default();
    let all = std::env::split_paths(&before);
    let joined = std::env::join_paths(std::iter::once(bin.clone()).chain(all));
    if let (true, Ok(joined)) = (bin.is_dir(), joined) {
        policy.set_env("PATH", joined);
    }
}

/// In one sentence, for people.
fn describe(backend: &Backend) -> String {
    let limited = backend.limited();
    let mut text = "confined by bubblewrap".to_owned();
    if !limited.memory {
        text.push_str(" (without a limit of memory: no cgroup can be had here)");
    }
    text
}

/// The name of a file that no other command of this user has.
fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

/// Removes the files of processes that are gone. One whose process id was given to another stays
/// until the next time.
fn sweep(specs: &Path) {
    let files = fs::read_dir(specs).into_iter().flatten().flatten();
    for file in files {
        let name = file.file_name();
        let owner = name.to_str().and_then(|name| name.split_once('-'));
        let is_left = owner.is_some_and(|(pid, _)| !Path::new("/proc").join(pid).exists());
        if is_left {
            let _ = fs::remove_file(file.path());
        }
    }
}
