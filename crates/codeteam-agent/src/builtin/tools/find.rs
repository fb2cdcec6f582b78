//! `list_files` and `search`. Both leave out what git ignores.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, Walk, WalkBuilder};
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Tool, ToolOutcome, tree_paths};

/// The most files that are listed.
const FILES: usize = 1000;

/// The most lines that are found.
const LINES: usize = 200;

/// The most characters that are shown of a line.
const LINE_CHARS: usize = 300;

/// The largest file that is searched: bigger ones are not source.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

pub(super) struct ListFiles {
    root: PathBuf,
}

impl ListFiles {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ListFilesInput {
    /// The directory, relative to the work tree; the whole tree if left out.
    path: Option<String>,
    /// Only files that match this pattern, such as `*.rs` or `src/**/*.py`.
    glob: Option<String>,
    /// The number of levels to descend; 1 is the directory alone. All if left out.
    depth: Option<usize>,
}

impl Tool for ListFiles {
    type Input = ListFilesInput;

    const NAME: &'static str = "list_files";
    const DESCRIPTION: &'static str =
        "Lists files of the work tree, without those that git ignores.";

    fn call(&self, input: ListFilesInput) -> ToolOutcome {
        let path = input.path.as_deref().unwrap_or(".");
        let start = tree_paths::resolve_inside(&self.root, path)?;
        if !start.is_dir() {
            return Err(format!("`{path}` is not a directory"));
        }
        let glob = build_glob(&self.root, input.glob.as_deref())?;
        let depth = input.depth.map(|depth| depth.max(1));
        let mut listed = String::new();
        let mut count = 0;
        for entry in walk(&start, depth) {
            let is_dir = is_dir(&entry);
            // A directory is only worth a line if nobody looks into it.
            let is_end = depth.is_some_and(|depth| entry.depth() == depth);
            if entry.depth() == 0 || (is_dir && !(is_end && glob.is_none())) {
                continue;
            }
            if !glob_matches(glob.as_ref(), entry.path()) {
                continue;
            }
            count += 1;
            if count <= FILES {
                let slash = if is_dir { "/" } else { "" };
                let _ = writeln!(
                    listed,
                    "{}{slash}",
                    tree_paths::display_path(&self.root, entry.path())
                );
            }
        }
        if count == 0 {
            return Ok("(no files)".to_owned().into());
        }
        if count > FILES {
            let _ = writeln!(listed, "({} more; ask for less)", count - FILES);
        }
        Ok(listed.into())
    }
}

pub(super) struct SearchFiles {
    root: PathBuf,
}

impl SearchFiles {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchFilesInput {
    /// A regular expression, in Rust's syntax; each line is matched by itself.
    pattern: String,
    /// The file or directory to look in; the whole work tree if left out.
    path: Option<String>,
    /// Only files that match this pattern, such as `*.rs` or `src/**/*.py`.
    glob: Option<String>,
}

impl Tool for SearchFiles {
    type Input = SearchFilesInput;

    const NAME: &'static str = "search";
    const DESCRIPTION: &'static str = "Finds lines by a regular expression in the files of the \
        work tree, without those that git ignores. Returns `path:line:text`.";

    fn call(&self, input: SearchFilesInput) -> ToolOutcome {
        let pattern = RegexBuilder::new(&input.pattern)
            .size_limit(4 * 1024 * 1024)
            .build()
            .map_err(|error| format!("`pattern` is not a regular expression: {error}"))?;
        let path = input.path.as_deref().unwrap_or(".");
        let start = tree_paths::resolve_inside(&self.root, path)?;
        if !start.exists() {
            return Err(format!("there is no `{path}`"));
        }
        let glob = build_glob(&self.root, input.glob.as_deref())?;
        let mut found = String::new();
        let mut count = 0;
        for entry in walk(&start, None) {
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if is_file && glob_matches(glob.as_ref(), entry.path()) {
                let shown = tree_paths::display_path(&self.root, entry.path());
                search_file(&pattern, entry.path(), &shown, &mut count, &mut found);
            }
            if count >= LINES {
                let _ = writeln!(found, "(there may be more; ask for less)");
                break;
            }
        }
        if count == 0 {
            return Ok("(nothing found)".to_owned().into());
        }
        Ok(found.into())
    }
}

fn search_file(pattern: &Regex, path: &Path, shown: &str, count: &mut usize, found: &mut String) {
    if fs::metadata(path).is_ok_and(|found| found.len() > MAX_BYTES) {
        return;
    }
    let Ok(bytes) = fs::read(path) else { return };
    if bytes.contains(&0) {
        return;
    }
    for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1..) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if *count >= LINES {
            return;
        }
        if pattern.is_match(line) {
            let line = String::from_utf8_lossy(line);
            let line: String = line.chars().take(LINE_CHARS).collect();
            let _ = writeln!(found, "{shown}:{number}:{line}");
            *count += 1;
        }
    }
}

/// Walks everything below a place in a fixed order, without what git ignores.
fn walk(start: &Path, depth: Option<usize>) -> impl Iterator<Item = DirEntry> {
    let walk: Walk = WalkBuilder::new(start)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .max_depth(depth)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build();
    walk.filter_map(Result::ok)
}

fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// A pattern for files. It is not given to the walk, for which it would weigh
/// more than what git ignores.
fn build_glob(root: &Path, pattern: Option<&str>) -> Result<Option<Override>, String> {
    let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else {
        return Ok(None);
    };
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    OverrideBuilder::new(root)
        .add(pattern)
        .and_then(|builder| builder.build())
        .map(Some)
        .map_err(|error| format!("`glob` is not a pattern: {error}"))
}

fn glob_matches(glob: Option<&Override>, path: &Path) -> bool {
    glob.is_none_or(|glob| !glob.matched(path, false).is_ignore())
}
