//! The sketches of all files of a tree, kept from one time to the next.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{Candidate, Closer, Look, Sketch, sketch};
use crate::cache;
use crate::files::{Content, Files, Stamp};
use crate::imports;
use crate::language::Language;
use crate::outline::outline;

/// What changes when a sketch of the same content becomes another.
const VERSION: u32 = 1;
/// The file in the folder of the cache.
const NAME: &str = "sketches";
/// A stamp that is younger than this when it is taken, in nanoseconds, may stay the same over a
/// change: clocks of file systems go in steps.
const SETTLED: i128 = 2_000_000_000;

/// The sketches of a tree's text files; and a second look at those for which it is asked for.
pub struct Sketches<'f> {
    files: &'f dyn Files,
    entries: Vec<Entry>,
    place: Option<PathBuf>,
    /// Whether there is something that is not kept yet.
    new: AtomicBool,
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
    closer: Later,
}

/// What is worked out when it is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Option<Closer>", into = "Option<Closer>")]
struct Later(OnceLock<Closer>);

impl From<Option<Closer>> for Later {
    fn from(closer: Option<Closer>) -> Self {
        Self(closer.map_or_else(OnceLock::new, OnceLock::from))
    }
}

impl From<Later> for Option<Closer> {
    fn from(later: Later) -> Self {
        later.0.into_inner()
    }
}

impl<'f> Sketches<'f> {
    /// Takes the sketches of all files but those that programs write ([`is_generated`]). What is in the
    /// folder of the cache is not worked out again, and not even read if its stamp is the same.
    pub fn take(files: &'f dyn Files, cache: Option<&Path>) -> Self {
        Self::take_with(files, cache, &|_, _| {})
    }

    /// [`Sketches::take`], and says how many files it has been through, of how many.
    pub fn take_with(
        files: &'f dyn Files,
        cache: Option<&Path>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(0));
        let place = cache.map(|folder| folder.join(NAME));
        let known = place.as_ref().and_then(|place| cache::load(place, VERSION));
        let known: Vec<Entry> = known.unwrap_or_default();
        let taking = Taking {
            files,
            now,
            by_path: known.iter().map(|it| (it.path.as_str(), it)).collect(),
            by_hash: known
                .iter()
                .filter_map(|it| Some((it.sketch.as_ref()?.hash, it)))
                .collect(),
            changed: AtomicBool::new(false),
        };
        let count = files.list().len();
        let done = AtomicUsize::new(0);
        let entries = in_parallel(count, |at| {
            let entry = taking.one(at);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, count);
            entry
        });
        let entries: Vec<Entry> = entries.into_iter().flatten().collect();
        let new = taking.changed.into_inner() || entries.len() != known.len();
        Self {
            files,
            entries,
            place,
            new: AtomicBool::new(new),
        }
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

    /// Keeps what is new in the folder of the cache.
    pub fn save(&self) -> std::io::Result<()> {
        match &self.place {
            Some(place) if self.new.swap(false, Ordering::Relaxed) => {
                cache::save(place, VERSION, &self.entries)
            }
            _ => Ok(()),
        }
    }

    fn entry(&self, path: &str) -> Option<&Entry> {
        let at = self
            .entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path));
        at.ok().map(|at| &self.entries[at])
    }

    fn read(&self, path: &str) -> Option<String> {
        imports::reader(self.files)(path)
    }
}

impl Look for Sketches<'_> {
    fn prepare(&self, paths: &[&str]) {
        in_parallel(paths.len(), |at| {
            self.closer(paths[at]);
        });
    }

    fn closer(&self, path: &str) -> Option<&Closer> {
        let language = Language::of(path)?;
        let entry = self.entry(path)?;
        Some(entry.closer.0.get_or_init(|| {
            self.new.store(true, Ordering::Relaxed);
            let text = self.read(path).unwrap_or_default();
            Closer::of(outline(&text, language))
        }))
    }

    fn text(&self, path: &str) -> Option<String> {
        self.read(path)
    }
}

/// Sketches being taken.
struct Taking<'a> {
    files: &'a dyn Files,
    now: i128,
    by_path: HashMap<&'a str, &'a Entry>,
    by_hash: HashMap<[u8; 16], &'a Entry>,
    changed: AtomicBool,
}

impl Taking<'_> {
    fn one(&self, at: usize) -> Option<Entry> {
        let file = &self.files.list()[at];
        if is_generated(&file.path) {
            return None;
        }
        if let Some(known) = self.by_path.get(file.path.as_str())
            && file.stamp.is_some()
            && known.stamp == file.stamp.map(kept)
            && known.bytes == file.bytes
        {
            return Some((*known).clone());
        }
        self.changed.store(true, Ordering::Relaxed);
        let settled = |stamp: &Stamp| stamp.modified.max(stamp.changed) + SETTLED < self.now;
        let (sketch, closer) = self.read(at);
        Some(Entry {
            path: file.path.clone(),
            bytes: file.bytes,
            stamp: file.stamp.filter(settled).map(kept),
            sketch,
            closer,
        })
    }

    /// The sketch of a file that is not known by its stamp.
    fn read(&self, at: usize) -> (Option<Sketch>, Later) {
        let Content::Text(text) = self.files.read(at) else {
            return Default::default();
        };
        let language = Language::of(&self.files.list()[at].path);
        let same = self.by_hash.get(&sketch::hash(&text));
        match same.filter(|same| Language::of(&same.path) == language) {
            Some(same) => (same.sketch.clone(), same.closer.clone()),
            None => (Some(Sketch::of(&text)), Later::default()),
        }
    }
}

/// Does something with the numbers up to a bound on all cores; the results are in their order.
fn in_parallel<T: Send>(count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::default();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        break;
                    }
                    own.push((at, one(at)));
                }
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(own);
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Whether a file is written by a program or came from elsewhere, by its path: nobody looks for it.
pub fn is_generated(path: &str) -> bool {
    const LOCKS: [&str; 4] = [
        "go.sum",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
    ];
    const MADE: [&str; 9] = [
        ".lock", ".snap", ".min.js", ".min.css", ".map", ".svg", ".po", ".pb.go", "_pb2.py",
    ];
    const ELSEWHERE: [&str; 5] = [
        "node_modules",
        "vendor",
        "third_party",
        "dist",
        "__snapshots__",
    ];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    LOCKS.contains(&name)
        || MADE.iter().any(|end| name.ends_with(end))
        || folders.split('/').any(|folder| ELSEWHERE.contains(&folder))
}
