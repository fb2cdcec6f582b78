//! Writes the edits of an answer into the worktree, for workers that have no tools to change files.
//!
//! No process of the worker runs any more at this point. Symbolic links in the worktree are not
//! followed: a path that goes through one is refused, and a path that ends in one replaces it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use codeteam_context::redact::count_markers;
use codeteam_core::assignment::Assignment;
use codeteam_core::failure::{FailureFacts, FailureStage};
use codeteam_core::role::Contract;
use codeteam_core::submission::{self, AnswerForm, ClaimedChange, FileEdit, Submission};
use serde_json::Value;

use crate::engine::Engine;
use crate::perform::worker::files::io_error;
use crate::perform::{Error, Job, oid};
use codeteam_host::repo_files;
use codeteam_patterns::FilePatterns;

/// The largest file of a worktree that is read.
const MAX_BYTES: u64 = 16 << 20;

/// Applies the edits of an answer. Returns what the worker must be told if that is impossible. An
/// answer that core will refuse has no edits.
pub(super) fn apply(
    job: &Job,
    assignment: &Assignment,
    answer: &str,
    tree: &Path,
    engine: &Engine,
    note: &dyn Fn(&str),
) -> Result<Result<(), FailureFacts>, Error> {
    let form = AnswerForm {
        kind: assignment.kind,
        contract: assignment.expected.contract,
        mode: assignment.means.mode,
        asks: assignment.expected.asks,
        requests: assignment.expected.requests,
    };
    let parsed = submission::parse_constrained(form, answer, &assignment.submission_constraints());
    let Ok(Submission::Change(change)) = parsed else {
        return Ok(Ok(()));
    };
    if assignment.expected.contract == Contract::Strict {
        if let Some(test) = touched_test(job, &change, engine)? {
            let message = format!("`{test}` is a test that is there already, and is not changed");
            return Ok(Err(FailureFacts {
                stage: FailureStage::Forbidden,
                message,
                ..FailureFacts::default()
            }));
        }
        if !is_sorted(answer) {
            note("the edits are not in the order of their paths; they are taken in it");
        }
    }
    if let Some(message) = touched_interface(assignment, &change) {
        return Ok(Err(FailureFacts {
            stage: FailureStage::Forbidden,
            message,
            ..FailureFacts::default()
        }));
    }
    for edit in &change.edits {
        let path = tree.join(&edit.path);
        if loses_a_secret(tree, edit) {
            return Ok(Err(FailureFacts {
                stage: FailureStage::Forbidden,
                message: format!(
                    "`{}` has something in it that you are not shown, where it says `[redacted: …]`; \
                     written like this it would be lost: leave the file as it is",
                    edit.path
                ),
                ..FailureFacts::default()
            }));
        }
        match apply_edit(tree, edit) {
            Ok(()) => {}
            Err(error) if is_of_the_path(&error) => {
                return Ok(Err(FailureFacts {
                    stage: FailureStage::Forbidden,
                    message: format!("`{}` cannot be written: {error}", edit.path),
                    ..FailureFacts::default()
                }));
            }
            Err(error) => return Err(io_error("write", &path)(error)),
        }
    }
    Ok(Ok(()))
}

/// Returns a test among the edits that existed before the task began. Tests that the task adds do
/// not count.
fn touched_test(
    job: &Job,
    change: &ClaimedChange,
    engine: &Engine,
) -> Result<Option<String>, Error> {
    let patterns = FilePatterns::lenient(&engine.config.verification.test_paths);
    let is_test = |path: &&String| patterns.matches(path);
    let tests = change.edits.iter().map(|edit| &edit.path).filter(is_test);
    // Normalise the paths, so that `a//b` is `a/b`, as git writes it.
    let plain = |path: &String| Path::new(path).components().collect::<PathBuf>();
    let tests: Vec<PathBuf> = tests.map(plain).collect();
    let there = engine
        .repo
        .tree_files(&oid(&job.base.tree.0)?, &tests)
        .map_err(Error::from)?;
    let first = there.into_iter().next();
    Ok(first.map(|file| file.path.to_string_lossy().into_owned()))
}

/// Returns what the worker must be told if its answer edits the file of a locked interface.
fn touched_interface(assignment: &Assignment, change: &ClaimedChange) -> Option<String> {
    let plain = |path: &str| Path::new(path).components().collect::<PathBuf>();
    let locks = assignment.locked.iter();
    let mut touched = locks.filter(|lock| {
        let locked = plain(&lock.file.path);
        change.edits.iter().any(|edit| plain(&edit.path) == locked)
    });
    let lock = touched.next()?;
    Some(format!(
        "`{}` is the interface `{}` of phase `{}`, which is locked until the phase ends: leave the file as \
         it is, and build against it",
        lock.file.path, lock.file.name, lock.phase
    ))
}

