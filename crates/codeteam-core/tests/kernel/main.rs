//! The kernel under a simulated world: a virtual clock, a log, toy git and workers that do what a
//! script or a seed says, with crashes at any point.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]
#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expect-test writes them where a script holds none"
)]

mod approvals;
mod crash;
mod fixture;
mod git;
mod golden;
mod invariants;
mod names;
mod observed;
mod properties;
mod scenario;
mod scenarios;
mod seeded;
mod transcript;
mod views;
mod workers;
mod world;
