//! Stores computed results in files that may disappear at any time.
//!
//! A file that is missing, truncated, of another version or edited by hand counts as empty.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use postcard::de_flavors::Flavor;
use rustix::fs::{Mode, OFlags};
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tempfile::NamedTempFile;

/// The length of the checksum at the start of each file.
const SUM: usize = blake3::OUT_LEN;

/// The size limit of a cache file; not even a million files need more.
const LARGEST: u64 = 4 << 30;

/// The size of the buffers. Files are never in memory as a whole, only the values made of them.
const BUFFER: usize = 128 << 10;

/// Loads the value stored under a version.
pub fn load<T: DeserializeOwned>(path: &Path, version: u32) -> Option<T> {
    let mut reader = CacheReader::open(path).ok()?;
    if reader.try_take_n_temp(4).ok()? != version.to_le_bytes() {
        return None;
    }
    let mut deserializer = postcard::Deserializer::from_flavor(reader);
    // What is not what was written makes a wrong value at worst, which is thrown away.
    let value = T::deserialize(&mut deserializer).ok()?;
    let is_whole = deserializer.finalize().ok()?;
    is_whole.then_some(value)
}

/// Reads a cache file in blocks and computes its checksum on the way.
struct CacheReader {
    file: io::Take<File>,
    sum: [u8; SUM],
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
    /// The part of the buffer that was not taken yet.
    start: usize,
    end: usize,
}

impl CacheReader {
    /// Opens a regular file of plausible size. It is opened non-blocking, so a pipe cannot hang the
    /// caller.
    fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let found = file.metadata()?;
        if !found.is_file() || found.len() > LARGEST {
            return Err(io::Error::other("is not a file of the cache"));
        }
        let mut sum = [0; SUM];
        file.read_exact(&mut sum)?;
        Ok(Self {
            file: file.take(LARGEST),
            sum,
            hasher: blake3::Hasher::new(),
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
        })
    }

    /// Makes so many bytes available in the buffer, if the file has them.
    fn fill(&mut self, wanted: usize) -> Option<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted {
            if self.end == self.buffer.len() {
                // It grows with what is really there: a damaged length is no reason to take memory.
                let longer = self.buffer.len() * 2;
                self.buffer.resize(longer, 0);
            }
            let read = self.file.read(&mut self.buffer[self.end..]).ok()?;
            if read == 0 {
                return None;
            }
            self.hasher.update(&self.buffer[self.end..self.end + read]);
            self.end += read;
        }
        Some(())
    }
}

impl<'de> Flavor<'de> for CacheReader {
    /// Whether the file ends here and is as it was written.
    type Remainder = bool;
    type Source = ();

    #[inline]
    fn pop(&mut self) -> postcard::Result<u8> {
        if self.start == self.end {
            self.fill(1)
                .ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        }
        let byte = self.buffer[self.start];
        self.start += 1;
        Ok(byte)
    }

    fn try_take_n(&mut self, _: usize) -> postcard::Result<&'de [u8]> {
        // Nothing can be borrowed from a file. Values own their texts and never ask for this.
        Err(postcard::Error::WontImplement)
    }

    fn try_take_n_temp<'a>(&'a mut self, count: usize) -> postcard::Result<&'a [u8]>
    where
        'de: 'a,
    {
        if self.end - self.start < count {
            self.fill(count)
                .ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        }
        let taken = self.start..self.start + count;
        self.start = taken.end;
        Ok(&self.buffer[taken])
    }

    fn finalize(mut self) -> postcard::Result<bool> {
        let is_end = self.start == self.end && self.fill(1).is_none();
        Ok(is_end && self.hasher.finalize() == self.sum)
    }
}

/// Stores a value under a version and replaces the previous one. A concurrent reader sees either
/// the old or the new value.
pub fn save<T: Serialize>(path: &Path, version: u32, value: &T) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&[0; SUM])?;
    let hashed = HashedFile {
        file,
        hasher: blake3::Hasher::new(),
    };
    let mut out = BufWriter::with_capacity(BUFFER, hashed);
    out.write_all(&version.to_le_bytes())?;
    postcard::to_io(value, &mut out).map_err(io::Error::other)?;
    let HashedFile { mut file, hasher } =
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(hasher.finalize().as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A file that is being written, with the checksum so far.
struct HashedFile {
    file: NamedTempFile,
    hasher: blake3::Hasher,
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Bytes that are serialised as one block.
#[derive(Debug, Default)]
pub(crate) struct RawBytes(pub(crate) Box<[u8]>);

/// Borrowed bytes that are serialised as [`RawBytes`].
pub(crate) struct RawBytesRef<'b>(pub(crate) &'b [u8]);

impl Serialize for RawBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl Serialize for RawBytesRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
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
                Ok(RawBytes(bytes.into()))
            }
        }
        deserializer.deserialize_byte_buf(BytesVisitor)
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
    fn what_is_larger_than_a_buffer_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts");
        let value: Vec<String> = [1, BUFFER - 1, BUFFER, 3 * BUFFER + 1, 0, 7]
            .map(|length| "x".repeat(length))
            .into();
        save(&path, 1, &value).unwrap();
        assert_eq!(load(&path, 1), Some(value));
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
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(b"x"))
            .unwrap();
        assert_eq!(load::<Vec<u64>>(&path, 1), None, "something follows");
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
