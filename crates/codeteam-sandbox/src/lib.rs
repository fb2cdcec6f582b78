//! Confines a command.
//!
//! # Guarantees
//!
//! A confined command, whatever it does:
//!
//! - **sees** only what its [`SandboxPolicy`] lists. The rest of the host's filesystem does not
//!   exist for it: homes, keys, other repositories, the state database, other runs, other
//!   processes, their environments, their sockets;
//! - **changes** nothing but what its policy makes writable, and leaves no file there that would
//!   give its owner's rights to others (setuid, device);
//! - **reaches** no network, not even the host's loopback. Workers and set-up commands reach what
//!   the orchestrator serves on the [`ports`](SandboxPolicy::ports) of their own loopback: the
//!   hosts of an allowlist, and an API to which a key is added that they do not have. See
//!   [`egress`];
//! - **takes** no more than its [`SandboxLimits`], as far as the kernel lets its caller set them:
//!   see [`cgroup`];
//! - **ends** as a whole. When the command ends, when the orchestrator drops its [`Lifeline`], or
//!   when the orchestrator is killed at any moment, no process of it is left, whatever it did to
//!   hide.
//!
//! The sandbox does not protect against holes in the kernel, against side channels (timing, load),
//! against what a person does with the files the command wrote, or against what an allowed host
//! does with the data it is sent.
//!
//! # How it works
//!
//! [`policy`] is plain data. [`system`] and [`toolchains`] find out what a command needs of this
//! host, and [`credentials`] what it must not see there. [`bwrap`] turns a policy into options of
//! bubblewrap, and `seccomp` decides which system calls are allowed. [`shim`] is what is executed:
//! the orchestrator spawns the shim (a small program next to its own, or itself), which becomes
//! bubblewrap, which runs the shim again as the first process inside. [`probe()`] tests all of this
//! and returns the [`SandboxBackend`] to use. [`container`] does the same with podman or docker in
//! place of bubblewrap. [`egress`] is the orchestrator's end of the sandbox's network, which has
//! nothing in it but ports.
//!
//! Nothing here depends on the engine. Processes are spawned to find the shim, to probe, to build
//! an image and, by the shim, to start a container; otherwise the shim replaces itself.

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

/// The variable with which an orchestrator marks the processes it spawns, to find them again. It is
/// visible only from outside the sandbox.
pub const MARK: &str = "CODETEAM_MARK";

pub use backend::{ConfinedCommand, SandboxBackend, Shim};
pub use lifeline::Lifeline;
pub use policy::{MountAccess, MountEntry, PathKind, SandboxLimits, SandboxPolicy, SandboxProfile};
pub use probe::probe;
pub use toolchains::Toolchains;
