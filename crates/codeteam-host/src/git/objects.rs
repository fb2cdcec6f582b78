//! Object ids, and reading objects of the main repository by id.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead as _, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::batch_process::GitBatchProcess;
use super::command::{GitCall, GitProgram};
use super::{Error, Repo, TreeDiff, diff};

/// The id of a git object: 40 or 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(String);

impl Oid {
    /// Parses a full object id; anything else gives `None`.
    pub fn parse(text: &str) -> Option<Oid> {
        let digits = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (digits && matches!(text.len(), 40 | 64)).then(|| Oid(text.to_owned()))
    }

    /// Makes an id of its bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Oid {
        use fmt::Write as _;
        let mut text = String::with_capacity(bytes.len() * 2);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Oid(text)
    }

    /// Returns the id as bytes, padded with zeros if it is a short one.
    pub fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => byte - b'0',
            _ => byte - b'a' + 10,
        };
        for (byte, pair) in bytes.iter_mut().zip(self.0.as_bytes().chunks(2)) {
            *byte = pair.iter().fold(0, |sum, it| sum << 4 | digit(*it));
        }
        bytes
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if this is the all-zero id, by which git means "no object".
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'0')
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AsRef<OsStr> for Oid {
    fn as_ref(&self) -> &OsStr {
        OsStr::new(&self.0)
    }
}

/// The hash with which a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// Git's default.
    Sha1,
    /// `git init --object-format=sha256`.
    Sha256,
}

impl ObjectFormat {
    pub(super) fn parse(text: &str) -> Option<ObjectFormat> {
        match text {
            "sha1" => Some(ObjectFormat::Sha1),
            "sha256" => Some(ObjectFormat::Sha256),
            _ => None,
        }
    }

    /// Returns the id of the empty tree, which every git knows without storing it.
    pub fn empty_tree(self) -> Oid {
        Oid(match self {
            ObjectFormat::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            ObjectFormat::Sha256 => {
                "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
            }
        }
        .to_owned())
    }

    pub(super) fn zero(self) -> Oid {
        Oid("0".repeat(self.bytes() * 2))
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            ObjectFormat::Sha1 => 20,
            ObjectFormat::Sha256 => 32,
        }
    }
}

/// A regular file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// The path relative to the top of the tree.
    pub path: PathBuf,
    /// Its mode: whether it is executable.
    pub mode: u32,
    /// The id of the content.
    pub id: Oid,
    /// The length of the content in bytes.
    pub bytes: u64,
}

/// Parses `<mode> <type> <id> <size>\t<path>`, if it is a regular file.
fn tree_file(line: &[u8]) -> Option<TreeFile> {
    let tab = line.iter().position(|&byte| byte == b'\t')?;
    let words = std::str::from_utf8(&line[..tab]).ok()?;
    let mut words = words.split_ascii_whitespace();
    let mode = words.next()?;
    let (_, id, bytes) = (words.next()?, words.next()?, words.next()?);
    let mode = match mode {
        "100644" => 0o100_644,
        "100755" => 0o100_755,
        _ => return None,
    };
    Some(TreeFile {
        path: parse_path(&line[tab + 1..]),
        mode,
        id: Oid::parse(id)?,
        bytes: bytes.parse().ok()?,
    })
}

impl Repo {
    /// Returns the paths of all files of a tree, in git's order. One process.
    pub fn ls_tree_paths(&self, tree: &Oid) -> Result<Vec<PathBuf>, Error> {
        let call = self
            .plumbing()
            .args(["ls-tree", "-r", "-z", "--name-only", "--full-tree"])
            .arg(tree);
        Ok(parse_paths(&self.git.run(&call)?))
    }

