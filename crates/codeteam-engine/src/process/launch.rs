//! How a command is confined: the one interface the sandbox fills in.
//!
//! A launcher only rewrites the command (a sandbox puts its own program in
//! front). It never spawns, and never touches limits or output.

use super::{CommandSpec, Error};

/// For whom a command runs, which decides what it may see and reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A worker: talks to its model, edits its worktree.
    Worker,
    /// A gate command: the project's own code, run by the orchestrator.
    Executor,
}

/// Turns a command into one that runs confined.
pub trait Launcher: Send + Sync {
    /// The command to spawn in place of `spec`. Its environment must keep the
    /// mark, so that leftovers are found from outside the sandbox too.
    fn wrap(&self, spec: CommandSpec, profile: Profile) -> Result<CommandSpec, Error>;

    /// What a person is told about the confinement, in one sentence.
    fn describe(&self) -> &str;
}

/// No confinement at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unconfined;

impl Launcher for Unconfined {
    fn wrap(&self, spec: CommandSpec, _profile: Profile) -> Result<CommandSpec, Error> {
        Ok(spec)
    }

    fn describe(&self) -> &'static str {
        "not confined: workers and gates run with your own rights"
    }
}
