//! `read_file`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Tool, ToolOutcome, tree_paths};

/// The largest file that can be read at once; for more there is `run_command`.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The default number of lines.
const LINES: u64 = 2000;

pub(super) struct ReadFile {
    root: PathBuf,
}

impl ReadFile {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadFileInput {
    /// The file, relative to the work tree.
    path: String,
    /// The first line to read, from 1.
    offset: Option<u64>,
    /// The number of lines to read; 2000 if left out.
    limit: Option<u64>,
}

impl Tool for ReadFile {
    type Input = ReadFileInput;

    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Reads a text file of the work tree, or some of its lines. \
        The text is returned as it is in the file.";

    fn call(&self, input: ReadFileInput) -> ToolOutcome {
        let text = read_text(&self.root, &input.path)?;
        if text.is_empty() {
            return Ok(format!("(`{}` is empty)", input.path).into());
        }
        let first = input.offset.unwrap_or(1).max(1);
        let limit = input.limit.unwrap_or(LINES).max(1);
        let total = text.lines().count() as u64;
        if first > total {
            return Err(format!("`{}` has only {total} lines", input.path));
        }
        let from = usize::try_from(first - 1).unwrap_or(usize::MAX);
        let count = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut part: String = text.split_inclusive('\n').skip(from).take(count).collect();
        let last = total.min(first.saturating_add(limit - 1));
        if first > 1 || last < total {
            if !part.ends_with('\n') {
                part.push('\n');
            }
            let _ = write!(part, "(lines {first} to {last} of {total})");
        }
        Ok(part.into())
    }
}

/// The text of a file.
pub(super) fn read_text(root: &Path, path: &str) -> Result<String, String> {
    let place = tree_paths::resolve_inside(root, path)?;
    let failed = |error: std::io::Error| format!("`{path}` cannot be read: {error}");
    let found = fs::metadata(&place).map_err(failed)?;
    if found.is_dir() {
        return Err(format!("`{path}` is a directory; use `list_files`"));
    }
    // Opening a pipe would wait for its other end.
    if !found.is_file() {
        return Err(format!("`{path}` is not a regular file"));
    }
    if found.len() > MAX_BYTES {
        let length = found.len();
        return Err(format!(
            "`{path}` has {length} bytes, which is too much to read; use `search` or `run_command`"
        ));
    }
    let mut bytes = Vec::new();
    let file = File::open(&place).map_err(failed)?;
    file.take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.contains(&0) {
        return Err(format!(
            "`{path}` is a binary file of {} bytes",
            bytes.len()
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8"))
}
