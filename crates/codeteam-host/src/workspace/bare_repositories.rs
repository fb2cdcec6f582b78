//! Finds folders that git takes for repositories even though there is no `.git` in them.
//!
//! Using git in such a folder, or a shell whose prompt does, runs whatever its configuration names
//! (`core.fsmonitor`, a pager, hooks).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The entries by which git recognises a repository: the first three, where the second and the
/// third may be elsewhere if the fourth says so.
const NEEDED: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];
/// Further parts of a repository, or files that decide what is run there.
const PARTS: [&str; 5] = ["config", "config.worktree", "hooks", "info", "packed-refs"];

/// Compares names ignoring case, as some file systems do.
fn is_same_name(name: &OsStr, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

/// Returns the folders among `files` that are repositories; the empty path is the top.
pub(super) fn find_bare_repositories<'a>(
    files: impl IntoIterator<Item = &'a Path>,
) -> Vec<PathBuf> {
    let mut found: BTreeMap<&Path, [bool; 4]> = BTreeMap::new();
    for file in files {
        for path in file.ancestors() {
            let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
                continue;
            };
            let at = NEEDED.iter().position(|known| is_same_name(name, known));
            // The first and the last must be files.
            if let Some(at) = at.filter(|at| matches!(at, 1 | 2) || path == file) {
                found.entry(folder).or_default()[at] = true;
            }
        }
    }
    let whole = found
        .into_iter()
        .filter(|(_, [head, objects, refs, elsewhere])| {
            *head && ((*objects && *refs) || *elsewhere)
        });
    whole.map(|(folder, _)| folder.to_owned()).collect()
}

/// Returns true if a file is part of the repository in `folder`.
pub(super) fn is_part_of(file: &Path, folder: &Path) -> bool {
    let below = file.strip_prefix(folder).ok();
    let part = below.and_then(|below| below.components().next());
    part.is_some_and(|part| {
        let mut known = NEEDED.iter().chain(&PARTS);
        known.any(|known| is_same_name(part.as_os_str(), known))
    })
}

/// Returns true if a file can be part of a repository in any folder.
pub(super) fn may_be_part(file: &Path) -> bool {
    file.ancestors()
        .skip(1)
        .any(|folder| is_part_of(file, folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_takes_for_a_repository_is_found() {
        let of = |files: &[&str]| {
            let found = find_bare_repositories(files.iter().map(Path::new));
            let names = found.iter().map(|path| path.display().to_string());
            names.collect::<Vec<_>>()
        };
        assert_eq!(
            of(&["a/x/HEAD", "a/x/objects/info/x", "a/x/refs/heads/x"]),
            ["a/x"]
        );
        // Links and executable files pass for folders; other systems do not mind the case.
        assert_eq!(of(&["x/head", "x/objects", "x/Refs"]), ["x"]);
        assert_eq!(of(&["x/HEAD", "x/commondir"]), ["x"]);
        assert_eq!(of(&["HEAD", "objects/x", "refs/x"]), [""]);
        assert!(of(&["x/HEAD", "x/objects/x", "refs/x"]).is_empty());
        assert!(of(&["x/head/a", "x/objects/a", "x/refs/a"]).is_empty());
        assert!(is_part_of(Path::new("x/hooks/pre-commit"), Path::new("x")));
        assert!(is_part_of(Path::new("Config"), Path::new("")));
        assert!(may_be_part(Path::new("a/x/hooks/pre-commit")));
        assert!(may_be_part(Path::new("head")));
        assert!(!may_be_part(Path::new("a/headers/x")));
        assert!(!is_part_of(Path::new("x/src/config"), Path::new("x")));
        assert!(!is_part_of(Path::new("y/config"), Path::new("x")));
    }
}
