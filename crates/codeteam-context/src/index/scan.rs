//! Detects which files have changed, and reads those.
//!
//! Files are read and parsed on all cores, but numbered in the order of their paths: names and
//! records get the same numbers whatever the number of threads.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::record::{ContentHash, ParsedFile};
use super::{ProgressCallback, SourceIndex, UpdateCounts};
use crate::files::{FileContent, FileEntry, FileSet, FileStamp};
use crate::language::Language;
use crate::ordered_work::run_in_order;

/// A source file found by a scan.
pub(super) struct ScannedFile {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) stamp: Option<FileStamp>,
    /// The number of its record in the index.
    pub(super) record: u32,
}

/// A file that may have changed.
struct UnreadFile {
    /// Its place among the source files.
    place: usize,
    /// Its number in the file set.
    file: usize,
    language: Language,
}

/// What was read of a file.
enum ReadOutcome {
    /// It is no text, or is gone.
    Nothing,
    /// The index has a record of its content.
    Known(u32),
    /// Nobody has seen its content before.
    Parsed(Box<ParsedFile>),
}

/// Compares files with an index, reads those that may differ, and adds records of new contents to
/// the index. Returns the files in the order of their paths.
pub(super) fn scan(
    index: &mut SourceIndex,
    files: &dyn FileSet,
    progress: ProgressCallback<'_>,
) -> (Vec<ScannedFile>, UpdateCounts) {
    let now = now();
    let mut sources: Vec<Option<ScannedFile>> = Vec::new();
    let mut unread = Vec::new();
    let mut known = index.sources.iter().peekable();
    for (at, file) in files.list().iter().enumerate() {
        let Some(language) = Language::from_path(&file.path) else {
            continue;
        };
        while known.next_if(|source| source.path < file.path).is_some() {}
        let same = known.next_if(|source| source.path == file.path);
        let same = same.filter(|source| {
            source.bytes == file.bytes && source.stamp.is_some() && source.stamp == file.stamp
        });
        if same.is_none() {
            unread.push(UnreadFile {
                place: sources.len(),
                file: at,
                language,
            });
        }
        sources.push(same.map(|source| scanned_file(file, source.stamp, source.at)));
    }
    let (records, parsed) = read_files(index, files, &unread, progress);
    let counts = UpdateCounts {
        read: unread.len(),
        parsed,
    };
    for (unread, record) in unread.iter().zip(records) {
        let file = &files.list()[unread.file];
        let stamp = file.stamp.filter(|stamp| stamp.is_settled(now));
        sources[unread.place] = record.map(|record| scanned_file(file, stamp, record));
    }
    (sources.into_iter().flatten().collect(), counts)
}

fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
    })
}

fn scanned_file(file: &FileEntry, stamp: Option<FileStamp>, record: u32) -> ScannedFile {
    ScannedFile {
        path: file.path.clone(),
        bytes: file.bytes,
        stamp,
        record,
    }
}

/// Reads files, and returns the number of each one's record in the order of the files, and how many
/// were parsed. On the way, parsed files become records, which take less memory.
fn read_files(
    index: &mut SourceIndex,
    files: &dyn FileSet,
    unread: &[UnreadFile],
    progress: ProgressCallback<'_>,
) -> (Vec<Option<u32>>, usize) {
    let mut numbers = Vec::with_capacity(unread.len());
    let mut parsed = 0;
    if unread.is_empty() {
        return (numbers, parsed);
    }
    let records = (0_u32..).zip(&index.records);
    let known: HashMap<(ContentHash, Language), u32> = records
        .map(|(number, record)| ((record.hash, record.language), number))
        .collect();
    // Several files may have the same new content.
    let mut fresh: HashMap<(ContentHash, Language), u32> = HashMap::new();
    let sizes: Vec<u64> = unread
        .iter()
        .map(|unread| files.list()[unread.file].bytes)
        .collect();
    let read = run_in_order(
        &sizes,
        |at| read_one(&known, files, &unread[at]),
        |at, outcome| {
            numbers.push(match outcome {
                ReadOutcome::Nothing => None,
                ReadOutcome::Known(number) => Some(number),
                ReadOutcome::Parsed(file) => {
                    parsed += 1;
                    let next = u32::try_from(index.records.len()).unwrap_or(u32::MAX);
                    let number = *fresh.entry((file.hash, file.language)).or_insert(next);
                    if number == next {
                        let record = file.into_record(&mut index.names);
                        index.records.push(Arc::new(record));
                    }
                    Some(number)
                }
            });
            progress(at + 1, unread.len());
            Ok::<_, Infallible>(())
        },
    );
    let Ok(()) = read;
    (numbers, parsed)
}

fn read_one(
    known: &HashMap<(ContentHash, Language), u32>,
    files: &dyn FileSet,
    unread: &UnreadFile,
) -> ReadOutcome {
    let FileContent::Text(text) = files.read(unread.file) else {
        return ReadOutcome::Nothing;
    };
    let hash = *blake3::hash(text.as_bytes()).as_bytes();
    match known.get(&(hash, unread.language)) {
        Some(number) => ReadOutcome::Known(*number),
        None => ReadOutcome::Parsed(Box::new(ParsedFile::parse(hash, unread.language, &text))),
    }
}
