//! Confines a command.
//!
//! # What is promised
//!
//! A confined command, whatever it does:
//!
//! - **sees** only what its [`SandboxPolicy`] names. Everything else of the host's
//!   filesystem does not exist for it: homes, keys, other repositories, the
//!   state database, other runs, other processes, their environments, their
//!   sockets;
//! - **changes** nothing but what its policy says is writable, and leaves no
//!   file there that would give its owner's rights to others (setuid, device);
//! - **reaches** no network, not even the host's loopback. A worker and a setup
//!   reach what the orchestrator serves on the [`ports`](SandboxPolicy::ports) of their
//!   own loopback: the hosts of an allowlist, and an API to which a key is added
//!   that they do not have. See [`egress`];
//! - **takes** no more than its [`SandboxLimits`], as far as the kernel lets its caller
//!   set them: see [`cgroup`];
//! - **ends** as a whole. When the command ends, when the orchestrator lets go
//!   of its [`Lifeline`], or when the orchestrator is killed at any moment, no
//!   process of it is left, whatever it did to hide.
//!
//! Not promised: protection from holes in the kernel, from side channels
//! (timing, load), from what a person does with the files it wrote, and from
//! what an allowed host does with what it is told.
//!
//! # How
//!
//! [`policy`] is data. [`system`] and [`toolchains`] find out what a command
//! needs of this host, and [`credentials`] what it must not see there. [`bwrap`]
//! turns a policy into options of bubblewrap, and `seccomp` says which system
//! calls are left. [`shim`] is what is executed: the orchestrator spawns the shim, a small program beside its own or itself, which
//! becomes bubblewrap, which runs the shim again as the first process inside.
//! [`probe()`] tries it all and has the [`SandboxBackend`] to do it with. [`container`]
//! does the same with podman or docker in place of bubblewrap. [`egress`] is the
//! other end of a network with nothing in it but ports.
//!
//! Nothing here depends on the engine. Processes are spawned to find the shim, to
//! probe, to build an image and, by the shim, to start a container; otherwise the
//! shim replaces itself.

#![cfg(target_os = "linux")]

mod backend;
pub mod bwrap;
pub mod cgroup;
pub mod container;
pub mod credentials;
pub mod egress;
mod lifeline;
pub mod policy;
pub mod probe;
mod seccomp;
pub mod shim;
mod spec;
pub mod system;
pub mod toolchains;

/// The variable by which an orchestrator marks what it spawns, to find it again. It is visible from
/// outside only.
pub const MARK: &str = "CODETEAM_MARK";

pub use backend::{ConfinedCommand, SandboxBackend, Shim};
pub use lifeline::Lifeline;
pub use policy::{MountAccess, MountEntry, PathKind, SandboxLimits, SandboxPolicy, SandboxProfile};
pub use probe::probe;
pub use toolchains::Toolchains;
