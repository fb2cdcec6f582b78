//! Confinement, shown from outside: each test lets something hostile run and
//! then looks at the host. Needs bubblewrap; without it every test fails.

mod filesystem;
mod harness;
mod lifetime;
mod limits;
mod network;
mod probing;
mod processes;

mod syscalls;
