//! Lets a person edit a change: checks its tree out into a worktree and submits the result.
//!
//! The worktree is separate from the frame's own, so that editing it, by whomever and from
//! wherever, does not invalidate what a driver has cached about that one. It stays until the frame
//! ends, so that an interrupted person can continue with it as it is.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use codeteam_core::Run;
use codeteam_core::frame::{Frame, FrameChange, Question};
use codeteam_core::ids::{RunId, Tree};

use crate::engine::Engine;
use crate::perform::{frame_change, workspace_name};
use codeteam_host::bodies;
use codeteam_host::git::{self, Oid};
use codeteam_host::workspace::{self, IgnoredFiles, Workspace};

/// The suffix of the name of such a worktree.
pub(crate) const SUFFIX: &str = "@hand";
/// The file next to it that records which tree was checked out. It is locked while somebody edits.
const NOTE: &str = "lent";

/// The reasons why a change cannot be edited or submitted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The worktree could not be prepared or read.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The diff cannot be stored.
    #[error(transparent)]
    Bodies(#[from] bodies::Error),
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The note next to the worktree could not be written.
    #[error("could not write `{}`", path.display())]
    Note {
        /// The path of the note.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// An id is not a git object id.
    #[error("`{0}` is not a git object")]
    NotAnObject(String),
}

/// A worktree in which a person edits a change.
#[derive(Debug)]
pub struct EditWorktree {
    workspace: Workspace,
    /// Whether an earlier edit is continued.
    pub resumed: bool,
    /// Keeps the worktree from being cleaned up while somebody edits.
    _lock: File,
}

/// The result of an edit.
#[derive(Debug)]
pub enum EditOutcome {
    /// The tree is unchanged.
    Same,
    /// The result cannot be accepted, for this reason.
    Refused(String),
    /// The tree has changed.
    Changed {
        /// The tree and the whole change from the base, as they accompany an answer.
        change: Box<(Tree, FrameChange)>,
        /// The person's own changes, as a patch.
        own: Vec<u8>,
        /// The files in that patch.
        files: Vec<String>,
    },
}

impl EditWorktree {
    /// Returns the folder with the files.
    pub fn folder(&self) -> PathBuf {
        self.workspace.tree_dir()
    }
}

/// Checks a frame's tree out into a worktree for a person, or returns the existing one for that
/// tree.
pub fn lend_worktree(engine: &Engine, run: &Run, frame: &Frame) -> Result<EditWorktree, Error> {
    let own = engine.workspace(&run.id, run.sandbox, &workspace_name(&frame.path))?;
    let (tree, base) = (oid(&frame.tree.0)?, oid(&frame.base.commit.0)?);
    if let Some(change) = &frame.change
        && own.is_missing()
    {
        let patch = engine.bodies.get(change.diff.as_str())?;
        own.rebuild_tree(&base, &oid(&frame.base.tree.0)?, &patch)?;
    }
    let name = format!("{}{SUFFIX}", workspace_name(&frame.path));
    let workspace = engine
        .workspace(&run.id, run.sandbox, &name)?
        .borrowing_objects(&own);
    let note = engine.run_workspaces_folder(&run.id).join(&name).join(NOTE);
    let taken_up =
        fs::read_to_string(&note).is_ok_and(|lent| lent == frame.tree.0) && !workspace.is_missing();
    if !taken_up {
        workspace.prepare(&tree, &base, IgnoredFiles::Keep)?;
        write(&note, &frame.tree.0)?;
    }
    let failed = |source| Error::Note {
        path: note.clone(),
        source,
    };
    let lock = File::open(&note).map_err(failed)?;
    // Two people who edit at once share the lock; clean-up checks for either.
    lock.lock_shared().map_err(failed)?;
    Ok(EditWorktree {
        workspace,
        resumed: taken_up,
        _lock: lock,
    })
}

/// Returns true if somebody is editing in a worktree.
pub(crate) fn is_being_edited(engine: &Engine, run: &RunId, name: &str) -> bool {
    let note = engine.run_workspaces_folder(run).join(name).join(NOTE);
    let lock = File::open(note).map(|file| file.try_lock());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

/// Returns the tree that was checked out.
pub(crate) fn edit_base_tree(engine: &Engine, run: &RunId, name: &str) -> Option<Tree> {
    let note = engine.run_workspaces_folder(run).join(name).join(NOTE);
    fs::read_to_string(note).ok().map(Tree)
}

/// Collects a person's edits from a worktree. The tree is transferred to the user's repository,
/// where every other worktree finds it.
pub fn collect_edit(
    engine: &Engine,
    frame: &Frame,
    question: &Question,
    lent: &EditWorktree,
) -> Result<EditOutcome, Error> {
    let workspace = &lent.workspace;
    let (before, base) = (oid(&frame.tree.0)?, oid(&frame.base.tree.0)?);
    let (tree, diff) = match workspace.collect_changes(&base) {
        Ok(found) => found,
        Err(
            error @ (workspace::Error::NestedRepositories { .. }
            | workspace::Error::Unrecordable { .. }
            | workspace::Error::Filtered { .. }),
        ) => return Ok(EditOutcome::Refused(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    if tree == before {
        return Ok(EditOutcome::Same);
    }
    if let Some(link) = diff.gitlinks().next() {
        let path = link.path.display();
        return Ok(EditOutcome::Refused(format!(
            "`{path}` refers to another repository"
        )));
    }
    workspace.transfer(&tree, &oid(&frame.base.commit.0)?)?;
    let own = workspace.diff(&before, &tree)?;
    let names = |files: &[git::DiffEntry]| {
        let name = |file: &git::DiffEntry| file.path.to_string_lossy().into_owned();
        files.iter().map(name).collect::<Vec<_>>()
    };
    let change = frame_change(engine, question.id.without_fence(), &diff)?;
    Ok(EditOutcome::Changed {
        change: Box::new((Tree(tree.as_str().to_owned()), change)),
        files: names(&own.files),
        own: own.text,
    })
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|source| Error::Note {
        path: path.to_owned(),
        source,
    })
}

fn oid(text: &str) -> Result<Oid, Error> {
    Oid::parse(text).ok_or_else(|| Error::NotAnObject(text.to_owned()))
}
