//! Finds the user's repository and reads the state of its checkout.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::command::{GitCall, GitProgram};
use super::filters::FilterSettings;
use super::loose_objects::ObjectDir;
use super::object_reader::ObjectReader;
use super::objects::parse_path;
use super::{Error, ObjectFormat, Oid};

/// The directory of codeteam's own files: they are never part of a run's changes and never make a
/// checkout dirty.
pub(super) const OWN_DIRECTORY: &str = ".codeteam";

/// How deep object stores may borrow from each other, as in git itself.
const ALTERNATES_DEPTH: usize = 5;

/// The user's repository, as seen from one of its checkouts.
///
/// [`Repo::discover`] finds it from any directory inside. Methods fall into two groups. Most are
/// plumbing: they read or write objects and references and never touch the checkout. A few act on
/// the user's checkout at the user's request, such as [`Repo::merge_into_checkout`], and use the
/// user's own configuration. Each method states how many git processes it starts, because processes
/// are what git operations cost.
#[derive(Debug, Clone)]
pub struct Repo {
    pub(super) git: GitProgram,
    pub(super) format: ObjectFormat,
    pub(super) top_level: PathBuf,
    pub(super) git_dir: PathBuf,
    common_dir: PathBuf,
    objects: PathBuf,
    pub(super) filters: Arc<OnceLock<FilterSettings>>,
    pub(super) reader: Arc<ObjectReader>,
}

/// The commit and branch that are checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutHead {
    /// The id of the commit.
    pub commit: Oid,
    /// The id of the commit's tree.
    pub tree: Oid,
    /// The short name of the branch, or `None` when detached.
    pub branch: Option<String>,
}

/// The queries of discovery, ordered so that the first one that fails identifies the problem.
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
    /// Finds the repository that `start` is in, and the commit and branch of its checkout. One
    /// process.
    pub fn discover(git: &GitProgram, start: &Path) -> Result<(Repo, CheckoutHead), Error> {
        // A git that is too old rejects the first option, which saves a call for the version.
        let oldest = format!("--attr-source={}", ObjectFormat::Sha1.empty_tree());
        let call = GitCall::checkout(start)
            .args([&oldest, "rev-parse", "--path-format=absolute"])
            .args(QUESTIONS)
            .args(HEAD_QUESTIONS);
        let lines = discovery_lines(git, start, &call)?;
        let (repo, head) = Repo::read(git, &call, &lines)?;
        Ok((repo, parse_head(&call, &head)?))
    }

    /// Finds the repository that `start` is in, which need not have a commit. One process.
    pub fn find(git: &GitProgram, start: &Path) -> Result<Repo, Error> {
        let oldest = format!("--attr-source={}", ObjectFormat::Sha1.empty_tree());
        let call = GitCall::checkout(start)
            .args([&oldest, "rev-parse", "--path-format=absolute"])
            .args(QUESTIONS);
        let lines = discovery_lines(git, start, &call)?;
        Ok(Repo::read(git, &call, &lines)?.0)
    }

    /// Builds the repository from the answers of discovery, and returns the remaining answers.
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
            return Err(call.unexpected_output("too few lines"));
        };
        let format = std::str::from_utf8(format)
            .ok()
            .and_then(ObjectFormat::parse);
        let repo = Repo {
            git: git.clone(),
            format: format.ok_or_else(|| call.unexpected_output("an unknown object format"))?,
            top_level: parse_path(top_level),
            git_dir: parse_path(git_dir),
            common_dir: parse_path(common_dir),
            objects: parse_path(objects),
            filters: Arc::default(),
            reader: Arc::default(),
        };
        Ok((repo, head.iter().map(Vec::as_slice).collect()))
    }

    /// Returns the top of the checkout.
    pub fn top_level(&self) -> &Path {
        &self.top_level
    }

    /// Returns the git directory that all checkouts of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns the hash with which the repository names its objects.
    pub fn object_format(&self) -> ObjectFormat {
        self.format
    }

    /// Returns every directory that may hold the repository's objects: its own, then those it
    /// borrows from. No process.
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

    /// Returns the repository's own objects.
    pub(super) fn own_objects(&self) -> ObjectDir {
        ObjectDir::new(&self.objects, self.format)
    }

    /// Returns the commit and branch of the checkout. One process.
    pub fn head(&self) -> Result<CheckoutHead, Error> {
        let call = self.plumbing().arg("rev-parse").args(HEAD_QUESTIONS);
        let output = self.git.run_with_status(&call)?;
        if !output.status.success() {
            return Err(if is_unborn(&output.stderr) {
                Error::NoCommits {
                    path: self.top_level.clone(),
                }
            } else {
                call.failure(output)
            });
        }
        let lines: Vec<&[u8]> = output.stdout.split(|&byte| byte == b'\n').collect();
        parse_head(&call, &lines)
    }

    /// Resolves a revision given by the user to a commit. One process.
    pub fn resolve(&self, rev: &str) -> Result<Oid, Error> {
        let call = self
            .plumbing()
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{rev}^{{commit}}"));
        let output = self.git.run_with_status(&call)?;
        parse_oid(&output.stdout).ok_or_else(|| Error::UnknownRevision {
            rev: rev.to_owned(),
        })
    }

    /// Returns the tree of a commit. One process.
    pub fn tree_of(&self, commit: &Oid) -> Result<Oid, Error> {
        let call = self
            .plumbing()
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{commit}^{{tree}}"));
        let output = self.git.run_with_status(&call)?;
        parse_oid(&output.stdout).ok_or_else(|| Error::UnknownRevision {
            rev: commit.as_str().to_owned(),
        })
    }

    /// Returns true if the checkout has changes or untracked files, not counting codeteam's own
    /// directory. One process.
    pub fn is_dirty(&self) -> Result<bool, Error> {
        Ok(!self.changed_files("--untracked-files=normal")?.is_empty())
    }

    /// Returns the ignored files of the user's checkout that match these patterns, written as in a
    /// `.gitignore`: files that a fresh worktree needs in addition to git's own.
    pub fn ignored_files(&self, patterns: &[String]) -> Result<Vec<PathBuf>, Error> {
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        let excludes = patterns
            .iter()
            .map(|pattern| format!("--exclude={pattern}").into());
        self.ignored_by(excludes.collect())
    }

    /// Returns the untracked files that match patterns and that git ignores.
    fn ignored_by(&self, mut patterns: Vec<OsString>) -> Result<Vec<PathBuf>, Error> {
        patterns.insert(0, "--ignored".into());
        let named = self.untracked(&patterns)?;
        if named.is_empty() {
            return Ok(Vec::new());
        }
        // Every untracked file is either ignored or among these, which are fewer.
        let plain: HashSet<PathBuf> = self
            .untracked(&["--exclude-standard".into()])?
            .into_iter()
            .collect();
        Ok(named
            .into_iter()
            .filter(|file| !plain.contains(file) && !file.starts_with(OWN_DIRECTORY))
            .collect())
    }

    /// Returns those of these paths below the top level that git tracks. One process.
    pub fn tracked_among(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let call = self.checkout().args(["ls-files", "-z", "--cached", "--"]);
        let output = self.git.run(&call.args(paths))?;
        let names = output.split(|&byte| byte == 0);
        Ok(names
            .filter(|name| !name.is_empty())
            .map(parse_path)
            .collect())
    }

    fn untracked(&self, which: &[OsString]) -> Result<Vec<PathBuf>, Error> {
        let call = self.checkout().args(["ls-files", "-z", "--others"]);
        let output = self.git.run(&call.args(which))?;
        let names = output.split(|&byte| byte == 0);
        Ok(names
            .filter(|name| !name.is_empty())
            .map(parse_path)
            .collect())
    }

    /// Returns the files of the user's checkout that git tracks or would add, leaving out names
    /// that are not UTF-8. Returns at most `limit`, and whether there are more. One process.
    pub fn checkout_files(&self, limit: usize) -> Result<(Vec<String>, bool), Error> {
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

    /// Returns the files that `git status` would list, without codeteam's own.
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
            // Each entry is two letters of state, a space, and the path.
            .filter_map(|entry| entry.get(3..))
            .map(parse_path)
            .filter(|file| !file.starts_with(OWN_DIRECTORY));
        Ok(files.collect())
    }

    /// Creates a call on the repository's objects and references.
    pub(super) fn plumbing(&self) -> GitCall {
        GitCall::plumbing(&self.git_dir, self.format)
    }

    /// Creates a call on the user's checkout, with the user's configuration.
    pub(super) fn checkout(&self) -> GitCall {
        GitCall::checkout(&self.top_level)
            .git_dir(&self.git_dir)
            .work_tree(&self.top_level)
    }
}

