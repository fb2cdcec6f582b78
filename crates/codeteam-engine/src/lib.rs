//! Makes it happen: the store, git, workspaces, processes, worker dialects, gates, the files
//! people read, and the loop that drives a run with them.
//!
//! **Architecture invariant:** nothing here chooses. What to do next, after a crash too, is
//! decided in `codeteam-core`; the engine performs what is due and reports what came of it. A
//! worker that fails is an input to core; an `Err` here means codeteam itself cannot go on.

pub mod artifacts;
pub mod bodies;
pub mod built_in;
pub mod config;
pub mod confine;
pub mod context;
pub mod dialect;
pub mod driver;
pub mod engine;
pub mod env;
pub mod find;
pub mod git;
pub mod hand;
mod inside;
pub mod layout;
pub mod library;
pub mod logins;
pub mod maintenance;
pub mod perform;
pub mod process;
pub mod prompt;
pub mod proposal;
pub mod rebuild;
pub mod report;
pub mod session;
pub mod store;
pub mod survey;
pub mod tell;
pub mod trust;
pub mod verify;
pub mod workers;
pub mod workspace;

pub use engine::Engine;
