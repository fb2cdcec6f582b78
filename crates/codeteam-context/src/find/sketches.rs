//! The sketches of all files of a tree, cached between calls.

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
use crate::threads::thread_count;

/// Must change whenever the sketch of the same content changes.
const VERSION: u32 = 2;
/// The file name in the cache folder.
const NAME: &str = "sketches";

/// The sketches of a tree's text files, and lazily parsed symbols of those that are asked for.
pub struct SketchIndex<'f> {
    files: &'f dyn FileSet,
    entries: Vec<SketchEntry>,
    cache_file: Option<PathBuf>,
    /// Whether there is something that has not been saved yet.
    has_changes: AtomicBool,
}

/// A file with its sketch.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SketchEntry {
    path: String,
    bytes: u64,
    /// The stamp by which the file is known to be unchanged; `None` if it was too recent.
    stamp: Option<FileStamp>,
    /// The sketch; `None` if the file is not text.
    sketch: Option<FileSketch>,
    closer: LazySymbolSketch,
}

/// Symbols that are parsed when they are first asked for.
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
    /// Builds the sketches of all files except generated ones ([`is_generated`]). Cached sketches
    /// are not computed again, and a file is not even read if its stamp is unchanged.
    pub fn build(files: &'f dyn FileSet, cache: Option<&Path>) -> Self {
        Self::build_with_progress(files, cache, &|_, _| {})
    }

    /// Does the same as [`SketchIndex::build`], and reports how many files are done, out of how
    /// many.
    pub fn build_with_progress(
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
            .map(|at| (at, find_unchanged(&known, &list[at])))
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
            let entry = taking.sketch_file(unread[at].0);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, count);
            entry
        });
        progress(count, count);
        let new = !unread.is_empty() || same.len() != known.len();
        // Cached entries are moved, not copied, to save memory.
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
            cache_file: place,
            has_changes: AtomicBool::new(new),
        }
    }

    /// Returns the files as candidates for ranking, in the order of their paths.
    pub fn candidates(&self) -> impl Iterator<Item = CandidateFile<'_>> {
        self.entries.iter().filter_map(|entry| {
            Some(CandidateFile {
                path: &entry.path,
                sketch: entry.sketch.as_ref()?,
            })
        })
    }

    /// Saves new sketches in the cache folder.
    pub fn save(&self) -> std::io::Result<()> {
        match &self.cache_file {
            Some(place) if self.has_changes.swap(false, Ordering::Relaxed) => {
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
        imports::manifest_reader(self.files)(path)
    }
}

impl SourceLookup for SketchIndex<'_> {
    fn prepare(&self, paths: &[&str]) {
        in_parallel(paths.len(), |at| {
            self.symbols_of(paths[at]);
        });
    }

    fn symbols_of(&self, path: &str) -> Option<&SymbolSketch> {
        let language = Language::from_path(path)?;
        let closer = &self.entry(path)?.closer.0;
        if closer.get().is_none() {
            let text = self.read(path)?;
            self.has_changes.store(true, Ordering::Relaxed);
            closer.get_or_init(|| SymbolSketch::from_outline(outline(&text, language)));
        }
        closer.get()
    }

    fn read_text(&self, path: &str) -> Option<String> {
        self.read(path)
    }
}

/// Returns the index of a file among the cached ones, which are sorted by path, if it has not
/// changed.
fn find_unchanged(known: &[SketchEntry], file: &FileEntry) -> Option<usize> {
    let at = known
        .binary_search_by(|known| known.path.cmp(&file.path))
        .ok()?;
    let same = file.stamp.is_some() && known[at].stamp == file.stamp;
    (same && known[at].bytes == file.bytes).then_some(at)
}

/// Builds sketches.
struct SketchBuilder<'a> {
    files: &'a dyn FileSet,
    now: i128,
    by_hash: HashMap<[u8; 16], &'a SketchEntry>,
}

impl SketchBuilder<'_> {
    fn sketch_file(&self, at: usize) -> SketchEntry {
        let file = &self.files.list()[at];
        let content = self.files.read(at);
        // A file that could not be read now may be readable another time.
        let was_read = !matches!(content, FileContent::Gone | FileContent::Unreadable(_));
        let settled = |stamp: &FileStamp| was_read && stamp.is_settled(self.now);
        let (sketch, closer) = match content {
            FileContent::Text(text) => self.sketch_text(&file.path, &text),
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

    /// Builds the sketch of a file whose stamp is not cached.
    fn sketch_text(&self, path: &str, text: &str) -> (Option<FileSketch>, LazySymbolSketch) {
        let language = Language::from_path(path);
        let same = self.by_hash.get(&sketch::content_hash(text));
        match same.filter(|same| Language::from_path(&same.path) == language) {
            Some(same) => (same.sketch.clone(), same.closer.clone()),
            None => (
                Some(FileSketch::from_text(text)),
                LazySymbolSketch::default(),
            ),
        }
    }
}

/// Calls `one` for the numbers below `count` on all cores, and returns the results in order.
fn in_parallel<T: Send>(count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::default();
    let threads = thread_count();
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

/// Returns true if a path is that of a generated or vendored file, which nobody searches for.
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
