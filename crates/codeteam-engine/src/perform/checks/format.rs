//! Judges the form of files: reads them and their schemas, and follows their links in the worktree.

use std::cell::Cell;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use codeteam_core::workflow::{FormatRules, JsonSchemaSource};
use serde_json::Value;

use super::{GateChecks, inside};
use crate::engine::read_schema;
use crate::perform::{Error, oid};
use codeteam_patterns::FilePatterns;
use codeteam_verify::CheckFindings;
use codeteam_verify::format::{FormatSurroundings, LinkTarget, check_format};

/// The longest file whose form is judged.
const LONGEST: u64 = 4 << 20;
/// The most files that one pattern is judged for.
const MOST_FILES: usize = 200;

/// The characters that make a path a pattern.
const PATTERN_CHARACTERS: [char; 4] = ['*', '?', '[', '{'];

impl GateChecks<'_> {
    /// Judges every file that the rules are about.
    pub(super) fn judge_format(&self, rules: &FormatRules) -> Result<CheckFindings, Error> {
        let root = self.look.workspace.tree_dir();
        let mut found = CheckFindings::default();
        let schema = match self.read_schema(rules)? {
            Ok(schema) => schema,
            Err(why) => {
                found.failures.push(why);
                return Ok(found);
            }
        };
        let mut files = self.formatted_files(&root, &rules.file);
        if files.is_empty() {
            let wanted = &rules.file;
            found.failures.push(if is_pattern(wanted) {
                format!("no file of the change matches `{wanted}`: make one")
            } else {
                format!("`{wanted}` does not exist: make it")
            });
        }
        if files.len() > MOST_FILES {
            let left_out = files.len() - MOST_FILES;
            found
                .notes
                .push(format!("{left_out} more files were not looked at"));
            files.truncate(MOST_FILES);
        }
        let links = WorktreeLinks {
            root: &root,
            read: Cell::new(0),
        };
        for file in files {
            let faults = match read_text(&root, &file) {
                Ok(text) => check_format(&file, &text, rules, schema.as_ref(), &links),
                Err(why) => vec![format!("{file}: {why}")],
            };
            found.failures.extend(faults);
        }
        Ok(found)
    }

    /// Returns the file of this path if it exists, or the files of the change that match a pattern.
    fn formatted_files(&self, root: &Path, wanted: &str) -> Vec<String> {
        let exists = |file: &&String| inside(root, file).is_some_and(|path| path.is_file());
        if !is_pattern(wanted) {
            let wanted = wanted.to_owned();
            return Some(wanted)
                .filter(|file| exists(&file))
                .into_iter()
                .collect();
        }
        let patterns = FilePatterns::lenient([wanted]);
        let changed = self.look.job.changed.iter();
        let matching = changed.filter(|file| patterns.matches(file));
        matching.filter(exists).cloned().collect()
    }

    /// Returns the schema of the rules, if they have one. A file is read from the commit that the run
    /// started from, so that no worker can change what it is measured by.
    fn read_schema(&self, rules: &FormatRules) -> Result<Result<Option<Value>, String>, Error> {
        let path = match &rules.schema {
            None => return Ok(Ok(None)),
            Some(JsonSchemaSource::Inline(schema)) => return Ok(Ok(Some(schema.clone()))),
            Some(JsonSchemaSource::File(path)) => path,
        };
        let base = oid(&self.look.job.started_from.tree.0)?;
        let read = read_schema(&self.look.context.engine.repo, &base, path);
        Ok(read?.map(Some))
    }
}

fn is_pattern(path: &str) -> bool {
    path.contains(PATTERN_CHARACTERS)
}

/// Reads a regular file of the worktree as text, or says why that is impossible.
fn read_text(root: &Path, file: &str) -> Result<String, String> {
    let unreadable = || "it cannot be read".to_owned();
    let path = inside(root, file).filter(|path| path.is_file());
    let file = fs::File::open(path.ok_or_else(unreadable)?).map_err(|_| unreadable())?;
    let mut bytes = Vec::new();
    let mut limited = file.take(LONGEST + 1);
    limited.read_to_end(&mut bytes).map_err(|_| unreadable())?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!(
            "it is longer than {} MB, which is the most that is looked at",
            LONGEST >> 20
        ));
    }
    String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
}

/// The most bytes of Markdown that are read because links lead there.
const LINKED_BYTES: usize = 64 << 20;

/// The files of a worktree, as targets of links.
struct WorktreeLinks<'a> {
    root: &'a Path,
    /// The bytes of Markdown that were read so far. A file beyond the limit only has to exist.
    read: Cell<usize>,
}

impl FormatSurroundings for WorktreeLinks<'_> {
    fn link_target(&self, path: &str) -> LinkTarget {
        let Some(found) = inside(self.root, path) else {
            return LinkTarget::Missing;
        };
        let extension = found.extension().and_then(|extension| extension.to_str());
        let is_markdown = found.is_file() && matches!(extension, Some("md" | "markdown"));
        if !is_markdown || self.read.get() > LINKED_BYTES {
            return LinkTarget::Present;
        }
        let Ok(text) = read_text(self.root, path) else {
            return LinkTarget::Present;
        };
        self.read.set(self.read.get() + text.len());
        LinkTarget::Markdown(text)
    }
}
