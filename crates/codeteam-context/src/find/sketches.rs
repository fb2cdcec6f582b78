//! The sketches of all files of a tree, kept from one time to the next.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{Candidate, Sketch, sketch};
use crate::cache;
use crate::files::{Content, Files, Stamp};
use crate::outline::Outline;

/// What changes when a sketch of the same content becomes another.
const VERSION: u32 = 1;
/// The file in the folder of the cache.
const NAME: &str = "sketches";
/// A stamp that is younger than this when it is taken, in nanoseconds, may stay the same over a
/// change: clocks of file systems go in steps.
const SETTLED: i128 = 2_000_000_000;

/// What a source file defines, refers to and imports, by its path and text.
pub type Outliner<'a> = dyn Fn(&str, &str) -> Outline + Sync + 'a;

/// The sketches of a tree's text files.
#[derive(Debug, Default)]
pub struct Sketches {
    entries: Vec<Entry>,
}

/// A stamp, as it is kept: modified, changed, inode.
type Kept = (i128, i128, u64);

fn kept(stamp: Stamp) -> Kept {
    (stamp.modified, stamp.changed, stamp.inode)
}

/// A file, and its sketch.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    path: String,
    bytes: u64,
    /// By what it is known not to have changed; none if it was too young.
    stamp: Option<Kept>,
    /// None if it is no text.
    sketch: Option<Sketch>,
}

impl Sketches {
    /// Takes the sketches of all files but those that programs write ([`is_generated`]). What is in the
    /// folder of the cache is not worked out again, and not even read if its stamp is the same.
    pub fn take(files: &dyn Files, outline: &Outliner<'_>, cache: Option<&Path>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(0));
        let place = cache.map(|folder| folder.join(NAME));
        let known: Vec<Entry> = place
            .as_ref()
            .and_then(|place| cache::load(place, VERSION))
            .unwrap_or_default();
        let taking = Taking {
            files,
            outline,
            now,
            by_path: known
                .iter()
                .map(|entry| (entry.path.as_str(), entry))
                .collect(),
            by_hash: known
                .iter()
                .filter_map(|entry| Some((entry.sketch.as_ref()?.hash, entry)))
                .collect(),
            next: AtomicUsize::new(0),
            changed: AtomicUsize::new(0),
        };
        let entries = taking.all();
        let changed = taking.changed.into_inner() > 0 || entries.len() != known.len();
        if let Some(place) = place.filter(|_| changed) {
            // What cannot be kept is worked out again.
            let _ = cache::save(&place, VERSION, &entries);
        }
        Self { entries }
    }

    /// The files, as they can be ranked, in the order of their paths.
    pub fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.entries.iter().filter_map(|entry| {
            Some(Candidate {
                path: &entry.path,
                sketch: entry.sketch.as_ref()?,
            })
        })
    }
}

/// Sketches being taken.
struct Taking<'a> {
    files: &'a dyn Files,
    outline: &'a Outliner<'a>,
    now: i128,
    by_path: HashMap<&'a str, &'a Entry>,
    by_hash: HashMap<[u8; 16], &'a Entry>,
    next: AtomicUsize,
    changed: AtomicUsize,
}

impl Taking<'_> {
    fn all(&self) -> Vec<Entry> {
        let taken: Mutex<Vec<(usize, Entry)>> = Mutex::default();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..threads.min(self.files.list().len()) {
                scope.spawn(|| {
                    let mut own = Vec::new();
                    loop {
                        let at = self.next.fetch_add(1, Ordering::Relaxed);
                        if at >= self.files.list().len() {
                            break;
                        }
                        own.extend(self.one(at).map(|entry| (at, entry)));
                    }
                    taken
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .extend(own);
                });
            }
        });
        let mut taken = taken
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        taken.sort_unstable_by_key(|(at, _)| *at);
        taken.into_iter().map(|(_, entry)| entry).collect()
    }

    fn one(&self, at: usize) -> Option<Entry> {
        let file = &self.files.list()[at];
        if is_generated(&file.path) {
            return None;
        }
        let known = self.by_path.get(file.path.as_str());
        if let Some(known) = known
            && file.stamp.is_some()
            && known.stamp == file.stamp.map(kept)
            && known.bytes == file.bytes
        {
            return Some((*known).clone());
        }
        self.changed.fetch_add(1, Ordering::Relaxed);
        let settled = |stamp: &Stamp| stamp.modified.max(stamp.changed) + SETTLED < self.now;
        Some(Entry {
            path: file.path.clone(),
            bytes: file.bytes,
            stamp: file.stamp.filter(settled).map(kept),
            sketch: self.sketch(at),
        })
    }

    /// The sketch of a file that is not known by its stamp.
    fn sketch(&self, at: usize) -> Option<Sketch> {
        let path = &self.files.list()[at].path;
        let Content::Text(text) = self.files.read(at) else {
            return None;
        };
        let same = self.by_hash.get(&sketch::hash(&text));
        let same = same.filter(|same| ending(&same.path) == ending(path));
        let known = same.and_then(|same| same.sketch.clone());
        Some(known.unwrap_or_else(|| Sketch::of(&text, &(self.outline)(path, &text))))
    }
}

/// What tells a file's language.
fn ending(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, ending)| ending)
}

/// Whether a file is written by a program or came from elsewhere, by its path: nobody looks for it.
pub fn is_generated(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let lock = [
        "go.sum",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
    ]
    .contains(&name)
        || ending(name) == Some("lock");
    let made = [
        ".snap", ".min.js", ".min.css", ".map", ".svg", ".po", ".pb.go", "_pb2.py",
    ];
    let elsewhere = [
        "node_modules",
        "vendor",
        "third_party",
        "dist",
        "__snapshots__",
    ];
    lock || made.iter().any(|end| name.ends_with(end))
        || folders.split('/').any(|folder| elsewhere.contains(&folder))
}
