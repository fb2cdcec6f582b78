//! The files of a repository as a survey sees them: names, and the text of the few that matter.
//! A file that cannot be read becomes a note, never a failure.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

use serde_json::Value;

/// How much of a file is read at most; a larger one is not read at all.
pub const MAX_BYTES: u64 = 1 << 20;

/// How many files are read at most.
const MAX_READS: usize = 400;

/// How many things that could not be read are told one by one.
const MAX_NOTES: usize = 20;

/// What came of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileReadOutcome {
    /// Its text.
    Text(String),
    /// It was not read, and why: `is a symbolic link`.
    Not(String),
}

/// The files of a repository, all paths from its root.
pub(super) struct SurveyedFiles<'a> {
    files: BTreeSet<&'a str>,
    read: &'a dyn Fn(&str) -> FileReadOutcome,
    texts: RefCell<BTreeMap<String, Option<Rc<str>>>>,
    notes: RefCell<BTreeSet<String>>,
}

/// Folders that hold what others have written, or what only looks like a project.
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

/// Folders that show how something is used, which is not what the project is.
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

    /// All files, in order.
    pub(super) fn files(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.files.iter().copied()
    }

    /// Whether there is such a file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// The first of these names that a folder has, as a path.
    pub(super) fn first(&self, folder: &str, names: &[&str]) -> Option<String> {
        names
            .iter()
            .map(|name| join(folder, name))
            .find(|path| self.has(path))
    }

    /// Whether anything is below a folder.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        self.below(folder).next().is_some()
    }

    /// The files below a folder; all of them for the root.
    pub(super) fn below(&self, folder: &str) -> std::vec::IntoIter<&'a str> {
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

    /// The text of a file, if it is there and could be read.
    pub(super) fn text(&self, path: &str) -> Option<Rc<str>> {
        if !self.has(path) {
            return None;
        }
        if let Some(known) = self.texts.borrow().get(path) {
            return known.clone();
        }
        let text = if self.texts.borrow().len() >= MAX_READS {
            self.note(format!(
                "more than {MAX_READS} files would tell something; the rest was not read"
            ));
            None
        } else {
            match (self.read)(path) {
                FileReadOutcome::Text(text) => Some(Rc::from(text)),
                FileReadOutcome::Not(why) => {
                    self.note(format!("`{path}` was not read: it {why}"));
                    None
                }
            }
        };
        self.texts
            .borrow_mut()
            .insert(path.to_owned(), text.clone());
        text
    }

    /// A JSON file. What some tools allow on top of JSON (comments) is a mistake here.
    pub(super) fn json(&self, path: &str) -> Option<Value> {
        let text = self.text(path)?;
        let parsed = serde_json::from_str(text.trim_start_matches('\u{feff}'));
        self.parsed(path, parsed)
    }

    /// A TOML file.
    pub(super) fn toml(&self, path: &str) -> Option<Value> {
        let text = self.text(path)?;
        self.parsed(path, toml::from_str(&text))
    }

    /// A YAML file.
    pub(super) fn yaml(&self, path: &str) -> Option<Value> {
        let text = self.text(path)?;
        self.parsed(path, codeteam_core::yaml::parse(path, &text))
    }

    fn parsed<E>(&self, path: &str, parsed: Result<Value, E>) -> Option<Value> {
        if parsed.is_err() {
            self.note(format!("`{path}` is broken and was left out"));
        }
        parsed.ok()
    }

    /// Something a person should know.
    pub(super) fn note(&self, note: impl Into<String>) {
        self.notes.borrow_mut().insert(note.into());
    }

    /// What a person should know.
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

/// A path below a folder; the root's folder is empty.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// The folder a path is in and its last part.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The ending of a path: `yml`.
pub(super) fn ending(path: &str) -> &str {
    let ending = std::path::Path::new(path).extension();
    ending
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
}

/// Whether a path is in a folder that holds what others have written.
pub(super) fn is_foreign(path: &str) -> bool {
    let (folder, _) = split(path);
    folder.split('/').any(|part| FOREIGN.contains(&part))
}

/// Whether a path is in a folder that shows how something is used.
pub(super) fn is_sample(path: &str) -> bool {
    let (folder, _) = split(path);
    let is_one = |part: &str| {
        let ends = ["-tests", "_tests", "-examples"];
        SAMPLES.contains(&part)
            || part.contains("docs")
            || ends.iter().any(|end| part.ends_with(end))
    };
    is_foreign(path) || folder.split('/').any(is_one)
}

/// The string at a path of keys.
pub(super) fn string<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    at(value, keys)?.as_str()
}

/// The value at a path of keys.
pub(super) fn at<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// The strings of a list at a path of keys.
pub(super) fn strings<'v>(value: &'v Value, keys: &[&str]) -> Vec<&'v str> {
    let list = at(value, keys).and_then(Value::as_array);
    let list = list.into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// The keys of a mapping at a path of keys.
pub(super) fn keys<'v>(value: &'v Value, path: &[&str]) -> Vec<&'v str> {
    let map = at(value, path).and_then(Value::as_object);
    map.into_iter()
        .flat_map(|map| map.keys().map(String::as_str))
        .collect()
}
