//! Caches the token counts of contents, and how many secrets they have.
//!
//! The key is a hash of the content and of everything the result depends on: the redactor and its
//! rules, and how tokens are counted. So an entry can become unused, but never wrong.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cache::{self, RawBytes};
use crate::redact::Redactor;

/// The file name.
const NAME: &str = "counts";
/// The version of the file format.
const VERSION: u32 = 2;
/// The largest number of entries.
const MOST: usize = 200_000;
/// An entry that was not used in this many saved packs is dropped.
const OLDEST: u32 = 50;

/// The counts of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentCounts {
    /// The key of the content.
    pub(super) sum: ContentDigest,
    /// The number of tokens without secrets, if they were counted.
    pub(super) tokens: Option<u32>,
    /// The number of tokens as a JSON string, if it was counted.
    pub(super) in_json: Option<u32>,
    /// The number of secrets.
    pub(super) hits: u32,
}

/// The key of a content.
pub(super) type ContentDigest = [u8; 16];

/// Computes keys of contents.
#[derive(Clone, Copy)]
pub(super) struct ContentHasher([u8; 32]);

impl ContentHasher {
    pub(super) fn new(redactor: &Redactor) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("codeteam counts of contents");
        hasher.update(&super::rules_version::SUM.to_le_bytes());
        hasher.update(&redactor.fingerprint());
        Self(*hasher.finalize().as_bytes())
    }

    pub(super) fn digest(&self, content: &str) -> ContentDigest {
        let whole = blake3::keyed_hash(&self.0, content.as_bytes());
        let mut sum = ContentDigest::default();
        sum.copy_from_slice(&whole.as_bytes()[..16]);
        sum
    }
}

/// All cached counts.
#[derive(Debug, Default)]
pub(super) struct CountCache {
    path: PathBuf,
    /// The number of times the cache was saved.
    age: u32,
    /// The records, sorted by key.
    records: Vec<u8>,
}

/// The size of a record: the key, three numbers, and when it was last used.
const RECORD: usize = 32;
/// Stands for a number that was not counted.
const UNKNOWN: u32 = u32::MAX;

#[derive(Serialize, Deserialize)]
struct CountCacheFile {
    age: u32,
    records: RawBytes,
}

impl CountCache {
    /// Loads the cache from a folder, if there is one.
    pub(super) fn load(folder: &Path) -> Self {
        let path = folder.join(NAME);
        let kept = cache::load::<CountCacheFile>(&path, VERSION);
        let kept = kept.filter(|kept| {
            let length = kept.records.0.len();
            length <= MOST * RECORD && length.is_multiple_of(RECORD)
        });
        kept.map_or_else(
            || Self {
                path: path.clone(),
                ..Self::default()
            },
            |kept| Self {
                path: path.clone(),
                age: kept.age,
                records: kept.records.0.into_vec(),
            },
        )
    }

    /// Returns the counts of a content.
    pub(super) fn get(&self, sum: &ContentDigest) -> Option<ContentCounts> {
        let (records, _) = self.records.as_chunks::<RECORD>();
        let at = records
            .binary_search_by(|record| record[..16].cmp(sum))
            .ok()?;
        Some(read_record(&records[at]))
    }

    /// Saves the entries that a pack used or computed, if any of them is new.
    pub(super) fn save(&self, mut asked: Vec<ContentCounts>) -> io::Result<()> {
        let new = |known: &ContentCounts| self.get(&known.sum) != Some(*known);
        if !asked.iter().any(new) {
            return Ok(());
        }
        let age = self.age.wrapping_add(1);
        asked.sort_unstable_by_key(|known| (known.sum, known.tokens, known.in_json));
        // Of two entries for one key the later one knows more.
        asked.reverse();
        asked.dedup_by_key(|known| known.sum);
        let mut all: Vec<[u8; RECORD]> =
            asked.iter().map(|known| write_record(known, age)).collect();
        let (old, _) = self.records.as_chunks::<RECORD>();
        let asked_for = |record: &[u8; RECORD]| {
            asked
                .binary_search_by(|known| record[..16].cmp(&known.sum))
                .is_ok()
        };
        let young = |record: &[u8; RECORD]| age.wrapping_sub(read_number(record, 28)) <= OLDEST;
        all.extend(
            old.iter()
                .filter(|record| young(record) && !asked_for(record)),
        );
        if all.len() > MOST {
            all.sort_unstable_by_key(|record| age.wrapping_sub(read_number(record, 28)));
            all.truncate(MOST);
        }
        all.sort_unstable();
        let kept = CountCacheFile {
            age,
            records: RawBytes(all.into_flattened().into()),
        };
        cache::save(&self.path, VERSION, &kept)
    }
}

