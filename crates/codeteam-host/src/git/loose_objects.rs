//! Reads and writes objects that git keeps as files of their own, which takes no process.
//!
//! Only the plain cases are handled here: whatever is packed, very large or configured in another
//! way is left to git, and every function says so by returning `None` or `false`. What is read is
//! compared with its name, so that a damaged object never gets any further.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use ring::digest::{self, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::{ObjectFormat, Oid};

/// The longest object that is read into memory. Git stores files that are much longer in packs.
const LONGEST: u64 = 64 << 20;

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Blob,
    Tree,
    Commit,
}

impl ObjectKind {
    fn word(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
        }
    }

    pub(super) fn parse(word: &[u8]) -> Option<Self> {
        [Self::Blob, Self::Tree, Self::Commit]
            .into_iter()
            .find(|kind| kind.word().as_bytes() == word)
    }
}

/// An object that was read from a file of its own.
#[derive(Debug)]
pub(super) struct LooseObject {
    content: Vec<u8>,
    /// The bytes of the file: the object, compressed.
    stored: Vec<u8>,
}

impl LooseObject {
    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }
}

/// The directory of an object store, with the hash that names its objects.
#[derive(Debug, Clone)]
pub(super) struct ObjectDir {
    path: PathBuf,
    format: ObjectFormat,
}

impl ObjectDir {
    pub(super) fn new(path: &Path, format: ObjectFormat) -> Self {
        Self {
            path: path.to_owned(),
            format,
        }
    }

    /// Returns true if the object is a file of its own here.
    pub(super) fn has(&self, id: &Oid) -> bool {
        self.file(id).is_file()
    }

    /// Reads an object of this kind and compares it with its name. Returns `None` if it is no file of
    /// its own here, too long, damaged or of another kind.
    pub(super) fn read(&self, id: &Oid, kind: ObjectKind) -> Option<LooseObject> {
        let mut stored = Vec::new();
        let file = File::open(self.file(id)).ok()?;
        file.take(LONGEST).read_to_end(&mut stored).ok()?;
        let mut content = Vec::new();
        let mut decoder = ZlibDecoder::new(stored.as_slice()).take(LONGEST);
        decoder.read_to_end(&mut content).ok()?;
        let is_short = decoder.limit() > 0 && (stored.len() as u64) < LONGEST;
        if !is_short || self.name_of(&content) != *id {
            return None;
        }
        let end = content.iter().position(|&byte| byte == 0)?;
        let word = content[..end].split(|&byte| byte == b' ').next();
        if word.and_then(ObjectKind::parse) != Some(kind) {
            return None;
        }
        content.drain(..=end);
        Some(LooseObject { content, stored })
    }

