//! The kernel under a simulated world: a virtual clock, a log, toy git and workers that do what a
//! script or a seed says, with crashes at any point.

mod crash;
mod fixture;
mod git;
mod golden;
mod invariants;
mod names;
mod properties;
mod scenario;
mod scenarios;
mod seeded;
mod transcript;
mod views;
mod workers;
mod world;
