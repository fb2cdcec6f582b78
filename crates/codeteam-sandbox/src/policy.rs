//! Describes what a confined command may see and use, as plain data.
//!
//! Nothing here touches the system. Order matters: a later entry lies on top of an earlier one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The name of the user inside.
pub const USER: &str = "agent";
/// The user and group id inside, whoever started the sandbox.
pub const UID: u32 = 1000;
/// The private home directory: empty, writable, removed afterwards.
pub const HOME: &str = "/home/agent";

/// The default `PATH`.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Everything that a command is given. Whatever is not listed here does not exist inside.
///
/// [`SandboxPolicy::new`] starts with a bottom layer, private scratch space and an environment of
/// only `HOME` and `PATH`. Callers then add to it with [`show`](SandboxPolicy::show),
/// [`hide`](SandboxPolicy::hide) and [`set_env`](SandboxPolicy::set_env). The order of entries
/// matters, because each lies on top of those before it: to hide a part of a folder, show the
/// folder first.
///
/// A policy is backend-neutral: [`bwrap`](crate::bwrap) and [`container`](crate::container) each
/// translate it to the options of their tool. With containers the image takes the place of `root`.
///
/// ```ignore
/// let mut policy = SandboxPolicy::new(SandboxProfile::Worker, system::root_entries(), limits);
/// policy.show(&work_tree, MountAccess::Writable);
/// policy.hide(&work_tree.join(".env"), PathKind::File);
/// policy.set_env("LANG", "C.UTF-8");
/// policy.cwd = work_tree;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// The kind of command, which decides what it may reach.
    pub profile: SandboxProfile,
    /// The bottom layer of the filesystem: what every command needs of this host. In a container,
    /// the image takes its place.
    pub root: Vec<MountEntry>,
    /// The entries on top of it, from the bottom up.
    pub entries: Vec<MountEntry>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The whole environment; in a container it is added to the variables of the image.
    #[serde(with = "pairs")]
    pub env: BTreeMap<OsString, OsString>,
    /// The resource limits.
    pub limits: SandboxLimits,
    /// The ports of its loopback that the orchestrator serves. They are all the network there is:
    /// see [`Lifeline::receive_listeners`](crate::Lifeline::receive_listeners). An executor cannot
    /// have any.
    #[serde(default)]
    pub ports: Vec<u16>,
}

/// The kind of command that is confined, which decides what it may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxProfile {
    /// A worker: talks to its model and edits its work tree. It may list its network interfaces,
    /// which the runtimes of the CLIs do when they start.
    Worker,
    /// The project's own code, run by the orchestrator: no network at all.
    Executor,
    /// A command that prepares a work tree: like a worker, but it talks to package registries.
    Setup,
}

/// One entry in the filesystem of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MountEntry {
    /// A file or directory of the host. No component of `source` may be a symbolic link when the
    /// command is started, so that a worker cannot redirect a mount with a link in its tree.
    Bind {
        /// The path on the host.
        source: PathBuf,
        /// The path inside.
        target: PathBuf,
        /// Whether it can be written.
        access: MountAccess,
    },
    /// An empty directory in memory, private to the command.
    Scratch {
        /// The path inside.
        target: PathBuf,
        /// The maximum size.
        bytes: u64,
    },
    /// A copy of a small public file of the host, as it is when the command is started. A copy
    /// costs a command less than a mount. `source` must meet the requirements of a `Bind`, and the
    /// caller must be able to read it.
    Copy {
        /// The path on the host.
        source: PathBuf,
        /// The path inside.
        target: PathBuf,
    },
    /// A small read-only file.
    File {
        /// The path inside.
        target: PathBuf,
        /// The content of the file.
        text: String,
    },
    /// A symbolic link.
    Link {
        /// The path inside.
        target: PathBuf,
        /// The target of the link.
        to: PathBuf,
    },
    /// Hides a part of an earlier entry under an empty, read-only file or directory.
    Hidden {
        /// The path inside.
        target: PathBuf,
        /// The kind of thing that is hidden.
        kind: PathKind,
    },
}

/// The permitted access to a part of the host's filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MountAccess {
    /// Reading and executing.
    ReadOnly,
    /// Writing too.
    Writable,
}

