//! Reads git's index file: which paths are tracked, with which mode and content.
//!
//! This is done here rather than with `git ls-files` because a work tree is read on every step and
//! a process costs more than the file. Only indexes that codeteam's own calls have written are
//! read; these are of version 2 or 3.

use std::path::PathBuf;

use super::ObjectFormat;
use super::objects::parse_path;

const HEADER: usize = 12;
/// The size of an entry before the object id: times, device, owner, size.
const STAT: usize = 40;
const MODE: usize = 24;
const OWNER: usize = 28;
const EXTENDED: u16 = 0x4000;

/// A tracked path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The path relative to the work tree.
    pub path: PathBuf,
    /// The mode, in the form trees use.
    pub mode: u32,
    /// The id of the content.
    pub id: Vec<u8>,
    /// The metadata of the file when git last compared or wrote it.
    pub stat: IndexStat,
}

/// The metadata of a file that the index keeps, in its own form: each number has its lowest 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexStat {
    /// The time of the last change to the file or its metadata: seconds and nanoseconds. No process
    /// can set it.
    pub changed: (u32, u32),
    /// The time of the last change to the content: seconds and nanoseconds.
    pub modified: (u32, u32),
    /// The device and the inode.
    pub inode: (u32, u32),
    /// The user and the group.
    pub owner: (u32, u32),
    /// The length.
    pub size: u32,
}

impl IndexEntry {
    /// Returns true if the entry is a reference to a commit of another repository.
    pub fn is_gitlink(&self) -> bool {
        self.mode == 0o160_000
    }
}

/// Parses all entries. Returns `None` if the bytes are not an index of a known version.
pub(super) fn parse_index(bytes: &[u8], format: ObjectFormat) -> Option<Vec<IndexEntry>> {
    if bytes.get(..4)? != b"DIRC" || !matches!(read_number(bytes, 4)?, 2 | 3) {
        return None;
    }
    let count = usize::try_from(read_number(bytes, 8)?).ok()?;
    // The count is not trusted before the entries have been read.
    let mut entries = Vec::with_capacity(count.min(bytes.len() / STAT));
    let mut rest = bytes.get(HEADER..)?;
    for _ in 0..count {
        let flags_at = STAT + format.bytes();
        let flags = u16::from_be_bytes(rest.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let name_at = flags_at + if flags & EXTENDED == 0 { 2 } else { 4 };
        let name = rest.get(name_at..)?;
        let length = name.iter().position(|&byte| byte == 0)?;
        entries.push(IndexEntry {
            path: parse_path(&name[..length]),
            mode: read_number(rest, MODE)?,
            id: rest.get(STAT..flags_at)?.to_vec(),
            stat: parse_stat(rest)?,
        });
        rest = rest.get(entry_length(name_at, length)..)?;
    }
    Some(entries)
}

/// Returns the index with only those entries that `keep` accepts, and without anything that git derives
/// from them; the checksum is zeros, which git reads as "none". Returns `None` if the bytes are not an
/// index of a known version.
pub(super) fn retain_entries(
    bytes: &[u8],
    format: ObjectFormat,
    mut keep: impl FnMut(&IndexEntry) -> bool,
) -> Option<Vec<u8>> {
    let mut kept = bytes.get(..HEADER)?.to_vec();
    let (mut count, mut at) = (0_u32, HEADER);
    for entry in parse_index(bytes, format)? {
        let flags_at = at + STAT + format.bytes();
        let extended = usize::from(*bytes.get(flags_at)? & 0x40 != 0) * 2;
        let name_at = STAT + format.bytes() + 2 + extended;
        let end = at + entry_length(name_at, entry.path.as_os_str().len());
        if keep(&entry) {
            kept.extend_from_slice(bytes.get(at..end)?);
            count += 1;
        }
        at = end;
    }
    kept.get_mut(8..HEADER)?
        .copy_from_slice(&count.to_be_bytes());
    kept.resize(kept.len() + format.bytes(), 0);
    Some(kept)
}

fn parse_stat(entry: &[u8]) -> Option<IndexStat> {
    let pair = |at| Some((read_number(entry, at)?, read_number(entry, at + 4)?));
    Some(IndexStat {
        changed: pair(0)?,
        modified: pair(8)?,
        inode: pair(16)?,
        owner: pair(OWNER)?,
        size: read_number(entry, STAT - 4)?,
    })
}

/// One to eight NULs pad each entry to a multiple of eight.
fn entry_length(name_at: usize, length: usize) -> usize {
    (name_at + length + 8) & !7
}

/// Replaces the owner of every entry, and the checksum with zeros, which git reads as "none".
/// Returns false if the bytes are not an index of a known version; they may be changed then.
pub(super) fn replace_owner(bytes: &mut [u8], format: ObjectFormat, owner: (u32, u32)) -> bool {
    let Some(entries) = parse_index(bytes, format) else {
        return false;
    };
    let mut at = HEADER;
    for entry in entries {
        let flags_at = at + STAT + format.bytes();
        let Some(flags) = bytes.get(flags_at) else {
            return false;
        };
        let extended = usize::from(*flags & 0x40 != 0) * 2;
        let name_at = STAT + format.bytes() + 2 + extended;
        let name = entry.path.as_os_str().len();
        bytes[at + OWNER..at + OWNER + 4].copy_from_slice(&owner.0.to_be_bytes());
        bytes[at + OWNER + 4..at + OWNER + 8].copy_from_slice(&owner.1.to_be_bytes());
        at += entry_length(name_at, name);
    }
    let Some(checksum) = bytes.len().checked_sub(format.bytes()) else {
        return false;
    };
    bytes[checksum..].fill(0);
    true
}

fn read_number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_index_keeps_the_entries_it_is_to_keep() {
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0\x03".to_vec();
        for name in ["a", "folder/long-name", "z"] {
            let start = bytes.len();
            bytes.resize(start + STAT + 20, 7);
            let length = u16::try_from(name.len()).unwrap();
            bytes.extend(length.to_be_bytes());
            bytes.extend(name.as_bytes());
            let end = start + entry_length(STAT + 22, name.len());
            bytes.resize(end, 0);
        }
        bytes.extend(b"TREE\0\0\0\x01x");
        bytes.resize(bytes.len() + 20, 9);
        let all = parse_index(&bytes, ObjectFormat::Sha1).unwrap();
        assert_eq!(all.len(), 3);
        let keep = |entry: &IndexEntry| entry.path != Path::new("folder/long-name");
        let kept = retain_entries(&bytes, ObjectFormat::Sha1, keep).unwrap();
        let kept = parse_index(&kept, ObjectFormat::Sha1).unwrap();
        assert_eq!(kept, [all[0].clone(), all[2].clone()]);
        assert_eq!(retain_entries(b"DIRC", ObjectFormat::Sha1, |_| true), None);
    }

    #[test]
    fn garbage_is_no_index() {
        assert_eq!(parse_index(b"", ObjectFormat::Sha1), None);
        assert_eq!(
            parse_index(b"DIRC\0\0\0\x04\0\0\0\0", ObjectFormat::Sha1),
            None
        );
        assert_eq!(
            parse_index(b"DIRC\0\0\0\x02\xff\xff\xff\xff", ObjectFormat::Sha1),
            None
        );
        assert_eq!(
            parse_index(b"DIRC\0\0\0\x02\0\0\0\0", ObjectFormat::Sha1),
            Some(Vec::new())
        );
    }
}
