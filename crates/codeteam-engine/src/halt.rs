//! Conditions that stop codeteam itself and are not the fault of anything in the run: a full disk,
//! or a branch that codeteam may not move any more. They must not use up attempts or fail tasks;
//! the run continues once a person has resolved them.

use std::io;
use std::path::{Path, PathBuf};

use codeteam_core::input::{Input, WorkerOutcome};

use codeteam_host::error_chain::format_error_chain;
use codeteam_host::process::RefusedHost;

/// The reasons why codeteam cannot continue until a person has done something.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// The disk is full.
    #[error("the disk of `{}` is full: {what}", folder.display())]
    DiskFull {
        /// The folder on that disk.
        folder: PathBuf,
        /// The operation that failed.
        what: String,
    },
    /// Moving the branch would make that checkout differ from its commit without its user noticing.
    #[error("the branch `{branch}` cannot be moved while it is checked out in `{}`", folder.display())]
    CheckedOut {
        /// The run's branch.
        branch: String,
        /// The folder of the checkout.
        folder: PathBuf,
    },
    /// Somebody removed commits of the run from its branch.
    #[error("the branch `{branch}` no longer has commit {tip}, which this run made")]
    Rewritten {
        /// The run's branch.
        branch: String,
        /// The commit that is missing.
        tip: String,
    },
    /// In a session: somebody put a commit on the run's branch that nobody has judged.
    #[error("the branch `{branch}` has commit {commit}, which this run did not make")]
    Foreign {
        /// The run's branch.
        branch: String,
        /// The commit that does not belong there.
        commit: String,
    },
    /// There is no identity for commits any more.
    #[error("git does not know who you are any more, so nothing can be committed in your name")]
    NoIdentity,
    /// Worktrees cannot be set up.
    #[error("the set-up command `{command}` failed\n{output}")]
    SetUp {
        /// The set-up command.
        command: String,
        /// The end of its output.
        output: String,
        /// Hosts that it tried to reach and was refused, with the reasons.
        refused: Vec<RefusedHost>,
        /// Whether the run uses the configuration that it pinned when it began.
        pinned: bool,
    },
    /// In a session: a file that is in no commit would influence the checks.
    #[error(
        "`{}`, which `.worktreeinclude` names, is not what it was when the run began, and is in no \
         commit: the checks cannot use it", file.display()
    )]
    Included {
        /// The path of the file.
        file: PathBuf,
    },
    /// In a session: the checks would see other bytes than the commit contains.
    #[error("the repository's object for {what} is not what its name says")]
    FalseObject {
        /// The file or the tree.
        what: String,
    },
    /// The run would have access that the user no longer trusts its repository with.
    #[error(
        "this run was started with `{asked}`, as the repository asked for, and you do not trust it with \
         that any more"
    )]
    Untrusted {
        /// The request of the repository.
        asked: String,
    },
    /// The run would have access that the user wanted it to do without.
    #[error(
        "this run was started with `--untrusted`, and the repository is trusted now with what it asks \
         for"
    )]
    Restricted,
    /// Nothing may run, because nothing can be confined.
    #[error("workers and gates cannot be confined here")]
    NoSandbox(#[source] codeteam_host::confine::ConfinementError),
}

/// The messages of libraries and git about a full disk.
const WORDS: &[&str] = &[
    "No space left on device",
    "Out of diskspace",
    "Disk quota exceeded",
];

/// With less free space than this, a message about a full disk is believed.
const LITTLE_ROOM: u64 = 16 << 20;

/// With less free space than this, the disk is full whatever the message: git does not always name
/// the cause.
const NO_ROOM: u64 = 1 << 20;

/// Returns a halt if an error of codeteam's own comes from a full disk.
pub(crate) fn disk_full_from_error(
    error: &(dyn std::error::Error + 'static),
    folder: &Path,
) -> Option<Halt> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
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
    let what = format_error_chain(error);
    (full || says_so(&what) || has_less_than(NO_ROOM, folder)).then(|| Halt::DiskFull {
        folder: folder.to_owned(),
        what,
    })
}

/// Returns a halt if a worker or a check failed because the disk is full. The message alone is not
/// enough: a project's own tests may well print it.
pub(crate) fn disk_full_from_result(input: &Input, folder: &Path) -> Option<Halt> {
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
