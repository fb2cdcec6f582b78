//! The outlines of all source files of a tree.
//!
//! An outline belongs to a file's content, so it is worked out once for each content, and kept in
//! the folder of the cache. A file is read again only if its stamp says that it may have changed.
//! What ranking needs of every file (which names it defines and refers to) is at hand as numbers;
//! the rest of an outline is unpacked when it is asked for.
//!
//! Names have numbers in the order in which they were met, which differs between an index from
//! scratch and one brought up to date. Nothing that an index gives out may depend on them.

mod disk;
mod names;
mod record;
mod scan;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::files::{FileSet, FileStamp};
use crate::language::Language;
use crate::outline::{Import, Outline};

use self::names::NameTable;
use self::record::OutlineRecord;

pub(crate) use self::names::NameId;
pub(crate) use self::record::DefinitionSummary;

/// The source files of a tree, in the order of their paths, with their outlines.
#[derive(Debug, Default)]
pub struct SourceIndex {
    sources: Vec<IndexedFile>,
    names: NameTable,
    /// Every record that names are numbered for, used or not: first those of the file on the disk.
    records: Vec<Arc<OutlineRecord>>,
    /// Where each name is defined.
    places: DefinitionLocations,
    /// What of this is on the disk.
    stored: disk::StoredIndex,
}

/// One source file.
#[derive(Clone, Debug)]
struct IndexedFile {
    path: String,
    bytes: u64,
    /// By what a change shows; none if it was too young to be relied on.
    stamp: Option<FileStamp>,
    record: Arc<OutlineRecord>,
    /// Its place among the records.
    at: u32,
}

/// What bringing an index up to date took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// How many files were read.
    pub read: usize,
    /// How many of them were parsed, because their content was not known.
    pub parsed: usize,
}

/// How far the work is: so many files of so many.
pub type ProgressCallback<'p> = &'p (dyn Fn(usize, usize) + Sync);

impl SourceIndex {
    /// Reads the outlines of all source files, with the help of what is in the folder of a cache,
    /// and keeps them there.
    pub fn build(
        files: &dyn FileSet,
        cache: Option<&Path>,
        progress: ProgressCallback<'_>,
    ) -> Self {
        Self::build_with(files, cache, progress).0
    }

    /// [`SourceIndex::build`], and what it took.
    pub fn build_with(
        files: &dyn FileSet,
        cache: Option<&Path>,
        progress: ProgressCallback<'_>,
    ) -> (Self, UpdateCounts) {
        let mut index = cache.map(disk::load).unwrap_or_default();
        let work = index.update(files, progress);
        if let Some(cache) = cache {
            // What cannot be kept is worked out again.
            drop(index.save(cache));
        }
        (index, work)
    }

    /// Brings the index in line with the files as they are now.
    pub fn update(&mut self, files: &dyn FileSet, progress: ProgressCallback<'_>) -> UpdateCounts {
        let scanned = scan::scan(self, files, progress);
        let work = scanned.work();
        if self.take(scanned) {
            self.places = DefinitionLocations::new(&self.sources, self.names.len());
        }
        work
    }

    /// Keeps what is known in the folder of a cache, if it is not there already.
    pub fn save(&mut self, cache: &Path) -> std::io::Result<()> {
        disk::save(self, cache)
    }

    /// How many files there are. They are numbered from 0.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Where a file is, from the top of the tree.
    pub fn path(&self, file: usize) -> &str {
        &self.sources[file].path
    }

    /// What a file is written in.
    pub fn language(&self, file: usize) -> Language {
        self.sources[file].record.language
    }

    /// What is in a file.
    pub fn outline(&self, file: usize) -> &Outline {
        self.sources[file].record.outline(&self.names)
    }

    /// What a file imports. Asked of all files, this holds far less than all outlines would.
    pub fn imports(&self, file: usize) -> Vec<Import> {
        self.sources[file].record.imports()
    }

