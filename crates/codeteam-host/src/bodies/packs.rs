//! Packs of bodies: many bodies in one file, with an index beside it.
//!
//! A pack, `packs/<name>.pack`, holds one body after the other, each behind a line with its id and
//! its length, and followed by a line break. Its index, `packs/<name>.idx`, has a line of fixed
//! width for each body, sorted by id: the id, where the body starts in the pack, and its length. So
//! a body can be taken out without codeteam, with `grep`, `tail -c` and `head -c`.
//!
//! A pack is complete and synced before it gets its name, and its index follows; only then are the
//! files that it replaces removed. A crash in between leaves bodies that are there twice, or a pack
//! without an index, which the next call removes. Packs are never changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{BodyStore, Error, STAGING, io_error, sync_dir};

/// The folder of packs inside the store's directory.
const PACKS: &str = "packs";

/// The length of an index line: an id, two numbers of up to 20 digits, separators.
const LINE: usize = 64 + 1 + 20 + 1 + 20 + 1;

/// The largest body that is packed; a larger one stays a file of its own.
const LARGEST_BODY: u64 = 16 << 20;

/// A pack of this size gets no more bodies, and is never copied into another one.
const FULL: u64 = 256 << 20;

/// The most packs that are not full; more are merged.
const OPEN_PACKS: usize = 8;

/// The age at which a file in the staging folder is nobody's any more.
const ABANDONED: Duration = Duration::from_hours(24);

/// Where a body is in a pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedBody {
    start: u64,
    pub(super) length: u64,
}

/// A pack and its index, open for reading.
pub(super) struct BodyPack {
    pack: File,
    index: File,
    bodies: u64,
}

/// A body that a new pack takes over.
struct PackSource {
    path: PathBuf,
    /// Where it is in that file; `None` if the file holds nothing else.
    part: Option<PackedBody>,
}

impl BodyStore {
    /// Moves bodies that are files of their own into packs, and merges packs if there are many.
    /// Returns the number of bodies that were moved. Does nothing if somebody else is doing it.
    pub fn pack(&self) -> Result<usize, Error> {
        self.pack_if_more_than(0)
    }

    /// Does the same if there are more than `most` such files.
    pub fn pack_if_more_than(&self, most: usize) -> Result<usize, Error> {
        let mut loose = self.loose_bodies()?;
        loose.retain(|(_, _, length)| *length <= LARGEST_BODY);
        if loose.len() <= most {
            return Ok(0);
        }
        let Some(_lock) = self.lock_packs()? else {
            return Ok(0);
        };
        self.remove_unfinished_packs()?;
        self.remove_abandoned_files();
        let mut moved = 0;
        let mut rest = loose.into_iter().peekable();
        while rest.peek().is_some() {
            let mut sources = BTreeMap::new();
            let mut bytes = 0;
            while let Some((id, path, length)) = rest.next_if(|_| bytes < FULL) {
                bytes += length;
                sources.insert(id, PackSource { path, part: None });
            }
            let packed = self.write_pack(&sources)?;
            for id in &packed {
                if let Some(source) = sources.get(id) {
                    // Another process may have packed it meanwhile.
                    let _ = fs::remove_file(&source.path);
                }
            }
            moved += packed.len();
        }
        self.merge_open_packs()?;
        Ok(moved)
    }

