//! Measures what a worker uses while it works, by the session files of its CLI.
//!
//! The files stand in a folder that the worker can write: what is in it is read as something that
//! others wrote. No link is followed, nothing but regular files is opened, and no more is read than
//! a CLI writes. Whoever changes the files hides its usage until it ends, and no longer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codeteam_core::budget::Usage;

use crate::dialect::DialectName;
use crate::dialect::session_usage::{SessionUsage, read_session_line};

/// How deep below the folder session files are.
const DEEPEST: usize = 5;
/// How many entries of folders are looked at.
const MOST_ENTRIES: usize = 500;
/// How much of a file is read at a time.
const MOST_BYTES: u64 = 8 << 20;
/// The shortest time between two looks.
const INTERVAL: Duration = Duration::from_millis(100);

/// Reads the session files of one attempt.
pub(super) struct SessionUsageReader {
    dialect: DialectName,
    folder: PathBuf,
    /// How much of each file was read: up to the end of a line.
    read: BTreeMap<PathBuf, u64>,
    /// The usage of the session before this attempt, if it continues one.
    before: Usage,
    total: Usage,
    messages: BTreeMap<String, Usage>,
    /// The messages of earlier attempts.
    old_messages: BTreeSet<String>,
    looked: Option<Instant>,
}

impl SessionUsageReader {
    /// Begins an attempt: what the files say by now was used before.
    pub(super) fn begin(dialect: DialectName, folder: PathBuf, before: Usage) -> Self {
        let mut reader = Self {
            dialect,
            folder,
            read: BTreeMap::new(),
            before,
            total: Usage::default(),
            messages: BTreeMap::new(),
            old_messages: BTreeSet::new(),
            looked: None,
        };
        reader.look();
        reader.looked = None;
        reader.total = Usage::default();
        reader.old_messages = std::mem::take(&mut reader.messages).into_keys().collect();
        reader
    }

    /// Returns what this attempt has used so far, as far as the files say it.
    pub(super) fn usage(&mut self) -> Usage {
        if self
            .looked
            .is_none_or(|looked| looked.elapsed() >= INTERVAL)
        {
            self.look();
        }
        let mut usage = Usage {
            input_tokens: self
                .total
                .input_tokens
                .saturating_sub(self.before.input_tokens),
            cached_input_tokens: self
                .total
                .cached_input_tokens
                .saturating_sub(self.before.cached_input_tokens),
            output_tokens: self
                .total
                .output_tokens
                .saturating_sub(self.before.output_tokens),
            cost_microusd: None,
        };
        for message in self.messages.values() {
            usage.add(*message);
        }
        usage
    }

    /// Reads what is new in all files.
    fn look(&mut self) {
        self.looked = Some(Instant::now());
        for path in session_files(&self.folder) {
            let from = self.read.get(&path).copied().unwrap_or(0);
            let Ok((text, end)) = read_lines(&path, from) else {
                continue;
            };
            self.read.insert(path, end);
            for line in text.lines() {
                match read_session_line(self.dialect, line) {
                    Some(SessionUsage::Total(total)) => self.total = total,
                    Some(SessionUsage::Message { id, usage })
                        if !self.old_messages.contains(&id) =>
                    {
                        self.messages.insert(id, usage);
                    }
                    Some(SessionUsage::Message { .. }) | None => {}
                }
            }
        }
    }
}

/// Returns the files below a folder that may be session files.
fn session_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![folder.to_owned()];
    let mut entries = 0;
    for _ in 0..DEEPEST {
        let mut below = Vec::new();
        for folder in level {
            let inside = fs::read_dir(folder).into_iter().flatten().flatten();
            for entry in inside.take(MOST_ENTRIES.saturating_sub(entries)) {
                entries += 1;
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => below.push(path),
                    Ok(kind)
                        if kind.is_file() && path.extension().is_some_and(|e| e == "jsonl") =>
                    {
                        found.push(path);
                    }
                    _ => {}
                }
            }
        }
        level = below;
    }
    found.sort();
    found
}

/// Reads the whole lines of a file from a place on, and returns where they end.
fn read_lines(path: &Path, from: u64) -> io::Result<(String, u64)> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let mut file: File = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    // A line that is longer than that is not looked at.
    let is_full = bytes.len() as u64 == MOST_BYTES;
    let end = if end == 0 && is_full {
        bytes.len()
    } else {
        end
    };
    Ok((text, from + end as u64))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn append(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn total(input: u64, output: u64) -> String {
        format!(
            "{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":{{\"input_tokens\":{input},\"cached_input_tokens\":1,\"output_tokens\":{output}}}}}}}}}\n"
        )
    }

    fn message(id: &str, input: u64) -> String {
        format!("{{\"id\":\"{id}\",\"tokens\":{{\"input\":{input},\"output\":1}}}}\n")
    }

    /// Reads again, however short ago it was read.
    fn tokens(reader: &mut SessionUsageReader) -> (u64, u64) {
        reader.looked = None;
        let usage = reader.usage();
        (usage.input_tokens, usage.output_tokens)
    }

    #[test]
    fn totals_are_counted_from_the_beginning_of_the_attempt() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("2026/11/19/rollout-a.jsonl");
        append(&file, &total(100, 10));
        let before = Usage {
            input_tokens: 100,
            output_tokens: 10,
            ..Usage::default()
        };
        let root = folder.path().to_owned();
        let mut reader = SessionUsageReader::begin(DialectName::Codex, root, before);
        assert_eq!(tokens(&mut reader), (0, 0));
        append(&file, &total(300, 30));
        assert_eq!(tokens(&mut reader), (200, 20));
        // Half a line is read when the rest of it is there.
        let more = total(500, 50);
        append(&file, &more[..40]);
        assert_eq!(tokens(&mut reader), (200, 20));
        append(&file, &more[40..]);
        assert_eq!(tokens(&mut reader), (400, 40));
    }

    #[test]
    fn a_message_that_is_written_twice_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tree/chats/session-a.jsonl");
        append(&file, &message("old", 1_000));
        let root = folder.path().to_owned();
        let none = Usage::default();
        let mut reader = SessionUsageReader::begin(DialectName::Gemini, root, none);
        append(&file, &message("old", 1_000));
        append(&file, &message("one", 200));
        append(&file, &message("one", 250));
        append(&file, &message("two", 300));
        assert_eq!(tokens(&mut reader), (550, 2));
    }

    #[test]
    fn what_a_worker_leaves_there_does_not_hold_codeteam_up() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        append(&outside.path().join("a.jsonl"), &total(9, 9));
        let root = folder.path().to_owned();
        mknodat(CWD, root.join("pipe.jsonl"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        std::os::unix::fs::symlink(outside.path().join("a.jsonl"), root.join("link.jsonl"))
            .unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("folder")).unwrap();
        fs::write(root.join("odd.jsonl"), b"\xff\xfe\n[]\nnull\n").unwrap();
        let none = Usage::default();
        let mut reader = SessionUsageReader::begin(DialectName::Codex, root, none);
        assert_eq!(tokens(&mut reader), (0, 0));
        assert!(read_lines(&folder.path().join("pipe.jsonl"), 0).is_err());
        assert!(read_lines(&folder.path().join("link.jsonl"), 0).is_err());
    }
}
