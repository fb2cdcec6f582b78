//! The errors of workspace operations.

use std::io;
use std::path::{Path, PathBuf};

use crate::git;

/// The reason an operation on a workspace failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no safe way to read what a worker has written.
    #[error("worktrees cannot be looked at here")]
    Sandbox(#[from] crate::confine::ConfinementError),
    /// Git failed.
    #[error(transparent)]
    Git(git::Error),
    /// A file or directory could not be read or written.
    #[error("could not {operation} `{}`", path.display())]
    Io {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The name cannot be used for a directory.
    #[error("`{name}` cannot be the name of a workspace")]
    BadName {
        /// The name that was given.
        name: String,
    },
    /// The path is relative, but git directories need absolute paths.
    #[error("the workspaces' directory must be an absolute path, not `{}`", path.display())]
    RelativeRoot {
        /// The path that was given.
        path: PathBuf,
    },
    /// The workspace was not prepared, or is only half made.
    #[error("the workspace at `{}` is not prepared", path.display())]
    NotPrepared {
        /// The workspace's directory.
        path: PathBuf,
    },
    /// The index is not in the format that codeteam's own git writes.
    #[error("the index at `{}` cannot be read", path.display())]
    BrokenIndex {
        /// The path of the index.
        path: PathBuf,
    },
    /// The work tree contains other repositories, whose content would be lost.
    #[error("the work tree contains other git repositories: {}", join_names(paths))]
    NestedRepositories {
        /// Their paths relative to the work tree.
        paths: Vec<PathBuf>,
    },
    /// The work tree contains a file that git does not accept: it cannot be read, its name is
    /// reserved, or it would harm people who clone it.
    #[error("the work tree contains something git cannot record: {reason}")]
    Unrecordable {
        /// The error message of git.
        reason: String,
    },
    /// The work tree cannot be removed, because it contains something that git cannot record and
    /// that would be gone with it.
    #[error(
        "git cannot record everything in `{}`: {reason}; copy what you need, delete it there, then \
         try again",
        path.display()
    )]
    NotKept {
        /// The error message of git, which names the files.
        reason: String,
        /// The work tree's directory.
        path: PathBuf,
    },
    /// Git would pass these files through a program before storing them. That program is not run
    /// here, so they would be stored as they are, with secrets in plain text.
    #[error("{}", filtered_files_message(files))]
    Filtered {
        /// The files, and the filters they have to pass through.
        files: Vec<git::FilteredFile>,
    },
    /// A directory that must be new or empty contains something.
    #[error("`{}` is not empty", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
}

impl From<git::Error> for Error {
    /// Gives problems that a worker caused their own variant, whichever call found them.
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

/// Describes files that cannot be stored as they are.
pub fn filtered_files_message(files: &[git::FilteredFile]) -> String {
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

fn join_names(paths: &[PathBuf]) -> String {
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
