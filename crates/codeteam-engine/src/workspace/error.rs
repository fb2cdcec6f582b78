//! What can go wrong with a workspace.

use std::io;
use std::path::{Path, PathBuf};

use crate::git;

/// A failed operation on a workspace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing that a worker has written can be looked at safely.
    #[error("worktrees cannot be looked at here")]
    Sandbox(#[from] crate::confine::ConfinementError),
    /// Git failed.
    #[error(transparent)]
    Git(git::Error),
    /// A file or directory could not be read or written.
    #[error("could not {operation} `{}`", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Not a name for a directory.
    #[error("`{name}` cannot be the name of a workspace")]
    BadName {
        /// What was given.
        name: String,
    },
    /// Git directories need absolute paths.
    #[error("the workspaces' directory must be an absolute path, not `{}`", path.display())]
    RelativeRoot {
        /// What was given.
        path: PathBuf,
    },
    /// The workspace was not prepared, or is only half made.
    #[error("the workspace at `{}` is not prepared", path.display())]
    NotPrepared {
        /// The workspace's directory.
        path: PathBuf,
    },
    /// The index is not what codeteam's own git writes.
    #[error("the index at `{}` cannot be read", path.display())]
    BrokenIndex {
        /// The index.
        path: PathBuf,
    },
    /// The work tree contains other repositories, whose content would be lost.
    #[error("the work tree contains other git repositories: {}", names(paths))]
    NestedRepositories {
        /// Where they are, relative to the work tree.
        paths: Vec<PathBuf>,
    },
    /// The work tree contains a file that git does not take: one that cannot
    /// be read, whose name is reserved, or that would harm who clones it.
    #[error("the work tree contains something git cannot record: {reason}")]
    Unrecordable {
        /// What git said.
        reason: String,
    },
    /// Files that git would hand to a program before it stores them, which is not run here: they
    /// would be stored as they are, secrets in plain text.
    #[error("{}", must_be_filtered(files))]
    Filtered {
        /// The files, and what they have to go through.
        files: Vec<git::FilteredFile>,
    },
    /// A directory that must be new or empty has something in it.
    #[error("`{}` is not empty", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
}

impl From<git::Error> for Error {
    /// What a worker has brought about has its own name, whichever call met it.
    fn from(error: git::Error) -> Error {
        match error {
            git::Error::NestedRepository { path } => {
                Error::NestedRepositories { paths: vec![path] }
            }
            git::Error::Unrecordable { reason } => Error::Unrecordable { reason },
            other => Error::Git(other),
        }
    }
}

/// What is said of files that cannot be stored as they are.
pub(crate) fn must_be_filtered(files: &[git::FilteredFile]) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = files
        .iter()
        .take(SHOWN)
        .map(|file| format!("`{}` (filter `{}`)", file.path.display(), file.filter))
        .collect();
    if files.len() > SHOWN {
        names.push(format!("{} more", files.len() - SHOWN));
    }
    format!(
        "`.gitattributes` says that git must put these files through a filter, such as encryption or \
         LFS, which codeteam does not run: {}. They would be committed as they are. Leave them \
         unchanged; a person has to commit such changes",
        names.join(", ")
    )
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| {
            let is_top = path.as_os_str().is_empty();
            let path = if is_top { Path::new(".") } else { path };
            format!("`{}`", path.display())
        })
        .collect();
    names.join(", ")
}
