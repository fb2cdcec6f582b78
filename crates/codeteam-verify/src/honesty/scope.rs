//! Rule: a change leaves alone what belongs to other tasks, and what the plan forbids.
//!
//! A file that the task does not list and that no other task holds is accepted: planners forget
//! files, and an honest change must not fail for that. Reviewers get a finding about it, and another one
//! if a change touches no file at all that the task lists. New tests,
//! an empty `__init__.py` and lock files of manifests that the task lists do not deserve one.

use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::ids::TaskId;
use codeteam_core::run::HeldFiles;
use codeteam_patterns::{FilePatterns, file_matches};

use super::{HonestySubject, join_names};
use crate::CheckFindings;
use crate::change::ChangedFile;

/// Files that are generated from others.
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

pub(super) fn check_scope(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    let forbidden = FilePatterns::lenient(subject.forbidden);
    for file in &subject.change.files {
        let path = &file.path;
        let done = match (file.is_new(), file.is_deleted()) {
            (true, _) => "is new",
            (_, true) => "is gone",
            _ => "was changed",
        };
        if forbidden.matches(path) {
            found.failures.push(format!(
                "`{path}` {done}, and the plan forbids changing it: undo it, or answer `blocked` \
                 if the task cannot be done without it"
            ));
            continue;
        }
        // A task that lists no files may touch any.
        if subject.files.is_empty() || subject.is_task_file(path) {
            continue;
        }
        if let Some(task) = holding_task(subject, file) {
            found.failures.push(format!(
                "`{path}` {done}, and task `{task}` holds it: undo it, or answer `blocked` and say \
                 why this task cannot be done without it"
            ));
        } else if !is_incidental(subject, file) {
            let allowed = join_names(subject.files);
            found
                .notes
                .push(format!("`{path}` {done}; the task names {allowed}"));
            found
                .findings
                .push(out_of_scope_finding(path, done, &allowed));
        }
    }
    let is_named = |file: &ChangedFile| subject.is_task_file(&file.path);
    let files = &subject.change.files;
    if found.failures.is_empty() && !subject.files.is_empty() && !files.iter().any(is_named) {
        found.findings.extend(elsewhere_finding(subject));
    }
    found
}

/// Creates the finding for reviewers about a change that leaves all files of its task alone.
fn elsewhere_finding(subject: &HonestySubject<'_>) -> Option<ReportedFinding> {
    let first = subject.change.files.first()?;
    let allowed = join_names(subject.files);
    Some(ReportedFinding {
        severity: Severity::Minor,
        title: "the change touches no file of its task".to_owned(),
        detail: format!(
            "The task names {allowed}. Judge whether the change does what the task asks for, or something else."
        ),
        file: Some(first.path.clone()),
        line: None,
    })
}

/// Creates the finding for reviewers about a file that belongs neither to this task nor to another.
fn out_of_scope_finding(path: &str, done: &str, allowed: &str) -> ReportedFinding {
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

/// Returns the other task that a file belongs to, if there is one. A new test or a lock file
/// belongs to another task only if that task lists exactly this file.
fn holding_task<'a>(subject: &HonestySubject<'a>, file: &ChangedFile) -> Option<&'a TaskId> {
    let by_the_way = is_incidental(subject, file);
    let path = file.path.as_str();
    let holds = |held: &&HeldFiles| {
        held.files
            .iter()
            .any(|pattern| pattern == path || (!by_the_way && file_matches(pattern, path)))
    };
    subject.held_files.iter().find(holds).map(|held| &held.task)
}

fn is_incidental(subject: &HonestySubject<'_>, file: &ChangedFile) -> bool {
    let path = &file.path;
    if file.is_new() && subject.tests.is_test(path) {
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
        // A workspace has one lock file at the top for all manifests below.
        let below = |pattern: &String| pattern.ends_with(manifest) && pattern.starts_with(folder);
        name == *follows && subject.files.iter().any(below)
    })
}
