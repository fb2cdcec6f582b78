//! Object ids, and reading objects of the main repository by id.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead as _, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::command::{GitBatchProcess, GitCall, GitProgram};
use super::{Error, Repo, TreeDiff, diff};

/// The id of a git object: 40 or 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(String);

impl Oid {
    /// Takes a full object id; anything else is `None`.
    pub fn parse(text: &str) -> Option<Oid> {
        let digits = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (digits && matches!(text.len(), 40 | 64)).then(|| Oid(text.to_owned()))
    }

    /// The id as bytes, with zeros after a short one.
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

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the all-zero id, by which git means "no object".
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

/// The hash a repository names its objects with.
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

    /// The tree with nothing in it, which every git knows without storing it.
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

/// A plain file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its content.
    pub id: Oid,
    /// How long that is.
    pub bytes: u64,
}

/// `<mode> <type> <id> <size>\t<path>`, if it is of a plain file.
fn tree_file(line: &[u8]) -> Option<TreeFile> {
    let tab = line.iter().position(|&byte| byte == b'\t')?;
    let words = std::str::from_utf8(&line[..tab]).ok()?;
    let mut words = words.split_ascii_whitespace();
    let mode = words.next()?;
    let (_, id, bytes) = (words.next()?, words.next()?, words.next()?);
    matches!(mode, "100644" | "100755").then_some(())?;
    Some(TreeFile {
        path: path(&line[tab + 1..]),
        id: Oid::parse(id)?,
        bytes: bytes.parse().ok()?,
    })
}

impl Repo {
    /// All files of a tree, in git's order. One process.
    pub fn ls_tree_paths(&self, tree: &Oid) -> Result<Vec<PathBuf>, Error> {
        let call = self
            .plumbing()
            .args(["ls-tree", "-r", "-z", "--name-only", "--full-tree"])
            .arg(tree);
        Ok(paths(&self.git.run(&call)?))
    }

    /// The plain files of a tree among those named; links and folders are none. One process.
    pub fn files_of(&self, tree: &Oid, paths: &[PathBuf]) -> Result<Vec<TreeFile>, Error> {
        if paths.is_empty() {
            return Ok(Vec::new());
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

    /// All plain files of a tree. One process.
    pub fn all_files_of(&self, tree: &Oid) -> Result<Vec<TreeFile>, Error> {
        all_files(&self.git, self.plumbing(), tree)
    }

    /// The contents of blobs, those that are there. One process for a thousand.
    pub fn blobs(&self, ids: &[&Oid]) -> Result<BTreeMap<Oid, Vec<u8>>, Error> {
        blobs(&self.git, &self.plumbing(), ids)
    }

    /// Reads blobs one by one. One process for all, when the first is asked for.
    pub fn reader(&self) -> BlobReader {
        BlobReader::new(&self.git, self.plumbing())
    }

    /// The content of a blob. One process.
    pub fn blob(&self, id: &Oid) -> Result<Vec<u8>, Error> {
        let call = self.plumbing().args(["cat-file", "blob"]).arg(id);
        self.git.run(&call)
    }

    /// The content of a file of a tree, or `None` if there is no such file.
    /// One process.
    pub fn cat_file(&self, tree: &Oid, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        let mut name = std::ffi::OsString::from(format!("{tree}:"));
        name.push(path);
        let call = self.plumbing().args(["cat-file", "blob"]).arg(name);
        let output = self.git.attempt(&call)?;
        if output.status.success() {
            Ok(Some(output.stdout))
        } else if output.stderr.contains("not in") || output.stderr.contains("does not exist") {
            Ok(None)
        } else {
            Err(call.failed(output))
        }
    }

    /// Fails if an object of `tree` that `base` has not (trees, or commits) is not there. One process.
    pub fn require_whole(&self, tree: &Oid, base: &Oid) -> Result<(), Error> {
        let call = self
            .plumbing()
            .args(["rev-list", "--objects", "--quiet", "--end-of-options"])
            .arg(tree)
            .arg(format!("^{base}^{{tree}}"));
        self.git.run(&call).map(drop)
    }

    /// What changed between two trees (or commits). One process.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<TreeDiff, Error> {
        diff::run(&self.git, self.plumbing(), from, to)
    }

    /// Writes a tree (or a commit's tree) into an empty directory. One process.
    ///
    /// Nothing but its files is left there: it is no repository.
    pub fn checkout_into(&self, tree: &Oid, directory: &Path) -> Result<(), Error> {
        checkout_into(&self.git, self.plumbing(), tree, directory)
    }
}

/// All plain files of a tree, with a call that says in which repository.
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

/// How many blobs one process is asked for: so many ids fit into a pipe. Git answers while it reads,
/// so that with more both sides could wait for each other.
pub(super) const ASKED: usize = 1_000;

/// The contents of blobs, with a call that says in which repository.
pub(super) fn blobs(
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
        objects(&output, &mut found).ok_or_else(|| call.unexpected("a garbled object"))?;
    }
    Ok(found)
}

