//! The built-in worker against canned model APIs.
#![expect(
    clippy::unwrap_used,
    reason = "clippy's exemption covers test functions, not their helpers"
)]

mod answers;
mod job;
mod limits;
mod model;
mod processes;
mod protocols;
mod servers;
mod streams;
mod troubles;
mod turns;
