//! What an assignment refers to: bodies, and what [`crate::gather`] finds in the worktree.

use std::fs;
use std::path::Path;

use codeteam_core::assignment::Assignment;
use codeteam_core::ids::BodyId;
use codeteam_core::role::Kind;

use crate::engine::Engine;
use crate::gather::{Place, gather};
use crate::perform::{Error, Job, oid};
use crate::prompt::{Attached, Templates};
use crate::workspace::Workspace;

/// Reads what an assignment refers to.
pub(super) fn of(
    job: &Job,
    assignment: &Assignment,
    templates: &Templates,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<Attached, Error> {
    let body = |id: &BodyId| -> Result<String, Error> {
        let bytes = engine.bodies.get(&id.0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let place = Place {
        repo: &engine.repo,
        // What the frame started from, not what its worker has made of it.
        base: &oid(&job.base.tree.0)?,
        folder: &engine.folder,
    };
    let tracked = || {
        let entries = workspace.tracked()?.into_iter();
        Ok::<_, Error>(entries.map(|entry| entry.path).collect())
    };
    let tree = workspace.tree_dir();
    let read = |path: &str, room: usize| text_of(&tree.join(path), room);
    let needs = templates.needs(assignment);
    let mut attached = gather(assignment, &needs, &place, tracked, read)?;
    if let Some(change) = &assignment.change
        && matches!(assignment.kind, Kind::Gatekeeper | Kind::Scribe)
    {
        attached.diff = Some(body(&change.diff)?);
    }
    for id in &assignment.attachments {
        attached.feedback.push(body(id)?);
    }
    Ok(attached)
}

/// A file's text, if it is a plain one that fits. Never what a link leads to.
fn text_of(path: &Path, room: usize) -> Option<String> {
    let meta = fs::symlink_metadata(path).ok()?;
    let fits = usize::try_from(meta.len()).is_ok_and(|length| length <= room);
    (meta.is_file() && fits)
        .then(|| fs::read_to_string(path).ok())
        .flatten()
}
