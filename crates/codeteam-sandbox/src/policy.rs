//! What a confined command may see, as plain data.
//!
//! Nothing here touches the system. Order matters: a later entry lies on top of
//! an earlier one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The name of the user inside.
pub const USER: &str = "agent";
/// The ids of the user inside, whoever started the sandbox.
pub const UID: u32 = 1000;
/// The private home: empty, writable, gone afterwards.
pub const HOME: &str = "/home/agent";

/// Where programs are, unless more is said.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Everything a command is given. What is not named here does not exist inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// For whom the command runs.
    pub profile: SandboxProfile,
    /// The bottom of the filesystem: what every command needs of this host. In a
    /// container the image takes its place.
    pub root: Vec<MountEntry>,
    /// What lies on top of it, from the bottom up.
    pub entries: Vec<MountEntry>,
    /// The directory to start in.
    pub cwd: PathBuf,
    /// The whole environment; in a container what the image sets lies below it.
    #[serde(with = "pairs")]
    pub env: BTreeMap<OsString, OsString>,
    /// How much it may take.
    pub limits: SandboxLimits,
    /// The ports of its loopback that the orchestrator serves, which is all
    /// there is of a network: see
    /// [`Lifeline::listeners`](crate::Lifeline::listeners). An executor can
    /// have none.
    #[serde(default)]
    pub ports: Vec<u16>,
}

/// For whom a command runs, which decides what it may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxProfile {
    /// A worker: talks to its model, edits its work tree. It may list its
    /// interfaces, which the runtimes of the CLIs do when they start.
    Worker,
    /// The project's own code, run by the orchestrator: no network at all.
    Executor,
    /// What prepares a work tree: as a worker, but it talks to package
    /// registries.
    Setup,
}

/// One thing in the filesystem of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MountEntry {
    /// A file or directory of the host. No component of `source` may be a
    /// symbolic link when the command is started: what a worker has put into
    /// its tree cannot redirect a mount.
    Bind {
        /// Where it is on the host.
        source: PathBuf,
        /// Where it appears.
        target: PathBuf,
        /// What may be done with it.
        access: MountAccess,
    },
    /// An empty directory in memory, private to the command.
    Scratch {
        /// Where it appears.
        target: PathBuf,
        /// How much fits in.
        bytes: u64,
    },
    /// A copy of a small public file of the host, as it is when the command is
    /// started. It costs a command less than a mount. Of `source` is required
    /// what a `Bind` requires, and that the caller can read it.
    Copy {
        /// Where it is on the host.
        source: PathBuf,
        /// Where it appears.
        target: PathBuf,
    },
    /// A small read-only file.
    File {
        /// Where it appears.
        target: PathBuf,
        /// What it says.
        text: String,
    },
    /// A symbolic link.
    Link {
        /// Where it appears.
        target: PathBuf,
        /// What it points to.
        to: PathBuf,
    },
    /// Something of an earlier entry that is not to be seen: an empty file or
    /// an empty directory, read-only, lies over it.
    Hidden {
        /// The path inside.
        target: PathBuf,
        /// What is there.
        kind: PathKind,
    },
}

/// What may be done with a part of the host's filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MountAccess {
    /// Reading and executing.
    ReadOnly,
    /// Writing too.
    Writable,
}

/// What a hidden path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PathKind {
    /// A file of any sort.
    File,
    /// A directory.
    Directory,
}

/// How much a command may take. Time is the business of whoever waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processes and threads together. By a cgroup where one can be had,
    /// otherwise by `RLIMIT_NPROC`, which the kernel ignores for root.
    pub processes: u64,
    /// Memory of all processes together, only by a cgroup.
    pub memory: u64,
    /// Address space of one process. Node reserves some 10 GiB of it for every
    /// `WebAssembly` memory and has one of its own for HTTP, so that 16 GiB are
    /// not enough for a program with one more.
    pub address_space: u64,
    /// The largest file that may be written.
    pub file_size: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// What fits into each of the scratch directories.
    pub scratch: u64,
}

/// Bytes of a megabyte.
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
    /// A command with the given bottom of a filesystem (see
    /// [`system::root`](crate::system::root)) and nothing else: an empty
    /// environment but for `HOME` and `PATH`, private scratch space.
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

    /// All entries, from the bottom up.
    pub(crate) fn layers(&self) -> Vec<&MountEntry> {
        self.root.iter().chain(&self.entries).collect()
    }

    /// Shows a path of the host, at the same place.
    pub fn show(&mut self, path: &Path, access: MountAccess) -> &mut Self {
        self.entries.push(MountEntry::Bind {
            source: path.to_owned(),
            target: path.to_owned(),
            access,
        });
        self
    }

    /// Covers a path that an earlier entry has made visible.
    pub fn hide(&mut self, path: &Path, kind: PathKind) -> &mut Self {
        self.entries.push(MountEntry::Hidden {
            target: path.to_owned(),
            kind,
        });
        self
    }

    /// Sets a variable of the command's environment.
    pub fn set_env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

impl MountEntry {
    /// Where it appears.
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

/// What each of the entries lies on: the last earlier one at its place or above
/// it. Every start of a command asks for all of them, so paths are taken apart
/// only once.
pub(crate) fn grounds<'a>(entries: &[&'a MountEntry]) -> Vec<Option<&'a MountEntry>> {
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

/// A map whose keys need not be text, as a list.
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
