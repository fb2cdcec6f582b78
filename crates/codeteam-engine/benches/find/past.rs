//! A clone, as it was before any of its commits.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use codeteam_context::find::{
    CandidateFile, Commit, FileSketch, SourceLookup, SymbolSketch, is_generated,
};
use codeteam_context::language::Language;
use codeteam_context::outline::outline;
use codeteam_engine::env::Env;
use codeteam_host::git::{GitEnvironment, GitProgram, Repo};

use crate::BenchOutcome;

/// The most commits that are looked back at.
const BACK: usize = 10_000;
/// Larger files are data.
const LARGEST: usize = 1 << 20;

/// A clone of a repository.
pub(crate) struct ClonedRepo {
    folder: PathBuf,
    /// Its commits but for merges, newest first.
    pub(crate) commits: Vec<Commit>,
    parents: HashMap<String, Vec<String>>,
    sketches: HashMap<String, Option<Arc<BlobContent>>>,
    blobs: BlobProcess,
}

/// A tree: its text files in order.
pub(crate) struct FileTree(Vec<(String, Arc<BlobContent>)>);

impl FileTree {
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(path, _)| path.as_str())
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.blob(path).is_some()
    }

    pub(crate) fn candidates(&self) -> Vec<CandidateFile<'_>> {
        let candidates = self.0.iter().map(|(path, blob)| CandidateFile {
            path,
            sketch: &blob.sketch,
        });
        candidates.collect()
    }

    fn blob(&self, path: &str) -> Option<&BlobContent> {
        let at = self
            .0
            .binary_search_by(|(known, _)| known.as_str().cmp(path));
        at.ok().map(|at| &*self.0[at].1)
    }
}

impl SourceLookup for FileTree {
    fn prepare(&self, _: &[&str]) {}

    fn symbols_of(&self, path: &str) -> Option<&SymbolSketch> {
        self.blob(path).map(|blob| &blob.closer)
    }

    fn read_text(&self, path: &str) -> Option<String> {
        self.blob(path)?.manifest.clone()
    }
}

/// What is in a file.
pub(crate) struct BlobContent {
    sketch: FileSketch,
    closer: SymbolSketch,
    /// Its text, if it may say where imports lead.
    manifest: Option<String>,
}

/// Whether a file may say where imports lead.
fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    [".toml", ".json", ".mod", ".work", ".cfg", ".gradle", ".xml"]
        .iter()
        .any(|end| name.ends_with(end))
        || name == "setup.py"
}

impl ClonedRepo {
    pub(crate) fn open(folder: &Path) -> BenchOutcome<Self> {
        let env = Env::read();
        let git = GitProgram::new(GitEnvironment {
            path: env.path,
            home: None,
            xdg_config_home: None,
            codeteam: None,
        })?;
        let (repo, head) = Repo::discover(&git, folder)?;
        let commits = repo.history(&head.commit, None, 100_000)?;
        let text = git_text(folder, &["rev-list", "--parents", head.commit.as_str()])?;
        let parents = text.lines().map(|line| {
            let mut ids = line.split(' ').map(str::to_owned);
            (ids.next().unwrap_or_default(), ids.collect())
        });
        let parents = parents.collect();
        Ok(Self {
            folder: folder.to_owned(),
            commits,
            parents,
            sketches: HashMap::new(),
            blobs: BlobProcess::open(folder)?,
        })
    }

    /// What a commit says, in full.
    pub(crate) fn message(&self, id: &str) -> BenchOutcome<String> {
        git_text(&self.folder, &["log", "-1", "--format=%B", id])
    }

    /// The commits that a commit comes after, and itself, newest first.
    pub(crate) fn before(&self, id: &str) -> Vec<&Commit> {
        let mut known: HashSet<&str> = HashSet::from([id]);
        let mut left = vec![id];
        while let Some(id) = left.pop() {
            for parent in self.parents.get(id).into_iter().flatten() {
                if known.insert(parent) {
                    left.push(parent);
                }
            }
        }
        let commits = self.commits.iter();
        commits
            .filter(|commit| known.contains(commit.id.as_str()))
            .take(BACK)
            .collect()
    }

    /// The tree of a commit, without what is no text or is generated.
    pub(crate) fn tree(&mut self, id: &str) -> BenchOutcome<FileTree> {
        let format = "--format=%(objectmode) %(objectname) %(path)";
        let text = git_text(&self.folder, &["ls-tree", "-r", "-z", format, id])?;
        let mut tree = Vec::new();
        for line in text.split('\0').filter(|line| !line.is_empty()) {
            let mut fields = line.splitn(3, ' ');
            let mut next = || fields.next().unwrap_or_default();
            let (mode, oid, path) = (next(), next(), next());
            if !mode.starts_with("100") || is_generated(path) {
                continue;
            }
            if let Some(sketch) = self.sketch(oid, path)? {
                tree.push((path.to_owned(), sketch));
            }
        }
        tree.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(FileTree(tree))
    }

    /// What is in a blob, if it is text.
    fn sketch(&mut self, oid: &str, path: &str) -> BenchOutcome<Option<Arc<BlobContent>>> {
        if let Some(known) = self.sketches.get(oid) {
            return Ok(known.as_ref().map(Arc::clone));
        }
        // A clone may lack its largest files.
        let bytes = self.blobs.read(oid)?.filter(|bytes| bytes.len() <= LARGEST);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.filter(|text| !text.contains('\0'));
        let sketch = text.map(|text| {
            let closer = Language::from_path(path)
                .map(|language| SymbolSketch::from_outline(outline(&text, language)));
            Arc::new(BlobContent {
                sketch: FileSketch::from_text(&text),
                closer: closer.unwrap_or_default(),
                manifest: is_manifest(path).then_some(text),
            })
        });
        self.sketches.insert(oid.to_owned(), sketch.clone());
        Ok(sketch)
    }
}

/// One git that prints blobs as they are asked for.
struct BlobProcess {
    child: Child,
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
}

impl BlobProcess {
    fn open(folder: &Path) -> BenchOutcome<Self> {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (ask, answer) = (child.stdin.take(), child.stdout.take());
        Ok(Self {
            ask: ask.ok_or("no pipe")?,
            answer: BufReader::new(answer.ok_or("no pipe")?),
            child,
        })
    }

    /// A blob; none if it is not there.
    fn read(&mut self, oid: &str) -> BenchOutcome<Option<Vec<u8>>> {
        writeln!(self.ask, "{oid}")?;
        self.ask.flush()?;
        let mut line = String::new();
        self.answer.read_line(&mut line)?;
        let size = line.trim().rsplit(' ').next();
        let Some(size) = size.and_then(|size| size.parse::<usize>().ok()) else {
            return Ok(None);
        };
        let mut bytes = vec![0; size + 1];
        self.answer.read_exact(&mut bytes)?;
        bytes.pop();
        Ok(Some(bytes))
    }
}

impl Drop for BlobProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn git_text(folder: &Path, args: &[&str]) -> BenchOutcome<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(args)
        .output()?;
    if !output.status.success() {
        return Err(format!(
            "git {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
