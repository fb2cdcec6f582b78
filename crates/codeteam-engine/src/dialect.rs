//! Dialects: how each worker is spoken to.
//!
//! A dialect is two pure things: the command that carries an assignment out, and a fold over both
//! output streams that ends, with the exit, in what became of it. Flags and event shapes of one
//! CLI live in its own file here and nowhere else.

mod scripted;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::failure::{Facts, Stage};
use codeteam_core::ids::WorkerName;
use codeteam_core::input::WorkerEnd;

use crate::process::{Exit, Line, Status};

pub use self::scripted::Scripted;

/// What a dialect needs to know to put a command together.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// codeteam's own program, for the workers that are part of it.
    pub codeteam: PathBuf,
    /// The assignment, as a file.
    pub assignment: PathBuf,
}

/// A program with its arguments and what it needs in its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables it needs.
    pub env: Vec<(OsString, OsString)>,
    /// Files it reads, beside its assignment.
    pub reads: Vec<PathBuf>,
}

/// How one worker is spoken to.
pub trait Dialect: Send + Sync {
    /// The command that carries an assignment out.
    fn command(&self, assignment: &Assignment, around: &Surroundings) -> Program;

    /// The beginning of a fold over what the worker says.
    fn fold(&self) -> Box<dyn Fold>;
}

/// A fold over what a worker says.
pub trait Fold: Send {
    /// Takes a line; returns what is worth showing to a person.
    fn line(&mut self, line: &Line<'_>) -> Option<String>;

    /// What it spent, as far as it has told.
    fn usage(&self) -> Usage;

    /// What became of it.
    fn finish(&mut self, exit: &Exit) -> WorkerEnd;
}

/// The dialect of a worker, if codeteam speaks it.
pub fn of(worker: &WorkerName) -> Option<Box<dyn Dialect>> {
    match worker.as_str() {
        "scripted" => Some(Box::new(Scripted)),
        _ => None,
    }
}

/// The workers codeteam can speak to.
pub const KNOWN: &[&str] = &["scripted"];

/// What is said of a command that left too much on the disk.
pub(crate) const OVER_DISK: &str =
    "it left more on the disk than it may (`sandbox.limits.disk_mb`)";

/// What an exit alone says went wrong.
fn facts_of(exit: &Exit, stage: Stage, message: String) -> Facts {
    let mut facts = Facts {
        stage,
        message,
        ..Facts::default()
    };
    match exit.status {
        Status::Exited(code) => facts.exit = Some(code),
        Status::Signalled(signal) => facts.signal = Some(signal),
        Status::TimedOut => {
            facts.stage = Stage::TimedOut;
            "it took too long".clone_into(&mut facts.message);
        }
        Status::OverDisk => OVER_DISK.clone_into(&mut facts.message),
        Status::Cancelled => "it was cancelled".clone_into(&mut facts.message),
    }
    facts
}

/// A file's path as an argument.
fn argument(path: &Path) -> OsString {
    path.as_os_str().to_owned()
}
