//! What can go wrong when talking to git, in terms a caller can act on.

use std::io;
use std::path::PathBuf;

use super::Oid;
use crate::walk::SpecialFile;

/// A failed git operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no `git` program on the search path.
    #[error("`git` was not found in PATH (`{}`)", path.display())]
    Missing {
        /// The search path that was looked through.
        path: PathBuf,
    },
    /// The installed git lacks something every call depends on.
    #[error(
        "git {found} is too old: codeteam needs {} or newer",
        super::command::NEEDED
    )]
    TooOld {
        /// The version git reports.
        found: String,
    },
    /// The process could not be started or talked to.
    #[error("could not run `{argv}`")]
    Spawn {
        /// The command, without the options every call has.
        argv: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Git ran and refused.
    #[error("`{argv}` failed ({status}): {stderr}")]
    Failed {
        /// The command, without the options every call has.
        argv: String,
        /// The exit status, or the signal.
        status: std::process::ExitStatus,
        /// What git said, trimmed.
        stderr: String,
    },
    /// Git was ended, because it took longer than it may.
    #[error("`{argv}` took too long and was ended")]
    TimedOut {
        /// The command, without the options every call has.
        argv: String,
    },
    /// Git was ended, because nobody wants to know any more.
    #[error("`{argv}` was cancelled")]
    Cancelled {
        /// The command, without the options every call has.
        argv: String,
    },
    /// Git waits for a file that never ends, and was ended.
    #[error("git cannot go on: {file}, which it would wait for without end; move it away")]
    Blocked {
        /// The command, without the options every call has.
        argv: String,
        /// The file, relative to the top of the work tree.
        file: SpecialFile,
    },
    /// Something kills git, or what confines it, again and again.
    #[error("`{argv}` or its sandbox was killed {launches} times ({status}), and not by codeteam")]
    Lost {
        /// The command, without the options every call has.
        argv: String,
        /// How often it was launched.
        launches: u32,
        /// How it ended the last time.
        status: std::process::ExitStatus,
    },
    /// The sandbox that git was to run in did not come about.
    #[error("could not confine `{argv}` ({status}): {}", or_silence(said))]
    Unconfined {
        /// The command, without the options every call has.
        argv: String,
        /// How the sandbox ended.
        status: std::process::ExitStatus,
        /// What it said.
        said: String,
    },
    /// Git succeeded, but said something this code does not understand.
    #[error("`{argv}` printed something unexpected: {what}")]
    Output {
        /// The command, without the options every call has.
        argv: String,
        /// What was expected or found.
        what: String,
    },
    /// A file of a git directory could not be read or written.
    #[error("could not {operation} `{}`", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The directory is in no git repository.
    #[error("`{}` is not in a git repository", path.display())]
    NotARepository {
        /// Where the search began.
        path: PathBuf,
    },
    /// The repository belongs to another user, and git refuses to trust it.
    #[error("the repository at `{}` belongs to another user; git's `safe.directory` setting says whether to trust it", path.display())]
    NotTrusted {
        /// Where the search began.
        path: PathBuf,
    },
    /// The repository has no work tree here: it is bare, or this is its `.git`.
    #[error("`{}` has no work tree (a bare repository, or the inside of `.git`)", path.display())]
    Bare {
        /// Where the search began.
        path: PathBuf,
    },
    /// `HEAD` names no commit yet.
    #[error("the repository at `{}` has no commits yet", path.display())]
    NoCommits {
        /// The top of the work tree.
        path: PathBuf,
    },
    /// A name that resolves to no commit.
    #[error("`{rev}` does not name a commit")]
    UnknownRevision {
        /// What was asked for.
        rev: String,
    },
    /// Not the full name of a reference.
    #[error("`{name}` is not a full reference name")]
    BadRef {
        /// What was given.
        name: String,
    },
    /// The reference is not where it was expected to be.
    #[error("`{name}` was expected at {} but is at {}", or_nothing(expected.as_ref()), or_nothing(found.as_ref()))]
    RefMoved {
        /// The full reference name.
        name: String,
        /// Where it was expected, if it was expected to exist.
        expected: Option<Oid>,
        /// Where it is, if it exists.
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
    /// The checkout is not twice the same, so that nobody knows what was read.
    #[error(
        "`{}` is not what it was when git read it: the checkout changes while it is looked at",
        path.display()
    )]
    Unsettled {
        /// The file.
        path: PathBuf,
    },
    /// A branch that was to be created exists already.
    #[error("the branch `{name}` exists already, at {found}")]
    BranchExists {
        /// The short branch name.
        name: String,
        /// Where it is.
        found: Oid,
    },
    /// A nested repository without a commit cannot be added.
    #[error("`{}` is a git repository inside the work tree", path.display())]
    NestedRepository {
        /// Where it is, relative to the work tree.
        path: PathBuf,
    },
    /// A file of a work tree cannot be added: it is unreadable, has a name that
    /// git reserves, or content that git refuses to spread.
    #[error("git cannot record a file: {reason}")]
    Unrecordable {
        /// What git said.
        reason: String,
    },
    /// The user's checkout has changes a merge could mix with.
    #[error("the checkout has uncommitted changes: {}", list(files))]
    Dirty {
        /// The changed files.
        files: Vec<PathBuf>,
    },
    /// Files that git does not know are where the run's branch has files.
    #[error(
        "the checkout has files that git does not know where the run's branch has others: {}",
        list(files)
    )]
    InTheWay {
        /// The user's files.
        files: Vec<PathBuf>,
    },
    /// The user's branch has commits that the run's branch has not.
    #[error("`{branch}` cannot be fast-forwarded to {target}: it has commits of its own")]
    NotFastForward {
        /// The checked-out branch, or `HEAD` when detached.
        branch: String,
        /// The commit that was to be reached.
        target: Oid,
    },
    /// Git, which had the user's terminal, did not do it and has said why there.
    #[error("`{argv}` failed ({status})")]
    Refused {
        /// The command.
        argv: String,
        /// The exit status, or the signal.
        status: std::process::ExitStatus,
    },
    /// The merge met conflicts; it was undone and the checkout is as before.
    #[error("the merge was undone, because it conflicts in: {}", list(files))]
    MergeConflict {
        /// The files in conflict.
        files: Vec<PathBuf>,
    },
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

/// The first few names: an error is one line, whatever the size of the mess.
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
