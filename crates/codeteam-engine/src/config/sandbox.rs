//! What the configuration says about confinement: `sandbox` and `setup`.

use std::path::{Path, PathBuf};

use codeteam_core::event::Sandbox as Backend;
use codeteam_sandbox::egress::{Allowed, BadEntry};
use codeteam_sandbox::policy::MIB;
use serde::Deserialize;

/// How workers and gates are confined: the name of a backend, or all of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Written")]
pub struct Sandbox {
    /// What confines, if it is said.
    pub backend: Option<Backend>,
    /// The image of the container backend, if not codeteam's own.
    pub image: Option<String>,
    /// What workers may reach besides their model.
    pub hosts: Vec<Host>,
    /// What the set-up command may reach.
    pub registries: Vec<Host>,
    /// Toolchains that are not found by themselves, shown read-only.
    pub toolchains: Vec<PathBuf>,
    /// Caches of the user's that commands see.
    pub caches: Vec<Cache>,
    /// Files of the repository that may configure a worker's CLI. Only in the user's own
    /// configuration: the repository cannot allow itself.
    pub allow_files: Vec<String>,
    /// How much a command may take.
    pub limits: Limits,
}

/// A host that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenHost")]
pub struct Host {
    /// `name` or `name:port`.
    pub host: String,
    /// Whether it may be in a private network.
    pub private: bool,
}

/// A cache of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Where it is. Below the user's home it appears at the same place of the private home.
    pub path: PathBuf,
    /// What may be done with it.
    #[serde(default)]
    pub mode: CacheMode,
}

/// What may be done with a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// Reading.
    #[default]
    ReadOnly,
    /// Anything, with a copy that the run has to itself.
    Copy,
}

/// How much a command may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Memory of all its processes, in megabytes.
    pub memory_mb: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// The largest file it may write, in megabytes.
    pub file_size_mb: Option<u64>,
    /// What fits into its private home and each other scratch folder, in megabytes.
    pub scratch_mb: Option<u64>,
}

/// What makes a fresh worktree ready for work.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The command, for `sh -c`.
    pub command: String,
    /// Files whose change makes it run again, as patterns.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// How long it may take.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Name(Backend),
    Full(Box<Full>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    #[serde(default)]
    backend: Option<Backend>,
    #[serde(default)]
    image: Option<String>,
    #[serde(default)]
    hosts: Vec<Host>,
    #[serde(default)]
    registries: Vec<Host>,
    #[serde(default)]
    toolchains: Vec<PathBuf>,
    #[serde(default)]
    caches: Vec<Cache>,
    #[serde(default)]
    allow_files: Vec<String>,
    #[serde(default)]
    limits: Limits,
}

impl From<Written> for Sandbox {
    fn from(written: Written) -> Self {
        match written {
            Written::Name(backend) => Self {
                backend: Some(backend),
                ..Self::default()
            },
            Written::Full(full) => Self {
                backend: full.backend,
                image: full.image,
                hosts: full.hosts,
                registries: full.registries,
                toolchains: full.toolchains,
                caches: full.caches,
                allow_files: full.allow_files,
                limits: full.limits,
            },
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenHost {
    Name(String),
    Full(FullHost),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FullHost {
    host: String,
    #[serde(default)]
    private: bool,
}

impl From<WrittenHost> for Host {
    fn from(written: WrittenHost) -> Self {
        let (host, private) = match written {
            WrittenHost::Name(host) => (host, false),
            WrittenHost::Full(full) => (full.host, full.private),
        };
        Self { host, private }
    }
}

impl Host {
    /// The rule for it.
    pub fn allowed(&self) -> Result<Allowed, BadEntry> {
        let allowed = Allowed::parse(&self.host)?;
        Ok(if self.private {
            allowed.private()
        } else {
            allowed
        })
    }
}

impl Sandbox {
    /// What is wrong with it, though its form is right.
    pub(super) fn problem(&self) -> Option<String> {
        let hosts = self.hosts.iter().chain(&self.registries);
        let mut bad = hosts.filter_map(|host| host.allowed().err());
        if let Some(error) = bad.next() {
            return Some(error.to_string());
        }
        let caches = self.caches.iter().map(|cache| &cache.path);
        let mut paths = self.toolchains.iter().chain(caches);
        let bad = paths.find(|path| !path.is_absolute() && !path.starts_with("~"))?;
        Some(format!(
            "`{}` is neither an absolute path nor begins with `~/`",
            bad.display()
        ))
    }

    /// What both say together: lists add up, and what the project says of the rest counts.
    #[must_use]
    pub fn over(self, user: Self) -> Self {
        let both = |mut first: Vec<Host>, second: Vec<Host>| {
            first.extend(second);
            first
        };
        Self {
            backend: self.backend.or(user.backend),
            image: self.image.or(user.image),
            hosts: both(user.hosts, self.hosts),
            registries: both(user.registries, self.registries),
            toolchains: [user.toolchains, self.toolchains].concat(),
            caches: [user.caches, self.caches].concat(),
            allow_files: user.allow_files,
            limits: self.limits.over(user.limits),
        }
    }

    /// The limits of one command.
    pub fn limits(&self) -> codeteam_sandbox::Limits {
        let usual = codeteam_sandbox::Limits::default();
        let bytes = |mb: Option<u64>, usual| mb.map_or(usual, |mb| mb.saturating_mul(MIB));
        codeteam_sandbox::Limits {
            memory: bytes(self.limits.memory_mb, usual.memory),
            processes: self.limits.processes.unwrap_or(usual.processes),
            file_size: bytes(self.limits.file_size_mb, usual.file_size),
            scratch: bytes(self.limits.scratch_mb, usual.scratch),
            ..usual
        }
    }
}

impl Limits {
    fn over(self, user: Self) -> Self {
        Self {
            memory_mb: self.memory_mb.or(user.memory_mb),
            processes: self.processes.or(user.processes),
            file_size_mb: self.file_size_mb.or(user.file_size_mb),
            scratch_mb: self.scratch_mb.or(user.scratch_mb),
        }
    }
}

/// A path of the configuration, in which `~` is the user's home. `None` if it is not absolute.
pub fn absolute(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let full = match path.strip_prefix("~") {
        Ok(rest) => home?.join(rest),
        Err(_) => path.to_owned(),
    };
    full.is_absolute().then_some(full)
}
