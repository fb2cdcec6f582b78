//! The engine performs what `codeteam-core` decides. It owns the store, git, workspaces, processes,
//! worker dialects, gates and the files people read, and the loop that drives a run with them.
//!
//! **Architecture invariant:** nothing in this crate makes decisions about a run. `codeteam-core`
//! decides what to do next, also after a crash; the engine performs the effects that are due and
//! reports their results as inputs. A worker that fails is an input to core; an `Err` in this crate
//! means that codeteam itself cannot go on.
//!
//! To look at what is there, open the project and load a run; nothing is written:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use codeteam_core::ids::RunId;
//! use codeteam_engine::Engine;
//! use codeteam_engine::env::Env;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let codeteam = std::env::current_exe()?;
//! if let Some(engine) = Engine::open_existing(Path::new("."), Env::read(), codeteam)? {
//!     for row in engine.store.runs()? {
//!         let run = engine.load_run_view(&RunId(row.id))?;
//!         println!("{} {}: {}", run.id, run.status.as_str(), run.headline);
//!         for step in &run.next_steps {
//!             println!("  {}", step.command);
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! To make something happen, [`Project::find`](engine::Project::find) reads the configuration,
//! [`Project::prepare`](engine::Project::prepare) resolves a
//! [`RunRequest`](engine::RunRequest), [`Engine::plan_run`] pins it, and [`driver::start`] drives
//! the run to its end or to a question; [`driver::resume`] goes on with one, and
//! [`Engine::post_decision`] tells whoever drives it what a person has decided.
//!
//! Where to find what:
//!
//! - Projects and their settings: [`engine`] (start here: [`Engine`]), [`config`], [`library`]
//!   (roles and workflows), [`layout`], [`trust`], `env`.
//! - The loop of a run: [`driver`], [`session`] (the same loop for a session), [`halt`], [`clock`].
//! - Effects: [`perform`] performs one effect; [`dialect`] knows how to talk to each worker CLI;
//!   [`workers`], [`worker_clis`], [`logins`], [`api_keys`] and [`model_api`] describe workers and
//!   their access.
//! - Prompts: [`context`] selects what a role sees of the project, [`find`] ranks files, [`prompt`]
//!   renders the templates.
//! - Approvals: [`notify`] (channels), [`risk`] (explanations), [`known_projects`] (for one inbox).
//! - For people: [`attempt_log`] and [`patches`] (what a worker printed and changed), [`plan_choice`]
//!   (which plan a command works on), [`start_notes`], [`doctor`], [`maintenance`], [`manual_edit`],
//!   [`trace`] (how workers got to their answers), [`problem`] (error messages), [`diagnostic_log`].

pub mod api_keys;
pub mod attempt_log;
pub mod built_in;
pub mod clock;
pub mod command_runner;
pub mod config;
pub mod context;
pub mod diagnostic_log;
pub mod dialect;
pub mod doctor;
pub mod driver;
pub mod driver_error;
pub mod engine;
pub mod env;
pub mod find;
pub mod halt;
pub mod inbox;
pub mod kept_texts;
pub mod known_projects;
pub mod layout;
pub mod library;
pub mod logins;
pub mod maintenance;
pub mod manual_edit;
pub mod metrics;
pub mod model_api;
pub mod notify;
pub mod patches;
mod people;
pub mod perform;
pub mod plan_choice;
pub mod problem;
pub mod prompt;
pub mod risk;
pub mod session;
pub mod start_notes;
pub mod trace;
pub mod trust;
pub mod watch;
pub mod worker_clis;
pub mod workers;

pub use engine::Engine;

// The fixture of codeteam-host's own tests. It refers to `crate::git`, hence the `use`.
#[cfg(test)]
use codeteam_host::git;
#[cfg(test)]
#[path = "../../codeteam-host/src/git/fixture.rs"]
mod git_fixture;
