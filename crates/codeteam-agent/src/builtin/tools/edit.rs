//! `write_file` and `edit_file`.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Tool, ToolOutcome, ToolOutput, read, tree_paths};

pub(super) struct WriteFile {
    root: PathBuf,
}

impl WriteFile {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteFileInput {
    /// The file, relative to the work tree. Directories are made as needed.
    path: String,
    /// The whole new content.
    content: String,
}

impl Tool for WriteFile {
    type Input = WriteFileInput;

    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Writes a whole file: a new one, or in place of an old one. \
        To change part of a file, use `edit_file`.";
    const WRITES: bool = true;

    fn call(&self, input: WriteFileInput) -> ToolOutcome {
        let place = tree_paths::resolve_for_writing(&self.root, &input.path)?;
        write_file(&self.root, &place, &input.content)?;
        let lines = input.content.lines().count();
        let shown = tree_paths::display_path(&self.root, &place);
        Ok(ToolOutput {
            text: format!("wrote {lines} lines to `{shown}`"),
            wrote: Some(shown),
        })
    }
}

pub(super) struct EditFile {
    root: PathBuf,
}

impl EditFile {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct EditFileInput {
    /// The file, relative to the work tree.
    path: String,
    /// The text to replace, exactly as in the file. It must occur there once.
    old: String,
    /// The text to put in its place.
    new: String,
    /// Replace all occurrences, however many there are.
    #[serde(default)]
    all: bool,
}

impl Tool for EditFile {
    type Input = EditFileInput;

    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = "Replaces a text in a file. The old text must match the file \
        exactly, including white space, and occur only once; add some lines around it if it occurs \
        more often.";
    const WRITES: bool = true;

    fn call(&self, input: EditFileInput) -> ToolOutcome {
        let path = &input.path;
        let place = tree_paths::resolve_for_writing(&self.root, path)?;
        if input.old.is_empty() {
            return Err("`old` is empty; use `write_file` for a whole file".to_owned());
        }
        if input.old == input.new {
            return Err("`old` and `new` are the same".to_owned());
        }
        let text = read::read_text(&self.root, path)?;
        let (mut old, mut new) = (input.old, input.new);
        let mut count = text.matches(&old).count();
        // A model writes plain line ends, also where the file has others.
        if count == 0 && text.contains("\r\n") && !old.contains('\r') {
            old = old.replace('\n', "\r\n");
            new = new.replace('\n', "\r\n");
            count = text.matches(&old).count();
        }
        match count {
            0 => Err(format!(
                "`old` does not occur in `{path}`; read the file and take the text exactly as it \
                 stands there"
            )),
            2.. if !input.all => Err(format!(
                "`old` occurs {count} times in `{path}`; include more of the surrounding text, or set \
                 `all`"
            )),
            _ => {
                write_file(&self.root, &place, &text.replace(&old, &new))?;
                let shown = tree_paths::display_path(&self.root, &place);
                let times = if count == 1 { "once" } else { "everywhere" };
                Ok(ToolOutput {
                    text: format!("replaced it {times} in `{shown}`"),
                    wrote: Some(shown),
                })
            }
        }
    }
}

fn write_file(root: &Path, place: &Path, content: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| {
        let shown = tree_paths::display_path(root, place);
        format!("`{shown}` cannot be written: {error}")
    };
    // Opening a pipe would wait for its other end.
    if fs::metadata(place).is_ok_and(|found| !found.is_file()) {
        let shown = tree_paths::display_path(root, place);
        return Err(format!("`{shown}` is not a regular file"));
    }
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(place, content).map_err(failed)
}
