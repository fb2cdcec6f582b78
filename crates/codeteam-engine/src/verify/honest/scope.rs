//! A change leaves alone what belongs to other tasks, and what the plan forbids.
//!
//! A file that the task does not name and that no other task holds is accepted: planners forget
//! files, and an honest change must not fail for that. Reviewers get a finding about it. New tests,
//! an empty `__init__.py` and lock files of manifests that the task names are not worth one.

use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::ids::TaskId;
use codeteam_core::run::HeldFiles;

use super::{HonestySubject, names};
use crate::verify::CheckFindings;
use crate::verify::change::ChangedFile;
use crate::verify::proof::meets;

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

pub(super) fn scope(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    for file in &subject.change.files {
        let path = &file.path;
        let done = match (file.is_new(), file.is_gone()) {
            (true, _) => "is new",
            (_, true) => "is gone",
            _ => "was changed",
        };
        if subject.forbidden.iter().any(|pattern| meets(pattern, path)) {
            found.wrong.push(format!(
                "`{path}` {done}, and the plan forbids changing it: undo it, or answer `blocked` \
                 if the task cannot be done without it"
            ));
            continue;
        }
        // A task that names no files may touch any.
        if subject.files.is_empty() || subject.names(path) {
            continue;
        }
        if let Some(task) = holder(subject, file) {
            found.wrong.push(format!(
                "`{path}` {done}, and task `{task}` holds it: undo it, or answer `blocked` and say \
                 why this task cannot be done without it"
            ));
        } else if !is_by_the_way(subject, file) {
            let allowed = names(subject.files);
            found
                .told
                .push(format!("`{path}` {done}; the task names {allowed}"));
            found.findings.push(outside(path, done, &allowed));
        }
    }
    found
}

/// What reviewers are told of a file that is not the task's, and nobody else's either.
fn outside(path: &str, done: &str, allowed: &str) -> ReportedFinding {
    ReportedFinding {
        severity: Severity::Info,
        title: format!("`{path}` {done} and is not among the files of the task"),
        detail: format!(
            "The task names {allowed}. No other task holds this file, so the checks accept it. Judge \
             whether the change needs it; if it does not, reject the change with a finding of your own."
        ),
        file: Some(path.to_owned()),
        line: None,
    }
}

/// The other task that a file belongs to, if there is one. A new test or a lock file is only another
/// task's if that names the very file.
fn holder<'a>(subject: &HonestySubject<'a>, file: &ChangedFile) -> Option<&'a TaskId> {
    let by_the_way = is_by_the_way(subject, file);
    let path = file.path.as_str();
    let holds = |held: &&HeldFiles| {
        held.files
            .iter()
            .any(|pattern| pattern == path || (!by_the_way && meets(pattern, path)))
    };
    subject.held.iter().find(holds).map(|held| &held.task)
}

fn is_by_the_way(subject: &HonestySubject<'_>, file: &ChangedFile) -> bool {
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
