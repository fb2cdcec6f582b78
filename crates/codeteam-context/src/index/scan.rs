//! Finds out what has changed, and reads that.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use super::record::{ContentHash, ParsedFile};
use super::{ProgressCallback, SourceIndex, UpdateCounts};
use crate::files::{FileContent, FileEntry, FileSet, FileStamp};
use crate::language::Language;

/// What a scan found, in the order of the paths.
pub(super) struct ScanResult {
    pub(super) sources: Vec<ScannedFile>,
    read: usize,
}

/// A source file.
pub(super) struct ScannedFile {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) stamp: Option<FileStamp>,
    pub(super) outline: OutlineLocation,
}

/// Where a file's outline is.
pub(super) enum OutlineLocation {
    /// It is known, under this number.
    Kept(u32),
    /// It was worked out.
    Read(Box<ParsedFile>),
}

impl ScanResult {
    pub(super) fn work(&self) -> UpdateCounts {
        let parsed = |entry: &&ScannedFile| matches!(entry.outline, OutlineLocation::Read(_));
        UpdateCounts {
            read: self.read,
            parsed: self.sources.iter().filter(parsed).count(),
        }
    }
}

/// Compares files with an index, and reads those that may differ.
pub(super) fn scan(
    index: &SourceIndex,
    files: &dyn FileSet,
    progress: ProgressCallback<'_>,
) -> ScanResult {
    let now = now();
    let mut sources: Vec<Option<ScannedFile>> = Vec::new();
    let mut unread = Vec::new();
    let mut known = index.sources.iter().peekable();
    for (at, file) in files.list().iter().enumerate() {
        let Some(language) = Language::of(&file.path) else {
            continue;
        };
        while known.next_if(|source| source.path < file.path).is_some() {}
        let same = known.next_if(|source| source.path == file.path);
        let same = same.filter(|source| {
            source.bytes == file.bytes && source.stamp.is_some() && source.stamp == file.stamp
        });
        if let Some(source) = same {
            sources.push(Some(entry(
                file,
                source.stamp,
                OutlineLocation::Kept(source.at),
            )));
        } else {
            unread.push((sources.len(), at, language));
            sources.push(None);
        }
    }
    let outlines = read(index, files, &unread, progress);
    for ((place, at, _), outline) in unread.iter().zip(outlines) {
        let file = &files.list()[*at];
        let stamp = file.stamp.filter(|stamp| stamp.is_settled(now));
        sources[*place] = outline.map(|outline| entry(file, stamp, outline));
    }
    ScanResult {
        sources: sources.into_iter().flatten().collect(),
        read: unread.len(),
    }
}

fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
    })
}

fn entry(file: &FileEntry, stamp: Option<FileStamp>, outline: OutlineLocation) -> ScannedFile {
    ScannedFile {
        path: file.path.clone(),
        bytes: file.bytes,
        stamp,
        outline,
    }
}

/// Reads files on all cores, in any order, and gives what was found in theirs.
fn read(
    index: &SourceIndex,
    files: &dyn FileSet,
    unread: &[(usize, usize, Language)],
    progress: ProgressCallback<'_>,
) -> Vec<Option<OutlineLocation>> {
    if unread.is_empty() {
        return Vec::new();
    }
    let records = (0_u32..).zip(&index.records);
    let known: HashMap<(&ContentHash, Language), u32> = records
        .map(|(number, record)| ((&record.hash, record.language), number))
        .collect();
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(unread.len()));
    let work = || {
        let mut own = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, file, language)) = unread.get(at) else {
                break;
            };
            own.push((at, read_one(&known, files, *file, *language)));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, unread.len());
        }
        if let Ok(mut found) = found.lock() {
            found.append(&mut own);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 1..threads.min(unread.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_unstable_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, outline)| outline).collect()
}

fn read_one(
    known: &HashMap<(&ContentHash, Language), u32>,
    files: &dyn FileSet,
    file: usize,
    language: Language,
) -> Option<OutlineLocation> {
    let FileContent::Text(text) = files.read(file) else {
        return None;
    };
    let hash = *blake3::hash(text.as_bytes()).as_bytes();
    if let Some(number) = known.get(&(&hash, language)) {
        return Some(OutlineLocation::Kept(*number));
    }
    Some(OutlineLocation::Read(Box::new(ParsedFile::new(
        hash, language, &text,
    ))))
}
