//! A change touches only the files of its task.
//!
//! New tests, an empty `__init__.py` and lock files of manifests that the task names are no trespass;
//! documents are told and nothing more.

use super::{Subject, names};
use crate::verify::Found;
use crate::verify::change::Changed;
use crate::verify::proof::is_document;

/// Files that follow from others.
const FOLLOW: &[(&str, &str)] = &[
    ("Cargo.lock", "Cargo.toml"),
    ("package-lock.json", "package.json"),
    ("npm-shrinkwrap.json", "package.json"),
    ("yarn.lock", "package.json"),
    ("pnpm-lock.yaml", "package.json"),
    ("bun.lock", "package.json"),
    ("poetry.lock", "pyproject.toml"),
    ("uv.lock", "pyproject.toml"),
    ("pdm.lock", "pyproject.toml"),
    ("go.sum", "go.mod"),
];

pub(super) fn scope(subject: &Subject<'_>) -> Found {
    let mut found = Found::default();
    if subject.files.is_empty() {
        return found;
    }
    for file in &subject.change.files {
        let path = &file.path;
        if subject.names(path) || is_by_the_way(subject, file) {
            continue;
        }
        let done = match (file.is_new(), file.is_gone()) {
            (true, _) => "is new",
            (_, true) => "is gone",
            _ => "was changed",
        };
        let allowed = names(subject.files);
        if is_document(path) {
            found
                .told
                .push(format!("`{path}` {done}; the task names {allowed}"));
            continue;
        }
        found.wrong.push(format!(
            "`{path}` {done}, and the task names only {allowed}: undo it, or answer `blocked` if \
             the task cannot be done without it"
        ));
    }
    found
}

fn is_by_the_way(subject: &Subject<'_>, file: &Changed) -> bool {
    let path = &file.path;
    if file.is_new() && subject.tests.has(path) {
        return true;
    }
    let (folder, name) = path
        .rsplit_once('/')
        .map_or(("", path.as_str()), |split| split);
    let is_empty = file.after.text().is_some_and(|text| text.trim().is_empty());
    if file.is_new() && name == "__init__.py" && is_empty {
        return true;
    }
    FOLLOW.iter().any(|(follows, manifest)| {
        // A workspace has one lock file at its top for manifests further down.
        let below = |pattern: &String| pattern.ends_with(manifest) && pattern.starts_with(folder);
        name == *follows && subject.files.iter().any(below)
    })
}
