//! What an assignment refers to: bodies, and files for those who cannot look for themselves.

use std::fs;
use std::path::Path;

use codeteam_core::assignment::Assignment;
use codeteam_core::ids::BodyId;
use codeteam_core::role::{Kind, Mode};
use codeteam_core::workflow::glob_matches;

use crate::engine::Engine;
use crate::perform::Error;
use crate::prompt::Attached;
use crate::workspace::Workspace;

/// How much of files is told in all.
const MAX_BYTES: usize = 400_000;
/// How many names of other files are told.
const MAX_NAMES: usize = 1_000;

/// Reads what an assignment refers to.
pub(super) fn of(
    assignment: &Assignment,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<Attached, Error> {
    let body = |id: &BodyId| -> Result<String, Error> {
        let bytes = engine.bodies.get(&id.0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut attached = Attached::default();
    if let Some(change) = &assignment.change
        && matches!(assignment.kind, Kind::Gatekeeper | Kind::Scribe)
    {
        attached.diff = Some(body(&change.diff)?);
    }
    for id in &assignment.attachments {
        attached.feedback.push(body(id)?);
    }
    if assignment.means.mode == Mode::Edits {
        files(assignment, workspace, &mut attached)?;
    }
    Ok(attached)
}

/// The files of the task, as they are; of the others, the names.
fn files(
    assignment: &Assignment,
    workspace: &Workspace,
    attached: &mut Attached,
) -> Result<(), Error> {
    let hidden = |path: &str| {
        let mut patterns = assignment.exclude.iter();
        patterns.any(|pattern| glob_matches(pattern, path))
    };
    let tracked: Vec<String> = workspace
        .tracked()?
        .into_iter()
        .filter_map(|entry| entry.path.into_os_string().into_string().ok())
        .filter(|path| !hidden(path))
        .collect();
    let empty = Vec::new();
    let wanted = assignment.task.as_ref().map_or(&empty, |task| &task.files);
    let is_wanted = |path: &str| {
        wanted.iter().any(|name| match name.strip_suffix('/') {
            Some(folder) => Path::new(path).starts_with(folder),
            None => name == path,
        })
    };
    let tree = workspace.tree_dir();
    let mut room = MAX_BYTES;
    for path in &tracked {
        let content = is_wanted(path)
            .then(|| text_of(&tree.join(path), room))
            .flatten();
        match content {
            Some(text) => {
                room -= text.len();
                attached.files.push((path.clone(), Some(text)));
            }
            None if attached.others.len() < MAX_NAMES => attached.others.push(path.clone()),
            None => {}
        }
    }
    let missing = wanted
        .iter()
        .filter(|name| !name.ends_with('/') && !tracked.contains(name));
    attached
        .files
        .extend(missing.map(|name| (name.clone(), None)));
    Ok(())
}

/// A file's text, if it is a plain one that fits. Never what a link leads to.
fn text_of(path: &Path, room: usize) -> Option<String> {
    let meta = fs::symlink_metadata(path).ok()?;
    let fits = usize::try_from(meta.len()).is_ok_and(|length| length <= room);
    (meta.is_file() && fits)
        .then(|| fs::read_to_string(path).ok())
        .flatten()
}
