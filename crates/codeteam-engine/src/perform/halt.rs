//! What stops codeteam itself and is nobody's fault in the run: a full disk, or a branch that is
//! not codeteam's to move any more. It must not use up tries or fail tasks; the run goes on when a
//! person has seen to it.

use std::io;
use std::path::{Path, PathBuf};

use codeteam_core::input::{Input, WorkerOutcome};

use super::{Error, with_causes};
use crate::process::RefusedHost;

/// Why codeteam cannot go on until a person has done something about it.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// There is no room.
    #[error("the disk of `{}` is full: {what}", folder.display())]
    DiskFull {
        /// Where.
        folder: PathBuf,
        /// What could not be done.
        what: String,
    },
    /// Moving the branch would make that checkout differ from its commit behind its user's back.
    #[error("the branch `{branch}` cannot be moved while it is checked out in `{}`", folder.display())]
    CheckedOut {
        /// The run's branch.
        branch: String,
        /// The checkout.
        folder: PathBuf,
    },
    /// Someone took commits of the run off its branch.
    #[error("the branch `{branch}` no longer has commit {tip}, which this run made")]
    Rewritten {
        /// The run's branch.
        branch: String,
        /// The commit that is missing.
        tip: String,
    },
    /// In a session: someone put a commit on the run's branch that nobody has judged.
    #[error("the branch `{branch}` has commit {commit}, which this run did not make")]
    Foreign {
        /// The run's branch.
        branch: String,
        /// The commit.
        commit: String,
    },
    /// Nobody is there to commit as.
    #[error("git does not know who you are any more, so nothing can be committed in your name")]
    NoIdentity,
    /// Worktrees cannot be made ready.
    #[error("the set-up command `{command}` failed\n{output}")]
    SetUp {
        /// The command.
        command: String,
        /// The end of what it said.
        output: String,
        /// Hosts that it asked for and was refused, with the reasons.
        refused: Vec<RefusedHost>,
        /// Whether the run keeps to what was configured when it began.
        pinned: bool,
    },
    /// In a session: a file in no commit would decide what the checks find.
    #[error(
        "`{}`, which `.worktreeinclude` names, is not what it was when the run began, and is in no \
         commit: the checks cannot use it", file.display()
    )]
    Included {
        /// The file.
        file: PathBuf,
    },
    /// In a session: the checks would see other bytes than the commit means.
    #[error("the repository's object for {what} is not what its name says")]
    FalseObject {
        /// The file, or the tree.
        what: String,
    },
    /// The run would have what the user no longer trusts its repository with.
    #[error(
        "this run was started with `{asked}`, as the repository asked for, and you do not trust it with \
         that any more"
    )]
    Untrusted {
        /// What the repository asked for.
        asked: String,
    },
    /// The run would have what the user wanted it to do without.
    #[error(
        "this run was started with `--untrusted`, and the repository is trusted now with what it asks \
         for"
    )]
    Restricted,
    /// Nothing may run, because nothing can be confined.
    #[error("workers and gates cannot be confined here")]
    NoSandbox(#[source] crate::confine::ConfinementError),
}

/// What libraries and git say then.
const WORDS: &[&str] = &[
    "No space left on device",
    "Out of diskspace",
    "Disk quota exceeded",
];

/// Below this a disk is full for whoever says that it is.
const LITTLE_ROOM: u64 = 16 << 20;

/// Below this it is full, whatever is said: git does not always name the cause.
const NO_ROOM: u64 = 1 << 20;

/// Whether an error of codeteam's own comes from a full disk.
pub(super) fn full_by_error(error: &Error, folder: &Path) -> Option<Halt> {
    let mut next: Option<&dyn std::error::Error> = Some(error);
    let mut full = false;
    while let Some(error) = next {
        full |= error.downcast_ref::<io::Error>().is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        });
        next = error.source();
    }
    let what = with_causes(error);
    (full || says_so(&what) || has_less_than(NO_ROOM, folder)).then(|| Halt::DiskFull {
        folder: folder.to_owned(),
        what,
    })
}

/// Whether a worker or a check failed for want of room. Its word alone is not enough: a project's
/// own tests may well print it.
pub(super) fn full_by_result(input: &Input, folder: &Path) -> Option<Halt> {
    let said = match input {
        Input::WorkerExited { report, .. } => match &report.end {
            WorkerOutcome::Failed(facts) => Some(facts.message.as_str()),
            WorkerOutcome::Answered(_) => None,
        },
        Input::GateFinished { results, .. } => results
            .iter()
            .filter(|result| !result.passed)
            .map(|result| result.summary.as_str())
            .find(|summary| says_so(summary)),
        _ => None,
    };
    let what = said.filter(|said| says_so(said))?.to_owned();
    has_less_than(LITTLE_ROOM, folder).then(|| Halt::DiskFull {
        folder: folder.to_owned(),
        what,
    })
}

fn has_less_than(bytes: u64, folder: &Path) -> bool {
    rustix::fs::statvfs(folder)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < bytes)
}

fn says_so(text: &str) -> bool {
    WORDS.iter().any(|words| text.contains(words))
}
