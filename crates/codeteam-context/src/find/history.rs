//! What past commits say of where things are.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::words::WordBag;

/// Commits that touch more files say nothing of what belongs together.
const MOST_FILES: usize = 50;

/// A past commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// The commits before it.
    pub parents: Vec<String>,
    /// When it was made, in seconds since 1970.
    pub time: i64,
    /// The first line of its message.
    pub subject: String,
    /// The words of its message.
    pub words: WordBag,
    /// The files it touched.
    pub files: Vec<TouchedFile>,
}

/// A file that a commit touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedFile {
    /// Its path since then.
    pub path: String,
    /// Its path before, if that was another.
    pub before: Option<String>,
    /// Whether it was not there before.
    pub added: bool,
}

/// Past commits, newest first, over the files that there are now.
#[derive(Debug, Default)]
pub struct CommitHistory<'c> {
    /// The commits that say something.
    pub(super) commits: Vec<IndexedCommit<'c>>,
    /// The commits of each file, by its number, newest first.
    pub(super) of_file: Vec<Vec<u32>>,
}

/// A commit over the files that there are now.
#[derive(Debug)]
pub(super) struct IndexedCommit<'c> {
    pub(super) subject: &'c str,
    pub(super) words: &'c WordBag,
    /// Files that there still are, by their numbers.
    pub(super) files: Vec<u32>,
    /// How many files it touched, those included that are gone.
    pub(super) touched: usize,
}

impl IndexedCommit<'_> {
    /// By how much it says less of each file because it touched many.
    #[expect(clippy::cast_precision_loss, reason = "a count of at most 50")]
    pub(super) fn breadth(&self) -> f64 {
        (self.touched as f64).sqrt()
    }
}

impl<'c> CommitHistory<'c> {
    /// Puts commits, newest first, over the files that there are now, in the order of their numbers.
    /// A file that was moved has the commits of its former names.
    pub fn new<'p>(
        commits: impl IntoIterator<Item = &'c Commit>,
        paths: impl IntoIterator<Item = &'p str>,
    ) -> Self {
        // What a former path is called now, as seen from the commit that is looked at.
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
                // Before this commit, its path belonged to another file or to none.
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

/// A commit's message without what says nothing of the change: trailers, numbers of pull requests,
/// addresses.
pub fn clean(message: &str) -> String {
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

/// `Signed-off-by: someone`.
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
