//! The logs that this user's codeteam has created, each identified by its path, inode and birth
//! time.
//!
//! A log records what a person decided and how a run is confined, and it lies in the repository's
//! folder. A log that came with a clone, a pull or an archive was written by somebody else: it is
//! used only after the user has adopted it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, birth_of, read_text, write_record};
use crate::env::Env;

/// The folder of the records, in codeteam's own state folder.
const FOLDER: &str = "codeteam/logs";

/// The identity of a log file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LogRecord {
    log: PathBuf,
    /// When it was created, in nanoseconds since 1970, if the file system records it.
    born: Option<u64>,
    inode: u64,
}

/// The records of all logs.
pub struct LogRecords {
    folder: PathBuf,
}

impl LogRecords {
    /// Returns the user's own records.
    pub fn for_user(env: &Env) -> Option<Self> {
        let folder = env.state_home.as_ref()?.join(FOLDER);
        Some(Self { folder })
    }

    /// Returns true if this file is the log that codeteam created in its place, or that the user
    /// has adopted.
    pub fn knows(&self, log: &Path) -> bool {
        let Some(found) = identify(log) else {
            return false;
        };
        let text = read_text(&self.file(&found.log));
        let known = text.and_then(|text| serde_json::from_str::<LogRecord>(&text).ok());
        known == Some(found)
    }

    /// Records that a log is the user's own. Removes records of logs that are gone.
    pub fn record(&self, log: &Path) -> Result<(), Error> {
        let Some(found) = identify(log) else {
            return Ok(());
        };
        self.forget_missing();
        let text = serde_json::to_string_pretty(&found).unwrap_or_default();
        write_record(&self.folder, &self.file(&found.log), &text)
    }

    /// Keeps a second name for a log that is the user's own, so that it survives if git puts
    /// another file in its place: git considers ignored files expendable. It is a hard link, so it
    /// takes no space and is always as new as the log; where hard links are impossible (another
    /// file system), nothing is kept.
    pub fn keep(&self, log: &Path) {
        let Some(found) = identify(log) else {
            return;
        };
        let kept = self.kept_file(&found.log);
        match kept.symlink_metadata() {
            Ok(known) if known.ino() == found.inode => return,
            // The previous log stays until the next one replaces it.
            Ok(_) => {
                let _ = fs::rename(&kept, kept.with_extension("before.db"));
            }
            Err(_) => {}
        }
        let _ = fs::hard_link(log, kept);
    }

    /// Returns the user's own log, if another file has taken its place.
    pub fn find_replaced(&self, log: &Path) -> Option<PathBuf> {
        let log_path = log.parent()?.canonicalize().ok()?.join(log.file_name()?);
        let kept = self.kept_file(&log_path);
        let known = kept.symlink_metadata().ok()?;
        let text = read_text(&self.file(&log_path))?;
        let record: LogRecord = serde_json::from_str(&text).ok()?;
        let is_other = log.symlink_metadata().ok()?.ino() != known.ino();
        (known.ino() == record.inode && is_other).then_some(kept)
    }

    fn kept_file(&self, log: &Path) -> PathBuf {
        self.file(log).with_extension("db")
    }

    /// Returns true if the records are in this folder, and so could have come with it.
    pub fn is_inside(&self, root: &Path) -> bool {
        super::is_inside(&self.folder, root)
    }

    fn forget_missing(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let record = read_text(&path);
            let record = record.and_then(|text| serde_json::from_str::<LogRecord>(&text).ok());
            if record.is_some_and(|record| !record.log.exists()) {
                for extension in ["before.db", "db", "json"] {
                    let _ = fs::remove_file(path.with_extension(extension));
                }
            }
        }
    }

    fn file(&self, log: &Path) -> PathBuf {
        let hash = blake3::hash(log.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{}.json", &hash.to_hex()[..24]))
    }
}

fn identify(log: &Path) -> Option<LogRecord> {
    let found = log.symlink_metadata().ok()?;
    if !found.is_file() {
        return None;
    }
    Some(LogRecord {
        log: log.canonicalize().ok()?,
        born: birth_of(&found),
        inode: found.ino(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_same_place_is_another_log() {
        let folder = tempfile::tempdir().unwrap();
        let records = LogRecords {
            folder: folder.path().join("state/logs"),
        };
        let log = folder.path().join("state.db");
        fs::write(&log, "mine").unwrap();
        assert!(!records.knows(&log));
        records.record(&log).unwrap();
        assert!(records.knows(&log));
        fs::write(&log, "mine, with another run").unwrap();
        assert!(records.knows(&log));
        let theirs = folder.path().join("theirs");
        fs::write(&theirs, "theirs").unwrap();
        fs::rename(&theirs, &log).unwrap();
        assert!(!records.knows(&log));
        // What is gone is forgotten when another one is recorded.
        fs::remove_file(&log).unwrap();
        let other = folder.path().join("other.db");
        fs::write(&other, "").unwrap();
        records.record(&other).unwrap();
        assert_eq!(fs::read_dir(&records.folder).unwrap().count(), 1);
    }
}
