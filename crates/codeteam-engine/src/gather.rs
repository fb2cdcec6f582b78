//! Gathers what an assignment refers to, for its prompt: files, the tree as a map, and the
//! documents of the project.
//!
//! **No worker speaks to its reviewer through a document.** `AGENTS.md` is read from git's objects,
//! as it was before the task began; `.codeteam/context` is read from the user's checkout, which no
//! worker writes.

mod documents;
mod map;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use codeteam_core::assignment::Assignment;
use codeteam_core::role::Mode;
use codeteam_core::workflow::glob_matches;

use crate::git::{self, Oid, Repo};
use crate::prompt::{Attached, variables};

/// How much of files is told in all.
const MAX_BYTES: usize = 400_000;
/// How many names of other files are told.
const MAX_NAMES: usize = 1_000;

/// Where things are.
pub(crate) struct Place<'a> {
    /// The user's repository.
    pub(crate) repo: &'a Repo,
    /// The tree that the task began with.
    pub(crate) base: &'a Oid,
    /// `.codeteam`.
    pub(crate) folder: &'a Path,
}

/// Gathers what templates that need these variables are given. `names` are the tracked files, and
/// `read` is the text of one if it is plain and fits.
pub(crate) fn gather<E: From<git::Error>>(
    assignment: &Assignment,
    needs: &BTreeSet<String>,
    place: &Place<'_>,
    names: impl FnOnce() -> Result<Vec<PathBuf>, E>,
    read: impl Fn(&str, usize) -> Option<String>,
) -> Result<Attached, E> {
    let mut attached = Attached::default();
    if needs.contains("documents") || needs.contains("unshown") {
        documents::read(assignment, place, &mut attached)?;
    }
    let wants_map = needs.contains(variables::REPO_MAP);
    let wants_files = needs.contains(variables::RELEVANT_FILES_CONTENT);
    let shows_files = assignment.means.mode == Mode::Edits;
    if !(wants_map || wants_files || shows_files) {
        return Ok(attached);
    }
    let hidden = |path: &str| {
        let mut patterns = assignment.exclude.iter();
        patterns.any(|pattern| glob_matches(pattern, path))
    };
    let tracked: Vec<String> = names()?
        .into_iter()
        .filter_map(|path| path.into_os_string().into_string().ok())
        .filter(|path| !hidden(path))
        .collect();
    if wants_map {
        attached.repo_map = map::of(&tracked);
    }
    let (files, others) = files(assignment, &tracked, read);
    if wants_files {
        attached.relevant.clone_from(&files);
    }
    if shows_files {
        (attached.files, attached.others) = (files, others);
    }
    Ok(attached)
}

/// A file, with its text if it is there.
type Shown = (String, Option<String>);

/// The files of the task, as they are; of the others, the names.
fn files(
    assignment: &Assignment,
    tracked: &[String],
    read: impl Fn(&str, usize) -> Option<String>,
) -> (Vec<Shown>, Vec<String>) {
    let empty = Vec::new();
    let wanted = assignment.task.as_ref().map_or(&empty, |task| &task.files);
    let is_wanted = |path: &str| {
        wanted.iter().any(|name| match name.strip_suffix('/') {
            Some(folder) => Path::new(path).starts_with(folder),
            None => name == path,
        })
    };
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    let mut room = MAX_BYTES;
    for path in tracked {
        let content = is_wanted(path).then(|| read(path, room)).flatten();
        match content {
            Some(text) => {
                room -= text.len();
                shown.push((path.clone(), Some(text)));
            }
            None if others.len() < MAX_NAMES => others.push(path.clone()),
            None => {}
        }
    }
    let missing = wanted
        .iter()
        .filter(|name| !name.ends_with('/') && !tracked.contains(name));
    shown.extend(missing.map(|name| (name.clone(), None)));
    (shown, others)
}