    /// Returns the regular files of a tree at the given paths; links and folders are left out. No
    /// process but the one that reads objects, unless a path is odd.
    pub fn tree_files(&self, tree: &Oid, paths: &[PathBuf]) -> Result<Vec<TreeFile>, Error> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(found) = self.find_tree_files(tree, paths)? {
            return Ok(found);
        }
        let call = self
            .plumbing()
            .args(["ls-tree", "-z", "-l", "--full-tree"])
            .arg(tree)
            .arg("--")
            .args(paths);
        let output = self.git.run(&call)?;
        let lines = output.split(|&byte| byte == 0);
        Ok(lines.filter_map(tree_file).collect())
    }

    /// Returns all regular files of a tree. One process.
    pub fn all_tree_files(&self, tree: &Oid) -> Result<Vec<TreeFile>, Error> {
        all_files(&self.git, self.plumbing(), tree)
    }

    /// Returns the contents of the blobs that exist. One process per thousand.
    pub fn read_blobs(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, Vec<u8>>, Error> {
        read_blobs(&self.git, &self.plumbing(), ids)
    }

    /// Returns a reader that reads blobs one by one. One process for all, started by the first
    /// request.
    pub fn blob_reader(&self) -> BlobReader {
        BlobReader::new(&self.git, self.plumbing())
    }

    /// Returns the content of a blob. No process but the one that reads objects.
    pub fn read_blob(&self, id: &Oid) -> Result<Vec<u8>, Error> {
        if let Some(content) = self.read_known_blob(id)? {
            return Ok(content);
        }
        // Git says what is wrong.
        let call = self.plumbing().args(["cat-file", "blob"]).arg(id);
        self.git.run(&call)
    }

    /// Returns the content of a file of a tree, or `None` if there is no such file. One process.
    pub fn cat_file(&self, tree: &Oid, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        let mut name = std::ffi::OsString::from(format!("{tree}:"));
        name.push(path);
        let call = self.plumbing().args(["cat-file", "blob"]).arg(name);
        let output = self.git.run_with_status(&call)?;
        if output.status.success() {
            Ok(Some(output.stdout))
        } else if output.stderr.contains("not in") || output.stderr.contains("does not exist") {
            Ok(None)
        } else {
            Err(call.failure(output))
        }
    }

    /// Fails if an object of `tree` that `base` does not have is missing. Both may be trees or
    /// commits. One process.
    pub fn require_whole(&self, tree: &Oid, base: &Oid) -> Result<(), Error> {
        let call = self
            .plumbing()
            .args(["rev-list", "--objects", "--quiet", "--end-of-options"])
            .arg(tree)
            .arg(format!("^{base}^{{tree}}"));
        self.git.run(&call).map(drop)
    }

    /// Returns the difference between two trees or commits. One process.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<TreeDiff, Error> {
        diff::diff_trees(&self.git, self.plumbing(), from, to)
    }

    /// Writes a tree (or a commit's tree) into an empty directory. One process.
    ///
    /// Only the files are left there, not a repository.
    pub fn checkout_into(&self, tree: &Oid, directory: &Path) -> Result<(), Error> {
        checkout_into(&self.git, self.plumbing(), tree, directory)
    }
}

/// Returns all regular files of a tree. `call` selects the repository.
pub(super) fn all_files(
    git: &GitProgram,
    call: GitCall,
    tree: &Oid,
) -> Result<Vec<TreeFile>, Error> {
    let call = call
        .args(["ls-tree", "-r", "-z", "-l", "--full-tree"])
        .arg(tree);
    let output = git.run(&call)?;
    let lines = output.split(|&byte| byte == 0);
    Ok(lines.filter_map(tree_file).collect())
}

/// How many blobs one process is asked for: so many ids fit into a pipe. Git answers while it
/// reads, so with more ids both sides could wait for each other.
pub(super) const ASKED: usize = 1_000;

/// Returns the contents of blobs. `call` selects the repository.
pub(super) fn read_blobs(
    git: &GitProgram,
    call: &GitCall,
    ids: &[&Oid],
) -> Result<BTreeMap<Oid, Vec<u8>>, Error> {
    let mut found = BTreeMap::new();
    for ids in ids.chunks(ASKED) {
        let mut asked = String::new();
        for id in ids {
            asked.push_str(id.as_str());
            asked.push('\n');
        }
        let call = call.clone().args(["cat-file", "--batch"]);
        let call = call.stdin(asked.into_bytes());
        let output = git.run(&call)?;
        parse_objects(&output, &mut found)
            .ok_or_else(|| call.unexpected_output("a garbled object"))?;
    }
    Ok(found)
}

/// Reads blobs one by one, so that not all of them need to be in memory.
#[derive(Debug)]
pub struct BlobReader {
    git: GitProgram,
    call: GitCall,
    talk: Mutex<Option<GitBatchProcess>>,
}

impl BlobReader {
    /// Creates a reader. `call` selects the repository.
    pub(super) fn new(git: &GitProgram, call: GitCall) -> Self {
        Self {
            git: git.clone(),
            call: call.args(["cat-file", "--batch"]),
            talk: Mutex::default(),
        }
    }