fn read_number(record: &[u8; RECORD], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&record[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn read_optional_number(record: &[u8; RECORD], at: usize) -> Option<u32> {
    Some(read_number(record, at)).filter(|number| *number != UNKNOWN)
}

fn read_record(record: &[u8; RECORD]) -> ContentCounts {
    let mut sum = ContentDigest::default();
    sum.copy_from_slice(&record[..16]);
    ContentCounts {
        sum,
        tokens: read_optional_number(record, 16),
        in_json: read_optional_number(record, 20),
        hits: read_number(record, 24),
    }
}

fn write_record(known: &ContentCounts, age: u32) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..16].copy_from_slice(&known.sum);
    let numbers = [
        known.tokens.unwrap_or(UNKNOWN),
        known.in_json.unwrap_or(UNKNOWN),
        known.hits,
        age,
    ];
    for (at, number) in numbers.into_iter().enumerate() {
        record[16 + 4 * at..20 + 4 * at].copy_from_slice(&number.to_le_bytes());
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(n: u32) -> ContentCounts {
        let mut sum = ContentDigest::default();
        sum[..4].copy_from_slice(&n.wrapping_mul(2_654_435_761).to_be_bytes());
        ContentCounts {
            sum,
            tokens: Some(n),
            in_json: None,
            hits: n % 3,
        }
    }

    #[test]
    fn what_was_counted_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<_> = (0..1_000).map(known).collect();
        let empty = CountCache::load(folder.path());
        assert_eq!(empty.get(&known(1).sum), None);
        empty.save(all.clone()).unwrap();
        let counts = CountCache::load(folder.path());
        for known in &all {
            assert_eq!(counts.get(&known.sum), Some(*known));
        }
        assert_eq!(counts.get(&known(1_000).sum), None);
        // Nothing new: nothing is written.
        std::fs::remove_file(folder.path().join(NAME)).unwrap();
        counts.save(all[..10].to_vec()).unwrap();
        assert!(!folder.path().join(NAME).exists());
        // What is learnt of the same content is added, and the rest stays.
        let more = ContentCounts {
            in_json: Some(7),
            ..known(3)
        };
        counts.save(vec![known(3), more, known(3)]).unwrap();
        let counts = CountCache::load(folder.path());
        assert_eq!(counts.get(&more.sum), Some(more));
        assert_eq!(counts.get(&known(999).sum), Some(known(999)));
    }

    #[test]
    fn what_nobody_asks_for_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        CountCache::load(folder.path())
            .save(vec![known(0), known(1)])
            .unwrap();
        for n in 2..=OLDEST + 2 {
            CountCache::load(folder.path())
                .save(vec![known(1), known(n)])
                .unwrap();
        }
        let counts = CountCache::load(folder.path());
        assert_eq!(counts.get(&known(0).sum), None);
        for n in 1..=OLDEST + 2 {
            assert!(counts.get(&known(n).sum).is_some(), "{n}");
        }
    }

    #[test]
    fn there_is_an_end_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let most = u32::try_from(MOST).unwrap();
        CountCache::load(folder.path())
            .save((0..most).map(known).collect())
            .unwrap();
        CountCache::load(folder.path())
            .save((most - 10..most + 10).map(known).collect())
            .unwrap();
        let counts = CountCache::load(folder.path());
        assert_eq!(counts.records.len(), MOST * RECORD);
        assert!((most - 10..most + 10).all(|n| counts.get(&known(n).sum).is_some()));
    }

    #[test]
    fn the_redactor_is_part_of_the_sum() {
        let one = ContentHasher::new(&Redactor::new([])).digest("text");
        assert_eq!(one, ContentHasher::new(&Redactor::new([])).digest("text"));
        let known = Redactor::new(["correct horse battery".to_owned()]);
        let allowing = Redactor::new([]).allow(["hunter2"]).unwrap();
        for other in [known, allowing] {
            assert_ne!(one, ContentHasher::new(&other).digest("text"));
        }
    }
}