    /// Stores an object, unless it is a file of its own here already, and returns its name.
    pub(super) fn write(&self, kind: ObjectKind, content: &[u8]) -> io::Result<Oid> {
        let mut bytes = format!("{} {}\0", kind.word(), content.len()).into_bytes();
        bytes.extend_from_slice(content);
        let id = self.name_of(&bytes);
        if !self.renew(&id)? {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&bytes)?;
            self.install(&id, &encoder.finish()?)?;
        }
        Ok(id)
    }

    /// Stores an object of another directory here, as it is.
    pub(super) fn copy(&self, id: &Oid, object: &LooseObject) -> io::Result<()> {
        if self.renew(id)? {
            return Ok(());
        }
        self.install(id, &object.stored)
    }

    /// Gives an object that is here already the present time, as git does: objects that nothing
    /// refers to yet are removed by their age. Returns false if it is not here.
    fn renew(&self, id: &Oid) -> io::Result<bool> {
        let set = File::open(self.file(id)).and_then(|file| {
            let now = SystemTime::now();
            file.set_times(FileTimes::new().set_modified(now).set_accessed(now))
        });
        match set.map_err(|error| (error.kind(), error)) {
            Ok(()) => Ok(true),
            // That of somebody else is replaced by an equal one.
            Err((ErrorKind::NotFound | ErrorKind::PermissionDenied, _)) => Ok(false),
            Err((_, error)) => Err(error),
        }
    }

    fn install(&self, id: &Oid, stored: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let path = self.file(id);
        let folder = path.parent().unwrap_or(&self.path);
        match fs::create_dir(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // Git removes files of this name that were left behind.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let new = folder.join(format!("tmp_obj_{}_{count}", std::process::id()));
        let mut options = OpenOptions::new();
        let created = options.write(true).create_new(true).mode(0o444).open(&new);
        let written = created.and_then(|mut file| {
            file.write_all(stored)?;
            fs::rename(&new, &path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }

    fn file(&self, id: &Oid) -> PathBuf {
        let (folder, rest) = id.as_str().split_at(2);
        self.path.join(folder).join(rest)
    }

    fn name_of(&self, bytes: &[u8]) -> Oid {
        let hash = match self.format {
            ObjectFormat::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
            ObjectFormat::Sha256 => &SHA256,
        };
        Oid::from_bytes(digest::digest(hash, bytes).as_ref())
    }
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeEntry<'a> {
    pub(super) mode: u32,
    pub(super) name: &'a [u8],
    pub(super) id: Oid,
}

/// The mode of a folder in a tree.
pub(super) const FOLDER: u32 = 0o040_000;
/// The mode of a reference to another repository's commit.
const GITLINK: u32 = 0o160_000;

/// Parses the content of a tree. Returns `None` unless it is one that git itself would write: in
/// order, with plain modes, and without names that no file can have.
pub(super) fn parse_tree(content: &[u8], format: ObjectFormat) -> Option<Vec<TreeEntry<'_>>> {
    let mut entries: Vec<TreeEntry<'_>> = Vec::new();
    let mut rest = content;
    while !rest.is_empty() {
        let space = rest.iter().position(|&byte| byte == b' ')?;
        let mode = match &rest[..space] {
            b"100644" => 0o100_644,
            b"100755" => 0o100_755,
            b"120000" => 0o120_000,
            b"40000" => FOLDER,
            b"160000" => GITLINK,
            _ => return None,
        };
        rest = &rest[space + 1..];
        let end = rest.iter().position(|&byte| byte == 0)?;
        let name = &rest[..end];
        let is_odd = matches!(name, b"" | b"." | b"..") || name.contains(&b'/');
        let (id, after) = rest[end + 1..].split_at_checked(format.bytes())?;
        let entry = TreeEntry {
            mode,
            name,
            id: Oid::from_bytes(id),
        };
        let is_sorted = entries
            .last()
            .is_none_or(|before| sort_key(before).lt(sort_key(&entry)) && before.name != name);
        if is_odd || !is_sorted {
            return None;
        }
        entries.push(entry);
        rest = after;
    }
    Some(entries)
}

/// Folders are sorted as if their names ended with a slash.
fn sort_key<'a>(entry: &TreeEntry<'a>) -> impl Iterator<Item = &'a u8> + use<'a> {
    let slash: &[u8] = if entry.mode == FOLDER { b"/" } else { b"" };
    entry.name.iter().chain(slash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut content = Vec::new();
        for (mode, name) in entries {
            content.extend(format!("{mode} {name}\0").bytes());
            content.extend([7; 20]);
        }
        content
    }

    fn parsed(entries: &[(&str, &str)]) -> Option<usize> {
        parse_tree(&tree(entries), ObjectFormat::Sha1).map(|entries| entries.len())
    }

    #[test]
    fn only_trees_as_git_writes_them_are_parsed() {
        let whole = [
            ("100644", "a"),
            ("100755", "a.b"),
            ("40000", "a0"),
            ("120000", "b"),
        ];
        assert_eq!(parsed(&whole), Some(4));
        assert_eq!(parsed(&[]), Some(0));
        // A folder is sorted as if a slash followed its name.
        assert_eq!(parsed(&[("100644", "a.b"), ("40000", "a")]), Some(2));
        assert_eq!(parsed(&[("40000", "a"), ("100644", "a.b")]), None);
        assert_eq!(parsed(&[("100644", "b"), ("100644", "a")]), None);
        assert_eq!(parsed(&[("100644", "a"), ("100644", "a")]), None);
        assert_eq!(parsed(&[("040000", "a")]), None);
        for name in ["", ".", "..", "a/b"] {
            assert_eq!(parsed(&[("100644", name)]), None, "{name}");
        }
        let mut cut = tree(&[("100644", "a")]);
        cut.pop();
        assert_eq!(parse_tree(&cut, ObjectFormat::Sha1), None);
    }
}
