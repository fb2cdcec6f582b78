//! Runs git, through the `git` program. This is the only module that knows git's arguments.
//!
//! Everything here is hermetic: what a call does depends on its arguments and the repository, never
//! on the environment codeteam happens to run in, and no call runs a hook, a file-system monitor, a
//! filter or a diff driver (see `command` for how). The exceptions are the few calls that act on
//! the user's own checkout on the user's behalf; they are listed there.
//!
//! [`Repo`] is the user's repository. [`PrivateGitDir`] is a git directory that only codeteam
//! writes, and through which it reads work trees that workers write. Nothing here decides policy.
//! Every call has a deadline and obeys the [`WaitLimit`](crate::process::WaitLimit) of its thread.
//! A call is repeated only if it was confined and something killed it.

mod batch_process;
mod checkout;
mod checkout_integrity;
mod command;
mod commits;
mod diff;
mod error;
mod filters;
mod history;
mod index;
mod init;
mod loose_objects;
mod merge;
mod object_reader;
mod objects;
mod packing;
mod private_dir;
mod push;
mod refs;
mod repo;
mod tree_transfer;

#[cfg(test)]
pub mod fixture;
#[cfg(test)]
mod tests;

pub use command::{GitEnvironment, GitProgram, NEEDED};
pub use commits::{BranchCommit, CommitSignature, GitIdentity};
pub use diff::{DiffEntry, DiffStatus, TreeDiff};
pub use error::Error;
pub use filters::FilteredFile;
pub use index::{IndexEntry, IndexStat};
pub use merge::{BranchMove, MergeOutcome, MergeStrategy};
pub use objects::{BlobReader, ObjectFormat, Oid, TreeFile};
pub use packing::CommitPack;
pub use private_dir::{PrivateGitDir, SnapshotScope, TreeEdit};
pub use push::PushTarget;
pub use refs::{ExpectedRef, reference_name};
pub use repo::{CheckoutHead, Repo};
pub use tree_transfer::TransferredTree;

pub use crate::walk::{SpecialFile, TreeRepairs};