    /// The number of the file at a path.
    pub fn file(&self, path: &str) -> Option<usize> {
        self.sources
            .binary_search_by(|source| (*source.path).cmp(path))
            .ok()
    }

    /// Where a name is defined: the file, and the place among its definitions. In order.
    pub fn defined(&self, name: &str) -> impl Iterator<Item = (usize, usize)> {
        let name = self.names.number(name);
        let places = name.map_or(&[][..], |name| self.places.of(name));
        places
            .iter()
            .map(|(file, at)| (*file as usize, *at as usize))
    }

    /// Where a name is defined.
    pub(crate) fn places(&self, name: NameId) -> &[(u32, u32)] {
        self.places.of(name)
    }

    /// How many names there are. They are numbered from 0.
    pub(crate) fn names(&self) -> usize {
        self.names.len()
    }

    /// A name.
    pub(crate) fn name(&self, name: NameId) -> &str {
        self.names.get(name)
    }

    /// The number of a name.
    pub(crate) fn number(&self, name: &str) -> Option<NameId> {
        self.names.number(name)
    }

    /// What a file defines, in short.
    pub(crate) fn definitions(&self, file: usize) -> &[DefinitionSummary] {
        &self.sources[file].record.definitions
    }

    /// The names a file refers to, in their order, with how often.
    pub(crate) fn references(&self, file: usize) -> &[(NameId, u32)] {
        &self.sources[file].record.references
    }

    /// Takes over what was found; whether anything is different.
    fn take(&mut self, scanned: scan::ScanResult) -> bool {
        let mut changed = scanned.sources.len() != self.sources.len();
        let mut sources = Vec::with_capacity(scanned.sources.len());
        // Several files may have had the same new content.
        let mut fresh = HashMap::new();
        for (at, found) in scanned.sources.into_iter().enumerate() {
            let (record, number) = match found.outline {
                scan::OutlineLocation::Kept(number) => {
                    (Arc::clone(&self.records[number as usize]), number)
                }
                scan::OutlineLocation::Read(read) => {
                    let next = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
                    let number = *fresh.entry((read.hash, read.language)).or_insert(next);
                    if number == next {
                        self.records.push(Arc::new(read.numbered(&mut self.names)));
                    }
                    (Arc::clone(&self.records[number as usize]), number)
                }
            };
            changed |= self
                .sources
                .get(at)
                .is_none_or(|source| source.path != found.path || source.at != number);
            sources.push(IndexedFile {
                path: found.path,
                bytes: found.bytes,
                stamp: found.stamp,
                record,
                at: number,
            });
        }
        self.sources = sources;
        changed
    }
}

/// Where each name is defined, by its number.
#[derive(Debug, Default)]
struct DefinitionLocations {
    /// Where the places of each name begin.
    starts: Vec<u32>,
    /// File, and place among its definitions.
    places: Vec<(u32, u32)>,
}

impl DefinitionLocations {
    fn new(sources: &[IndexedFile], names: usize) -> Self {
        let mut starts = vec![0_u32; names + 2];
        let all = || {
            let files = (0_u32..).zip(sources);
            files.flat_map(|(file, source)| {
                let definitions = (0_u32..).zip(&source.record.definitions);
                definitions
                    .filter(|(_, definition)| definition.kind.names())
                    .map(move |(at, definition)| (definition.name, file, at))
            })
        };
        for (name, _, _) in all() {
            starts[name as usize + 2] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let total = starts.last().copied().unwrap_or(0);
        let mut places = vec![(0, 0); total as usize];
        for (name, file, at) in all() {
            let next = &mut starts[name as usize + 1];
            places[*next as usize] = (file, at);
            *next += 1;
        }
        Self { starts, places }
    }

    fn of(&self, name: NameId) -> &[(u32, u32)] {
        let at = name as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => &self.places[*start as usize..*end as usize],
            _ => &[],
        }
    }
}
