//! Making commits, and finding them again by their trailers.

use super::command::{GitCall, GitProgram};
use super::repo::oid;
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
    /// codeteam's own, for what only codeteam sees.
    fn default() -> GitIdentity {
        GitIdentity {
            name: "codeteam".to_owned(),
            email: "codeteam@localhost".to_owned(),
        }
    }
}

/// Who makes a commit, and when. The time is an input, so that making a commit
/// again gives the same commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSignature {
    /// Author and committer.
    pub identity: GitIdentity,
    /// Seconds since 1970, UTC.
    pub seconds: i64,
}

/// A commit, as found in a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchCommit {
    /// Its id.
    pub oid: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// The first line of its message.
    pub subject: String,
    /// The `Key: value` lines at the end of its message, in order.
    pub trailers: Vec<(String, String)>,
}

impl BranchCommit {
    /// The value of the first trailer called `key`.
    pub fn trailer(&self, key: &str) -> Option<&str> {
        let found = self
            .trailers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }
}

impl Repo {
    /// The identity in the user's configuration, if there is one. One process.
    pub fn identity(&self) -> Result<Option<GitIdentity>, Error> {
        let call = self
            .checkout()
            // Without this git makes one up from the host's name.
            .args(["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"]);
        let output = self.git.attempt(&call)?;
        // `Name <address> seconds zone`; none configured is a failure.
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

    /// Makes a commit, and moves nothing. One process.
    pub fn commit(
        &self,
        tree: &Oid,
        parents: &[&Oid],
        message: &str,
        signature: &CommitSignature,
    ) -> Result<Oid, Error> {
        commit_tree(
            &self.git,
            self.plumbing(),
            tree,
            parents,
            message,
            signature,
        )
    }

    /// The commits of `tip` that `base` has not, newest first. One process.
    pub fn commits_since(&self, base: &Oid, tip: &Oid) -> Result<Vec<BranchCommit>, Error> {
        self.log_of(|call| call.arg("--end-of-options").arg(format!("{base}..{tip}")))
    }

    /// The newest commits of `tip`, at most so many, newest first. One process.
    pub fn newest_commits(&self, tip: &Oid, most: usize) -> Result<Vec<BranchCommit>, Error> {
        let most = format!("--max-count={most}");
        self.log_of(|call| call.arg(most).arg("--end-of-options").arg(tip))
    }

    fn log_of(&self, which: impl FnOnce(GitCall) -> GitCall) -> Result<Vec<BranchCommit>, Error> {
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
            .map(|commit| commit.ok_or_else(|| call.unexpected("a garbled commit")))
            .collect()
    }

    /// The commits of `tip` that `base` has not, as mails: `git am` makes them again, and `git apply`
    /// takes their changes alone. Merges are left out. One process.
    pub fn mailbox(&self, base: &Oid, tip: &Oid) -> Result<Vec<u8>, Error> {
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

    /// The newest commit of `tip`, not of `base`, that carries all of these
    /// trailers. One process.
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

/// Makes a commit, with a call that says in which repository.
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
    oid(&git.run(&call)?).ok_or_else(|| call.unexpected("no object id"))
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
