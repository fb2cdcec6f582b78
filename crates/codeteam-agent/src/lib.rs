//! The built-in worker.
//!
//! It is spawned like any other worker and confined like any other: it owns
//! nothing of a run, and tells what it does as JSON lines on its output.

pub mod builtin;
mod process;
pub mod scripted;