/// Returns true if the edits of an answer are sorted by path.
fn is_sorted(answer: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let edits = answer["edits"].as_array().map(Vec::as_slice);
    let paths = edits.unwrap_or_default().iter();
    paths.map(|edit| edit["path"].as_str()).is_sorted()
}

/// Returns true if an edit would replace a secret in a file by its redaction marker: the worker was
/// shown the redacted text.
fn loses_a_secret(tree: &Path, edit: &FileEdit) -> bool {
    let Some(content) = &edit.content else {
        return false;
    };
    let path = tree.join(&edit.path);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
    // Nobody was shown the whole of a longer file.
    let before = is_file.then(|| repo_files::read_text(&path, None, MAX_BYTES).ok().flatten());
    count_markers(content) > before.flatten().as_deref().map_or(0, count_markers)
}

fn apply_edit(tree: &Path, edit: &FileEdit) -> io::Result<()> {
    let path = tree.join(&edit.path);
    let folder = Path::new(&edit.path).parent().unwrap_or(Path::new(""));
    let mut place = tree.to_owned();
    for part in folder.components() {
        place.push(part);
        match fs::symlink_metadata(&place) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(refused("a part of its path is not a folder")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if edit.content.is_none() {
                    return Ok(());
                }
                fs::create_dir(&place)?;
            }
            Err(error) => return Err(error),
        }
    }
    let found = match fs::symlink_metadata(&path) {
        Ok(meta) => Some(meta),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if found.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(refused("it is a folder"));
    }
    let Some(content) = &edit.content else {
        return match found {
            Some(_) => fs::remove_file(&path),
            None => Ok(()),
        };
    };
    if found.is_some_and(|meta| !meta.is_file()) {
        fs::remove_file(&path)?;
    }
    fs::write(&path, content)
}

/// Returns true if the path itself is invalid, which is the worker's mistake to correct.
fn is_of_the_path(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename
    )
}

fn refused(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &str, content: &str) -> FileEdit {
        FileEdit {
            path: path.to_owned(),
            content: Some(content.to_owned()),
            delete: false,
        }
    }

    #[test]
    fn files_are_made_replaced_and_removed_and_links_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, out) = (folder.path().join("tree"), folder.path().join("out"));
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("secret"), "mine").unwrap();
        std::os::unix::fs::symlink(&out, tree.join("away")).unwrap();
        std::os::unix::fs::symlink(out.join("secret"), tree.join("link")).unwrap();

        apply_edit(&tree, &write("a/b/c.txt", "new")).unwrap();
        assert_eq!(fs::read_to_string(tree.join("a/b/c.txt")).unwrap(), "new");
        apply_edit(&tree, &write("link", "its own")).unwrap();
        assert!(fs::symlink_metadata(tree.join("link")).unwrap().is_file());
        assert_eq!(fs::read_to_string(out.join("secret")).unwrap(), "mine");

        let through = apply_edit(&tree, &write("away/secret", "taken")).unwrap_err();
        assert_eq!(through.kind(), ErrorKind::InvalidInput);
        assert_eq!(fs::read_to_string(out.join("secret")).unwrap(), "mine");
        assert_eq!(
            apply_edit(&tree, &write("src", "x")).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );

        let long = apply_edit(&tree, &write(&"a".repeat(300), "x")).unwrap_err();
        assert!(is_of_the_path(&long), "{long}");

        let gone = |path: &str| FileEdit {
            path: path.to_owned(),
            content: None,
            delete: true,
        };
        apply_edit(&tree, &gone("a/b/c.txt")).unwrap();
        apply_edit(&tree, &gone("a/b/c.txt")).unwrap();
        apply_edit(&tree, &gone("no/such/file")).unwrap();
        assert!(!tree.join("a/b/c.txt").exists() && !tree.join("no").exists());
        assert!(apply_edit(&tree, &gone("away/secret")).is_err());
        assert!(out.join("secret").exists());
    }

    #[test]
    fn what_was_not_shown_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path();
        fs::write(tree.join("env"), "KEY=value\nOLD=[redacted: private key]\n").unwrap();
        let loses = |text: &str| loses_a_secret(tree, &write("env", text));
        assert!(loses(
            "KEY=[redacted: known secret]\nOLD=[redacted: private key]\n"
        ));
        assert!(!loses("KEY=other\nOLD=[redacted: private key]\n"));
        assert!(loses_a_secret(
            tree,
            &write("new", "KEY=[redacted: known secret]\n")
        ));
    }
}
