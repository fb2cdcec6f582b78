//! Reads objects of the user's repository through one git process that answers many requests.
//!
//! A process costs some milliseconds, and a step asks for a few objects only. The process is
//! started by the first request and shared by all clones of a [`Repo`]; it ends with them, with
//! [`Repo::close_reader`], or when codeteam dies, because its input is closed then.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, BufRead as _, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::batch_process::GitBatchProcess;
use super::loose_objects::{FOLDER, ObjectKind, parse_tree};
use super::{Error, Oid, Repo, TreeFile};

/// The process, if there was a request.
#[derive(Debug, Default)]
pub(super) struct ObjectReader(Mutex<Option<GitBatchProcess>>);

impl ObjectReader {
    pub(super) fn process(&self) -> MutexGuard<'_, Option<GitBatchProcess>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer about an object that exists.
struct ObjectAnswer {
    kind: Option<ObjectKind>,
    length: u64,
    /// Empty if only the length was asked for.
    content: Vec<u8>,
}

impl Repo {
    /// Ends the process that reads objects, if there is one. The next request starts another.
    pub fn close_reader(&self) {
        let process = self.reader.process().take();
        drop(process);
    }

    /// Returns the content of a tree, or of the tree of a commit, if it exists. No process but the
    /// one that reads objects.
    pub(super) fn read_tree(&self, id: &Oid) -> Result<Option<Vec<u8>>, Error> {
        let found = self.ask_reader("contents", id)?;
        let Some(found) = found else {
            return Ok(None);
        };
        match found.kind {
            Some(ObjectKind::Tree) => Ok(Some(found.content)),
            Some(ObjectKind::Commit) => match tree_of_commit(&found.content) {
                Some(tree) => self.read_tree(&tree),
                None => Ok(None),
            },
            Some(ObjectKind::Blob) | None => Ok(None),
        }
    }

    /// Returns the content of a blob, if it exists.
    pub(super) fn read_known_blob(&self, id: &Oid) -> Result<Option<Vec<u8>>, Error> {
        let found = self.ask_reader("contents", id)?;
        let found = found.filter(|found| found.kind == Some(ObjectKind::Blob));
        Ok(found.map(|found| found.content))
    }

    /// Returns the regular files of a tree at these paths, or `None` if a path is not plain or a
    /// tree is not one that git writes.
    pub(super) fn find_tree_files(
        &self,
        tree: &Oid,
        paths: &[PathBuf],
    ) -> Result<Option<Vec<TreeFile>>, Error> {
        let mut paths: Vec<&PathBuf> = paths.iter().collect();
        paths.sort_unstable();
        paths.dedup();
        let mut known = KnownTrees {
            repo: self,
            trees: HashMap::new(),
        };
        let mut files = Vec::new();
        for path in paths {
            let Some(found) = known.find(tree, path)? else {
                return Ok(None);
            };
            let is_file = |(mode, _): &(u32, Oid)| matches!(mode, 0o100_644 | 0o100_755);
            let Some((mode, id)) = found.filter(is_file) else {
                continue;
            };
            let Some(found) = self.ask_reader("info", &id)? else {
                return Ok(None);
            };
            files.push(TreeFile {
                path: path.clone(),
                mode,
                id,
                bytes: found.length,
            });
        }
        Ok(Some(files))
    }

    /// Asks about an object. The process may have been killed meanwhile, so a second one is tried.
    fn ask_reader(&self, question: &str, id: &Oid) -> Result<Option<ObjectAnswer>, Error> {
        let call = self.plumbing().args(["cat-file", "--batch-command"]);
        let mut talk = self.reader.process();
        if let Some(process) = &mut *talk {
            if let Ok(answer) = ask(process, question, id) {
                return Ok(answer);
            }
            *talk = None;
        }
        let process = talk.insert(self.git.start_batch(&call)?);
        let answer = ask(process, question, id);
        if answer.is_err() {
            *talk = None;
        }
        answer.map_err(call.spawn_error())
    }
}

fn ask(
    process: &mut GitBatchProcess,
    question: &str,
    id: &Oid,
) -> io::Result<Option<ObjectAnswer>> {
    process.send_request(format!("{question} {id}\n").as_bytes())?;
    let mut head = String::new();
    process.output.read_line(&mut head)?;
    let garbled = || io::Error::other("a garbled object");
    let mut words = head.trim_end().split(' ');
    let (_, kind) = (words.next(), words.next().ok_or_else(garbled)?);
    let Some(length) = words.next() else {
        // Nothing follows `<id> missing`.
        return Ok(None);
    };
    let length: u64 = length.parse().map_err(|_| garbled())?;
    let mut content = Vec::new();
    if question == "contents" {
        let wanted = usize::try_from(length).map_err(|_| garbled())?;
        content.resize(wanted + 1, 0);
        process.output.read_exact(&mut content)?;
        if content.pop() != Some(b'\n') {
            return Err(garbled());
        }
    }
    Ok(Some(ObjectAnswer {
        kind: ObjectKind::parse(kind.as_bytes()),
        length,
        content,
    }))
}

/// Returns the tree that a commit names in its first line.
fn tree_of_commit(content: &[u8]) -> Option<Oid> {
    let line = content.split(|&byte| byte == b'\n').next()?;
    Oid::parse(std::str::from_utf8(line.strip_prefix(b"tree ")?).ok()?)
}

/// What a path of a tree leads to: the mode and the id, if there is anything.
type FoundEntry = Option<(u32, Oid)>;

/// The trees that one request has read so far.
struct KnownTrees<'a> {
    repo: &'a Repo,
    trees: HashMap<Oid, Vec<u8>>,
}

impl KnownTrees<'_> {
    /// Returns what is at a path, or `None` if that has to be asked of git.
    fn find(&mut self, tree: &Oid, path: &Path) -> Result<Option<FoundEntry>, Error> {
        let parts: Option<Vec<&OsStr>> = path
            .components()
            .map(|part| match part {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect();
        let bytes = path.as_os_str().as_bytes();
        let Some(parts) = parts.filter(|parts| !parts.is_empty() && !bytes.ends_with(b"/")) else {
            return Ok(None);
        };
        let (mut at, last) = (tree.clone(), parts.len() - 1);
        for (depth, name) in parts.into_iter().enumerate() {
            if !self.trees.contains_key(&at) {
                let Some(content) = self.repo.read_tree(&at)? else {
                    return Ok(None);
                };
                self.trees.insert(at.clone(), content);
            }
            let content = self.trees.get(&at).map(Vec::as_slice).unwrap_or_default();
            let Some(entries) = parse_tree(content, self.repo.format) else {
                return Ok(None);
            };
            let found = entries.into_iter().find(|e| e.name == name.as_bytes());
            match found {
                Some(entry) if depth == last => return Ok(Some(Some((entry.mode, entry.id)))),
                Some(entry) if entry.mode == FOLDER => at = entry.id,
                _ => return Ok(Some(None)),
            }
        }
        Ok(Some(None))
    }
}
