//! Decides what a run does next.
//!
//! Three pure functions over one [`Run`] are the whole kernel:
//!
//! - [`decide()`] turns an [`Input`] into the [`Event`]s it causes (all policy, infallible),
//! - [`apply`] folds an event into the run (no policy, total),
//! - [`due()`] lists the [`Effect`]s the world still owes the run.
//!
//! **Architecture invariant:** nothing here does IO, reads a clock, draws a random number or
//! iterates in hash order; `clippy.toml` beside this crate keeps it so. Time and hashes arrive
//! inside inputs, ids are derived, and the same inputs give the same events byte for byte.
//!
//! **Architecture invariant:** no role and no workflow is known by name. What a step does is in
//! the compiled [`workflow::Workflow`]; what a worker owes is in its [`role::RoleKind`].

pub mod assignment;
pub mod breaker;
pub mod budget;
pub mod context;
pub mod decide;
pub mod depth;
pub mod due;
pub mod effect;
pub mod event;
pub mod failure;
pub mod feedback;
pub mod findings;
pub mod format_version;
pub mod frame;
pub mod hands;
pub mod ids;
pub mod input;
pub mod json;
pub mod log;
pub mod loops;
pub mod message;
pub mod misplaced;
pub mod park;
pub mod plan;
pub mod quoted;
pub mod record;
pub mod rehearse;
pub mod requirements;
pub mod retry;
pub mod role;
pub mod rollup;
pub mod run;
pub mod schedule;
pub mod session;
pub mod submission;
pub mod views;
pub mod workflow;
pub mod yaml;

pub use decide::decide;
pub use due::due;
pub use effect::Effect;
pub use event::Event;
pub use input::Input;
pub use run::{Run, apply};
