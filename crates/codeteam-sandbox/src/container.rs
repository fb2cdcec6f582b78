//! Confines a command in a container, by podman or docker.
//!
//! The same [`SandboxPolicy`](crate::SandboxPolicy), the same shim as first process, the same
//! lifeline and the same filter of system calls as with bubblewrap; but the
//! programs are those of an image, and namespaces, mounts and cgroups are made
//! by the engine. [`options`] turns a policy into its options, [`image`] makes
//! an image, [`probe()`] tries it all.
//!
//! The network is always empty. What a command may reach it reaches through
//! listeners that the shim hands out over the lifeline.

pub mod engine;
pub mod image;
pub mod options;
mod probe;
pub(crate) mod sweep;

use std::path::Path;

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

pub use engine::{ContainerEngine, ContainerEngineKind};
pub use probe::{ContainersUnavailable, probe};

use crate::cgroup::EnforceableLimits;

/// An engine that works here, and the image that it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerBackend {
    /// The engine.
    pub engine: ContainerEngine,
    /// The name of the image.
    pub image: String,
}

impl ContainerBackend {
    /// What the engine can limit for a command as a whole.
    pub fn limited(&self) -> EnforceableLimits {
        let is_limited = self.engine.can_limit();
        EnforceableLimits {
            processes: is_limited,
            memory: is_limited,
        }
    }
}

impl ContainerEngine {
    /// Whether it runs without root, in namespaces of the caller.
    pub(crate) fn is_rootless(&self) -> bool {
        self.kind == ContainerEngineKind::Podman && !geteuid().is_root()
    }

    /// Without root, only the unified hierarchy lets podman make cgroups.
    pub(crate) fn can_limit(&self) -> bool {
        !self.is_rootless() || Path::new("/sys/fs/cgroup/cgroup.controllers").exists()
    }
}
