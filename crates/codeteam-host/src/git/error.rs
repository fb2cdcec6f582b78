//! The errors of git operations, in terms a caller can act on.

use std::io;
use std::path::PathBuf;

use super::Oid;
use crate::walk::SpecialFile;

/// The reason a git operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no `git` program on the search path.
    #[error("`git` was not found in PATH (`{}`)", path.display())]
    Missing {
        /// The search path that was used.
        path: PathBuf,
    },
    /// The installed git lacks a feature that every call depends on.
    #[error(
        "git {found} is too old: codeteam needs {} or newer",
        super::command::NEEDED
    )]
    TooOld {
        /// The version git reports.
        found: String,
    },
    /// The process could not be started or communicated with.
    #[error("could not run `{argv}`")]
    Spawn {
        /// The command, without the options every call has.
        argv: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Git ran and failed.
    #[error("`{argv}` failed ({status}): {stderr}{}", remedy(stderr))]
    Failed {
        /// The command, without the options every call has.
        argv: String,
        /// The exit status, or the signal.
        status: std::process::ExitStatus,
        /// The error output of git, trimmed.
        stderr: String,
    },
    /// Git exceeded its deadline and was ended.
    #[error("`{argv}` took too long and was ended")]
    TimedOut {
        /// The command, without the options every call has.
        argv: String,
    },
    /// Git was ended because the operation was cancelled.
    #[error("`{argv}` was cancelled")]
    Cancelled {
        /// The command, without the options every call has.
        argv: String,
    },
    /// Git blocked on a file that never ends, and was ended.
    #[error("git cannot go on: {file}, which it would wait for without end; move it away")]
    Blocked {
        /// The command, without the options every call has.
        argv: String,
        /// The file, relative to the top of the work tree.
        file: SpecialFile,
    },
    /// Something killed git or its sandbox, on every launch.
    #[error("`{argv}` or its sandbox was killed {launches} times ({status}), and not by codeteam")]
    Lost {
        /// The command, without the options every call has.
        argv: String,
        /// The number of launches that were tried.
        launches: u32,
        /// The exit status of the last launch.
        status: std::process::ExitStatus,
    },
    /// The sandbox for git could not be set up.
    #[error("could not confine `{argv}` ({status}): {}", or_silence(said))]
    Unconfined {
        /// The command, without the options every call has.
        argv: String,
        /// The exit status of the sandbox.
        status: std::process::ExitStatus,
        /// The error output of the sandbox.
        said: String,
    },
    /// Git succeeded, but its output could not be parsed.
    #[error("`{argv}` printed something unexpected: {what}")]
    Output {
        /// The command, without the options every call has.
        argv: String,
        /// A description of what was expected or found.
        what: String,
    },
    /// A file of a git directory could not be read or written.
    #[error("could not {operation} `{}`", path.display())]
    Io {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory is not in a git repository.
    #[error("`{}` is not in a git repository", path.display())]
    NotARepository {
        /// The directory where the search began.
        path: PathBuf,
    },
    /// The repository belongs to another user, and git refuses to trust it.
    #[error("the repository at `{}` belongs to another user; git's `safe.directory` setting says whether to trust it", path.display())]
    NotTrusted {
        /// The directory where the search began.
        path: PathBuf,
    },
    /// The repository has no work tree here: it is bare, or this is its `.git`.
    #[error("`{}` has no work tree (a bare repository, or the inside of `.git`)", path.display())]
    Bare {
        /// The directory where the search began.
        path: PathBuf,
    },
    /// `HEAD` does not point to a commit yet.
    #[error("the repository at `{}` has no commits yet", path.display())]
    NoCommits {
        /// The top of the work tree.
        path: PathBuf,
    },
    /// The name does not resolve to a commit.
    #[error("`{rev}` does not name a commit")]
    UnknownRevision {
        /// The name that was requested.
        rev: String,
    },
    /// The name is not the full name of a reference.
    #[error("`{name}` is not a full reference name")]
    BadRef {
        /// The name that was given.
        name: String,
    },
    /// The reference is not where it was expected to be.
    #[error("`{name}` was expected at {} but is at {}", or_nothing(expected.as_ref()), or_nothing(found.as_ref()))]
    RefMoved {
        /// The full reference name.
        name: String,
        /// The expected commit, if the reference was expected to exist.
        expected: Option<Oid>,
        /// The commit it points to, if it exists.
        found: Option<Oid>,
    },
    /// Another process holds the reference's lock, or died holding it.
    #[error(
        "`{name}` is locked: another git process is changing it, or was killed and has left `{}`",
        lock.display()
    )]
    RefLocked {
        /// The full reference name.
        name: String,
        /// The lock file.
        lock: PathBuf,
    },
    /// Two readings of the checkout differ, so it is unknown what was read.
    #[error(
        "`{}` is not what it was when git read it: the checkout changes while it is looked at",
        path.display()
    )]
    Unsettled {
        /// The first file that differs.
        path: PathBuf,
    },
    /// The branch that was to be created exists already.
    #[error("the branch `{name}` exists already, at {found}")]
    BranchExists {
        /// The short branch name.
        name: String,
        /// The commit it points to.
        found: Oid,
    },
    /// A nested repository without a commit cannot be added.
    #[error("`{}` is a git repository inside the work tree", path.display())]
    NestedRepository {
        /// The path relative to the work tree.
        path: PathBuf,
    },
    /// A file of a work tree cannot be added: it is unreadable, has a name that git reserves, or
    /// has content that git refuses to distribute.
    #[error("git cannot record a file: {reason}")]
    Unrecordable {
        /// The error message of git.
        reason: String,
    },
    /// The user's checkout has changes that a merge could mix with.
    #[error("the checkout has uncommitted changes: {}", list(files))]
    Dirty {
        /// The changed files.
        files: Vec<PathBuf>,
    },
    /// Untracked files are in the place of files of the run's branch.
    #[error(
        "the checkout has files that git does not know where the run's branch has others: {}",
        list(files)
    )]
    InTheWay {
        /// The user's files.
        files: Vec<PathBuf>,
    },
    /// The user's branch has commits that the run's branch does not have.
    #[error("`{branch}` cannot be fast-forwarded to {target}: it has commits of its own")]
    NotFastForward {
        /// The checked-out branch, or `HEAD` when detached.
        branch: String,
        /// The commit that was to be reached.
        target: Oid,
    },
    /// Git failed while it had the user's terminal, and has printed the reason there.
    #[error("`{argv}` failed ({status})")]
    Refused {
        /// The command that was run.
        argv: String,
        /// The exit status, or the signal.
        status: std::process::ExitStatus,
    },
    /// The user's branch could not be moved, and the checkout was put back.
    #[error("`{branch}` could not be moved, and the checkout was put back as it was: {reason}")]
    NotMoved {
        /// The checked-out branch, or `HEAD` when detached.
        branch: String,
        /// The error message of git.
        reason: String,
    },
    /// The merge has conflicts; nothing was touched.
    #[error("nothing was merged, because there are conflicts in: {}", list(files))]
    MergeConflict {
        /// The files in conflict.
        files: Vec<PathBuf>,
    },
}

/// Returns what to do about a failure that only the repository's owner can end.
fn remedy(stderr: &str) -> &'static str {
    const LACKS_OBJECTS: [&str; 3] = [
        "unable to read sha1 file of",
        "from promisor remote",
        "lazy fetching disabled",
    ];
    if LACKS_OBJECTS.iter().any(|message| stderr.contains(message)) {
        "\nObjects are missing here, and codeteam fetches none. In a partial clone (`--filter`), \
         `git fetch --refetch --no-filter` gets all of them; then try again"
    } else {
        ""
    }
}

fn or_silence(said: &str) -> &str {
    if said.is_empty() {
        "it did not say why"
    } else {
        said
    }
}

fn or_nothing(oid: Option<&Oid>) -> &str {
    oid.map_or("nothing", Oid::as_str)
}

/// Lists the first few names: an error stays on one line, however many files are affected.
fn list(files: &[PathBuf]) -> String {
    const SHOWN: usize = 5;
    let shown = files
        .iter()
        .take(SHOWN)
        .map(|file| format!("`{}`", file.display()));
    let mut names: Vec<String> = shown.collect();
    if files.len() > SHOWN {
        names.push(format!("and {} more", files.len() - SHOWN));
    }
    names.join(", ")
}
