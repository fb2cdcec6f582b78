//! The files of a repository as a survey sees them: all names, and the text of the few that matter.
//! A file that cannot be read becomes a note, never a failure.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

use serde_json::Value;

/// The largest file that is read; a larger one is not read at all.
pub const MAX_BYTES: u64 = 1 << 20;

/// The largest number of files that are read.
const MAX_READS: usize = 400;

/// The largest number of notes that are listed.
const MAX_NOTES: usize = 20;

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileReadOutcome {
    /// The text of the file.
    Text(String),
    /// The file was not read, for this reason: `is a symbolic link`.
    Unreadable(String),
}

/// The files of a repository; all paths are relative to its root.
///
/// Texts are read on demand and cached, and their number is limited. Reading returns `None` for a
/// file that does not exist, cannot be read or cannot be parsed; in the latter two cases a note
/// tells a person about it. The parts of the survey share one instance, so the notes of all of them
/// end up in [`into_notes`](Self::into_notes).
pub(super) struct SurveyedFiles<'a> {
    files: BTreeSet<&'a str>,
    read: &'a dyn Fn(&str) -> FileReadOutcome,
    texts: RefCell<BTreeMap<String, Option<Rc<str>>>>,
    notes: RefCell<BTreeSet<String>>,
}

/// Folders with third-party files, or with files that only look like a project.
const FOREIGN: &[&str] = &[
    ".codeteam",
    ".git",
    ".venv",
    ".yarn",
    "__fixtures__",
    "bower_components",
    "build",
    "cookiecutter",
    "dist",
    "fixtures",
    "corpus",
    "node_modules",
    "resources",
    "snapshots",
    "target",
    "template",
    "templates",
    "test-data",
    "test_data",
    "testdata",
    "third-party",
    "third_party",
    "vendor",
    "venv",
];

/// Folders with examples of use, which do not show what the project is.
const SAMPLES: &[&str] = &[
    "__mocks__",
    "__tests__",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "buildSrc",
    "demo",
    "demos",
    "doc",
    "documentation",
    "e2e",
    "example",
    "examples",
    "fuzz",
    "playground",
    "playgrounds",
    "sample",
    "samples",
    "sandbox",
    "test",
    "testing",
    "tests",
    "website",
];

impl<'a> SurveyedFiles<'a> {
    pub(super) fn new(files: &'a [String], read: &'a dyn Fn(&str) -> FileReadOutcome) -> Self {
        Self {
            files: files.iter().map(String::as_str).collect(),
            read,
            texts: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// Returns all files in order.
    pub(super) fn files(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.files.iter().copied()
    }

    /// Returns true if the file exists.
    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// Returns the path of the first of these names that exists in a folder.
    pub(super) fn first_existing(&self, folder: &str, names: &[&str]) -> Option<String> {
        names
            .iter()
            .map(|name| join_path(folder, name))
            .find(|path| self.has_file(path))
    }

    /// Returns true if the folder contains any file.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        self.files_below(folder).next().is_some()
    }

    /// Returns the files below a folder; for the root, all files.
    pub(super) fn files_below(&self, folder: &str) -> std::vec::IntoIter<&'a str> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let from = self
            .files
            .range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let from = from.copied();
        let below = from.take_while(|path| path.starts_with(prefix.as_str()));
        below.collect::<Vec<_>>().into_iter()
    }

    /// Returns the text of a file, if it exists and could be read.
    pub(super) fn read_text(&self, path: &str) -> Option<Rc<str>> {
        if !self.has_file(path) {
            return None;
        }
        if let Some(known) = self.texts.borrow().get(path) {
            return known.clone();
        }
        let text = if self.texts.borrow().len() >= MAX_READS {
            self.add_note(format!(
                "more than {MAX_READS} files would tell something; the rest was not read"
            ));
            None
        } else {
            match (self.read)(path) {
                FileReadOutcome::Text(text) => Some(Rc::from(text)),
                FileReadOutcome::Unreadable(why) => {
                    self.add_note(format!("`{path}` was not read: it {why}"));
                    None
                }
            }
        };
        self.texts
            .borrow_mut()
            .insert(path.to_owned(), text.clone());
        text
    }

    /// Reads a JSON file. Extensions that some tools allow, such as comments, are errors here.
    pub(super) fn read_json(&self, path: &str) -> Option<Value> {
        let text = self.read_text(path)?;
        let parsed = serde_json::from_str(text.trim_start_matches('\u{feff}'));
        self.parsed(path, parsed)
    }

    /// Reads a TOML file.
    pub(super) fn read_toml(&self, path: &str) -> Option<Value> {
        let text = self.read_text(path)?;
        self.parsed(path, toml::from_str(&text))
    }

    /// Reads a YAML file.
    pub(super) fn read_yaml(&self, path: &str) -> Option<Value> {
        let text = self.read_text(path)?;
        self.parsed(path, codeteam_workflow::yaml::parse(path, &text))
    }

    fn parsed<E>(&self, path: &str, parsed: Result<Value, E>) -> Option<Value> {
        if parsed.is_err() {
            self.add_note(format!("`{path}` is broken and was left out"));
        }
        parsed.ok()
    }

    /// Adds a note for a person.
    pub(super) fn add_note(&self, note: impl Into<String>) {
        self.notes.borrow_mut().insert(note.into());
    }

    /// Returns the notes for a person.
    pub(super) fn into_notes(self) -> Vec<String> {
        let mut notes: Vec<String> = self.notes.into_inner().into_iter().collect();
        if notes.len() > MAX_NOTES {
            let more = notes.len() - MAX_NOTES;
            notes.truncate(MAX_NOTES);
            notes.push(format!("and {more} notes more"));
        }
        notes
    }
}

/// Joins a folder and a name; the folder of the root is empty.
pub(super) fn join_path(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// Splits a path into its folder and its last part.
pub(super) fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the extension of a path: `yml`.
pub(super) fn extension(path: &str) -> &str {
    let ending = std::path::Path::new(path).extension();
    ending
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
}

/// Returns true if a path is in a folder with third-party files.
pub(super) fn is_third_party(path: &str) -> bool {
    let (folder, _) = split_path(path);
    folder.split('/').any(|part| FOREIGN.contains(&part))
}

/// Returns true if a path is in a folder with examples of use.
pub(super) fn is_sample(path: &str) -> bool {
    let (folder, _) = split_path(path);
    let is_one = |part: &str| {
        let ends = ["-tests", "_tests", "-examples"];
        SAMPLES.contains(&part)
            || part.contains("docs")
            || ends.iter().any(|end| part.ends_with(end))
    };
    is_third_party(path) || folder.split('/').any(is_one)
}

/// Returns the string at a path of keys.
pub(super) fn string_at<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    value_at(value, keys)?.as_str()
}

/// Returns the value at a path of keys.
pub(super) fn value_at<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// Returns the strings of a list at a path of keys.
pub(super) fn strings_at<'v>(value: &'v Value, keys: &[&str]) -> Vec<&'v str> {
    let list = value_at(value, keys).and_then(Value::as_array);
    let list = list.into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// Returns the keys of a mapping at a path of keys.
pub(super) fn keys_at<'v>(value: &'v Value, path: &[&str]) -> Vec<&'v str> {
    let map = value_at(value, path).and_then(Value::as_object);
    map.into_iter()
        .flat_map(|map| map.keys().map(String::as_str))
        .collect()
}
