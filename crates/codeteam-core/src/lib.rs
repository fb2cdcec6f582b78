//! The kernel of codeteam: decides what a run does next, without doing any of it.
//!
//! Three pure functions over one [`Run`] are the whole kernel:
//!
//! - [`decide()`] takes an [`Input`] and returns the [`Event`]s it causes, together with the run as
//!   it is after them (all policy, infallible),
//! - [`apply`] folds one event into the run (no policy, total),
//! - [`due()`] lists the [`Effect`]s that are still to be performed for the run.
//!
//! A driver (the engine, or a test) calls them in a loop: it appends the events that [`decide()`]
//! returned to the log, asks [`due()`] what should be in flight, starts what is missing, cancels
//! what is no longer due, and feeds every result back as the next input. After a crash it replays
//! the log and continues with the same loop; there is no separate recovery path.
//!
//! ```
//! use codeteam_core::event::RunStarted;
//! use codeteam_core::ids::EpochMillis;
//! use codeteam_core::input::Decision;
//! use codeteam_core::{Effect, Event, Input, Run, decide, due};
//! use codeteam_workflow::language::compile_file;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let workflow = "
//! start: ask
//! steps:
//!   ask: { person: 'Ship it?', answers: { approve: done, reject: fail } }
//! ";
//! let compiled = compile_file("workflow.yml", workflow, &[]).map_err(|e| e.to_string())?;
//! let started: RunStarted = serde_json::from_value(serde_json::json!({
//!     "run": "2026-11-18_ship", "at": 1_000, "goal": "Ship it", "workflow": compiled.workflow,
//!     "roles": compiled.roles, "base": { "commit": "e789661", "tree": "c9a180b" },
//!     "branch": "codeteam/ship", "max_tasks": 10,
//! }))?;
//! let mut log: Vec<Event> = Vec::new();
//!
//! // An input causes events. They are on the disk before anything else happens.
//! let began = decide(&Run::default(), &Input::Began(Box::new(started)));
//! log.extend(began.events);
//! let run = began.run;
//!
//! // What is due now is for the driver to start: here, a question to a person.
//! let due_now = due(&run);
//! let [Effect::Ask(question)] = &due_now[..] else {
//!     return Err("a person should be asked".into());
//! };
//!
//! // The result is the next input.
//! let decision = Decision::Answer {
//!     question: question.id.clone(),
//!     answer: "approve".to_owned(),
//!     note: String::new(),
//!     change: None,
//! };
//! let (at, by) = (EpochMillis(2_000), "ada".to_owned());
//! let identity = None;
//! let answered = decide(&run, &Input::Decided { at, by, identity, decision });
//! log.extend(answered.events);
//! assert!(answered.run.is_terminal() && due(&answered.run).is_empty());
//!
//! // A run is its log: after a crash, replaying it gives the same state.
//! assert_eq!(Run::replay(&log), answered.run);
//! # Ok(())
//! # }
//! ```
//!
//! **Architecture invariant:** nothing here does IO, reads a clock, draws a random number or
//! iterates in hash order; the `clippy.toml` of this crate enforces it. Time and hashes arrive
//! inside inputs, ids are derived, and the same inputs give the same events byte for byte.
//!
//! **Architecture invariant:** the kernel knows no role and no workflow by name. What a step does
//! is defined by the compiled [`workflow::Workflow`]; what a worker must deliver is defined by its
//! [`role::RoleKind`].

pub mod approval;
pub mod assembly;
pub mod assignment;
pub mod breaker;
pub mod budget;
pub mod checks;
pub mod commit_message;
pub mod context;
pub mod contribution;
pub mod decide;
pub mod depth;
pub mod due;
pub mod effect;
pub mod event;
pub mod failure;
pub mod feedback;
pub mod findings;
pub mod fork;
pub mod frame;
pub mod ids;
pub mod input;
pub mod json;
pub mod judgements;
pub mod locks;
pub mod loop_detection;
pub mod message;
pub mod operator;
mod pair_list;
pub mod park;
pub mod plan;
pub mod plan_layers;
pub mod repin;
pub mod repin_check;
pub mod reply;
pub mod requirements;
pub mod retry;
pub mod risk;
pub mod role;
pub mod rollback;
pub mod rollback_plan;
pub mod rollup;
pub mod run;
pub mod schedule;
pub mod session;
pub mod shell;
pub mod spelling;
pub mod submission;
pub mod team;
pub mod text_pattern;
pub mod untrusted_text;
pub mod verdicts;
pub mod views;
pub mod wanted_changes;
pub mod work_log;
pub mod workflow;

pub use decide::{Transition, decide};
pub use due::due;
pub use effect::Effect;
pub use event::Event;
pub use input::Input;
pub use run::{Run, apply};
