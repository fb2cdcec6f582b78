//! What the orchestrator tells the shim, in a file that only it can read.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::container::ContainerBackend;
use crate::policy::SandboxPolicy;

/// Everything the shim needs to know but the command itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShimSpec {
    /// What confines the command.
    pub(crate) means: SpecBackend,
    /// The arguments that bring the running program into
    /// [`shim::main`](crate::shim::main).
    pub(crate) entry: Vec<String>,
    /// What the command may do.
    pub(crate) policy: SandboxPolicy,
}

/// What the shim uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SpecBackend {
    /// Bubblewrap, which the shim becomes.
    Bubblewrap {
        /// The one to use; see [`probe()`](crate::probe()).
        bwrap: PathBuf,
        /// The files that put a process into the command's cgroups; see
        /// [`Cgroup::join`](crate::cgroup::Cgroup::join).
        cgroups: Vec<PathBuf>,
    },
    /// A container, which the shim watches over.
    Container(ContainerBackend),
}

impl ShimSpec {
    /// Writes it to a file that must not exist yet. The shim removes the file
    /// when it has read it.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(&text)
    }

    /// The arguments for the running program to run `program` confined, once
    /// the spec is written to `path`.
    pub(crate) fn arguments<'a>(
        &self,
        path: &Path,
        program: &OsStr,
        args: impl IntoIterator<Item = &'a OsString>,
    ) -> Vec<OsString> {
        let own = self.entry.iter().map(OsString::from);
        own.chain([OUTER.into(), path.into(), program.into()])
            .chain(args.into_iter().cloned())
            .collect()
    }

    pub(crate) fn take(path: &Path) -> io::Result<Self> {
        let text = fs::read(path)?;
        fs::remove_file(path)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// Where the shim keeps what a container is given besides the host's own files.
pub(crate) fn room(spec: &Path) -> PathBuf {
    let mut path = spec.as_os_str().to_owned();
    path.push(".room");
    path.into()
}

/// Only asks whether the shim is there and of the same build.
pub(crate) const CHECK: &str = "check";
pub(crate) const OUTER: &str = "outer";
pub(crate) const INNER: &str = "inner";
pub(crate) const GUARD: &str = "guard";
pub(crate) const CONTAINED: &str = "contained";
