//! The index in the folder of a cache.
//!
//! Two files: `outlines` has everything as it once was, `outlines.new` what came since. So one edit
//! writes little; when much has come, all is written anew, without what is no longer used. The second
//! file names the first, by what is in it, and counts for nothing beside another.

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::names::{NameId, NameTable};
use super::record::{ContentHash, DefinitionSummary, OutlineRecord};
use super::{DefinitionLocations, IndexedFile, SourceIndex};
use crate::cache::{self, RawBytes};
use crate::files::FileStamp;
use crate::language::Language;

/// Counts up when an outline of the same content would be another.
const VERSION: u32 = 3;

/// What of an index is on the disk.
#[derive(Debug, Default)]
pub(super) struct StoredIndex {
    /// By what the first file is known; none if there is none.
    first: Option<ContentHash>,
    /// How many names and records are in it.
    names: usize,
    records: usize,
    /// How many records there are in both files.
    all: usize,
    /// The list of files, as it is there.
    list: Vec<StoredFile>,
}

/// A source file, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredFile {
    path: String,
    bytes: u64,
    stamp: Option<FileStamp>,
    at: u32,
}

/// The first file.
#[derive(Serialize, Deserialize)]
struct BaseIndexFile {
    part: IndexSegment,
    list: Vec<StoredFile>,
}

/// The second file. Its list is in place of the first's.
#[derive(Serialize, Deserialize)]
struct DeltaIndexFile {
    first: ContentHash,
    part: IndexSegment,
    list: Vec<StoredFile>,
}

/// Names and records.
#[derive(Serialize, Deserialize)]
struct IndexSegment {
    text: String,
    /// How long each name is.
    names: Vec<u32>,
    records: Vec<StoredRecord>,
    /// What is packed of all records, one after the other.
    packed: RawBytes,
}

/// A record, as it is kept.
#[derive(Serialize, Deserialize)]
struct StoredRecord {
    hash: ContentHash,
    language: Language,
    definitions: Vec<DefinitionSummary>,
    references: Vec<(NameId, u32)>,
    /// How much of what is packed belongs to it.
    bytes: u32,
}

/// Reads what is there.
pub(super) fn load(folder: &Path) -> SourceIndex {
    let Some(first) = cache::load::<BaseIndexFile>(&folder.join("outlines"), VERSION) else {
        return SourceIndex::default();
    };
    let id = id(&first.part);
    let second = cache::load::<DeltaIndexFile>(&folder.join("outlines.new"), VERSION)
        .filter(|second| second.first == id);
    unpack(id, first, second).unwrap_or_default()
}

/// By what a part is known: its names and contents, in their order.
fn id(part: &IndexSegment) -> ContentHash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(part.text.as_bytes());
    for length in &part.names {
        hasher.update(&length.to_le_bytes());
    }
    for record in &part.records {
        hasher.update(&record.hash);
    }
    *hasher.finalize().as_bytes()
}