const HEAD_QUESTIONS: &[&str] = &["HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD"];

fn parse_head(call: &GitCall, lines: &[&[u8]]) -> Result<CheckoutHead, Error> {
    let [commit, tree, name, ..] = lines else {
        return Err(call.unexpected_output("too few lines"));
    };
    let (Some(commit), Some(tree)) = (parse_oid(commit), parse_oid(tree)) else {
        return Err(call.unexpected_output("not an object id"));
    };
    let name = String::from_utf8_lossy(name);
    Ok(CheckoutHead {
        commit,
        tree,
        branch: name.strip_prefix("refs/heads/").map(str::to_owned),
    })
}

/// Runs discovery and returns its lines, or the reason it failed.
fn discovery_lines(git: &GitProgram, start: &Path, call: &GitCall) -> Result<Vec<Vec<u8>>, Error> {
    let output = git.run_with_status(call)?;
    let lines: Vec<&[u8]> = output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    if !output.status.success() {
        return Err(discovery_error(git, start, &lines, &output.stderr)
            .unwrap_or_else(|| call.failure(output)));
    }
    Ok(lines.into_iter().map(<[u8]>::to_vec).collect())
}

/// Returns the error for the first query of discovery that failed.
fn discovery_error(git: &GitProgram, start: &Path, lines: &[&[u8]], stderr: &str) -> Option<Error> {
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
            path: parse_path(top_level),
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

/// Parses an object id on a line of its own.
pub(super) fn parse_oid(line: &[u8]) -> Option<Oid> {
    Oid::parse(std::str::from_utf8(line).ok()?.trim_end())
}

/// Returns the object stores from which `objects` borrows.
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
        .map(|line| objects.join(parse_path(&codeteam_context::quoted::unquote(line))))
        .collect())
}