/// The kind of a hidden path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PathKind {
    /// A file of any type.
    File,
    /// A directory.
    Directory,
}

/// The resource limits of a command. Time is limited by whoever waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// The number of processes and threads together. Limited by a cgroup if possible, otherwise by
    /// `RLIMIT_NPROC`, which the kernel ignores for root.
    pub processes: u64,
    /// The memory of all processes together. Limited only by a cgroup.
    pub memory: u64,
    /// The address space of one process. Node reserves some 10 GiB of it for every `WebAssembly`
    /// memory and has one of its own for HTTP, so that 16 GiB are not enough for a program with one
    /// more.
    pub address_space: u64,
    /// The size of the largest file that may be written.
    pub file_size: u64,
    /// The number of open files of one process.
    pub open_files: u64,
    /// The size of each scratch directory.
    pub scratch: u64,
}

/// The number of bytes in a mebibyte.
pub const MIB: u64 = 1024 * 1024;

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            processes: 1024,
            memory: 8 * 1024 * MIB,
            address_space: 64 * 1024 * MIB,
            file_size: 2 * 1024 * MIB,
            open_files: 4096,
            scratch: 512 * MIB,
        }
    }
}

impl SandboxPolicy {
    /// Creates a policy with the given bottom layer (see
    /// [`system::root_entries`](crate::system::root_entries)), private scratch space, and an
    /// environment of only `HOME` and `PATH`.
    pub fn new(profile: SandboxProfile, root: Vec<MountEntry>, limits: SandboxLimits) -> Self {
        let scratch = ["/tmp", "/dev/shm", HOME].map(|target| MountEntry::Scratch {
            target: target.into(),
            bytes: limits.scratch,
        });
        let env = [
            ("HOME", HOME),
            ("LANG", "C.UTF-8"),
            ("LOGNAME", USER),
            ("PATH", PATH),
            ("TMPDIR", "/tmp"),
            ("USER", USER),
        ];
        Self {
            profile,
            root,
            entries: scratch.into(),
            cwd: HOME.into(),
            env: env
                .map(|(name, value)| (name.into(), value.into()))
                .into_iter()
                .collect(),
            limits,
            ports: Vec::new(),
        }
    }

    /// Returns all entries, from the bottom up.
    pub(crate) fn layers(&self) -> Vec<&MountEntry> {
        self.root.iter().chain(&self.entries).collect()
    }

    /// Shows a path of the host at the same path inside.
    pub fn show(&mut self, path: &Path, access: MountAccess) -> &mut Self {
        self.entries.push(MountEntry::Bind {
            source: path.to_owned(),
            target: path.to_owned(),
            access,
        });
        self
    }

    /// Hides a path that an earlier entry has made visible.
    pub fn hide(&mut self, path: &Path, kind: PathKind) -> &mut Self {
        self.entries.push(MountEntry::Hidden {
            target: path.to_owned(),
            kind,
        });
        self
    }

    /// Sets an environment variable of the command.
    pub fn set_env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

impl MountEntry {
    /// Returns the path at which the entry appears inside.
    pub fn target(&self) -> &Path {
        match self {
            Self::Bind { target, .. }
            | Self::Copy { target, .. }
            | Self::Scratch { target, .. }
            | Self::File { target, .. }
            | Self::Link { target, .. }
            | Self::Hidden { target, .. } => target,
        }
    }
}

/// Returns the entry underneath each entry: the last earlier one at its path or above it. Every
/// start of a command needs all of them, so paths are split only once.
pub(crate) fn entries_underneath<'a>(entries: &[&'a MountEntry]) -> Vec<Option<&'a MountEntry>> {
    let parts = |entry: &&'a MountEntry| entry.target().iter().collect::<Vec<_>>();
    let paths: Vec<_> = entries.iter().map(parts).collect();
    let ground = |(at, path): (usize, &Vec<_>)| {
        let below = paths[..at]
            .iter()
            .rposition(|below| path.starts_with(below));
        below.map(|below| entries[below])
    };
    paths.iter().enumerate().map(ground).collect()
}

/// Serialises a map whose keys need not be text as a list.
mod pairs {
    use super::{BTreeMap, Deserialize, OsString};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<OsString, OsString>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<OsString, OsString>, D::Error> {
        let pairs = Vec::<(OsString, OsString)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}
