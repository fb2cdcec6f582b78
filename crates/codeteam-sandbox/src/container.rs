//! Confines a command in a container, with podman or docker.
//!
//! The policy ([`SandboxPolicy`](crate::SandboxPolicy)), the shim as the first process, the
//! lifeline and the system call filter are the same as with bubblewrap; but the programs are those
//! of an image, and the engine creates namespaces, mounts and cgroups. [`options`] turns a policy
//! into the engine's options, [`image`] builds an image, and
//! [`probe_containers`](crate::probe::probe_containers) tests the whole.
//!
//! The network is always empty. A command reaches the outside only through listeners that the shim
//! hands out over the lifeline.

pub mod engine;
pub mod image;
pub mod options;
pub(crate) mod sweep;

use std::path::Path;

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

pub use engine::{ContainerEngine, ContainerEngineKind};

use crate::cgroup::EnforceableLimits;

/// A container engine that works here, and the image that it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerBackend {
    /// The engine that starts containers.
    pub engine: ContainerEngine,
    /// The name of the image.
    pub image: String,
}

impl ContainerBackend {
    /// Returns the limits that the engine can enforce for a command as a whole.
    pub fn enforceable_limits(&self) -> EnforceableLimits {
        let is_limited = self.engine.can_limit();
        EnforceableLimits {
            processes: is_limited,
            memory: is_limited,
        }
    }
}

impl ContainerEngine {
    /// Returns true if the engine runs without root, in namespaces of the caller.
    pub(crate) fn is_rootless(&self) -> bool {
        self.kind == ContainerEngineKind::Podman && !geteuid().is_root()
    }

    /// Returns true if the engine can limit resources. Without root, podman can create cgroups only
    /// in the unified hierarchy.
    pub(crate) fn can_limit(&self) -> bool {
        !self.is_rootless() || Path::new("/sys/fs/cgroup/cgroup.controllers").exists()
    }
}