fn unpack(
    id: ContentHash,
    first: BaseIndexFile,
    second: Option<DeltaIndexFile>,
) -> Option<SourceIndex> {
    let mut text = first.part.text;
    let mut ends = Vec::with_capacity(first.part.names.len());
    add_ends(&mut ends, &first.part.names)?;
    let names = ends.len();
    let mut records = Vec::with_capacity(first.part.records.len());
    add_records(&mut records, first.part.records, &first.part.packed)?;
    let known = records.len();
    let mut list = first.list;
    if let Some(second) = second {
        text.push_str(&second.part.text);
        add_ends(&mut ends, &second.part.names)?;
        add_records(&mut records, second.part.records, &second.part.packed)?;
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
    let sources: Option<Vec<_>> = list.iter().map(|listed| listed.source(&records)).collect();
    let sources = sources?;
    let names_all = NameTable::new(text, ends)?;
    Some(SourceIndex {
        places: DefinitionLocations::new(&sources, names_all.len()),
        sources,
        names: names_all,
        stored: StoredIndex {
            first: Some(id),
            names,
            records: known,
            all: records.len(),
            list,
        },
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

fn add_records(
    records: &mut Vec<Arc<OutlineRecord>>,
    kept: Vec<StoredRecord>,
    packed: &RawBytes,
) -> Option<()> {
    let mut rest = &packed.0[..];
    for record in kept {
        let (own, after) = rest.split_at_checked(record.bytes as usize)?;
        rest = after;
        records.push(Arc::new(OutlineRecord {
            hash: record.hash,
            language: record.language,
            definitions: record.definitions,
            references: record.references,
            packed: own.to_vec(),
            outline: OnceLock::new(),
        }));
    }
    Some(())
}

impl StoredFile {
    fn new(source: &IndexedFile) -> Self {
        Self {
            path: source.path.clone(),
            bytes: source.bytes,
            stamp: source.stamp,
            at: source.at,
        }
    }

    fn source(&self, records: &[Arc<OutlineRecord>]) -> Option<IndexedFile> {
        Some(IndexedFile {
            path: self.path.clone(),
            bytes: self.bytes,
            stamp: self.stamp,
            record: Arc::clone(records.get(self.at as usize)?),
            at: self.at,
        })
    }

    fn is(&self, source: &IndexedFile) -> bool {
        self.at == source.at
            && self.stamp == source.stamp
            && self.bytes == source.bytes
            && self.path == source.path
    }
}

/// Writes what is not there yet.
pub(super) fn save(index: &mut SourceIndex, folder: &Path) -> io::Result<()> {
    let stored = &index.stored;
    let listed = stored.list.len() == index.sources.len()
        && stored
            .list
            .iter()
            .zip(&index.sources)
            .all(|(listed, source)| listed.is(source));
    if listed && stored.first.is_some() && stored.all == index.records.len() {
        return Ok(());
    }
    let since = index.records.len() - stored.records;
    match stored.first {
        Some(first) if since <= 64.max(stored.records / 8) => {
            let second = DeltaIndexFile {
                first,
                part: pack(&index.names, stored.names, &index.records[stored.records..]),
                list: index.sources.iter().map(StoredFile::new).collect(),
            };
            cache::save(&folder.join("outlines.new"), VERSION, &second)?;
            index.stored.all = index.records.len();
            index.stored.list = second.list;
        }
        _ => {
            compact(index);
            let first = BaseIndexFile {
                part: pack(&index.names, 0, &index.records),
                list: index.sources.iter().map(StoredFile::new).collect(),
            };
            cache::save(&folder.join("outlines"), VERSION, &first)?;
            index.stored = StoredIndex {
                first: Some(id(&first.part)),
                names: index.names.len(),
                records: index.records.len(),
                all: index.records.len(),
                list: first.list,
            };
        }
    }
    Ok(())
}

/// Lets go of what no file uses.
fn compact(index: &mut SourceIndex) {
    let mut numbers = vec![u32::MAX; index.records.len()];
    let mut names = NameTable::default();
    let mut records = Vec::with_capacity(index.sources.len());
    for source in &mut index.sources {
        let number = &mut numbers[source.at as usize];
        if *number == u32::MAX {
            *number = u32::try_from(records.len()).unwrap_or(u32::MAX);
            records.push(Arc::new(renamed(&source.record, &index.names, &mut names)));
        }
        source.at = *number;
        source.record = Arc::clone(&records[*number as usize]);
    }
    index.places = DefinitionLocations::new(&index.sources, names.len());
    index.records = records;
    index.names = names;
}

fn renamed(record: &OutlineRecord, old: &NameTable, new: &mut NameTable) -> OutlineRecord {
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

fn pack(names: &NameTable, first_name: usize, records: &[Arc<OutlineRecord>]) -> IndexSegment {
    let (text, ends) = names.from(first_name);
    let mut last = 0;
    let lengths = ends.map(|end| end - std::mem::replace(&mut last, end));
    let lengths = lengths.collect();
    let mut packed = Vec::new();
    let records = records.iter().map(|record| {
        packed.extend_from_slice(&record.packed);
        StoredRecord {
            hash: record.hash,
            language: record.language,
            definitions: record.definitions.clone(),
            references: record.references.clone(),
            bytes: u32::try_from(record.packed.len()).unwrap_or(0),
        }
    });
    let records = records.collect();
    IndexSegment {
        text: text.to_owned(),
        names: lengths,
        records,
        packed: RawBytes(packed),
    }
}
