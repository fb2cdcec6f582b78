//! The file that records the tree a work tree is meant to be. If it is absent, the workspace is
//! only half made.

use std::io;

use super::{Error, Workspace, files};
use crate::git::Oid;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WorkspaceState {
    /// The work tree was made from this tree; a worker may have changed it.
    Ready { tree: Oid },
    /// The work tree is being replaced; `found` is its previous content.
    Rebuilding { found: Option<Oid> },
}

impl WorkspaceState {
    fn parse(text: &str) -> Option<WorkspaceState> {
        match text.trim_end().split_once(' ')? {
            ("ready", tree) => Some(WorkspaceState::Ready {
                tree: Oid::parse(tree)?,
            }),
            ("rebuilding", "nothing") => Some(WorkspaceState::Rebuilding { found: None }),
            ("rebuilding", tree) => Some(WorkspaceState::Rebuilding {
                found: Some(Oid::parse(tree)?),
            }),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            WorkspaceState::Ready { tree } => format!("ready {tree}\n"),
            WorkspaceState::Rebuilding { found: None } => "rebuilding nothing\n".to_owned(),
            WorkspaceState::Rebuilding { found: Some(tree) } => format!("rebuilding {tree}\n"),
        }
    }
}

impl Workspace {
    /// Returns the recorded state; `None` if there is none that can be parsed.
    pub(super) fn state(&self) -> Result<Option<WorkspaceState>, Error> {
        let path = self.directory.join("state");
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(WorkspaceState::parse(&text)),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData => Ok(None),
                _ => Err(files::io_error("read", &path)(error)),
            },
        }
    }

    pub(super) fn set_state(&self, state: &WorkspaceState) -> Result<(), Error> {
        files::write_atomically(&self.directory.join("state"), state.text().as_bytes())
    }
}
