//! Shares parked accounts among all runs of this user: a small file in codeteam's own folder, so
//! that runs of other projects and other processes know about them too.
//!
//! The file is a hint, not the truth: each run records its own parks in its events. A file that
//! cannot be read counts as empty, and failing to write it costs no more than one futile attempt.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use codeteam_core::ids::{Account, EpochMillis};
use codeteam_core::park::MAX_REST_MS;

const NAME: &str = "parks.json";

/// The file with parked accounts, and its state when it was last read.
#[derive(Debug)]
pub(crate) struct ParkedAccountsFile {
    path: PathBuf,
    /// Its modification time and inode: every change writes a new file.
    seen: Option<(i64, i64, u64)>,
}

impl ParkedAccountsFile {
    /// Uses the file in codeteam's own state folder.
    pub(crate) fn in_folder(state: &Path) -> Self {
        Self {
            path: state.join(NAME),
            seen: None,
        }
    }

    /// Returns the accounts that are parked at `now`, if the file has changed since the last call.
    pub(crate) fn read_changes(&mut self, now: EpochMillis) -> Vec<(Account, EpochMillis)> {
        let meta = fs::metadata(&self.path).ok();
        let found = meta.map(|meta| (meta.mtime(), meta.mtime_nsec(), meta.ino()));
        if found == self.seen {
            return Vec::new();
        }
        self.seen = found;
        let parks = read(&self.path).into_iter();
        // A time from a wrong clock could be years ahead.
        let latest = now.plus(MAX_REST_MS);
        let parks = parks.map(|(account, until)| (account, until.min(latest)));
        parks.filter(|(_, until)| *until > now).collect()
    }

    /// Tells every run that an account is parked.
    pub(crate) fn announce(&self, account: &Account, until: EpochMillis, now: EpochMillis) {
        let mut parks = read(&self.path);
        parks.retain(|_, until| *until > now);
        let known = parks.entry(account.clone()).or_insert(until);
        *known = (*known).max(until);
        // Errors are ignored, since nothing depends on the file.
        let _ = write(&self.path, &parks);
    }
}

fn read(path: &Path) -> BTreeMap<Account, EpochMillis> {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn write(path: &Path, parks: &BTreeMap<Account, EpochMillis>) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut next = path.as_os_str().to_owned();
    next.push(format!(".{}", std::process::id()));
    let next = PathBuf::from(next);
    let mut file = fs::File::create(&next)?;
    file.write_all(serde_json::to_string(parks)?.as_bytes())?;
    fs::rename(&next, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_tells_the_others_hear_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("codeteam");
        let (teller, mut other) = (
            ParkedAccountsFile::in_folder(&state),
            ParkedAccountsFile::in_folder(&state),
        );
        assert_eq!(other.read_changes(EpochMillis(10)), []);
        teller.announce(&"claude".into(), EpochMillis(500), EpochMillis(10));
        assert_eq!(
            other.read_changes(EpochMillis(10)),
            [("claude".into(), EpochMillis(500))]
        );
        assert_eq!(other.read_changes(EpochMillis(10)), [], "no news");
        teller.announce(&"codex".into(), EpochMillis(900), EpochMillis(600));
        let mut late = ParkedAccountsFile::in_folder(&state);
        assert_eq!(
            late.read_changes(EpochMillis(600)),
            [("codex".into(), EpochMillis(900))],
            "what is over is gone"
        );
    }

    #[test]
    fn a_broken_file_says_nothing_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), "{").unwrap();
        let mut parks = ParkedAccountsFile::in_folder(folder.path());
        assert_eq!(parks.read_changes(EpochMillis(1)), []);
        parks.announce(&"a".into(), EpochMillis(5), EpochMillis(1));
        assert_eq!(parks.read_changes(EpochMillis(1)).len(), 1);
    }
}