    /// Returns the content of a blob, if it exists. After an error, every further call fails.
    pub fn read(&self, id: &Oid) -> Result<Option<Vec<u8>>, Error> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let talk = match &mut *talk {
            Some(talk) => talk,
            none => none.insert(self.git.start_batch(&self.call)?),
        };
        let answer = read_answer(talk, id);
        if answer.is_err() {
            talk.close_input();
        }
        answer.map_err(self.call.spawn_error())
    }
}

fn read_answer(talk: &mut GitBatchProcess, id: &Oid) -> io::Result<Option<Vec<u8>>> {
    talk.send_request(format!("{id}\n").as_bytes())?;
    let mut head = String::new();
    talk.output.read_line(&mut head)?;
    let garbled = || io::Error::other("a garbled object");
    let mut words = head.trim_end().split(' ');
    let (_, kind) = (words.next(), words.next().ok_or_else(garbled)?);
    let Some(length) = words.next() else {
        // Nothing follows `<id> missing`.
        return Ok(None);
    };
    let length: usize = length.parse().map_err(|_| garbled())?;
    let mut content = vec![0; length];
    talk.output.read_exact(&mut content)?;
    let mut end = [0];
    talk.output.read_exact(&mut end)?;
    match end {
        [b'\n'] => Ok((kind == "blob").then_some(content)),
        _ => Err(garbled()),
    }
}

/// Returns the lengths of the blobs that exist. `call` selects the repository.
pub(super) fn blob_sizes(
    git: &GitProgram,
    call: &GitCall,
    ids: &[&Oid],
) -> Result<BTreeMap<Oid, u64>, Error> {
    let mut found = BTreeMap::new();
    for ids in ids.chunks(ASKED) {
        let mut asked = String::new();
        for id in ids {
            asked.push_str(id.as_str());
            asked.push('\n');
        }
        let call = call.clone().args(["cat-file", "--batch-check"]);
        let output = git.run(&call.stdin(asked.into_bytes()))?;
        for line in String::from_utf8_lossy(&output).lines() {
            let mut words = line.split(' ');
            let id = words.next().and_then(Oid::parse);
            let (kind, length) = (words.next(), words.next());
            let length = length.and_then(|length| length.parse().ok());
            // `<id> missing` has no length.
            if let (Some(id), Some("blob"), Some(length)) = (id, kind, length) {
                found.insert(id, length);
            }
        }
    }
    Ok(found)
}

/// Parses the output of `cat-file --batch`.
fn parse_objects(mut rest: &[u8], found: &mut BTreeMap<Oid, Vec<u8>>) -> Option<()> {
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let mut words = head.split(' ');
        let id = words.next().and_then(Oid::parse);
        let (kind, length) = (words.next(), words.next());
        let length = length.and_then(|length| length.parse::<usize>().ok());
        // Nothing follows `<id> missing`.
        let (Some(id), Some(length)) = (id, length) else {
            continue;
        };
        let (content, after) = rest.split_at_checked(length)?;
        if kind == Some("blob") {
            found.insert(id, content.to_vec());
        }
        rest = after.strip_prefix(b"\n")?;
    }
    Some(())
}

/// Writes a tree into an empty directory. `call` selects the repository.
pub(super) fn checkout_into(
    git: &GitProgram,
    call: GitCall,
    tree: &Oid,
    directory: &Path,
) -> Result<(), Error> {
    // Git cannot write files without an index. It is kept in `.git`, where no tree can have a file,
    // for the duration of the call.
    let private = directory.join(".git");
    std::fs::create_dir(&private).map_err(io_error("create", &private))?;
    let call = call
        .work_tree(directory)
        .env("GIT_INDEX_FILE", private.join("index"))
        .args(["read-tree", "--reset", "-u"])
        .arg(tree);
    let done = git.run(&call);
    std::fs::remove_dir_all(&private).map_err(io_error("remove", &private))?;
    done.map(drop)
}

fn io_error<'a>(
    operation: &'static str,
    path: &'a Path,
) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |source| Error::Io {
        operation,
        path: path.to_owned(),
        source,
    }
}

/// Parses a NUL-terminated list of paths.
pub(super) fn parse_paths(bytes: &[u8]) -> Vec<PathBuf> {
    bytes
        .split(|&byte| byte == 0)
        .filter(|path| !path.is_empty())
        .map(parse_path)
        .collect()
}

pub(super) fn parse_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
