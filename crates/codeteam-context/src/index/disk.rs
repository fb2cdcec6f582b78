//! Stores the index in the cache folder.
//!
//! There are two files: `outlines` has everything as it once was, and `outlines.new` what came
//! since. So an edit writes little; when much has accumulated, everything is written again without
//! what is no longer used. The second file names the first by its content, and is ignored next to
//! any other.

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::names::{NameId, NameTable};
use super::record::{ContentHash, DefinitionSummary, OutlineRecord};
use super::{DefinitionLocations, IndexedFile, SourceIndex};
use crate::cache::{self, RawBytes, RawBytesRef};
use crate::files::FileStamp;
use crate::language::Language;

/// Must be increased whenever the outline of the same content changes.
const VERSION: u32 = 5;

/// The part of an index that is on disk.
#[derive(Debug, Default)]
pub(super) struct StoredIndex {
    /// The id of the first file; `None` if there is none.
    first: Option<ContentHash>,
    /// The number of names, and of records, in the first file.
    names: usize,
    records: usize,
    /// The number of records in both files.
    all: usize,
    /// The hash of the list of files as it is on disk.
    list: ContentHash,
}

/// The contents of the first file, `outlines`.
#[derive(Deserialize)]
struct BaseIndexFile {
    part: IndexSegment,
    list: Vec<StoredFile>,
}

/// The contents of the second file, `outlines.new`. Its list replaces that of the first.
#[derive(Deserialize)]
struct DeltaIndexFile {
    first: ContentHash,
    part: IndexSegment,
    list: Vec<StoredFile>,
}

/// Names and records.
#[derive(Deserialize)]
struct IndexSegment {
    text: String,
    /// The length of each name.
    names: Vec<u32>,
    records: Vec<StoredRecord>,
}

/// A record, as it is stored.
#[derive(Deserialize)]
struct StoredRecord {
    hash: ContentHash,
    language: Language,
    definitions: Vec<DefinitionSummary>,
    references: Vec<(NameId, u32)>,
    packed: RawBytes,
}

/// A source file, as it is stored.
#[derive(Deserialize)]
struct StoredFile {
    path: String,
    bytes: u64,
    stamp: Option<FileStamp>,
    at: u32,
}

/// What is written as a [`BaseIndexFile`], borrowed from the index: a copy of everything would take
/// as much memory again.
#[derive(Serialize)]
struct BaseIndexView<'a> {
    part: SegmentView<'a>,
    list: Vec<FileView<'a>>,
}

/// What is written as a [`DeltaIndexFile`].
#[derive(Serialize)]
struct DeltaIndexView<'a> {
    first: ContentHash,
    part: SegmentView<'a>,
    list: Vec<FileView<'a>>,
}

/// What is written as an [`IndexSegment`].
#[derive(Serialize)]
struct SegmentView<'a> {
    text: &'a str,
    names: Vec<u32>,
    records: Vec<RecordView<'a>>,
}

/// What is written as a [`StoredRecord`].
#[derive(Serialize)]
struct RecordView<'a> {
    hash: &'a ContentHash,
    language: Language,
    definitions: &'a [DefinitionSummary],
    references: &'a [(NameId, u32)],
    packed: RawBytesRef<'a>,
}

/// What is written as a [`StoredFile`].
#[derive(Serialize)]
struct FileView<'a> {
    path: &'a str,
    bytes: u64,
    stamp: Option<FileStamp>,
    at: u32,
}

/// Loads the index from the cache folder.
pub(super) fn load(folder: &Path) -> SourceIndex {
    let Some(first) = cache::load::<BaseIndexFile>(&folder.join("outlines"), VERSION) else {
        return SourceIndex::default();
    };
    let part = &first.part;
    let records = part.records.iter().map(|record| &record.hash);
    let id = segment_id(&part.text, &part.names, records);
    let second = cache::load::<DeltaIndexFile>(&folder.join("outlines.new"), VERSION)
        .filter(|second| second.first == id);
    unpack_index(id, first, second).unwrap_or_default()
}

