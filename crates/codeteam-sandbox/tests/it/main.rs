//! Confinement, shown from outside: each test lets something hostile run and
//! then looks at the host. Needs bubblewrap; without it every test fails.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

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
