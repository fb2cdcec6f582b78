//! Commits as tasks: which ones, and what of their messages is a task's text.

use codeteam_context::find::words::WordBag;
use codeteam_context::find::{history, is_generated};
use codeteam_context::language::Language;

use crate::BenchOutcome;
use crate::past::ClonedRepo;

/// Commits that touch more files are no one task.
const MOST_FILES: usize = 10;
/// Messages of fewer words say too little.
const LEAST_WORDS: u32 = 3;

/// A commit as a task.
pub(crate) struct CommitTask {
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) text: String,
    /// The files it changed that were there before.
    pub(crate) files: Vec<String>,
}

/// The newest suitable commits.
pub(crate) fn choose(clone: &ClonedRepo, most: usize) -> BenchOutcome<Vec<CommitTask>> {
    let mut tasks = Vec::new();
    for commit in &clone.commits {
        let [parent] = commit.parents.as_slice() else {
            continue;
        };
        let files: Vec<String> = commit
            .files
            .iter()
            .filter(|file| !file.added)
            .map(|file| file.before.clone().unwrap_or_else(|| file.path.clone()))
            .filter(|path| !is_generated(path))
            .collect();
        let source = files.iter().any(|path| Language::from_path(path).is_some());
        if !source
            || files.len() > MOST_FILES
            || commit.files.len() > 2 * MOST_FILES
            || is_routine(&commit.subject)
        {
            continue;
        }
        let names: Vec<&str> = commit.files.iter().map(|file| file.path.as_str()).collect();
        let text = without_files(&history::clean_message(&clone.message(&commit.id)?), &names);
        if WordBag::from_text(&text).length() < LEAST_WORDS {
            continue;
        }
        tasks.push(CommitTask {
            id: commit.id.clone(),
            parent: parent.clone(),
            text,
            files,
        });
        if tasks.len() == most {
            break;
        }
    }
    Ok(tasks)
}

/// Releases, merges, reverts and new versions of what is used: no task has such a text.
fn is_routine(subject: &str) -> bool {
    let lower = subject.to_lowercase();
    let begins = [
        "bump",
        "release",
        "merge",
        "revert",
        "chore(release",
        "chore(deps",
        "build(deps",
        "version",
        "prepare release",
        "prepare next",
        "start version",
        "changelog",
        "v1.",
        "v2.",
        "update dependenc",
        "update dependency",
    ];
    begins.iter().any(|begin| lower.starts_with(begin))
        || lower.contains(" bump ")
        || lower.contains("bump version")
}

/// A message without words that are names of files: those that look like one, and those of the files
/// that the commit touched.
fn without_files(message: &str, files: &[&str]) -> String {
    let is_file = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let known = files.iter().any(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            bare == *path || bare == name
        });
        let folder = bare.contains('/') && !bare.contains("://");
        let ending = bare.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty()
                && (1..=4).contains(&ending.len())
                && ending
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        });
        known || folder || ending
    };
    let line = |line: &str| {
        let words: Vec<&str> = line
            .split_whitespace()
            .filter(|word| !is_file(word))
            .collect();
        words.join(" ")
    };
    let lines: Vec<String> = message.lines().map(line).collect();
    lines.join("\n").trim().to_owned()
}
