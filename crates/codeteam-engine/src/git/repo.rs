//! Finding the user's repository, and what stands there now.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::command::{GitCall, GitProgram};
use super::filters::FilterSettings;
use super::objects::path;
use super::{Error, ObjectFormat, Oid};

/// codeteam's own files: never part of a run's changes, never what makes a
/// checkout dirty.
pub(super) const OWN_DIRECTORY: &str = ".codeteam";

/// How many object stores may borrow from each other, as in git itself.
const ALTERNATES_DEPTH: usize = 5;

/// The user's repository, as seen from one of its checkouts.
#[derive(Debug, Clone)]
pub struct Repo {
    pub(super) git: GitProgram,
    pub(super) format: ObjectFormat,
    pub(super) top_level: PathBuf,
    pub(super) git_dir: PathBuf,
    common_dir: PathBuf,
    objects: PathBuf,
    pub(super) filters: Arc<OnceLock<FilterSettings>>,
}

/// Where a checkout stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutHead {
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The short name of the branch, or `None` when detached.
    pub branch: Option<String>,
}

/// The questions of discovery, in an order in which the first one that cannot
/// be answered says what is wrong.
const QUESTIONS: &[&str] = &[
    "--show-object-format",
    "--is-bare-repository",
    "--absolute-git-dir",
    "--git-common-dir",
    "--git-path",
    "objects",
    "--show-toplevel",
];

impl Repo {
    /// Finds the repository that `start` is in, and where its checkout stands.
    /// One process.
    pub fn discover(git: &GitProgram, start: &Path) -> Result<(Repo, CheckoutHead), Error> {
        // The first option is there to be refused by a git that is too old,
        // which saves asking for the version.
        let oldest = format!("--attr-source={}", ObjectFormat::Sha1.empty_tree());
        let call = GitCall::checkout(start)
            .args([&oldest, "rev-parse", "--path-format=absolute"])
            .args(QUESTIONS)
            .args(HEAD_QUESTIONS);
        let lines = answers(git, start, &call)?;
        let (repo, head) = Repo::read(git, &call, &lines)?;
        Ok((repo, head_of(&call, &head)?))
    }

    /// Finds the repository that `start` is in, which need not have a commit. One process.
    pub fn find(git: &GitProgram, start: &Path) -> Result<Repo, Error> {
        let oldest = format!("--attr-source={}", ObjectFormat::Sha1.empty_tree());
        let call = GitCall::checkout(start)
            .args([&oldest, "rev-parse", "--path-format=absolute"])
            .args(QUESTIONS);
        let lines = answers(git, start, &call)?;
        Ok(Repo::read(git, &call, &lines)?.0)
    }

