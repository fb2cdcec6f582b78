//! Finds the files of the project that a goal names, by their paths, or by their file names where
//! these are unique.

use std::path::{Path, PathBuf};

use codeteam_core::frame::Tip;
use codeteam_host::git;
use codeteam_verify::proof::TestPatterns;

use super::{Engine, Error};

/// The files of a project that a goal names.
#[derive(Default)]
pub(super) struct GoalFiles {
    pub(super) files: Vec<String>,
    /// Those of them that are tests.
    pub(super) tests: Vec<String>,
}

impl Engine {
    /// Returns the files in a run's base that its goal names.
    pub(super) fn files_named_by_goal(&self, goal: &str, base: &Tip) -> Result<GoalFiles, Error> {
        let candidates = candidates(goal);
        let (Some(tree), false) = (git::Oid::parse(&base.tree.0), candidates.is_empty()) else {
            return Ok(GoalFiles::default());
        };
        let files = named(&candidates, &self.repo.ls_tree_paths(&tree)?);
        let patterns = TestPatterns::new(&self.config.verification.test_paths);
        let tests = files.iter().filter(|file| patterns.is_test(file));
        Ok(GoalFiles {
            tests: tests.cloned().collect(),
            files,
        })
    }
}

/// The maximum number of words of a goal that are looked up.
const MAX_WORDS: usize = 200;

/// Returns the words of a goal that look like files.
fn candidates(goal: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | '+' | '@');
    let words = goal.split(|c| !is_part(c)).take(MAX_WORDS);
    let words = words.map(|word| word.trim_end_matches(['.', '/']).trim_start_matches("./"));
    let mut found: Vec<&str> = words
        .filter(|word| word.contains('/') || Path::new(word).extension().is_some())
        .collect();
    found.dedup();
    found
}

/// Returns the files among `paths` that the candidates refer to, in the order in which the goal
/// names them.
fn named(candidates: &[&str], paths: &[PathBuf]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for word in candidates {
        let exact = paths.iter().find(|path| path.as_path() == Path::new(word));
        let called = |path: &&PathBuf| path.file_name().is_some_and(|name| name == *word);
        let mut same = paths.iter().filter(called);
        let only = same.next().filter(|_| same.next().is_none());
        if let Some(path) = exact.or(only) {
            let path = path.to_string_lossy().into_owned();
            if !files.contains(&path) {
                files.push(path);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_paths_or_by_names_that_only_one_has() {
        let paths = [
            "src/a.py",
            "src/b.py",
            "tests/b.py",
            "Makefile",
            "docs/x.md",
        ];
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let found = |goal: &str| named(&candidates(goal), &paths);
        assert_eq!(found("Mend `indent` in src/a.py."), ["src/a.py"]);
        assert_eq!(
            found("Mend a.py, then (./docs/x.md)"),
            ["src/a.py", "docs/x.md"]
        );
        assert_eq!(found("Mend b.py"), [""; 0], "two are called so");
        assert_eq!(found("Make it faster, e.g. by 1.5 times"), [""; 0]);
        assert_eq!(found("src/gone.py and src/ and /etc/passwd"), [""; 0]);
    }
}