/// Returns the id of a segment: a hash of its names and contents, in order.
fn segment_id<'h>(
    text: &str,
    names: &[u32],
    records: impl Iterator<Item = &'h ContentHash>,
) -> ContentHash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes());
    for length in names {
        hasher.update(&length.to_le_bytes());
    }
    for hash in records {
        hasher.update(hash);
    }
    *hasher.finalize().as_bytes()
}

/// Returns a hash of everything that the list of files says.
fn list_id(sources: &[IndexedFile]) -> ContentHash {
    let mut hasher = blake3::Hasher::new();
    for source in sources {
        hasher.update(source.path.as_bytes()).update(&[0]);
        hasher.update(&source.bytes.to_le_bytes());
        hasher.update(&source.at.to_le_bytes());
        match &source.stamp {
            None => hasher.update(&[0]),
            Some(FileStamp::Content(id)) => hasher.update(&[1]).update(id),
            Some(FileStamp::Touched {
                modified,
                changed,
                inode,
            }) => hasher
                .update(&[2])
                .update(&modified.to_le_bytes())
                .update(&changed.to_le_bytes())
                .update(&inode.to_le_bytes()),
        };
    }
    *hasher.finalize().as_bytes()
}

fn unpack_index(
    id: ContentHash,
    first: BaseIndexFile,
    second: Option<DeltaIndexFile>,
) -> Option<SourceIndex> {
    let mut text = first.part.text;
    let mut ends = Vec::with_capacity(first.part.names.len());
    add_ends(&mut ends, &first.part.names)?;
    let names = ends.len();
    let mut records = Vec::with_capacity(first.part.records.len());
    records.extend(
        first
            .part
            .records
            .into_iter()
            .map(StoredRecord::into_record),
    );
    let known = records.len();
    let mut list = first.list;
    if let Some(second) = second {
        text.push_str(&second.part.text);
        add_ends(&mut ends, &second.part.names)?;
        records.extend(
            second
                .part
                .records
                .into_iter()
                .map(StoredRecord::into_record),
        );
        list = second.list;
    }
    if ends.last().map_or(0, |end| *end as usize) != text.len() {
        return None;
    }
    let names_of = |record: &Arc<OutlineRecord>| {
        let defined = record.definitions.iter().map(|defined| defined.name);
        let largest = defined.chain(record.references.iter().map(|(name, _)| *name));
        largest
            .max()
            .is_none_or(|name| (name as usize) < ends.len())
    };
    if !records.iter().all(names_of) {
        return None;
    }
    let sources: Option<Vec<_>> = list
        .into_iter()
        .map(|listed| listed.into_source(&records))
        .collect();
    let sources = sources?;
    let names_all = NameTable::new(text, ends)?;
    Some(SourceIndex {
        places: DefinitionLocations::new(&sources, names_all.len()),
        names: names_all,
        stored: StoredIndex {
            first: Some(id),
            names,
            records: known,
            all: records.len(),
            list: list_id(&sources),
        },
        sources,
        records,
    })
}

fn add_ends(ends: &mut Vec<u32>, lengths: &[u32]) -> Option<()> {
    let mut last = ends.last().copied().unwrap_or(0);
    for length in lengths {
        last = last.checked_add(*length)?;
        ends.push(last);
    }
    Some(())
}

impl StoredRecord {
    fn into_record(self) -> Arc<OutlineRecord> {
        Arc::new(OutlineRecord {
            hash: self.hash,
            language: self.language,
            definitions: self.definitions,
            references: self.references,
            packed: self.packed.0,
            outline: OnceLock::new(),
        })
    }
}

impl StoredFile {
    fn into_source(self, records: &[Arc<OutlineRecord>]) -> Option<IndexedFile> {
        Some(IndexedFile {
            record: Arc::clone(records.get(self.at as usize)?),
            path: self.path,
            bytes: self.bytes,
            stamp: self.stamp,
            at: self.at,
        })
    }
}

