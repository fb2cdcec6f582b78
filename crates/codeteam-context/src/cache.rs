//! What was worked out before, kept in files that may be lost at any time.
//!
//! A file that is missing, cut off, of another version or changed by hand counts as empty.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Each file begins with the sum of what follows.
const SUM: usize = blake3::OUT_LEN;

/// Nothing larger is ever kept: not even of a million files.
const LARGEST: u64 = 4 << 30;

/// Reads what was kept under a version.
pub fn load<T: DeserializeOwned>(path: &Path, version: u32) -> Option<T> {
    let bytes = read(path).ok()?;
    let (sum, rest) = bytes.split_at_checked(SUM)?;
    if blake3::hash(rest).as_bytes() != sum {
        return None;
    }
    let (own, rest) = rest.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*own) != version {
        return None;
    }
    postcard::from_bytes(rest).ok()
}

/// Reads a file, if it is a plain one that somebody could have meant: no pipe is waited for.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    if !found.is_file() || found.len() > LARGEST {
        return Err(io::Error::other("is no file of the cache"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Keeps a value under a version, in place of what was there. Whoever reads meanwhile sees the one
/// or the other.
pub fn save<T: Serialize>(path: &Path, version: u32, value: &T) -> io::Result<()> {
    let bytes = version.to_le_bytes().to_vec();
    let bytes = postcard::to_extend(value, bytes).map_err(io::Error::other)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(blake3::hash(&bytes).as_bytes())?;
    file.write_all(&bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Bytes that are read and written as a whole.
pub(crate) struct RawBytes(pub(crate) Vec<u8>);

impl Serialize for RawBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for RawBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl Visitor<'_> for BytesVisitor {
            type Value = RawBytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<RawBytes, E> {
                Ok(RawBytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/counts");
        let value = vec![("a".to_owned(), 1_u32), ("b".to_owned(), 2)];
        assert_eq!(load::<Vec<(String, u32)>>(&path, 1), None);
        save(&path, 1, &value).unwrap();
        assert_eq!(load(&path, 1), Some(value.clone()));
        assert_eq!(load::<Vec<(String, u32)>>(&path, 2), None);
        save(&path, 2, &value).unwrap();
        assert_eq!(load(&path, 2), Some(value));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_plain_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RWXU).unwrap();
        assert_eq!(load::<Vec<u64>>(&path, 1), None);
        save(&path, 1, &vec![1_u64]).unwrap();
        assert_eq!(load(&path, 1), Some(vec![1_u64]));
        fs::File::create(&path).unwrap().set_len(1 << 43).unwrap();
        assert_eq!(load::<Vec<u64>>(&path, 1), None);
    }

    #[test]
    fn what_was_damaged_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        save(&path, 1, &vec![1_u64, 2, 3]).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(load::<Vec<u64>>(&path, 1), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert_eq!(load::<Vec<u64>>(&path, 1), None, "{at}");
        }
    }
}
