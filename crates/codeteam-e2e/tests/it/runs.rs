//! codeteam with the real CLIs: whole runs of the real program, whose workers ask the scripted
//! model server from within the sandbox.

mod absent;
mod bare;
mod builtin;
mod clouds;
mod edits;
mod faults;
mod kill;
mod means;
pub(crate) mod programs;
mod project;
#[expect(dead_code, reason = "not all that it can is needed here")]
#[path = "../../../codeteam/tests/it/pty.rs"]
mod pty;
mod quota;
mod rounds;
mod samples;
mod session;
mod sessions;
mod shown;
mod strict;
mod talk;
mod team_cost;
mod team_mode;
mod three_clis;
