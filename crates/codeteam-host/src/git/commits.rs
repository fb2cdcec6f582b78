//! Creates commits, and finds them again by their trailers.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::command::{GitCall, GitProgram};
use super::loose_objects::ObjectKind;
use super::repo::parse_oid;
use super::{Error, Oid, Repo};

/// A name and an address, as commits carry them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitIdentity {
    /// The name.
    pub name: String,
    /// The mail address.
    pub email: String,
}

impl Default for GitIdentity {
    /// Returns codeteam's own identity, for commits that only codeteam sees.
    fn default() -> GitIdentity {
        GitIdentity {
            name: "codeteam".to_owned(),
            email: "codeteam@localhost".to_owned(),
        }
    }
}

/// The author and the time of a commit. The time is an input, so that making a commit again gives
/// the same commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSignature {
    /// The author, who is also the committer.
    pub identity: GitIdentity,
    /// The time in seconds since 1970, UTC.
    pub seconds: i64,
}

/// A commit, as found in a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchCommit {
    /// The id of the commit.
    pub oid: Oid,
    /// The id of the commit's tree.
    pub tree: Oid,
    /// The ids of the parents, in order.
    pub parents: Vec<Oid>,
    /// The first line of the message.
    pub subject: String,
    /// The `Key: value` lines at the end of the message, in order.
    pub trailers: Vec<(String, String)>,
}

impl BranchCommit {
    /// Returns the value of the first trailer called `key`, ignoring case.
    pub fn trailer(&self, key: &str) -> Option<&str> {
        let found = self
            .trailers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }
}

impl Repo {
    /// Returns the identity in the user's configuration, if there is one. One process.
    pub fn identity(&self) -> Result<Option<GitIdentity>, Error> {
        let call = self
            .checkout()
            // Without this, git makes an identity up from the host's name.
            .args(["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"]);
        let output = self.git.run_with_status(&call)?;
        // The format is `Name <address> seconds zone`; git fails if none is configured.
        let text = String::from_utf8_lossy(&output.stdout);
        let parts = text.split_once(" <").and_then(|(name, rest)| {
            let (email, _) = rest.split_once('>')?;
            Some(GitIdentity {
                name: name.to_owned(),
                email: email.to_owned(),
            })
        });
        Ok(parts.filter(|_| output.status.success()))
    }

    /// Returns the file of the key that git signs with, if one is configured. One process.
    pub fn signing_key(&self) -> Result<Option<PathBuf>, Error> {
        let wanted = ["config", "--get", "--type=path", "user.signingKey"];
        let output = self.git.run_with_status(&self.checkout().args(wanted))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let file = PathBuf::from(text.trim());
        // A key may also be written out, which is no file.
        Ok((output.status.success() && file.is_absolute()).then_some(file))
    }

    /// Creates a commit without moving any reference. No process if the repository stores objects
    /// in the usual way, otherwise one.
    pub fn commit(
        &self,
        tree: &Oid,
        parents: &[&Oid],
        message: &str,
        signature: &CommitSignature,
    ) -> Result<Oid, Error> {
        if self.stores_plain_files()?
            && let Some(content) = commit_content(tree, parents, message, signature)
            && let Ok(commit) = self
                .own_objects()
                .write(ObjectKind::Commit, content.as_bytes())
        {
            return Ok(commit);
        }
        // Git says what is wrong.
        commit_tree(
            &self.git,
            self.plumbing(),
            tree,
            parents,
            message,
            signature,
        )
    }

    /// Returns the commits of `tip` that are not in `base`, newest first. One process.
    pub fn commits_since(&self, base: &Oid, tip: &Oid) -> Result<Vec<BranchCommit>, Error> {
        self.log_commits(|call| call.arg("--end-of-options").arg(format!("{base}..{tip}")))
    }

    /// Returns the newest commits of `tip`, at most `most`, newest first. One process.
    pub fn newest_commits(&self, tip: &Oid, most: usize) -> Result<Vec<BranchCommit>, Error> {
        let most = format!("--max-count={most}");
        self.log_commits(|call| call.arg(most).arg("--end-of-options").arg(tip))
    }

