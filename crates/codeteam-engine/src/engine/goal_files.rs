//! The files of the project that a goal names, by their paths or, where only one file is called so,
//! by their names.

use std::path::{Path, PathBuf};

/// How many words of a goal are looked up.
const MAX_WORDS: usize = 200;

/// The words of a goal that look like files.
pub(super) fn candidates(goal: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | '+' | '@');
    let words = goal.split(|c| !is_part(c)).take(MAX_WORDS);
    let words = words.map(|word| word.trim_end_matches(['.', '/']).trim_start_matches("./"));
    let mut found: Vec<&str> = words
        .filter(|word| word.contains('/') || Path::new(word).extension().is_some())
        .collect();
    found.dedup();
    found
}

/// The files among `paths` that are meant, in the order in which the goal names them.
pub(super) fn named(candidates: &[&str], paths: &[PathBuf]) -> Vec<String> {
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