    /// The repository by the answers to the questions of discovery, and the answers beyond.
    fn read<'l>(
        git: &GitProgram,
        call: &GitCall,
        lines: &'l [Vec<u8>],
    ) -> Result<(Repo, Vec<&'l [u8]>), Error> {
        let [
            format,
            _bare,
            git_dir,
            common_dir,
            objects,
            top_level,
            head @ ..,
        ] = lines
        else {
            return Err(call.unexpected("too few lines"));
        };
        let format = std::str::from_utf8(format)
            .ok()
            .and_then(ObjectFormat::parse);
        let repo = Repo {
            git: git.clone(),
            format: format.ok_or_else(|| call.unexpected("an unknown object format"))?,
            top_level: path(top_level),
            git_dir: path(git_dir),
            common_dir: path(common_dir),
            objects: path(objects),
            filters: Arc::default(),
        };
        Ok((repo, head.iter().map(Vec::as_slice).collect()))
    }

    /// The top of the checkout.
    pub fn top_level(&self) -> &Path {
        &self.top_level
    }

    /// The git directory that all checkouts of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The hash of the repository's object names.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Every directory the repository's objects may be in: its own, then those
    /// it borrows from. No process.
    pub fn object_dirs(&self) -> Result<Vec<PathBuf>, Error> {
        let mut found = vec![self.objects.clone()];
        let mut level = found.clone();
        for _ in 0..ALTERNATES_DEPTH {
            let mut next = Vec::new();
            for directory in &level {
                for borrowed in alternates(directory)? {
                    if !found.contains(&borrowed) {
                        found.push(borrowed.clone());
                        next.push(borrowed);
                    }
                }
            }
            level = next;
        }
        Ok(found)
    }

    /// Where the checkout stands now. One process.
    pub fn head(&self) -> Result<CheckoutHead, Error> {
        let call = self.plumbing().arg("rev-parse").args(HEAD_QUESTIONS);
        let output = self.git.attempt(&call)?;
        if !output.status.success() {
            return Err(if is_unborn(&output.stderr) {
                Error::NoCommits {
                    path: self.top_level.clone(),
                }
            } else {
                call.failed(output)
            });
        }
        let lines: Vec<&[u8]> = output.stdout.split(|&byte| byte == b'\n').collect();
        head_of(&call, &lines)
    }

    /// The commit a user's words mean. One process.
    pub fn resolve(&self, rev: &str) -> Result<Oid, Error> {
        let call = self
            .plumbing()
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{rev}^{{commit}}"));
        let output = self.git.attempt(&call)?;
        oid(&output.stdout).ok_or_else(|| Error::UnknownRevision {
            rev: rev.to_owned(),
        })
    }

    /// The tree of a commit. One process.
    pub fn tree_of(&self, commit: &Oid) -> Result<Oid, Error> {
        let call = self
            .plumbing()
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{commit}^{{tree}}"));
        let output = self.git.attempt(&call)?;
        oid(&output.stdout).ok_or_else(|| Error::UnknownRevision {
            rev: commit.as_str().to_owned(),
        })
    }

    /// Whether the checkout has changes or untracked files, not counting
    /// codeteam's own directory. One process.
    pub fn is_dirty(&self) -> Result<bool, Error> {
        Ok(!self.changed_files("--untracked-files=normal")?.is_empty())
    }

    /// The files of the user's checkout that git ignores and that these patterns, as in a
    /// `.gitignore`, name: what a fresh worktree needs beside git's own.
    pub fn ignored_files(&self, patterns: &[String]) -> Result<Vec<PathBuf>, Error> {
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        let excludes = patterns
            .iter()
            .map(|pattern| format!("--exclude={pattern}").into());
        self.ignored_by(excludes.collect())
    }

    /// The untracked files that match patterns and that git ignores.
    fn ignored_by(&self, mut patterns: Vec<OsString>) -> Result<Vec<PathBuf>, Error> {
        patterns.insert(0, "--ignored".into());
        let named = self.untracked(&patterns)?;
        if named.is_empty() {
            return Ok(Vec::new());
        }
        // What is not tracked is either ignored or among these, which are fewer.
        let plain: HashSet<PathBuf> = self
            .untracked(&["--exclude-standard".into()])?
            .into_iter()
            .collect();
        Ok(named
            .into_iter()
            .filter(|file| !plain.contains(file) && !file.starts_with(OWN_DIRECTORY))
            .collect())
    }

    /// Those of these paths below the top level that git tracks. One process.
    pub fn tracked_among(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let call = self.checkout().args(["ls-files", "-z", "--cached", "--"]);
        let output = self.git.run(&call.args(paths))?;
        let names = output.split(|&byte| byte == 0);
        Ok(names.filter(|name| !name.is_empty()).map(path).collect())
    }

    fn untracked(&self, which: &[OsString]) -> Result<Vec<PathBuf>, Error> {
        let call = self.checkout().args(["ls-files", "-z", "--others"]);
        let output = self.git.run(&call.args(which))?;
        let names = output.split(|&byte| byte == 0);
        Ok(names.filter(|name| !name.is_empty()).map(path).collect())
    }

    /// The files of the user's checkout that git has or would add, without those that are not
    /// UTF-8; at most `limit`, and whether there are more. One process.
    pub fn files(&self, limit: usize) -> Result<(Vec<String>, bool), Error> {
        let call = self
            .checkout()
            .args(["ls-files", "-z", "--cached", "--others"]);
        let output = self
            .git
            .run(&call.args(["--exclude-standard", "--deduplicate"]))?;
        let names = output.split(|&byte| byte == 0);
        let mut names = names
            .filter_map(|name| std::str::from_utf8(name).ok())
            .filter(|name| !name.is_empty());
        let files = names.by_ref().take(limit).map(str::to_owned).collect();
        Ok((files, names.next().is_some()))
    }

    /// The files `git status` would name, without codeteam's own.
    pub(super) fn changed_files(&self, untracked: &str) -> Result<Vec<PathBuf>, Error> {
        let call = self
            .checkout()
            .args([
                "status",
                "--porcelain=v1",
                "-z",
                "--no-renames",
                "--ignore-submodules=dirty",
            ])
            .arg(untracked);
        let output = self.git.run(&call)?;
        let files = output
            .split(|&byte| byte == 0)
            // Two letters of state, a space, the path.
            .filter_map(|entry| entry.get(3..))
            .map(path)
            .filter(|file| !file.starts_with(OWN_DIRECTORY));
        Ok(files.collect())
    }

    /// A call on the repository's objects and references.
    pub(super) fn plumbing(&self) -> GitCall {
        GitCall::plumbing(&self.git_dir, self.format)
    }

    /// A call on the user's checkout, with the user's configuration.
    pub(super) fn checkout(&self) -> GitCall {
        GitCall::checkout(&self.top_level)
            .git_dir(&self.git_dir)
            .work_tree(&self.top_level)
    }
}