    fn log_commits(
        &self,
        which: impl FnOnce(GitCall) -> GitCall,
    ) -> Result<Vec<BranchCommit>, Error> {
        const FORMAT: &str = "--format=%H%x00%T%x00%P%x00%s%x00%(trailers:only=true,unfold=true)";
        let call = self
            .plumbing()
            .args([
                "log",
                "-z",
                "--no-color",
                "--no-notes",
                "--no-mailmap",
                "--no-show-signature",
            ])
            .arg(FORMAT);
        let call = which(call);
        let output = self.git.run(&call)?;
        let text = String::from_utf8_lossy(&output);
        // A message cannot contain NUL, so every commit is exactly five fields.
        let fields: Vec<&str> = text.split('\0').collect();
        let commits = fields.chunks_exact(5).map(commit_info);
        commits
            .map(|commit| commit.ok_or_else(|| call.unexpected_output("a garbled commit")))
            .collect()
    }

    /// Returns the commits of `tip` that are not in `base` in mail format: `git am` recreates them,
    /// and `git apply` applies just their changes. Merges are left out. One process.
    pub fn format_patches(&self, base: &Oid, tip: &Oid) -> Result<Vec<u8>, Error> {
        let call = self
            .plumbing()
            .args(["format-patch", "--stdout", "--binary", "--full-index"])
            .args(["--no-signature", "--no-renames", "--no-ext-diff"])
            .args(["--no-textconv", "--no-color", "--no-thread", "--no-attach"])
            .args(["--no-cover-letter", "--no-stat", "--no-to", "--no-cc"])
            .args(["--no-add-header", "--no-signoff", "--no-base", "--no-notes"])
            .args(["--src-prefix=a/", "--dst-prefix=b/", "--end-of-options"])
            .arg(format!("{base}..{tip}"));
        self.git.run(&call)
    }

    /// Returns the newest commit of `tip`, not of `base`, that carries all of these trailers. One
    /// process.
    pub fn find_trailer_commit(
        &self,
        base: &Oid,
        tip: &Oid,
        trailers: &[(&str, &str)],
    ) -> Result<Option<BranchCommit>, Error> {
        let matches = |commit: &BranchCommit| {
            trailers
                .iter()
                .all(|(key, value)| commit.trailer(key) == Some(value))
        };
        Ok(self.commits_since(base, tip)?.into_iter().find(matches))
    }
}

/// Returns the content of a commit as git would write it, or `None` if git would change the name, the
/// address or the message, or refuse them.
fn commit_content(
    tree: &Oid,
    parents: &[&Oid],
    message: &str,
    signature: &CommitSignature,
) -> Option<String> {
    let GitIdentity { name, email } = &signature.identity;
    let is_plain = |text: &str| {
        let is_crud = |c: char| c <= ' ' || ".,:;<>\"\\'".contains(c);
        !text.is_empty()
            && !text.starts_with(is_crud)
            && !text.ends_with(is_crud)
            && !text.contains(['<', '>', '\n', '\0'])
    };
    let repeats = (1..parents.len()).any(|at| parents[..at].contains(&parents[at]));
    if !is_plain(name) || !is_plain(email) || message.contains('\0') || repeats {
        return None;
    }
    let mut content = format!("tree {tree}\n");
    for parent in parents {
        let _ = writeln!(content, "parent {parent}");
    }
    for role in ["author", "committer"] {
        let seconds = signature.seconds;
        let _ = writeln!(content, "{role} {name} <{email}> {seconds} +0000");
    }
    content.push('\n');
    content.push_str(message);
    Some(content)
}

/// Creates a commit. `call` selects the repository.
pub(super) fn commit_tree(
    git: &GitProgram,
    call: GitCall,
    tree: &Oid,
    parents: &[&Oid],
    message: &str,
    signature: &CommitSignature,
) -> Result<Oid, Error> {
    let mut call = call.arg("commit-tree").arg(tree).args(["-F", "-"]);
    for parent in parents {
        call = call.arg("-p").arg(parent);
    }
    let date = format!("@{} +0000", signature.seconds);
    let GitIdentity { name, email } = &signature.identity;
    let call = call
        .env("GIT_AUTHOR_NAME", name)
        .env("GIT_AUTHOR_EMAIL", email)
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_NAME", name)
        .env("GIT_COMMITTER_EMAIL", email)
        .env("GIT_COMMITTER_DATE", &date)
        .stdin(message.as_bytes().to_vec());
    parse_oid(&git.run(&call)?).ok_or_else(|| call.unexpected_output("no object id"))
}

fn commit_info(fields: &[&str]) -> Option<BranchCommit> {
    let [oid, tree, parents, subject, trailers] = fields else {
        return None;
    };
    let parents: Option<Vec<Oid>> = parents.split_whitespace().map(Oid::parse).collect();
    Some(BranchCommit {
        oid: Oid::parse(oid)?,
        tree: Oid::parse(tree)?,
        parents: parents?,
        subject: (*subject).to_owned(),
        trailers: trailers
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
            .collect(),
    })
}
