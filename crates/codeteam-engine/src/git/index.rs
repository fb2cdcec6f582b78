//! Reads git's index file: which paths are tracked, and as what.
//!
//! Done here rather than with `git ls-files` because a work tree is looked at
//! on every step and a process costs more than the file. Only indexes that
//! codeteam's own calls have written are read, which are of version 2 or 3.

use std::path::PathBuf;

use super::ObjectFormat;
use super::objects::path;

const HEADER: usize = 12;
/// The part of an entry before the object id: times, device, owner, size.
const STAT: usize = 40;
const MODE: usize = 24;
const EXTENDED: u16 = 0x4000;

/// A tracked path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// Where, relative to the work tree.
    pub path: PathBuf,
    /// Its mode, as trees have it.
    pub mode: u32,
    /// The id of its content.
    pub id: Vec<u8>,
}

impl IndexEntry {
    /// Whether it stands for a commit of another repository.
    pub fn is_gitlink(&self) -> bool {
        self.mode == 0o160_000
    }
}

/// All entries, or `None` if the bytes are no index of a known version.
pub(super) fn parse(bytes: &[u8], format: ObjectFormat) -> Option<Vec<IndexEntry>> {
    if bytes.get(..4)? != b"DIRC" || !matches!(number(bytes, 4)?, 2 | 3) {
        return None;
    }
    let count = usize::try_from(number(bytes, 8)?).ok()?;
    // The count is not believed before the entries are seen.
    let mut entries = Vec::with_capacity(count.min(bytes.len() / STAT));
    let mut rest = bytes.get(HEADER..)?;
    for _ in 0..count {
        let flags_at = STAT + format.bytes();
        let flags = u16::from_be_bytes(rest.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let name_at = flags_at + if flags & EXTENDED == 0 { 2 } else { 4 };
        let name = rest.get(name_at..)?;
        let length = name.iter().position(|&byte| byte == 0)?;
        entries.push(IndexEntry {
            path: path(&name[..length]),
            mode: number(rest, MODE)?,
            id: rest.get(STAT..flags_at)?.to_vec(),
        });
        // One to eight NULs fill each entry up to a multiple of eight.
        rest = rest.get((name_at + length + 8) & !7..)?;
    }
    Some(entries)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_no_index() {
        assert_eq!(parse(b"", ObjectFormat::Sha1), None);
        assert_eq!(parse(b"DIRC\0\0\0\x04\0\0\0\0", ObjectFormat::Sha1), None);
        assert_eq!(
            parse(b"DIRC\0\0\0\x02\xff\xff\xff\xff", ObjectFormat::Sha1),
            None
        );
        assert_eq!(
            parse(b"DIRC\0\0\0\x02\0\0\0\0", ObjectFormat::Sha1),
            Some(Vec::new())
        );
    }
}