const HEAD_QUESTIONS: &[&str] = &["HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD"];

fn head_of(call: &GitCall, lines: &[&[u8]]) -> Result<CheckoutHead, Error> {
    let [commit, tree, name, ..] = lines else {
        return Err(call.unexpected("too few lines"));
    };
    let (Some(commit), Some(tree)) = (oid(commit), oid(tree)) else {
        return Err(call.unexpected("not an object id"));
    };
    let name = String::from_utf8_lossy(name);
    Ok(CheckoutHead {
        commit,
        tree,
        branch: name.strip_prefix("refs/heads/").map(str::to_owned),
    })
}

/// The lines that discovery answers with, or why it does not.
fn answers(git: &GitProgram, start: &Path, call: &GitCall) -> Result<Vec<Vec<u8>>, Error> {
    let output = git.attempt(call)?;
    let lines: Vec<&[u8]> = output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    if !output.status.success() {
        return Err(
            why_not(git, start, &lines, &output.stderr).unwrap_or_else(|| call.failed(output))
        );
    }
    Ok(lines.into_iter().map(<[u8]>::to_vec).collect())
}

/// What the first unanswered question of discovery means.
fn why_not(git: &GitProgram, start: &Path, lines: &[&[u8]], stderr: &str) -> Option<Error> {
    let start = start.to_owned();
    if stderr.contains("unknown option: --attr-source") {
        return Some(too_old(git, &start));
    }
    if stderr.contains("dubious ownership") {
        return Some(Error::NotTrusted { path: start });
    }
    if stderr.contains("not a git repository") {
        return Some(Error::NotARepository { path: start });
    }
    match lines {
        [_, _, _, _, _] if stderr.contains("work tree") => Some(Error::Bare { path: start }),
        [_, _, _, _, _, top_level, ..] if is_unborn(stderr) => Some(Error::NoCommits {
            path: path(top_level),
        }),
        _ => None,
    }
}

fn is_unborn(stderr: &str) -> bool {
    stderr.contains("ambiguous argument 'HEAD'") || stderr.contains("unknown revision")
}

fn too_old(git: &GitProgram, start: &Path) -> Error {
    match git.run(&GitCall::checkout(start).arg("version")) {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output);
            let found = text.trim().trim_start_matches("git version ").to_owned();
            Error::TooOld { found }
        }
        Err(error) => error,
    }
}

/// An object id on a line of its own.
pub(super) fn oid(line: &[u8]) -> Option<Oid> {
    Oid::parse(std::str::from_utf8(line).ok()?.trim_end())
}

/// The object stores that `objects` names as places to look further.
fn alternates(objects: &Path) -> Result<Vec<PathBuf>, Error> {
    let file = objects.join("info/alternates");
    let text = match std::fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(Error::Io {
                operation: "read",
                path: file,
                source,
            });
        }
    };
    let lines = text.split(|&byte| byte == b'\n');
    let named = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    Ok(named
        .map(|line| objects.join(path(&codeteam_context::quoted::unquote(line))))
        .collect())
}
