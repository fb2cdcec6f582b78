//! The outlines of all source files of a tree.
//!
//! An outline depends on a file's content only, so it is computed once per content and stored in
//! the cache folder. A file is read again only if its stamp shows that it may have changed. What
//! ranking needs of every file (the names it defines and refers to) is kept as numbers; the rest of
//! an outline is unpacked on demand.
//!
//! Names are numbered in the order in which they were encountered, which differs between an index
//! built from scratch and one that was updated. Nothing that an index returns may depend on these
//! numbers.

mod disk;
mod names;
mod record;
mod scan;

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
///
/// [`build`](Self::build) loads the cached index, updates it and saves it; [`update`](Self::update)
/// brings an index that is kept in memory up to date, and [`save`](Self::save) stores it.
///
/// - Files are numbered from 0 in the order of their paths. The numbers change with every update,
///   so they must not be kept.
/// - Names and definitions of all files are in memory as numbers; full outlines are unpacked on
///   demand and then kept.
/// - Building reads only files whose stamp is new, and parses only contents that were never seen.
///
/// The ranking in [`crate::graph`] and the map in [`crate::map`] are computed from this index.
#[derive(Debug, Default)]
pub struct SourceIndex {
    sources: Vec<IndexedFile>,
    names: NameTable,
    /// Every record that names are numbered for, used or not; those of the file on disk come first.
    records: Vec<Arc<OutlineRecord>>,
    /// The locations of each name's definitions.
    places: DefinitionLocations,
    /// The part of the index that is on disk.
    stored: disk::StoredIndex,
}

/// One source file.
#[derive(Clone, Debug)]
struct IndexedFile {
    path: String,
    bytes: u64,
    /// The stamp that reveals changes; `None` if it was too recent to be relied on.
    stamp: Option<FileStamp>,
    record: Arc<OutlineRecord>,
    /// The index of its record.
    at: u32,
}

/// The work that an update took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// The number of files read.
    pub read: usize,
    /// The number of these that were parsed, because their content was not cached.
    pub parsed: usize,
}

/// Reports progress: the number of files done, out of how many.
pub type ProgressCallback<'p> = &'p (dyn Fn(usize, usize) + Sync);

impl SourceIndex {
    /// Builds the index of all source files, using and updating the cache folder.
    pub fn build(
        files: &dyn FileSet,
        cache: Option<&Path>,
        progress: ProgressCallback<'_>,
    ) -> Self {
        Self::build_with(files, cache, progress).0
    }

    /// Does the same as [`SourceIndex::build`], and returns the work it took.
    pub fn build_with(
        files: &dyn FileSet,
        cache: Option<&Path>,
        progress: ProgressCallback<'_>,
    ) -> (Self, UpdateCounts) {
        let mut index = cache.map(disk::load).unwrap_or_default();
        let work = index.update(files, progress);
        if let Some(cache) = cache {
            // An index that cannot be stored is computed again next time.
            drop(index.save(cache));
        }
        (index, work)
    }

    /// Brings the index up to date with the files as they are now.
    pub fn update(&mut self, files: &dyn FileSet, progress: ProgressCallback<'_>) -> UpdateCounts {
        let (scanned, work) = scan::scan(self, files, progress);
        if self.replace_sources(scanned) {
            self.places = DefinitionLocations::new(&self.sources, self.names.len());
        }
        work
    }

    /// Saves the index in the cache folder, unless it is there already.
    pub fn save(&mut self, cache: &Path) -> std::io::Result<()> {
        disk::save(self, cache)
    }

    /// Returns the number of files. They are numbered from 0.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Returns true if there are no files.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Returns the path of a file, from the top of the tree.
    pub fn path(&self, file: usize) -> &str {
        &self.sources[file].path
    }

    /// Returns the language of a file.
    pub fn language(&self, file: usize) -> Language {
        self.sources[file].record.language
    }

    /// Returns the outline of a file.
    pub fn outline(&self, file: usize) -> &Outline {
        self.sources[file].record.outline(&self.names)
    }

    /// Returns the imports of a file. For all files, this takes far less memory than their
    /// outlines.
    pub fn imports(&self, file: usize) -> Vec<Import> {
        self.sources[file].record.imports()
    }

    /// Returns the number of the file at a path.
    pub fn file_number(&self, path: &str) -> Option<usize> {
        self.sources
            .binary_search_by(|source| (*source.path).cmp(path))
            .ok()
    }

    /// Returns where a name is defined, in order: the file, and the index among its definitions.
    pub fn definitions_named(&self, name: &str) -> impl Iterator<Item = (usize, usize)> {
        let name = self.names.find_id(name);
        let places = name.map_or(&[][..], |name| self.places.locations_of(name));
        places
            .iter()
            .map(|(file, at)| (*file as usize, *at as usize))
    }

    /// Returns where a name is defined.
    pub(crate) fn definition_locations(&self, name: NameId) -> &[(u32, u32)] {
        self.places.locations_of(name)
    }

    /// Returns the number of names. They are numbered from 0.
    pub(crate) fn name_count(&self) -> usize {
        self.names.len()
    }

    /// Returns the text of a name.
    pub(crate) fn name_text(&self, name: NameId) -> &str {
        self.names.get(name)
    }

    /// Returns the number of a name.
    pub(crate) fn name_id(&self, name: &str) -> Option<NameId> {
        self.names.find_id(name)
    }

    /// Returns short descriptions of a file's definitions.
    pub(crate) fn definitions(&self, file: usize) -> &[DefinitionSummary] {
        &self.sources[file].record.definitions
    }

    /// Returns the names that a file refers to, in order, with their counts.
    pub(crate) fn references(&self, file: usize) -> &[(NameId, u32)] {
        &self.sources[file].record.references
    }

    /// Replaces the files by those of a scan, and returns true if anything changed.
    fn replace_sources(&mut self, scanned: Vec<scan::ScannedFile>) -> bool {
        let mut changed = scanned.len() != self.sources.len();
        let mut sources = Vec::with_capacity(scanned.len());
        for (at, found) in scanned.into_iter().enumerate() {
            changed |= self
                .sources
                .get(at)
                .is_none_or(|source| source.path != found.path || source.at != found.record);
            sources.push(IndexedFile {
                path: found.path,
                bytes: found.bytes,
                stamp: found.stamp,
                record: Arc::clone(&self.records[found.record as usize]),
                at: found.record,
            });
        }
        self.sources = sources;
        changed
    }
}

/// The locations of each name's definitions, by name number.
#[derive(Debug, Default)]
struct DefinitionLocations {
    /// The index of each name's first location.
    starts: Vec<u32>,
    /// The file, and the index among its definitions.
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
                    .filter(|(_, definition)| definition.kind.has_own_name())
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

    fn locations_of(&self, name: NameId) -> &[(u32, u32)] {
        let at = name as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => &self.places[*start as usize..*end as usize],
            _ => &[],
        }
    }
}
