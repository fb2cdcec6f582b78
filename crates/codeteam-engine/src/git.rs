//! Git, through the `git` program: the only place that knows its arguments.
//!
//! Everything here is hermetic: what a call does depends on its arguments and
//! the repository, never on the environment codeteam happens to run in, and no
//! call runs a hook, a file-system monitor, a filter or a diff driver (see
//! `command` for how). The exceptions are the few calls that act on the
//! user's own checkout on the user's behalf, which are named there.
//!
//! [`Repo`] is the user's repository. [`PrivateDir`] is a git directory that
//! only codeteam writes, with which it looks at work trees that workers write.
//! Nothing here decides policy. Every call has a deadline and ends with the
//! [`Patience`](crate::process) of its thread, and only a confined call that
//! somebody killed is launched again.

mod checkout;
mod command;
mod commits;
mod diff;
mod error;
mod filters;
mod history;
mod index;
mod init;
mod merge;
mod objects;
mod private;
mod push;
mod refs;
mod repo;
mod verified;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

pub use command::{Environment, Git, NEEDED};
pub use commits::{CommitInfo, Identity, Signature};
pub use diff::{Change, Changed, Diff};
pub use error::Error;
pub use filters::FilteredFile;
pub use index::IndexEntry;
pub use merge::{Merged, MergedInto, Strategy};
pub use objects::{ObjectFormat, Oid, Reader, TreeFile};
pub use private::{Placed, PrivateDir, Scope};
pub use push::Remote;
pub use refs::{Expected, reference};
pub use repo::{Head, Repo};

pub use crate::walk::{Repairs, SpecialFile, SpecialKind};
