//! Git, through the `git` program: the only place that knows its arguments.
//!
//! Everything here is hermetic: what a call does depends on its arguments and
//! the repository, never on the environment codeteam happens to run in, and no
//! call runs a hook, a file-system monitor, a filter or a diff driver (see
//! `command` for how). The exceptions are the few calls that act on the
//! user's own checkout on the user's behalf, which are named there.
//!
//! [`Repo`] is the user's repository. [`PrivateGitDir`] is a git directory that
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

pub use command::{GitEnvironment, GitProgram, NEEDED};
pub use commits::{BranchCommit, CommitSignature, GitIdentity};
pub use diff::{DiffEntry, DiffStatus, TreeDiff};
pub use error::Error;
pub use filters::FilteredFile;
pub use index::IndexEntry;
pub use merge::{BranchMove, MergeOutcome, MergeStrategy};
pub use objects::{BlobReader, ObjectFormat, Oid, TreeFile};
pub use private::{PrivateGitDir, SnapshotScope, TreeEdit};
pub use push::PushTarget;
pub use refs::{ExpectedRef, reference};
pub use repo::{CheckoutHead, Repo};

pub use crate::walk::{SpecialFile, SpecialKind, TreeRepairs};
