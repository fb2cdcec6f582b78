//! The engine with a real sandbox, a real git and a made-up user. Needs bubblewrap; without it
//! the tests fail.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod accepted_keys;
mod bench;
mod collecting;
mod graphs;
mod keys;
mod logins;
mod recovery;
mod rehearsals;
mod samples;
mod server;
mod session;
