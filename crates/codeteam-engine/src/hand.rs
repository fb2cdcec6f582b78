//! A change in a person's own hands: its tree as a worktree to edit, and what became of it.
//!
//! The worktree is one beside the frame's own, so that nothing a driver knows of that one is
//! upset, whoever edits and from wherever. It stays until the frame ends: who was interrupted takes
//! it up as it is.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use codeteam_core::Run;
use codeteam_core::frame::{Frame, FrameChange, Question};
use codeteam_core::ids::{RunId, Tree};

use crate::bodies;
use crate::engine::Engine;
use crate::git::{self, Oid};
use crate::perform::{frame_change, workspace_name};
use crate::workspace::{self, IgnoredFiles, Workspace};

/// What the name of such a worktree ends in.
pub(crate) const SUFFIX: &str = "@hand";
/// The file beside it that says which tree was lent, and is locked while somebody edits.
const NOTE: &str = "lent";

/// Why a change cannot be edited or taken back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The worktree.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The diff cannot be kept.
    #[error(transparent)]
    Bodies(#[from] bodies::Error),
    /// Git.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// A note beside the worktree.
    #[error("could not write `{}`", path.display())]
    Note {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// What should name an object does not.
    #[error("`{0}` is no object of git's")]
    NotAnObject(String),
}

/// A worktree lent to a person.
#[derive(Debug)]
pub struct EditWorktree {
    workspace: Workspace,
    /// Whether an earlier edit is taken up.
    pub taken_up: bool,
    /// Keeps the worktree where it is for as long as it is lent.
    _lock: File,
}

/// What came back.
#[derive(Debug)]
pub enum EditOutcome {
    /// What was lent, unchanged.
    Same,
    /// Something that cannot be taken, and why.
    Refused(String),
    /// Another tree.
    Changed {
        /// What an answer comes with: the tree, and the whole change from the base.
        change: Box<(Tree, FrameChange)>,
        /// What the person changed, as a patch.
        own: Vec<u8>,
        /// The files of it.
        files: Vec<String>,
    },
}

impl EditWorktree {
    /// Where the files are.
    pub fn folder(&self) -> PathBuf {
        self.workspace.tree_dir()
    }
}

/// Makes a frame's tree a worktree for a person, or takes up the one that is there for that tree.
pub fn lend(engine: &Engine, run: &Run, frame: &Frame) -> Result<EditWorktree, Error> {
    let own = engine.workspace(&run.id, run.sandbox, &workspace_name(&frame.path))?;
    let (tree, base) = (oid(&frame.tree.0)?, oid(&frame.base.commit.0)?);
    if let Some(change) = &frame.change
        && own.is_missing()
    {
        let patch = engine.bodies.get(change.diff.as_str())?;
        own.remake(&base, &oid(&frame.base.tree.0)?, &patch)?;
    }
    let name = format!("{}{SUFFIX}", workspace_name(&frame.path));
    let workspace = engine
        .workspace(&run.id, run.sandbox, &name)?
        .borrowing(&own);
    let note = engine.workspaces_of(&run.id).join(&name).join(NOTE);
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
    // Two who edit at once share it; whoever tidies up looks for either.
    lock.lock_shared().map_err(failed)?;
    Ok(EditWorktree {
        workspace,
        taken_up,
        _lock: lock,
    })
}

/// Whether somebody is editing in a worktree.
pub(crate) fn is_in_use(engine: &Engine, run: &RunId, name: &str) -> bool {
    let note = engine.workspaces_of(run).join(name).join(NOTE);
    let lock = File::open(note).map(|file| file.try_lock());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

/// The tree that was lent.
pub(crate) fn lent_tree(engine: &Engine, run: &RunId, name: &str) -> Option<Tree> {
    let note = engine.workspaces_of(run).join(name).join(NOTE);
    fs::read_to_string(note).ok().map(Tree)
}

/// What a person has made of a worktree. The tree is brought into the user's repository, where
/// every other worktree finds it.
pub fn take_back(
    engine: &Engine,
    frame: &Frame,
    question: &Question,
    lent: &EditWorktree,
) -> Result<EditOutcome, Error> {
    let workspace = &lent.workspace;
    let (before, base) = (oid(&frame.tree.0)?, oid(&frame.base.tree.0)?);
    let (tree, diff) = match workspace.changes(&base) {
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
    let change = frame_change(engine, question.id.lasting(), &diff)?;
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
