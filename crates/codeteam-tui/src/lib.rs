//! A terminal screen over the runs of a project.
//!
//! [`Screen`] shows what needs a person, every run as a tree of phases, tasks, steps and attempts,
//! changes, outputs, costs, and takes a person's decisions. It reads the views and the feed of
//! codeteam-report, so it shows the same as every other surface, also when another process drives a
//! run. It decides nothing by itself: every decision is a command of codeteam, which the program
//! that opens the screen carries out
//! ([`CommandRunner`](codeteam_engine::command_runner::CommandRunner)).
//!
//! How it works: threads send messages into one channel. One thread reads keys, one
//! waits for the feed, one loads what the screen asks for, and follows the output of the attempt
//! that is shown. The loop in `screen` takes a message, calls `update`, performs the actions
//! it returns, and draws with `draw`. `update` and `draw` are pure: they read no
//! clock, no file and no terminal, so tests call them directly. Nothing is drawn without a message,
//! and nothing polls while nothing happens.
//!
//! Whatever a worker, a repository or a model wrote goes through `text` before it is shown, and
//! `draw` looks at every cell once more: no text of others can act on the terminal.

mod content;
mod draw;
#[cfg(test)]
mod fixture;
mod keys;
mod message;
mod model;
mod screen;
mod state;
mod terminal;
mod text;
mod threads;
mod update;
mod verbs;

pub use self::screen::{Screen, ScreenError, ScreenNotifier, ScreenOptions};
pub use self::terminal::{ScreenProblem, check_terminal, restore_terminal};
pub use self::verbs::CommandVerb;
