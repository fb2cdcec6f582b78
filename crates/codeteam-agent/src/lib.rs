//! The built-in worker.
//!
//! It is spawned and confined like any other worker: it owns nothing of a run, and reports what it
//! does as JSON lines on its output.

pub mod builtin;
mod process;
pub mod scripted;
