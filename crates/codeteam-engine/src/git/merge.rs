//! Merging: of trees, in the object store alone; and of a run's branch into
//! the user's checkout, when the user asked for it.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::command::{GitCall, GitOutput, GitProgram};
use super::commits::commit_tree;
use super::objects::paths;
use super::repo::oid;
use super::{CheckoutHead, CommitSignature, Error, GitIdentity, Oid, Repo};

/// What merging two trees gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    /// Both sides, in one tree.
    Clean {
        /// The merged tree, written to the main repository.
        tree: Oid,
    },
    /// Both sides changed the same thing.
    Conflict {
        /// The files concerned.
        files: Vec<PathBuf>,
    },
}

impl MergeOutcome {
    /// The merged tree, if there is no conflict.
    pub fn tree(&self) -> Option<&Oid> {
        match self {
            Self::Clean { tree } => Some(tree),
            Self::Conflict { .. } => None,
        }
    }

    /// The files in conflict.
    pub fn conflicts(&self) -> impl Iterator<Item = &PathBuf> {
        match self {
            Self::Clean { .. } => [].iter(),
            Self::Conflict { files } => files.iter(),
        }
    }
}

/// How a run's branch may enter the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStrategy<'a> {
    /// Only if the user's branch has nothing of its own.
    FastForward,
    /// With a merge commit, always.
    MergeCommit {
        /// Who makes it.
        by: &'a GitIdentity,
        /// Its message.
        message: &'a str,
    },
}

/// Where the user's branch is after a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchMove {
    /// Where it was.
    pub before: Oid,
    /// Where it is.
    pub after: Oid,
}