    /// Reads a body, or its first `most` bytes, from a pack, whose path is returned as well. The
    /// content is not checked here.
    pub(super) fn read_packed(
        &self,
        id: &str,
        most: u64,
    ) -> Result<Option<(Vec<u8>, PathBuf)>, Error> {
        // A pack may be merged into another while its folder is listed or before it is opened; then
        // that one is there. So a body is missing only if it is not found twice.
        let mut misses = 0;
        while misses < 2 {
            misses += 1;
            for path in self.indexes()? {
                match BodyPack::open(&path) {
                    Ok(pack) => {
                        if let Some(found) = pack.find(id).map_err(io_error("read", &path))? {
                            let bytes = pack.read(found, most).map_err(io_error("read", &path))?;
                            return Ok(Some((bytes, path.with_extension("pack"))));
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => misses = 0,
                    Err(error) => return Err(io_error("open", &path)(error)),
                }
            }
        }
        Ok(None)
    }

    /// Returns the bodies that are files of their own, with their lengths.
    pub(super) fn loose_bodies(&self) -> Result<Vec<(String, PathBuf, u64)>, Error> {
        let mut loose = Vec::new();
        let shards = fs::read_dir(&self.dir).map_err(io_error("list", &self.dir))?;
        for shard in shards {
            let shard = shard.map_err(io_error("list", &self.dir))?;
            let Some(first) = shard.file_name().to_str().map(str::to_owned) else {
                continue;
            };
            if first.len() != 2 {
                continue;
            }
            let files = fs::read_dir(shard.path()).map_err(io_error("list", &self.dir))?;
            for file in files {
                let file = file.map_err(io_error("list", &self.dir))?;
                let id = format!("{first}{}", file.file_name().to_string_lossy());
                let Ok(metadata) = file.metadata() else {
                    continue;
                };
                if metadata.is_file() && self.path(&id).is_ok() {
                    loose.push((id, file.path(), metadata.len()));
                }
            }
        }
        loose.sort();
        Ok(loose)
    }

    fn packs_folder(&self) -> PathBuf {
        self.dir.join(PACKS)
    }

    /// Returns the lock of whoever packs, unless somebody else has it.
    pub(super) fn lock_packs(&self) -> Result<Option<File>, Error> {
        let folder = self.packs_folder();
        fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        let lock = File::open(&folder).map_err(io_error("open", &folder))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(io_error("lock", &folder)(error)),
        }
    }

    /// Returns the paths of all indexes, in order.
    pub(super) fn indexes(&self) -> Result<Vec<PathBuf>, Error> {
        self.files_of_packs("idx")
    }

    fn files_of_packs(&self, extension: &str) -> Result<Vec<PathBuf>, Error> {
        let folder = self.packs_folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error("list", &folder)(error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(io_error("list", &folder))?.path();
            if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Removes packs without an index, which only somebody who died can have left: the lock is
    /// held.
    fn remove_unfinished_packs(&self) -> Result<(), Error> {
        for pack in self.files_of_packs("pack")? {
            if !pack.with_extension("idx").exists() {
                fs::remove_file(&pack).map_err(io_error("remove", &pack))?;
            }
        }
        Ok(())
    }

    /// Merges the packs that are not full if there are many.
    fn merge_open_packs(&self) -> Result<(), Error> {
        let mut open = Vec::new();
        for index in self.indexes()? {
            let pack = index.with_extension("pack");
            let found = fs::metadata(&pack).map_err(io_error("inspect", &pack))?;
            if found.len() < FULL {
                open.push(index);
            }
        }
        if open.len() <= OPEN_PACKS {
            return Ok(());
        }
        let mut sources = BTreeMap::new();
        let mut merged = Vec::new();
        for index in open {
            let pack = BodyPack::open(&index).map_err(io_error("open", &index))?;
            let entries = pack.entries().map_err(io_error("read", &index))?;
            let ids: Vec<String> = entries.iter().map(|(id, _)| id.clone()).collect();
            for (id, part) in entries {
                let path = index.with_extension("pack");
                let part = Some(part);
                sources.insert(id, PackSource { path, part });
            }
            merged.push((index, ids));
        }
        let packed: BTreeSet<String> = self.write_pack(&sources)?.into_iter().collect();
        let own = pack_name(packed.iter().map(String::as_str));
        for (index, ids) in merged {
            // A pack in which something is damaged stays: it is not to disappear silently.
            let is_whole = ids.iter().all(|id| packed.contains(id));
            if is_whole && index.file_stem().is_some_and(|name| *name != *own) {
                // Without its index a pack counts for nothing, so that goes first.
                fs::remove_file(&index).map_err(io_error("remove", &index))?;
                let pack = index.with_extension("pack");
                fs::remove_file(&pack).map_err(io_error("remove", &pack))?;
            }
        }
        Ok(())
    }

    /// Puts another pack with these bodies of it in the place of a pack. The lock is held.
    pub(super) fn replace_pack(
        &self,
        index: &Path,
        rest: Vec<(String, PackedBody)>,
    ) -> Result<(), Error> {
        let path = index.with_extension("pack");
        let source = |part| PackSource {
            path: path.clone(),
            part: Some(part),
        };
        let rest = rest.into_iter().map(|(id, part)| (id, source(part)));
        let sources: BTreeMap<String, PackSource> = rest.collect();
        if self.write_pack(&sources)?.len() == sources.len() {
            fs::remove_file(index).map_err(io_error("remove", index))?;
            fs::remove_file(&path).map_err(io_error("remove", &path))?;
        }
        Ok(())
    }

    /// Writes a pack of these bodies and returns the ids of those in it: of all whose content is
    /// what the id says.
    fn write_pack(&self, sources: &BTreeMap<String, PackSource>) -> Result<Vec<String>, Error> {
        let (file, staged) = self.staging_file()?;
        let mut pack = BufWriter::new(file);
        let mut index = String::new();
        let mut packed = Vec::new();
        let mut at = 0;
        let mut write = || -> io::Result<()> {
            for (id, source) in sources {
                let Ok(bytes) = source.read() else {
                    continue;
                };
                if blake3::hash(&bytes).to_hex().as_str() != id {
                    continue;
                }
                let length = bytes.len() as u64;
                let line = format!("{id} {length}\n");
                pack.write_all(line.as_bytes())?;
                pack.write_all(&bytes)?;
                pack.write_all(b"\n")?;
                let start = at + line.len() as u64;
                let _ = index.write_fmt(format_args!("{id} {start:>20} {length:>20}\n"));
                at = start + length + 1;
                packed.push(id.clone());
            }
            pack.flush()?;
            pack.get_ref().sync_all()
        };
        if let Err(error) = write() {
            let _ = fs::remove_file(&staged);
            return Err(io_error("write", &staged)(error));
        }
        if packed.is_empty() {
            fs::remove_file(&staged).map_err(io_error("remove", &staged))?;
            return Ok(packed);
        }
        let folder = self.packs_folder();
        let name = pack_name(packed.iter().map(String::as_str));
        let target = folder.join(format!("{name}.pack"));
        fs::rename(&staged, &target).map_err(io_error("move into the store", &staged))?;
        let (file, staged) = self.stage(&mut index.as_bytes())?;
        file.sync_all().map_err(io_error("sync", &staged))?;
        let target = folder.join(format!("{name}.idx"));
        fs::rename(&staged, &target).map_err(io_error("move into the store", &staged))?;
        sync_dir(&folder)?;
        sync_dir(&self.dir)?;
        Ok(packed)
    }

    /// Removes files that were begun so long ago that whoever wrote them has died.
    fn remove_abandoned_files(&self) {
        let staging = fs::read_dir(self.dir.join(STAGING));
        for file in staging.into_iter().flatten().flatten() {
            let modified = file.metadata().and_then(|found| found.modified());
            if modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED)) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

impl PackSource {
    fn read(&self) -> io::Result<Vec<u8>> {
        match self.part {
            None => fs::read(&self.path),
            Some(part) => read_part(&File::open(&self.path)?, part, u64::MAX),
        }
    }
}

impl BodyPack {
    pub(super) fn open(index: &Path) -> io::Result<Self> {
        let pack = File::open(index.with_extension("pack"))?;
        let index = File::open(index)?;
        let bodies = index.metadata()?.len() / LINE as u64;
        Ok(Self {
            pack,
            index,
            bodies,
        })
    }

    /// Finds a body by its id, by halving the index.
    fn find(&self, id: &str) -> io::Result<Option<PackedBody>> {
        let (mut low, mut high) = (0, self.bodies);
        while low < high {
            let middle = low + (high - low) / 2;
            let (found, part) = self.entry(middle)?;
            match found.as_str().cmp(id) {
                std::cmp::Ordering::Equal => return Ok(Some(part)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    fn entry(&self, number: u64) -> io::Result<(String, PackedBody)> {
        let mut line = [0; LINE];
        self.index.read_exact_at(&mut line, number * LINE as u64)?;
        parse_entry(&line).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub(super) fn entries(&self) -> io::Result<Vec<(String, PackedBody)>> {
        (0..self.bodies).map(|number| self.entry(number)).collect()
    }

    fn read(&self, part: PackedBody, most: u64) -> io::Result<Vec<u8>> {
        read_part(&self.pack, part, most)
    }
}

fn read_part(file: &File, part: PackedBody, most: u64) -> io::Result<Vec<u8>> {
    // A damaged index must not make us ask for more memory than there are bytes.
    let there = file.metadata()?.len().saturating_sub(part.start);
    let length = part.length.min(most).min(there);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, part.start)?;
    Ok(bytes)
}

fn parse_entry(line: &[u8]) -> Option<(String, PackedBody)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let id = words.next()?.to_owned();
    let start = words.next()?.parse().ok()?;
    let length = words.next()?.parse().ok()?;
    Some((id, PackedBody { start, length }))
}

/// Returns the name of a pack, which follows from what is in it: packing the same again gives the
/// same files.
fn pack_name<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let mut hash = blake3::Hasher::new();
    for id in ids {
        hash.update(id.as_bytes());
    }
    hash.finalize().to_hex().to_string()
}
