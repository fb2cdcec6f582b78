//! Relates past commits to the files that exist now.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::words::WordBag;

/// Commits that touch more files than this say nothing about which files belong together.
const MOST_FILES: usize = 50;

/// A past commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The commit's id.
    pub id: String,
    /// The ids of its parents.
    pub parents: Vec<String>,
    /// The time it was made, in seconds since 1970.
    pub time: i64,
    /// The first line of its message.
    pub subject: String,
    /// The words of its message.
    pub words: WordBag,
    /// The files that it touched.
    pub files: Vec<TouchedFile>,
}

/// A file that a commit touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedFile {
    /// The file's path after the commit.
    pub path: String,
    /// The previous path, if the file was moved.
    pub before: Option<String>,
    /// Whether the commit added the file.
    pub added: bool,
}

/// Past commits, newest first, mapped to the files that exist now.
#[derive(Debug, Default)]
pub struct CommitHistory<'c> {
    /// The commits that touched at least one existing file, except very broad ones.
    pub(super) commits: Vec<IndexedCommit<'c>>,
    /// The commits of each file, by file number, newest first.
    pub(super) of_file: Vec<Vec<u32>>,
}

/// A commit, mapped to the files that exist now.
#[derive(Debug)]
pub(super) struct IndexedCommit<'c> {
    pub(super) subject: &'c str,
    pub(super) words: &'c WordBag,
    /// The touched files that still exist, by their numbers.
    pub(super) files: Vec<u32>,
    /// The number of files touched, including those that no longer exist.
    pub(super) touched: usize,
}

impl IndexedCommit<'_> {
    /// Returns the factor by which the commit says less about each file because it touched many.
    #[expect(clippy::cast_precision_loss, reason = "a count of at most 50")]
    pub(super) fn breadth(&self) -> f64 {
        (self.touched as f64).sqrt()
    }
}

impl<'c> CommitHistory<'c> {
    /// Maps commits, newest first, to the files that exist now, in the order of their numbers. A
    /// moved file keeps the commits of its former names.
    pub fn new<'p>(
        commits: impl IntoIterator<Item = &'c Commit>,
        paths: impl IntoIterator<Item = &'p str>,
    ) -> Self {
        // The current file number of each former path, as of the commit being processed.
        let mut now: HashMap<&str, Option<u32>> = HashMap::new();
        let mut count = 0;
        let known: HashMap<&str, u32> = paths
            .into_iter()
            .map(|path| {
                count += 1;
                (path, count - 1)
            })
            .collect();
        let mut history = Self {
            commits: Vec::new(),
            of_file: vec![Vec::new(); count as usize],
        };
        for commit in commits {
            let number = |path: &str, now: &HashMap<&str, Option<u32>>| match now.get(path) {
                Some(number) => *number,
                None => known.get(path).copied(),
            };
            let mut files: Vec<u32> = commit
                .files
                .iter()
                .filter_map(|touched| number(&touched.path, &now))
                .collect();
            files.sort_unstable();
            files.dedup();
            for touched in &commit.files {
                let Some(number) = number(&touched.path, &now) else {
                    continue;
                };
                // Before this commit, the path belonged to another file or to none.
                if let Some(before) = &touched.before {
                    now.insert(&touched.path, None);
                    now.insert(before, Some(number));
                } else if touched.added {
                    now.insert(&touched.path, None);
                }
            }
            if files.is_empty() || commit.files.len() > MOST_FILES {
                continue;
            }
            #[expect(clippy::cast_possible_truncation, reason = "there are thousands")]
            let at = history.commits.len() as u32;
            for file in &files {
                history.of_file[*file as usize].push(at);
            }
            history.commits.push(IndexedCommit {
                subject: &commit.subject,
                words: &commit.words,
                files,
                touched: commit.files.len(),
            });
        }
        history
    }
}

/// Returns a commit's message without what says nothing about the change: trailers, pull request
/// numbers and addresses.
pub fn clean_message(message: &str) -> String {
    let mut kept = String::with_capacity(message.len());
    for line in message.lines() {
        if is_trailer(line) {
            continue;
        }
        let mut words = line.split_whitespace().filter(|word| {
            let address = word.contains("://") || (word.contains('@') && word.contains('.'));
            let number = word
                .trim_matches(|c: char| !c.is_alphanumeric() && c != '#')
                .starts_with('#');
            !address && !number
        });
        if let Some(first) = words.next() {
            kept.push_str(first);
            for word in words {
                kept.push(' ');
                kept.push_str(word);
            }
        }
        kept.push('\n');
    }
    kept.trim().to_owned()
}

/// Returns true for a line such as `Signed-off-by: someone`.
fn is_trailer(line: &str) -> bool {
    let Some((key, _)) = line.split_once(": ") else {
        return false;
    };
    let key = key.trim();
    ["-by", "-Id", "-id", "-on", "-Url"]
        .iter()
        .any(|end| key.ends_with(end))
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        || ["Bug", "Issue", "Closes", "Fixes", "Refs", "PR"].contains(&key)
}
