//! The specification that the orchestrator writes for the shim, in a file that only it can read.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::container::ContainerBackend;
use crate::policy::SandboxPolicy;

/// Everything the shim needs to know except the command itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShimSpec {
    /// The backend that confines the command.
    pub(crate) means: SpecBackend,
    /// The arguments that make the running program run [`shim::main`](crate::shim::main).
    pub(crate) entry: Vec<String>,
    /// The policy of the command.
    pub(crate) policy: SandboxPolicy,
}

/// The backend that the shim uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SpecBackend {
    /// Bubblewrap, which the shim becomes.
    Bubblewrap {
        /// The path of bubblewrap; see [`probe()`](crate::probe()).
        bwrap: PathBuf,
        /// The files that put a process into the command's cgroups; see
        /// [`Cgroup::membership_files`](crate::cgroup::Cgroup::membership_files).
        cgroups: Vec<PathBuf>,
    },
    /// A container, which the shim supervises.
    Container(ContainerBackend),
}

impl ShimSpec {
    /// Writes the specification to a file that must not exist yet. The shim removes the file when
    /// it has read it.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(&text)
    }

    /// Returns the arguments with which the running program runs `program` confined, once the
    /// specification is written to `path`.
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

    pub(crate) fn read_and_remove(path: &Path) -> io::Result<Self> {
        let text = fs::read(path)?;
        fs::remove_file(path)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// Returns the directory for what a container gets in addition to the host's own files.
pub(crate) fn handover_path(spec: &Path) -> PathBuf {
    let mut path = spec.as_os_str().to_owned();
    path.push(".room");
    path.into()
}

/// Only checks that the shim exists and is of the same build.
pub(crate) const CHECK: &str = "check";
pub(crate) const OUTER: &str = "outer";
pub(crate) const INNER: &str = "inner";
pub(crate) const GUARD: &str = "guard";
