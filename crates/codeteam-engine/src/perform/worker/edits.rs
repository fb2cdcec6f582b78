//! Puts the files of an answer into the worktree, for workers that have no tools to do it with.
//!
//! Nothing of the worker's runs any more, and a link in the worktree leads nowhere: a path that
//! goes through one is refused, and one that ends in one replaces it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use codeteam_context::redact::marks;
use codeteam_core::assignment::Assignment;
use codeteam_core::failure::{FailureFacts, FailureStage};
use codeteam_core::role::Contract;
use codeteam_core::submission::{self, AnswerForm, ClaimedChange, FileEdit, Submission};
use codeteam_core::workflow::glob_matches;
use serde_json::Value;

use crate::engine::Engine;
use crate::inside;
use crate::perform::worker::files::failed;
use crate::perform::{Error, Job, oid};

/// No longer file of a worktree is read.
const MAX_BYTES: u64 = 16 << 20;

/// Applies the edits of an answer; says what the worker must be told if they cannot be. An answer
/// that core will refuse has none.
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
        contract: assignment.contract,
        mode: assignment.means.mode,
        asks: assignment.asks,
    };
    let parsed = submission::parse_about(form, answer, &assignment.about());
    let Ok(Submission::Change(change)) = parsed else {
        return Ok(Ok(()));
    };
    if assignment.contract == Contract::Strict {
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
        match one(tree, edit) {
            Ok(()) => {}
            Err(error) if is_of_the_path(&error) => {
                return Ok(Err(FailureFacts {
                    stage: FailureStage::Forbidden,
                    message: format!("`{}` cannot be written: {error}", edit.path),
                    ..FailureFacts::default()
                }));
            }
            Err(error) => return Err(failed("write", &path)(error)),
        }
    }
    Ok(Ok(()))
}

/// A test among the edits that was there before the task began. One that the task adds is new.
fn touched_test(
    job: &Job,
    change: &ClaimedChange,
    engine: &Engine,
) -> Result<Option<String>, Error> {
    let patterns = &engine.config.verification.test_paths;
    let is_test = |path: &&String| patterns.iter().any(|test| glob_matches(test, path));
    let tests = change.edits.iter().map(|edit| &edit.path).filter(is_test);
    // As paths, so that `a//b` is `a/b`, and as git writes them.
    let plain = |path: &String| Path::new(path).components().collect::<PathBuf>();
    let tests: Vec<PathBuf> = tests.map(plain).collect();
    let there = engine
        .repo
        .files_of(&oid(&job.base.tree.0)?, &tests)
        .map_err(Error::from)?;
    let first = there.into_iter().next();
    Ok(first.map(|file| file.path.to_string_lossy().into_owned()))
}

/// Whether the edits of an answer are in the order of their paths.
fn is_sorted(answer: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let edits = answer["edits"].as_array().map(Vec::as_slice);
    let paths = edits.unwrap_or_default().iter();
    paths.map(|edit| edit["path"].as_str()).is_sorted()
}

/// Whether a file would say that something was taken out where it now has the thing itself: what
/// the worker was shown of it was redacted.
fn loses_a_secret(tree: &Path, edit: &FileEdit) -> bool {
    let Some(content) = &edit.content else {
        return false;
    };
    let path = tree.join(&edit.path);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
    // Nobody was shown all of what is longer.
    let before = is_file.then(|| inside::read(&path, None, MAX_BYTES).ok().flatten());
    marks(content) > before.flatten().as_deref().map_or(0, marks)
}

fn one(tree: &Path, edit: &FileEdit) -> io::Result<()> {
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

/// Whether it is the path that cannot be, and so the worker's to mend.
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

        one(&tree, &write("a/b/c.txt", "new")).unwrap();
        assert_eq!(fs::read_to_string(tree.join("a/b/c.txt")).unwrap(), "new");
        one(&tree, &write("link", "its own")).unwrap();
        assert!(fs::symlink_metadata(tree.join("link")).unwrap().is_file());
        assert_eq!(fs::read_to_string(out.join("secret")).unwrap(), "mine");

        let through = one(&tree, &write("away/secret", "taken")).unwrap_err();
        assert_eq!(through.kind(), ErrorKind::InvalidInput);
        assert_eq!(fs::read_to_string(out.join("secret")).unwrap(), "mine");
        assert_eq!(
            one(&tree, &write("src", "x")).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );

        let long = one(&tree, &write(&"a".repeat(300), "x")).unwrap_err();
        assert!(is_of_the_path(&long), "{long}");

        let gone = |path: &str| FileEdit {
            path: path.to_owned(),
            content: None,
            delete: true,
        };
        one(&tree, &gone("a/b/c.txt")).unwrap();
        one(&tree, &gone("a/b/c.txt")).unwrap();
        one(&tree, &gone("no/such/file")).unwrap();
        assert!(!tree.join("a/b/c.txt").exists() && !tree.join("no").exists());
        assert!(one(&tree, &gone("away/secret")).is_err());
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
