//! Finds files of the project that a text names, such as the brief that a scribe writes for an
//! implementer.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::files::FileEntry;

/// The number of bytes of a text that are searched.
const MAX_TEXT: usize = 256 << 10;

/// Returns the files that a text names by their paths, in order. A name without a folder counts if
/// only one file has it.
pub(super) fn find_mentioned_files(text: &str, files: &[FileEntry]) -> Vec<String> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        by_name.entry(name).or_default().push(&file.path);
    }
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    let words = text.split(|c: char| c.is_whitespace() || "`\"'<>()[]{},;|*".contains(c));
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for word in words {
        // A line number may follow the path, and a full stop the end of a sentence.
        let word = word.trim_end_matches(['.', ':', '?', '!']);
        let path = word.split_once(':').map_or(word, |(path, _)| path);
        let path = path.trim_start_matches("./").trim_start_matches('/');
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some(paths) = by_name.get(name) else {
            continue;
        };
        let named = paths.iter().find(|known| **known == path);
        let only = match paths.as_slice() {
            // A word such as `main` is not a file name.
            [only] if path == name && name.contains('.') => Some(only),
            _ => None,
        };
        if let Some(path) = named.or(only)
            && seen.insert(*path)
        {
            found.push((*path).to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let paths = [
            "src/lib.rs",
            "src/a/mod.rs",
            "src/b/mod.rs",
            "Makefile",
            "docs/use.md",
        ];
        let files: Vec<FileEntry> = paths.iter().map(|path| file(path)).collect();
        find_mentioned_files(text, &files)
    }

    fn file(path: &str) -> FileEntry {
        FileEntry {
            path: path.to_owned(),
            bytes: 1,
            stamp: None,
        }
    }

    #[test]
    fn files_are_named_by_their_paths() {
        let brief = "Read `src/a/mod.rs:12` first, then ./src/lib.rs. See (docs/use.md).\n\
                     `src/a/mod.rs` again; not src/c.rs, not http://x/src/nothing.rs";
        assert_eq!(named(brief), ["src/a/mod.rs", "src/lib.rs", "docs/use.md"]);
    }

    #[test]
    fn a_bare_name_counts_where_one_file_has_it() {
        assert_eq!(named("change lib.rs"), ["src/lib.rs"]);
        assert!(named("change mod.rs").is_empty(), "there are two");
        assert_eq!(named("the Makefile"), ["Makefile"]);
        assert!(named("").is_empty());
    }
}
