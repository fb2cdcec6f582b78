//! Packs the objects that a run has added to the user's repository, by git itself.
//!
//! Whatever is packed was committed, so it is referenced already, and a loose object is removed
//! only once git finds it in a pack. Commands of the user may run at the same time: they look for
//! an object in new packs before they miss it. While the user's `git gc` runs, nothing is packed.
//! A call that is killed leaves what was there, and a temporary file that `git gc` removes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Error, Oid, Repo};

/// After this long the mark of a `git gc` was left by one that died: git's own limit.
const GC_AGE: Duration = Duration::from_hours(12);

/// The files that belong to a pack. Without its index a pack is not looked at, so that goes first.
const PARTS: [&str; 4] = ["idx", "rev", "bitmap", "pack"];

/// A pack that [`Repo::pack_commits`] has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPack {
    name: String,
}

impl Repo {
    /// Packs the loose objects of the commits that `tip` has and `since` lacks, and removes loose
    /// objects that are in a pack. Returns the packs that were made. Two processes.
    pub fn pack_commits(&self, tip: &Oid, since: &Oid) -> Result<Vec<CommitPack>, Error> {
        if self.is_collecting_garbage() {
            return Ok(Vec::new());
        }
        let revisions = format!("{tip}\n^{since}\n");
        let call = self
            .plumbing()
            .args(["pack-objects", "-q", "--revs", "--incremental", "--local"])
            .args(["--non-empty", "--threads=1"])
            .arg(self.packs_folder().join("pack"))
            .stdin(revisions.into_bytes());
        let made = parse_packs(&self.git.run(&call)?);
        self.git
            .run(&self.plumbing().args(["prune-packed", "-q"]))?;
        Ok(made)
    }

    /// Puts the content of packs that [`pack_commits`](Self::pack_commits) has made into one, and
    /// removes them. Returns the packs that there are now. One process.
    pub fn merge_packs(&self, packs: &[CommitPack]) -> Result<Vec<CommitPack>, Error> {
        let folder = self.packs_folder();
        // An index over several packs, or a pack that the user keeps, is not changed here.
        let indexed = ["multi-pack-index", "multi-pack-index.d"];
        let kept = |pack: &CommitPack| folder.join(format!("{}.keep", pack.name)).exists();
        if packs.len() < 2
            || self.is_collecting_garbage()
            || indexed.iter().any(|name| folder.join(name).exists())
            || packs.iter().any(kept)
        {
            return Ok(packs.to_vec());
        }
        let mut names = String::new();
        for pack in packs {
            names.push_str(&pack.name);
            names.push_str(".pack\n");
        }
        let call = self
            .plumbing()
            .args(["pack-objects", "-q", "--stdin-packs", "--non-empty"])
            .arg("--threads=1")
            .arg(folder.join("pack"))
            .stdin(names.into_bytes());
        let made = parse_packs(&self.git.run(&call)?);
        if made.is_empty() {
            return Ok(packs.to_vec());
        }
        for old in packs.iter().filter(|old| !made.contains(old)) {
            for part in PARTS {
                // What cannot be removed is there twice, and `git gc` tidies it up.
                let _ = fs::remove_file(folder.join(format!("{}.{part}", old.name)));
            }
        }
        Ok(made)
    }

    fn packs_folder(&self) -> PathBuf {
        self.common_dir().join("objects/pack")
    }

    /// Returns true if a `git gc` of the user is at work.
    fn is_collecting_garbage(&self) -> bool {
        is_recent(&self.common_dir().join("gc.pid"))
    }
}

fn is_recent(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|found| found.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age < GC_AGE))
}

/// Parses what `pack-objects` prints: the hash of each pack, on a line of its own.
fn parse_packs(output: &[u8]) -> Vec<CommitPack> {
    let text = String::from_utf8_lossy(output);
    let hashes = text.lines().filter_map(Oid::parse);
    let name = |hash: Oid| CommitPack {
        name: format!("pack-{hash}"),
    };
    hashes.map(name).collect()
}
