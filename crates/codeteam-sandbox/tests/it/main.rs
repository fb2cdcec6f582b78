//! Confinement, shown from outside: each test lets something hostile run and
//! then looks at the host. Needs bubblewrap; without it every test fails.
//! Containers are tried too where podman starts; `CODETEAM_TEST_CONTAINERS=1`
//! makes that a must.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod containers;
mod egress;
mod filesystem;
mod harness;
mod lifetime;
mod limits;
mod network;
mod ports;
mod probing;
mod processes;
mod syscalls;
