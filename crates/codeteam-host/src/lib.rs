//! Everything that touches the machine: processes and their confinement, git, worktrees, the event
//! log and the content-addressed files that go with it.
//!
//! This crate knows nothing of roles, steps or workers. It offers the operations from which the
//! engine is built. A worker or a cloned repository may leave anything behind on the disk, and
//! every operation here has to be safe against that:
//!
//! - [`process`] runs one command to its end, with limits, cancellation and line-by-line output.
//! - [`confine`] puts a command into a sandbox.
//! - [`git`] calls git; [`workspace`] creates worktrees and collects the changes made in them.
//! - [`store`] is the event log; [`bodies`] keeps large texts under the hash of their content.
//! - [`repo_files`] and [`walk`] read files and folders of a repository without leaving it.
//! - [`wait_limit`] and [`cancel`] end waits that take too long or that nobody needs any more.

pub mod bodies;
pub mod cancel;
pub mod confine;
pub mod error_chain;
pub mod git;
pub mod limited_io;
pub mod process;
pub mod repo_files;
pub mod store;
#[cfg(test)]
mod test_support;
pub mod wait_limit;
pub mod walk;
pub mod workspace;