impl<'a> FileView<'a> {
    fn list(sources: &'a [IndexedFile]) -> Vec<Self> {
        let view = |source: &'a IndexedFile| Self {
            path: &source.path,
            bytes: source.bytes,
            stamp: source.stamp,
            at: source.at,
        };
        sources.iter().map(view).collect()
    }
}

/// Writes what is not on disk yet.
pub(super) fn save(index: &mut SourceIndex, folder: &Path) -> io::Result<()> {
    let stored = &index.stored;
    let list = list_id(&index.sources);
    let is_saved = stored.list == list && stored.all == index.records.len();
    if is_saved && stored.first.is_some() {
        return Ok(());
    }
    let since = index.records.len() - stored.records;
    match stored.first {
        Some(first) if since <= 64.max(stored.records / 8) => {
            let second = DeltaIndexView {
                first,
                part: SegmentView::new(
                    &index.names,
                    stored.names,
                    &index.records[stored.records..],
                ),
                list: FileView::list(&index.sources),
            };
            cache::save(&folder.join("outlines.new"), VERSION, &second)?;
            index.stored.all = index.records.len();
            index.stored.list = list;
        }
        _ => {
            if has_unused_records(index) {
                compact(index);
            }
            let first = BaseIndexView {
                part: SegmentView::new(&index.names, 0, &index.records),
                list: FileView::list(&index.sources),
            };
            cache::save(&folder.join("outlines"), VERSION, &first)?;
            let hashes = index.records.iter().map(|record| &record.hash);
            index.stored = StoredIndex {
                first: Some(segment_id(first.part.text, &first.part.names, hashes)),
                names: index.names.len(),
                records: index.records.len(),
                all: index.records.len(),
                list: list_id(&index.sources),
            };
        }
    }
    Ok(())
}

/// Returns true if the index has records, and perhaps names, that no file uses.
fn has_unused_records(index: &SourceIndex) -> bool {
    let mut used = vec![false; index.records.len()];
    for source in &index.sources {
        used[source.at as usize] = true;
    }
    used.contains(&false)
}

/// Drops names and records that no file uses.
fn compact(index: &mut SourceIndex) {
    let mut numbers = vec![u32::MAX; index.records.len()];
    let mut names = NameTable::default();
    let mut records = Vec::with_capacity(index.sources.len());
    for source in &mut index.sources {
        let number = &mut numbers[source.at as usize];
        if *number == u32::MAX {
            *number = u32::try_from(records.len()).unwrap_or(u32::MAX);
            records.push(Arc::new(renumber_names(
                &source.record,
                &index.names,
                &mut names,
            )));
        }
        source.at = *number;
        source.record = Arc::clone(&records[*number as usize]);
    }
    index.places = DefinitionLocations::new(&index.sources, names.len());
    index.records = records;
    index.names = names;
}

fn renumber_names(record: &OutlineRecord, old: &NameTable, new: &mut NameTable) -> OutlineRecord {
    let definitions = record.definitions.iter().map(|defined| DefinitionSummary {
        name: new.add(old.get(defined.name)),
        ..*defined
    });
    let definitions = definitions.collect();
    let references = record.references.iter();
    let references = references.map(|(name, count)| (new.add(old.get(*name)), *count));
    OutlineRecord {
        hash: record.hash,
        language: record.language,
        definitions,
        references: references.collect(),
        packed: record.packed.clone(),
        outline: record.outline.clone(),
    }
}

impl<'a> SegmentView<'a> {
    fn new(names: &'a NameTable, first_name: usize, records: &'a [Arc<OutlineRecord>]) -> Self {
        let (text, ends) = names.names_from(first_name);
        let mut last = 0;
        let lengths = ends.map(|end| end - std::mem::replace(&mut last, end));
        let records = records.iter().map(|record| RecordView {
            hash: &record.hash,
            language: record.language,
            definitions: &record.definitions,
            references: &record.references,
            packed: RawBytesRef(&record.packed),
        });
        Self {
            text,
            names: lengths.collect(),
            records: records.collect(),
        }
    }
}