/// Reads blobs one by one, so that nobody needs to hold many.
#[derive(Debug)]
pub struct BlobReader {
    git: GitProgram,
    call: GitCall,
    talk: Mutex<Option<GitBatchProcess>>,
}

impl BlobReader {
    /// With a call that says in which repository.
    pub(super) fn new(git: &GitProgram, call: GitCall) -> Self {
        Self {
            git: git.clone(),
            call: call.args(["cat-file", "--batch"]),
            talk: Mutex::default(),
        }
    }

    /// The content of a blob, if it is there. After an error there are only errors.
    pub fn read(&self, id: &Oid) -> Result<Option<Vec<u8>>, Error> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let talk = match &mut *talk {
            Some(talk) => talk,
            none => none.insert(self.git.talk(&self.call)?),
        };
        let answer = answer(talk, id);
        if answer.is_err() {
            talk.give_up();
        }
        answer.map_err(self.call.spawn_error())
    }
}

fn answer(talk: &mut GitBatchProcess, id: &Oid) -> io::Result<Option<Vec<u8>>> {
    talk.ask(format!("{id}\n").as_bytes())?;
    let mut head = String::new();
    talk.answers.read_line(&mut head)?;
    let garbled = || io::Error::other("a garbled object");
    let mut words = head.trim_end().split(' ');
    let (_, kind) = (words.next(), words.next().ok_or_else(garbled)?);
    let Some(length) = words.next() else {
        // `<id> missing` has nothing after it.
        return Ok(None);
    };
    let length: usize = length.parse().map_err(|_| garbled())?;
    let mut content = vec![0; length];
    talk.answers.read_exact(&mut content)?;
    let mut end = [0];
    talk.answers.read_exact(&mut end)?;
    match end {
        [b'\n'] => Ok((kind == "blob").then_some(content)),
        _ => Err(garbled()),
    }
}

/// The lengths of blobs, those that are there, with a call that says in which repository.
pub(super) fn sizes(
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

/// Reads what `cat-file --batch` has printed.
fn objects(mut rest: &[u8], found: &mut BTreeMap<Oid, Vec<u8>>) -> Option<()> {
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let mut words = head.split(' ');
        let id = words.next().and_then(Oid::parse);
        let (kind, length) = (words.next(), words.next());
        let length = length.and_then(|length| length.parse::<usize>().ok());
        // `<id> missing` has nothing after it.
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

/// Writes a tree into an empty directory, with a call that says from where.
pub(super) fn checkout_into(
    git: &GitProgram,
    call: GitCall,
    tree: &Oid,
    directory: &Path,
) -> Result<(), Error> {
    // Git will not write files without an index; it lives among them for as
    // long as the call, where no tree can have a file.
    let private = directory.join(".git");
    std::fs::create_dir(&private).map_err(io("create", &private))?;
    let call = call
        .work_tree(directory)
        .env("GIT_INDEX_FILE", private.join("index"))
        .args(["read-tree", "--reset", "-u"])
        .arg(tree);
    let done = git.run(&call);
    std::fs::remove_dir_all(&private).map_err(io("remove", &private))?;
    done.map(drop)
}

fn io<'a>(operation: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |source| Error::Io {
        operation,
        path: path.to_owned(),
        source,
    }
}

/// Reads a NUL-terminated list of paths.
pub(super) fn paths(bytes: &[u8]) -> Vec<PathBuf> {
    bytes
        .split(|&byte| byte == 0)
        .filter(|path| !path.is_empty())
        .map(path)
        .collect()
}

pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
