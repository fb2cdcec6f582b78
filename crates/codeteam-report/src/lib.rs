//! Everything that people and programs read about a run: reports, summaries, the files of a run,
//! and the lines shown on a terminal.
//!
//! All of it is derived from the events of the log and from the [`Run`](codeteam_core::Run) that
//! they add up to; nothing here decides anything or writes to the log.
//!
//! A surface (a command, a screen, a page, a session) needs two modules. [`view`] has the plain data
//! that it shows: a [`RunView`](view::RunView) with tasks, questions, costs and what a person can do
//! now, and a [`ChangeView`](view::ChangeView) with verdicts, checks and findings. [`feed`] tells it
//! what changes. `Engine::load_run_view` of codeteam-engine loads a run as a
//! [`LoadedRun`](view::LoadedRun), which reads as its view.
//!
//! ```
//! use codeteam_core::Run;
//! use codeteam_report::view::{NextAction, RunView};
//!
//! # fn main() -> Result<(), serde_json::Error> {
//! let run = Run {
//!     id: "2026-11-18_add-flag".into(),
//!     goal: "Add a --json flag".to_owned(),
//!     ..Run::default()
//! };
//! // Nobody drives this run now, so it can be resumed.
//! let view = RunView::new(&run).with_driver(false);
//! assert_eq!(view.next_steps[0].command, "codeteam resume 2026-11-18_add-flag");
//! assert_eq!(view.next_steps[0].action, NextAction::Resume { raise: None });
//!
//! // `--json` prints exactly this.
//! let json = serde_json::to_value(&view)?;
//! assert_eq!(json["goal"], "Add a --json flag");
//! assert_eq!(json["cost"]["words"]["attempts"], "0 attempts");
//! # Ok(())
//! # }
//! ```
//!
//! Everything else starts with [`ProjectRecords`](records::ProjectRecords), which borrows the
//! repository, the log and the stored bodies from whoever opened the project:
//!
//! - [`artifacts`] writes the files of a run as its events arrive.
//! - [`report`] builds the verification report of a change: what was checked, by whom, and the
//!   result; [`proposal`] shows what would be committed.
//! - [`costs`] takes apart what a run has spent: by model, role, worker and task.
//! - [`describe`] puts states and events into words.
//! - [`rebuild`] reconstructs the progress of a plan when the log is gone.
//! - [`trailers`] and [`secret_filter`] are shared by all of them.

pub mod artifacts;
pub mod costs;
pub mod describe;
pub mod feed;
pub mod patch;
pub mod proposal;
mod published;
pub mod pull_request;
pub mod rebuild;
pub mod records;
pub mod report;
pub mod review;
pub mod run_snapshot;
pub mod secret_filter;
mod task_frames;
pub mod trailers;
pub mod view;

// The fixture belongs to codeteam-host's own tests and refers to `crate::git`.
#[cfg(test)]
use codeteam_host::git;
#[cfg(test)]
#[expect(dead_code, reason = "the tests here need a part of it")]
#[path = "../../codeteam-host/src/git/fixture.rs"]
mod git_fixture;
