//! The sketches of all files of a tree, kept from one time to the next.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{CandidateFile, FileSketch, SourceLookup, SymbolSketch, sketch};
use crate::cache;
use crate::files::{FileContent, FileEntry, FileSet, FileStamp};
use crate::imports;
use crate::language::Language;
use crate::outline::outline;

/// What changes when a sketch of the same content becomes another.
const VERSION: u32 = 2;
/// The file in the folder of the cache.
const NAME: &str = "sketches";

/// The sketches of a tree's text files; and a second look at those for which it is asked for.
pub struct SketchIndex<'f> {
    files: &'f dyn FileSet,
    entries: Vec<SketchEntry>,
    place: Option<PathBuf>,
    /// Whether there is something that is not kept yet.
    new: AtomicBool,
}

/// A file, and its sketch.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SketchEntry {
    path: String,
    bytes: u64,
    /// By what it is known not to have changed; none if it was too young.
    stamp: Option<FileStamp>,
    /// None if it is no text.
    sketch: Option<FileSketch>,
    closer: LazySymbolSketch,
}

/// What is worked out when it is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Option<SymbolSketch>", into = "Option<SymbolSketch>")]
struct LazySymbolSketch(OnceLock<SymbolSketch>);

impl From<Option<SymbolSketch>> for LazySymbolSketch {
    fn from(closer: Option<SymbolSketch>) -> Self {
        Self(closer.map_or_else(OnceLock::new, OnceLock::from))
    }
}

impl From<LazySymbolSketch> for Option<SymbolSketch> {
    fn from(later: LazySymbolSketch) -> Self {
        later.0.into_inner()
    }
}

impl<'f> SketchIndex<'f> {
    /// Takes the sketches of all files but those that programs write ([`is_generated`]). What is in the
    /// folder of the cache is not worked out again, and not even read if its stamp is the same.
    pub fn take(files: &'f dyn FileSet, cache: Option<&Path>) -> Self {
        Self::take_with(files, cache, &|_, _| {})
    }

    /// [`SketchIndex::take`], and says how many files it has been through, of how many.
    pub fn take_with(
        files: &'f dyn FileSet,
        cache: Option<&Path>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(0));
        let place = cache.map(|folder| folder.join(NAME));
        let known = place.as_ref().and_then(|place| cache::load(place, VERSION));
        let known: Vec<SketchEntry> = known.unwrap_or_default();
        let list = files.list();
        let wanted = (0..list.len()).filter(|at| !is_generated(&list[*at].path));
        let (same, unread): (Vec<_>, Vec<_>) = wanted
            .map(|at| (at, same(&known, &list[at])))
            .partition(|(_, same)| same.is_some());
        let count = list.len();
        let done = AtomicUsize::new(count - unread.len());
        let taking = SketchBuilder {
            files,
            now,
            by_hash: known
                .iter()
                .filter(|_| !unread.is_empty())
                .filter_map(|it| Some((it.sketch.as_ref()?.hash, it)))
                .collect(),
        };
        let read = in_parallel(unread.len(), |at| {
            let entry = taking.one(unread[at].0);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, count);
            entry
        });
        progress(count, count);
        let new = !unread.is_empty() || same.len() != known.len();
        // What is known already moves over: two of everything would be much.
        let mut known = known.into_iter().enumerate();
        let same = same.into_iter().filter_map(|(at, place)| {
            let found = known.find(|(known, _)| Some(*known) == place);
            found.map(|(_, entry)| (at, entry))
        });
        let read = unread.iter().map(|(at, _)| *at).zip(read);
        let mut entries: Vec<(usize, SketchEntry)> = same.chain(read).collect();
        entries.sort_unstable_by_key(|(at, _)| *at);
        let entries = entries.into_iter().map(|(_, entry)| entry).collect();
        Self {
            files,
            entries,
            place,
            new: AtomicBool::new(new),
        }
    }

    /// The files, as they can be ranked, in the order of their paths.
    pub fn candidates(&self) -> impl Iterator<Item = CandidateFile<'_>> {
        self.entries.iter().filter_map(|entry| {
            Some(CandidateFile {
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

    fn entry(&self, path: &str) -> Option<&SketchEntry> {
        let at = self
            .entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path));
        at.ok().map(|at| &self.entries[at])
    }

    fn read(&self, path: &str) -> Option<String> {
        imports::reader(self.files)(path)
    }
}

impl SourceLookup for SketchIndex<'_> {
    fn prepare(&self, paths: &[&str]) {
        in_parallel(paths.len(), |at| {
            self.closer(paths[at]);
        });
    }

    fn closer(&self, path: &str) -> Option<&SymbolSketch> {
        let language = Language::of(path)?;
        let closer = &self.entry(path)?.closer.0;
        if closer.get().is_none() {
            let text = self.read(path)?;
            self.new.store(true, Ordering::Relaxed);
            closer.get_or_init(|| SymbolSketch::of(outline(&text, language)));
        }
        closer.get()
    }

    fn text(&self, path: &str) -> Option<String> {
        self.read(path)
    }
}

/// Where a file is among those that are known, in the order of their paths, if it has not changed.
fn same(known: &[SketchEntry], file: &FileEntry) -> Option<usize> {
    let at = known
        .binary_search_by(|known| known.path.cmp(&file.path))
        .ok()?;
    let same = file.stamp.is_some() && known[at].stamp == file.stamp;
    (same && known[at].bytes == file.bytes).then_some(at)
}

/// Sketches being taken.
struct SketchBuilder<'a> {
    files: &'a dyn FileSet,
    now: i128,
    by_hash: HashMap<[u8; 16], &'a SketchEntry>,
}

impl SketchBuilder<'_> {
    fn one(&self, at: usize) -> SketchEntry {
        let file = &self.files.list()[at];
        let content = self.files.read(at);
        // What could not be read now may be read another time.
        let was_read = !matches!(content, FileContent::Gone | FileContent::Unreadable(_));
        let settled = |stamp: &FileStamp| was_read && stamp.is_settled(self.now);
        let (sketch, closer) = match content {
            FileContent::Text(text) => self.look(&file.path, &text),
            _ => Default::default(),
        };
        SketchEntry {
            path: file.path.clone(),
            bytes: file.bytes,
            stamp: file.stamp.filter(settled),
            sketch,
            closer,
        }
    }

    /// The sketch of a file that is not known by its stamp.
    fn look(&self, path: &str, text: &str) -> (Option<FileSketch>, LazySymbolSketch) {
        let language = Language::of(path);
        let same = self.by_hash.get(&sketch::hash(text));
        match same.filter(|same| Language::of(&same.path) == language) {
            Some(same) => (same.sketch.clone(), same.closer.clone()),
            None => (Some(FileSketch::of(text)), LazySymbolSketch::default()),
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
