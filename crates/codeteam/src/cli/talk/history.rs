//! The history of a project's prompts: stored outside its repository, without secrets, readable by
//! the user only, and limited in size.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use codeteam_engine::Engine;

/// The largest number of entries.
const MOST: usize = 500;
/// The length limit of an entry: nobody wants to find a whole page again by pressing Up.
const LONGEST: usize = 4_000;

/// The entries, oldest first.
pub(super) struct PromptHistory {
    entries: Vec<String>,
    at: usize,
    /// The text being written before going back.
    present: String,
    file: Option<PathBuf>,
    redact: Box<dyn Fn(&str) -> String>,
}

impl PromptHistory {
    /// Opens the history of a project.
    pub(super) fn for_project(engine: &std::sync::Arc<Engine>) -> Self {
        let redactor = std::sync::Arc::clone(engine);
        let file = engine.workspaces_folder().join("history");
        let redact = move |text: &str| redactor.redactor.redact(text).text.into_owned();
        Self::from_file(Some(file), Box::new(redact))
    }

    fn from_file(file: Option<PathBuf>, redact: Box<dyn Fn(&str) -> String>) -> Self {
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let mut entries: Vec<String> = text
            .unwrap_or_default()
            .lines()
            .map(unescape_entry)
            .collect();
        if entries.len() > MOST {
            entries.drain(..entries.len() - MOST);
        }
        Self {
            at: entries.len(),
            entries,
            present: String::new(),
            file,
            redact,
        }
    }

    /// Returns to the present.
    pub(super) fn rewind(&mut self) {
        self.at = self.entries.len();
        self.present.clear();
    }

    /// Returns the previous entry, if there is one.
    pub(super) fn older(&mut self, present: &str) -> Option<String> {
        if self.at == self.entries.len() {
            present.clone_into(&mut self.present);
        }
        self.at = self.at.checked_sub(1)?;
        self.entries.get(self.at).cloned()
    }

    /// Returns the next entry, or the text that was being written.
    pub(super) fn newer(&mut self) -> Option<String> {
        if self.at >= self.entries.len() {
            return None;
        }
        self.at += 1;
        let entry = self.entries.get(self.at).unwrap_or(&self.present);
        Some(entry.clone())
    }

    /// Adds an entry and stores it.
    pub(super) fn add(&mut self, said: &str) {
        let before = self.entries.len();
        self.remember(said);
        if self.entries.len() == before {
            return;
        }
        // If the file cannot be written, the history lasts for this session only.
        let _ = self.write();
    }

    /// Adds an entry for as long as codeteam runs.
    pub(super) fn remember(&mut self, said: &str) {
        let said = said.trim();
        let kept = (self.redact)(said);
        if said.is_empty() || said.len() > LONGEST || self.entries.last() == Some(&kept) {
            return;
        }
        self.entries.push(kept);
    }

    fn write(&self) -> std::io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let last = self.entries.len().saturating_sub(MOST);
        let text: String = self.entries[last..]
            .iter()
            .map(|e| escape_entry(e))
            .collect();
        let new = file.with_extension(format!("{}.new", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&new)?.write_all(text.as_bytes())?;
        fs::rename(&new, file)
    }
}

/// Escapes an entry as one line.
fn escape_entry(entry: &str) -> String {
    format!("{}\n", entry.replace('\\', "\\\\").replace('\n', "\\n"))
}

fn unescape_entry(line: &str) -> String {
    let mut entry = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        entry.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    entry
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn history(file: &std::path::Path) -> PromptHistory {
        let redact = |text: &str| text.replace("hunter2", "***");
        PromptHistory::from_file(Some(file.to_owned()), Box::new(redact))
    }

    #[test]
    fn it_is_kept_without_secrets_and_for_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("below/history");
        let mut first = history(&file);
        first.add("one");
        first.add("one");
        first.add("two\nlines \\n with hunter2");
        first.add("  ");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!fs::read_to_string(&file).unwrap().contains("hunter2"));

        let mut later = history(&file);
        assert_eq!(
            later.older("now"),
            Some("two\nlines \\n with ***".to_owned())
        );
        assert_eq!(later.older("x"), Some("one".to_owned()));
        assert_eq!(later.older("x"), None);
        assert!(later.newer().unwrap().starts_with("two"));
        assert_eq!(later.newer(), Some("now".to_owned()));
        assert_eq!(later.newer(), None);
    }

    #[test]
    fn it_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let mut all = history(&file);
        for n in 0..MOST + 20 {
            all.add(&n.to_string());
        }
        all.add(&"x".repeat(LONGEST + 1));
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), MOST);
        assert!(text.ends_with(&format!("{}\n", MOST + 19)));
    }
}