impl Repo {
    /// Merges `ours` and `theirs`, both of which came from `base`, without
    /// touching any checkout. Each may be a commit or a tree. One process.
    ///
    /// Attributes are not looked at: a merge driver is a program.
    pub fn merge_trees(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<MergeOutcome, Error> {
        merge_trees(&self.git, &self.plumbing(), base, ours, theirs)
    }

    /// What would be if `target` were merged into `onto`: their trees, merged from where they
    /// parted. Two processes.
    pub fn merge_commits(&self, onto: &Oid, target: &Oid) -> Result<MergeOutcome, Error> {
        let call = self.plumbing().arg("merge-base").arg(onto).arg(target);
        let output = self.git.attempt(&call)?;
        match oid(&output.stdout) {
            Some(base) => self.merge_trees(&base, onto, target),
            None => Err(call.failed(output)),
        }
    }

    /// Merges `target` into the branch the user has checked out, and updates
    /// the checkout. Three processes; five with a merge commit.
    ///
    /// Changes to tracked files (other than codeteam's own) are refused before
    /// anything happens. Untracked files stay where they are; git itself
    /// refuses to overwrite one. What is as `target` has it already is in
    /// nobody's way, if the branch can just be moved forward: five processes
    /// more. After a conflict the merge is undone. The user's configuration
    /// applies, so that filters and identity are theirs; hooks do not run and
    /// the merge commit is not signed.
    pub fn merge_into_checkout(
        &self,
        target: &Oid,
        strategy: MergeStrategy<'_>,
    ) -> Result<BranchMove, Error> {
        let changed = self.changed_files("--untracked-files=no")?;
        let before = self.head()?;
        let may_hold = strategy == MergeStrategy::FastForward && !self.is_under_way();
        if !changed.is_empty() {
            if !may_hold {
                return Err(Error::Dirty { files: changed });
            }
            self.pass_over(&changed, &before.commit, target)?;
        }
        let done = self.merge_here(target, strategy, before.clone());
        // Once everything was passed over, what is still in the way is so.
        let in_the_way = matches!(done, Err(Error::InTheWay { .. }));
        if in_the_way && changed.is_empty() && may_hold {
            self.pass_over(&[], &before.commit, target)?;
            return self.merge_here(target, strategy, before);
        }
        done
    }

    /// Has the index hold what the checkout holds as `target` has it, though `before` has not: git
    /// passes over that then, and would refuse it otherwise. `changed` are files that must all be so.
    ///
    /// Whatever comes after it, the user finds staged at most what `target` has.
    fn pass_over(&self, changed: &[PathBuf], before: &Oid, target: &Oid) -> Result<(), Error> {
        let scratch = self.common_dir().join("codeteam-index");
        let held = self.snapshot(&scratch)?;
        let differ: HashSet<PathBuf> = self.differing(&held, target)?.into_iter().collect();
        let dirty = changed.iter().filter(|file| differ.contains(*file));
        let dirty: Vec<PathBuf> = dirty.cloned().collect();
        if !dirty.is_empty() {
            return Err(Error::Dirty { files: dirty });
        }
        if !self.is_ancestor(before, target)? {
            return Ok(());
        }
        let mut names = Vec::new();
        for file in self.differing(before, target)? {
            if !differ.contains(&file) {
                names.extend_from_slice(file.as_os_str().as_bytes());
                names.push(0);
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let call = self
            .checkout()
            .args(["reset", "--quiet", "--pathspec-from-file=-"])
            .arg("--pathspec-file-nul")
            .arg(target)
            .stdin(names);
        self.git.run(&call).map(drop)
    }

    fn merge_here(
        &self,
        target: &Oid,
        strategy: MergeStrategy<'_>,
        before: CheckoutHead,
    ) -> Result<BranchMove, Error> {
        let call = self
            .checkout()
            .args(["merge", "--no-edit", "--no-stat", "--no-autostash"])
            // What is ignored is the user's all the same.
            .arg("--no-overwrite-ignore");
        let call = match strategy {
            MergeStrategy::FastForward => call.arg("--ff-only").arg(target),
            MergeStrategy::MergeCommit {
                by: GitIdentity { name, email },
                message,
            } => call
                .env("GIT_AUTHOR_NAME", name)
                .env("GIT_AUTHOR_EMAIL", email)
                .env("GIT_COMMITTER_NAME", name)
                .env("GIT_COMMITTER_EMAIL", email)
                .args(["--no-ff", "-m", message])
                .arg(target),
        };
        let output = self.git.attempt(&call)?;
        if !output.status.success() {
            return Err(self.undo(&call, output, before, target));
        }
        let after = match strategy {
            MergeStrategy::FastForward => target.clone(),
            MergeStrategy::MergeCommit { .. } => self.head()?.commit,
        };
        Ok(BranchMove {
            before: before.commit,
            after,
        })
    }

    /// Leaves the checkout as it was, and says why the merge did not happen.
    fn undo(
        &self,
        merge: &GitCall,
        output: GitOutput,
        before: CheckoutHead,
        target: &Oid,
    ) -> Error {
        if output.stderr.contains("Not possible to fast-forward") {
            let branch = before.branch.unwrap_or_else(|| "HEAD".to_owned());
            return Error::NotFastForward {
                branch,
                target: target.clone(),
            };
        }
        if let Some(refusal) = refusal(&output.stderr) {
            return refusal;
        }
        // Only a merge that stopped half-way exits with 1 and leaves unmerged
        // files; a refusal has changed nothing and must not be "aborted", for
        // that could throw away a merge of the user's own.
        let unmerged = self.checkout().args([
            "diff",
            "--name-only",
            "--diff-filter=U",
            "-z",
            "--no-ext-diff",
        ]);
        match self.git.run(&unmerged) {
            Ok(names) if output.status.code() == Some(1) && !names.is_empty() => {
                match self.git.run(&self.checkout().args(["merge", "--abort"])) {
                    Ok(_) => Error::MergeConflict {
                        files: paths(&names),
                    },
                    Err(error) => error,
                }
            }
            Ok(_) => merge.failed(output),
            Err(error) => error,
        }
    }
}

/// Merges two trees, with a call that says in which repository the result is written.
pub(super) fn merge_trees(
    git: &GitProgram,
    call: &GitCall,
    base: &Oid,
    ours: &Oid,
    theirs: &Oid,
) -> Result<MergeOutcome, Error> {
    let merge = merge_call(call, base, ours, theirs);
    let output = git.attempt(&merge)?;
    if output.status.code().is_some_and(|code| code > 1) {
        // Before 2.45 git takes only commits here.
        return merge_as_commits(git, call, base, ours, theirs);
    }
    merged(&merge, output)
}

/// The same, for a git that wants commits. Four processes; the commits are
/// referenced by nothing, and git drops them in time.
pub(super) fn merge_as_commits(
    git: &GitProgram,
    call: &GitCall,
    base: &Oid,
    ours: &Oid,
    theirs: &Oid,
) -> Result<MergeOutcome, Error> {
    let signature = CommitSignature {
        identity: GitIdentity::default(),
        seconds: 0,
    };
    let commit = |treeish: &Oid| {
        // `commit-tree` takes a tree only, and a commit is what is wanted.
        match commit_tree(
            git,
            call.clone(),
            treeish,
            &[],
            "codeteam: merge",
            &signature,
        ) {
            Err(Error::Failed { .. }) => Ok(treeish.clone()),
            made => made,
        }
    };
    let merge = merge_call(call, &commit(base)?, &commit(ours)?, &commit(theirs)?);
    let output = git.attempt(&merge)?;
    merged(&merge, output)
}

fn merge_call(call: &GitCall, base: &Oid, ours: &Oid, theirs: &Oid) -> GitCall {
    call.clone()
        .args([
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
        ])
        .arg(format!("--merge-base={base}"))
        .arg(ours)
        .arg(theirs)
}

/// What git's refusal to touch files means: it names them, one a line, below what they are.
fn refusal(stderr: &str) -> Option<Error> {
    let below = |heading: &str| {
        let mut lines = stderr.lines().skip_while(|line| !line.contains(heading));
        lines.next()?;
        let named = lines.map_while(|line| line.strip_prefix('\t'));
        Some(named.map(PathBuf::from).collect::<Vec<_>>())
    };
    if let Some(files) = below("local changes to the following files would be") {
        return Some(Error::Dirty { files });
    }
    below("untracked working tree files would be")
        .or_else(|| below("directories would lose untracked files"))
        .map(|files| Error::InTheWay { files })
}

fn merged(call: &GitCall, output: GitOutput) -> Result<MergeOutcome, Error> {
    let (tree, files) = match output.stdout.iter().position(|&byte| byte == 0) {
        Some(end) => output.stdout.split_at(end),
        None => (&output.stdout[..], &[][..]),
    };
    match output.status.code() {
        Some(0) => match oid(tree) {
            Some(tree) => Ok(MergeOutcome::Clean { tree }),
            None => Err(call.unexpected("no tree")),
        },
        Some(1) => Ok(MergeOutcome::Conflict {
            files: paths(files),
        }),
        _ => Err(call.failed(output)),
    }
}
